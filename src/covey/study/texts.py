"""Texts for people in one or more languages: `label = "How old are you?"`, or `label = { en = "…", de = "…" }`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from covey.cells import Kind, canonical, clean
from covey.plain import STEERING
from covey.schema import Texts
from covey.study.section import Section

LONGEST_LABEL, LONGEST_TEXT = 300, 4000
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")


def read_language(section: Section) -> str:
    """The language of texts that stand for themselves; English unless the study says otherwise."""
    given = section.text("language")
    if given is not None and _LANGUAGE.fullmatch(given) is None:
        section.problem('language must be a code such as "en" or "pt-BR"', "language")
    return given or "en"


def read_texts(section: Section, key: str, language: str, longest: int) -> Texts:
    """A text by language, each noted as a problem if it is none that can be shown."""
    value = section.raw(key)
    if value is None:
        return ()
    given = {language: value} if isinstance(value, str) else value
    if not isinstance(given, dict) or not given:
        section.problem(f'{key} must be a text, or a text for each language: {key} = {{ en = "…", de = "…" }}', key)
        return ()
    return _checked(section, key, given, longest)


def read_answers(
    section: Section, values: Sequence[str] | None, kind: Kind
) -> tuple[tuple[str, Texts], ...]:  # fmt: skip
    """For each language the words for the column's values."""
    given = section.raw("answers")
    if given is None:
        return ()
    if not isinstance(given, dict) or not all(isinstance(words, dict) for words in given.values()):
        section.problem('answers must have words for values by language: answers.de = { never = "nie" }', "answers")
        return ()
    found = []
    for language, words in given.items():
        _known_language(section, "answers", language)
        spelled = {canonical(clean(str(value)), kind): text for value, text in words.items()}
        unknown = [value for value in spelled if values is not None and value not in values]
        if values is None or unknown:
            section.problem(
                f"answers has words for {', '.join(unknown) or 'values'} that the study does not list", "answers"
            )
            continue
        found.append((language, _checked(section, "answers", spelled, LONGEST_LABEL, languages=False)))
    return tuple(sorted(found))


def _checked(section: Section, key: str, given: Mapping[str, object], longest: int, *, languages: bool = True) -> Texts:
    found = []
    for name, text in given.items():
        if languages:
            _known_language(section, key, name)
        if not isinstance(text, str) or not 0 < len(text) <= longest or STEERING.search(text.replace("\n", " ")):
            section.problem(f"{key} must be a plain text of 1 to {longest:,} characters", key)
        else:
            found.append((name, text))
    return tuple(sorted(found))


def _known_language(section: Section, key: str, language: str) -> None:
    if _LANGUAGE.fullmatch(language) is None:
        section.problem(f'{key} has {language!r}, which is no language code such as "en" or "pt-BR"', key)
