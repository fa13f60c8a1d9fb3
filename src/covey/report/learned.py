"""The section on what was learned, in the ledger's own sentences, said once where they hold for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from covey.report.markup import Markup, join, listed, named, tag
from covey.report.material import Learned, Material


def learned(material: Material) -> Markup:
    """The ledger: of a party, of all parties of a simulation, or of nobody."""
    summary, ledger = material.summary, material.ledger
    if ledger is not None:
        parts = [tag("h2", "What the others could learn from us"), _others(ledger)]
        if ledger.learned:
            parts += [tag("h2", "What we learned"), listed(_fragments(ledger.party, ledger.learned))]
        for earlier in ledger.earlier:
            parts += [tag("h2", "What had been learned before, in a session that was given up"), _earlier(earlier)]
        return join(parts)
    if summary is None or not summary.parties:
        text = "Nothing: nobody else took part, and nothing left this machine."
        return join([tag("h2", "What others could learn from the run"), tag("p", text)])
    names = dict.fromkeys((*summary.parties, *summary.per_party))  # respondents enrol, and are no party of the study
    by_party = {name: [each for each in summary.ledger if each.startswith(f"{name} learned ")] for name in names}
    return join([tag("h2", "What the parties could learn from each other"), _grouped(by_party, "Every party learned")])


def _others(ledger: Learned) -> Markup:
    if not ledger.others:
        return tag("p", "Nothing: the parties had not met.")
    who = "Every other party could learn" if len(ledger.others) > 1 else f"{next(iter(ledger.others))} could learn"
    return _grouped(ledger.others, who)


def _earlier(earlier: Learned) -> Markup:
    return join([tag("p", earlier.outcome), _others(earlier), tag("h3", "We learned"), listed(earlier.learned)])


def _grouped(by_party: Mapping[str, Sequence[str]], everyone: str) -> Markup:
    """Sentences that hold for all parties first, then those that hold for some."""
    fragments = {name: _fragments(name, sentences) for name, sentences in by_party.items()}
    common = [each for each in next(iter(fragments.values()), []) if all(each in own for own in fragments.values())]
    parts = [tag("h3", everyone), listed(common)] if common else []
    for name, own in fragments.items():
        more = [each for each in own if each not in common]
        if more:
            parts += [tag("h3", named(name), " moreover" if common else " could learn"), listed(more)]
    return join(parts)


def _fragments(name: str | None, sentences: Sequence[str]) -> list[str]:
    """The sentences without who learned it."""
    return [sentence.removeprefix(f"{name} learned ") for sentence in sentences]
