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
    language = section.text("language")
    if language is not None and _LANGUAGE.fullmatch(language) is None:
        section.problem('language must be a code such as "en" or "pt-BR"', "language")
    return language or "en"


def read_texts(section: Section, key: str, language: str, longest: int) -> Texts:
    """A text by language. A text that cannot be shown is noted as a problem."""
    value = section.raw(key)
    if value is None:
        return ()
    texts = {language: value} if isinstance(value, str) else value
    if not isinstance(texts, dict) or not texts:
        section.problem(f'{key} must be a text, or a text for each language: {key} = {{ en = "…", de = "…" }}', key)
        return ()
    return _checked(section, key, texts, longest)


def read_answers(
    section: Section, values: Sequence[str] | None, kind: Kind
) -> tuple[tuple[str, Texts], ...]:  # fmt: skip
    """For each language the words for the column's values."""
    answers = section.raw("answers")
    if answers is None:
        return ()
    if not isinstance(answers, dict) or not all(isinstance(words, dict) for words in answers.values()):
        section.problem('answers must have words for values by language: answers.de = { never = "nie" }', "answers")
        return ()
    result = []
    for language, words in answers.items():
        _known_language(section, "answers", language)
        spelled = {canonical(clean(str(value)), kind): text for value, text in words.items()}
        unknown = [value for value in spelled if values is not None and value not in values]
        if values is None or unknown:
            section.problem(
                f"answers has words for {', '.join(unknown) or 'values'} that the study does not list", "answers"
            )
            continue
        result.append((language, _checked(section, "answers", spelled, LONGEST_LABEL, languages=False)))
    return tuple(sorted(result))


def _checked(section: Section, key: str, texts: Mapping[str, object], longest: int, *, languages: bool = True) -> Texts:
    result = []
    for name, text in texts.items():
        if languages:
            _known_language(section, key, name)
        if not isinstance(text, str) or not 0 < len(text) <= longest or STEERING.search(text.replace("\n", " ")):
            section.problem(f"{key} must be a plain text of 1 to {longest:,} characters", key)
        else:
            result.append((name, text))
    return tuple(sorted(result))


def _known_language(section: Section, key: str, language: str) -> None:
    if _LANGUAGE.fullmatch(language) is None:
        section.problem(f'{key} has {language!r}, which is no language code such as "en" or "pt-BR"', key)
