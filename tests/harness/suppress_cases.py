"""What the harness tries on `suppress`: small tables of two clinics, with each encryption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.harness import canaries, hospitals
from tests.harness.hospitals import Person, tables_of
from tests.harness.network import seed_of
from tests.harness.spent import Spent
from tests.harness.trial import Case, Marked, Trial, of_study

from covey.crypto.rng import Rng, Stream
from covey.protocols import find
from covey.protocols.as_printed.suppress import cost
from covey.study import Study
from covey.table import Table

SITES = ("north", "south")


def study_of(encryption: str = "waters", *, k: int = 3, note: bool = False, epoch: str = "2026-11") -> Study:
    """A small study; with `note` it carries a column whose values it does not list."""
    options = f'encryption = "{encryption}"\nepoch = "{epoch}"\ncompare = "bins"'
    return hospitals.study_of("suppress", SITES, k=k, options=options, note=note)


def trial_of(
    study: Study, people: Mapping[str, Sequence[Person]], notes: Mapping[str, Sequence[str]] | None = None
) -> Trial:
    """A trial of these parties' people."""
    tables = tables_of(study, people, notes)
    return of_study(study, find("suppress"), tables, cost_of(study, tables))


def cost_of(study: Study, tables: Mapping[str, Table]) -> Spent:
    """What a run on these tables must cost."""
    found, _ = cost.of_tables(study, tables)
    return Spent(found.rounds, found.messages, found.bytes)


def draw_people(stream: Stream, least: int, most: int, spread: int = 5) -> dict[str, list[Person]]:
    """Random people of all sites, of some ages that they share."""
    return hospitals.draw_people(stream, SITES, least, most, spread)


def _stream(seed: int, *labels: str) -> Stream:
    return Rng(seed_of(seed)).stream("suppress", *labels)


def _smallest(encryption: str) -> Trial:
    """Both phases: a frequent tuple, one that both make k of, and rare ones."""
    people: dict[str, list[Person]] = {
        "north": [(1, "F", "flu"), (2, "M", "none"), (3, "F", "ulcer"), (6, "F", "none")],
        "south": [(3, "F", "flu"), (5, "M", "flu"), (5, "M", "none"), (7, "F", "asthma")],
    }
    return trial_of(study_of(encryption, k=2, note=True), people)


def _twins(encryption: str) -> tuple[Trial, Trial]:
    """The same release; what is suppressed differs in everything: tuples, counts, and whether both have them."""
    kept: list[Person] = [(1, "F", "flu")] * 3
    one: dict[str, list[Person]] = {
        "north": [*kept, (2, "M", "none"), (3, "M", "none"), (4, "F", "flu"), (5, "F", "flu")],
        "south": [*kept, (4, "F", "ulcer"), (4, "M", "ulcer")],
    }
    other: dict[str, list[Person]] = {
        "north": [*kept, (8, "M", "none"), (8, "M", "none"), (9, "M", "flu"), (9, "M", "flu")],
        "south": [*kept, (8, "M", "ulcer"), (12, "F", "ulcer")],
    }
    return trial_of(study_of(encryption), one), trial_of(study_of(encryption), other)


def _marked(encryption: str) -> Marked:
    words = {name: canaries.texts(name, 24 if encryption == "waters" else 400) for name in SITES}
    stream = _stream(0, "marked")
    people = {name: draw_people(stream, len(own), len(own), 8)[name] for name, own in words.items()}
    return Marked(trial_of(study_of(encryption, k=4), people, words), texts=words)


def _case(encryption: str, quick: int) -> Case:
    return Case(
        f"suppress by {encryption}",
        lambda seed: trial_of(study_of(encryption, k=2 + seed % 4), draw_people(_stream(seed, encryption), 3, 9)),
        lambda: _smallest(encryption),
        lambda: _twins(encryption),
        lambda: _marked(encryption),
        quick=quick,
    )


WATERS, ELGAMAL = _case("waters", 3), _case("elgamal", 4)
SUPPRESS_CASES = (WATERS, ELGAMAL)
