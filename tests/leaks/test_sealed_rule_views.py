"""What a run of the rule opens follows from the release alone: a simulator without any data plays the same run."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.protocols.sealed_runs import Told, released
from tests.reference.studies import Drawn, draw
from tests.unit.mpc.boxes import seeds_of

from covey.arrays import Bits, Ints, Words
from covey.mpc import Clear, Disclosure, Opening, Shared, width_of
from covey.protocols.peel import agenda, nodes
from covey.protocols.peel.coding import side_by_side

RUNS = 60
MORE = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 200)]


class Simulator(Clear):
    """A box that is given zeros for all inputs, and opens what a release and chance say, whatever it computed."""

    def __init__(self, drawn: Drawn, told: Told, seed: int) -> None:
        super().__init__(seeds_of(seed))
        self.drawn, self.told, self.random = drawn, told, np.random.default_rng(seed)
        self.window = np.zeros((0, len(drawn.terms.trees)), np.int32)
        self.leaving: list[int] = []
        """The class of each record that leaves in this window."""
        self.narrowed: list[Bits] = []

    async def share(self, values: Words | None, width: int, records: int, holder: int) -> Shared:
        return await super().share(np.zeros((max(1, -(-width // 64)), records), np.uint64), width, records, holder)

    async def open(self, value: Shared, *, says: Disclosure) -> Words:
        words = self._shown(value, says)  # before it waits: an opening of no bits ends before one that began earlier
        await super().open(value, says=says)
        return words

    def _shown(self, value: Shared, says: Disclosure) -> Words:
        match says.key:
            case "total":
                return np.array([len(self.drawn.records) if value.width > 1 else 0], np.uint64)
            case "empty":
                return self._some(value.records, len(self.drawn.records))
            case "leave" if value.width > 1:  # nodes are visited in turn: this opens the first that a record leaves at
                nodes = {node for _, node, _ in self.told[0]}
                hits = [tuple(node) in nodes for node in self.window.tolist()]
                place = (*hits, True).index(True)
                self.window = self.window[place : place + 1]
                return words_of(np.arange(len(hits))[:, np.newaxis] >= place)
            case "leave":
                here = [tuple(node) for node in self.window.tolist()]
                leaving = [place for place, (_, node, own) in enumerate(self.told[0]) if node in here for _ in own]
                self.leaving = [int(place) for place in self.random.permutation(leaving)]
                return self._some(value.records, len(leaving))
            case "classes":
                return self._classes()
            case "narrowed":
                self.narrowed = self.narrowed or self._narrowed()
                return words_of(self.narrowed.pop(0))
            case "alone":
                return words_of(np.array(self.told[3], dtype=bool)[:, np.newaxis])
            case _:
                cells = [self.random.permutation(self.told[0][place][2]) for place in self._in_order()]
                return np.concatenate([np.zeros(0), *cells]).astype(np.uint64)

    def _some(self, records: int, number: int) -> Words:
        chosen = np.zeros(records, np.uint64)
        chosen[self.random.permutation(records)[:number]] = 1
        return chosen

    def _bits_at(self, place: int) -> Bits:
        """Returns the bits of a class's word, from the lowest leaves below its narrowed labels."""
        trees = self.drawn.terms.trees
        names = zip(trees, self.told[0][place][0], strict=True)
        leaves = np.array([[tree.first[tree.labels.index(name)]] for tree, name in names], np.int32)
        parts = zip(self.drawn.terms.coding.words(leaves), self.drawn.terms.coding.columns, strict=True)
        return np.array(
            [int(word[0]) >> bit & 1 for word, own in parts for bit in reversed(range(own.width))], dtype=bool
        )

    def _classes(self) -> Words:
        """Returns the labels of those who leave at this window's nodes: wider than those that the release shows."""
        coding, rows = self.drawn.terms.coding, []
        for place in self.leaving:
            node, bits = self.told[0][place][1], self._bits_at(place)
            number = [tuple(own) for own in self.window.tolist()].index(node)
            width = width_of(len(self.window) - 1)
            key = bits[coding.key(node)]
            if len(self.window) > 1:
                key = np.where(np.isin(np.arange(coding.width), coding.key(node)), bits, False)
            rows.append(np.concatenate([[number >> bit & 1 for bit in reversed(range(width))], key]).astype(bool))
        return words_of(np.array(rows).T)

    def _in_order(self) -> list[int]:
        """Returns the classes in the run's order: by node, then by labels there."""

        def at_node(place: int) -> list[int]:
            bits, node = self._bits_at(place)[:, np.newaxis], np.array(self.told[0][place][1], np.int32)[:, np.newaxis]
            return [*node[:, 0].tolist(), *self.drawn.terms.coding.labels(bits, node)[:, 0].tolist()]

        return sorted(range(len(self.told[0])), key=at_node)

    def _narrowed(self) -> list[Bits]:
        """Returns for each class which digits its records share, and these digits."""
        coding, trees = self.drawn.terms.coding, self.drawn.terms.trees
        flags, bits = [], []
        for place in self._in_order():
            names = self.told[0][place][0]
            lowest = [int(tree.level[tree.labels.index(name)]) for tree, name in zip(trees, names, strict=True)]
            flags.append([level >= lowest[column] for column, level, _ in coding.digits()])
            bits.append(self._bits_at(place) & np.isin(np.arange(coding.width), coding.key(lowest)))
        return [np.array(flags, dtype=bool).T, np.array(bits, dtype=bool).T]


def words_of(bits: Bits) -> Words:
    """Returns bits (bits x records) as a box opens them."""
    if not len(bits):
        return np.zeros(bits.shape[1], np.uint64)
    words = side_by_side([bit.astype(np.uint64) for bit in bits], [1] * len(bits))
    return words if len(bits) > 64 else words[0]


def shapes(ledger: list[Opening]) -> list[tuple[str, int, int]]:
    """Returns what was opened, without the comparisons of sorts: their number is a matter of chance."""
    return [(entry.says.key, entry.records, entry.width) for entry in ledger if entry.says.key != "order"]


@pytest.fixture
def in_windows(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Every fourth study is visited node by node."""
    monkeypatch.setattr(agenda, "SMALL", agenda.SMALL if seed % 4 == 3 else 0)
    for room, name, value in ((nodes, "FEW", 0), (nodes, "WHOLE", 0), (agenda, "FIRST", (3, 6))):
        monkeypatch.setattr(room, name, value)


@pytest.mark.usefixtures("in_windows")
@pytest.mark.parametrize(
    "seed", [3, 5, 7, 11, 16, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 200))]
)
def test_the_release_tells_all_that_a_run_opens(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator knows labels, sizes and nodes of the classes, their cells and the number of records: no record."""
    drawn = draw(seed, tmp_path)
    real = Clear(seeds_of(seed))
    told = asyncio.run(released(real, -1, drawn, None))
    played = Simulator(drawn, told, seed + 1)
    following = agenda.Agenda.next

    def seen(self: agenda.Agenda, *known: object) -> Ints:
        played.window = following(self, *known)  # type: ignore[arg-type]
        return played.window

    monkeypatch.setattr(agenda.Agenda, "next", seen)
    assert asyncio.run(released(played, -1, drawn, None)) == told
    assert shapes(played.ledger) == shapes(real.ledger)


def test_the_places_of_those_who_leave_are_random(tmp_path: Path) -> None:
    """In the first window that anybody leaves at each place of the base is as likely as any other."""
    drawn, places = draw(0, tmp_path, rows=(40, 41)), Counter[int]()
    number = 0

    class Watched(Clear):
        """A box that notes who leaves."""

        async def open(self, value: Shared, *, says: Disclosure) -> Words:
            nonlocal number
            shown = await super().open(value, says=says)
            if says.key == "leave" and shown.any() and not self.seen:
                self.seen = True
                places.update(np.flatnonzero(shown).tolist())
                number += int(shown.sum())
            return shown

        seen = False

    for run in range(RUNS):
        asyncio.run(released(Watched(seeds_of(run)), -1, drawn, None, private=False))
    mean = number / 40
    surprise = sum((places[place] - mean) ** 2 for place in range(40)) / (mean * (1 - mean / RUNS))
    assert abs(surprise - 39) < 4.5 * np.sqrt(2 * 39)
