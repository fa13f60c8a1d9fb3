"""What a study asks of `collect`: its options, and the studies that it cannot run."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from covey.errors import InputError
from covey.hierarchy import Hierarchy
from covey.protocols.collect.grid import AUTO_CELLS, MOST_CELLS, Grid
from covey.protocols.rows import carried, domain
from covey.schema import Column
from covey.study import Study
from covey.study.ratio import at_least

Cut = Literal["fall", "hansen-mukherjee"]

LARGEST_STEP = 1 << 16
LARGEST_OFFSET = 1 << 16
LARGEST_SPARE = 1000
BROADCAST_CELLS = 1 << 14
"""Up to here everyone is sent the whole index, which hides perfectly what is read; above, it is read privately."""
ELGAMAL_BYTES = 64
DEALT_BITS = 3072
OPEN_CELL_BYTES = 48
"""What a carried cell may take whose values the study does not list."""

OPTIONS = {
    "grid": 'the cells that the curve runs through: "auto" (default) takes each column at the finest level of its '
    f"hierarchy that keeps the product at or below {AUTO_CELLS:,}; or a number, the most cells. The wider, the "
    "less a guess says",
    "rho": "the range [low, high] of the random numbers that positions are made of (default [0, 300]); the wider it is "
    "for its mean, the less a distance says",
    "b": "how many random numbers precede the first cell (default 200); hides where the line begins, not distances",
    "jitter": "true hides which respondents share a cell, as far as order allows; needs low > 0 in rho (default false)",
    "committee": "how many respondents open ciphertexts together with the collector (default 5); a majority is needed",
    "spare": "how many members above k the line is cut for (default 0): so many of a class may leave before its rows "
    "are open without the class being withheld; for collections with real people",
    "cut": 'how the line is cut into classes: "fall" (default) or "hansen-mukherjee"',
    "scheme": '"elgamal" (default): positions under a key without a dealer; "paillier": under one that a respondent '
    "deals, as in the paper: slow, and whoever hears the dealer opens every position",
}


@dataclass(frozen=True)
class Terms:
    """The parameters of a run."""

    k: int
    low: int
    high: int
    b: int
    jitter: bool
    committee: int
    cut: Cut
    scheme: str
    grid: Grid
    l: Fraction | None  # noqa: E741 - the field's name for it
    diversity: str
    watched: tuple[Column, ...]
    """The sensitive columns, where diversity is asked for."""
    row_bytes: int
    """What every submitted row is padded to."""
    spare: int = 0
    """How many members above k the line is cut for."""

    @classmethod
    def of(cls, study: Study) -> Terms:
        """A study's terms. Raises InputError, with what to change, if `collect` cannot keep them.

        The last study's are remembered: thousands of respondents in one process ask for the same.
        """
        if not _LAST or _LAST[0][0] is not study:
            _LAST[:] = [(study, cls._read(study))]
        return _LAST[0][1]

    @classmethod
    def _read(cls, study: Study) -> Terms:
        _require_listed(study)
        low, high = _rho(study)
        jitter = study.options.get("jitter", False)
        if not isinstance(jitter, bool):
            raise InputError("[protocol] jitter must be true or false")
        if jitter and low == 0:
            raise InputError(
                "[protocol] jitter = true needs rho = [low, high] with low of 1 or more: ties are hidden below 2 low"
            )
        cut = study.options.get("cut", "fall")
        if cut not in {"fall", "hansen-mukherjee"}:
            raise InputError('[protocol] cut must be "fall" or "hansen-mukherjee"')
        return cls(
            k=study.privacy.k,
            low=low,
            high=high,
            b=whole(study, "b", 200, 0, LARGEST_OFFSET),
            jitter=jitter,
            committee=whole(study, "committee", 5, 1, 31),
            spare=whole(study, "spare", 0, 0, LARGEST_SPARE),
            cut="fall" if cut == "fall" else "hansen-mukherjee",
            scheme=str(study.options.get("scheme", "elgamal")),
            grid=Grid.of(trees_of(study), _most_cells(study)),
            l=None if study.privacy.l is None else at_least(study.privacy.l, 64),
            diversity=study.privacy.diversity,
            watched=() if study.privacy.l is None else study.sensitive,
            row_bytes=_row_bytes(study),
        )

    def class_size(self, respondents: int) -> int:
        """How many members a class is cut for at least: k and the spare ones, if there are so many respondents."""
        return max(self.k, min(self.k + self.spare, respondents))

    @property
    def mean(self) -> float:
        """Of one random number."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """Of one random number: uniform on the whole numbers from low to high."""
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    @property
    def largest_image(self) -> int:
        """The largest position that a respondent can have."""
        return 2 * self.high * (self.b + self.grid.cells) + (2 * self.low if self.jitter else 0)

    @property
    def dealt(self) -> bool:
        """Whether positions are under a dealt Paillier key."""
        return self.scheme == "paillier"

    @property
    def entry_bytes(self) -> int:
        """Of an entry of the index."""
        return self.bits // 4 if self.dealt else ELGAMAL_BYTES

    @property
    def bits(self) -> int:
        """Of a dealt key."""
        return DEALT_BITS

    @property
    def private_retrieval(self) -> bool:
        """Whether the index is too long to be sent to everyone."""
        return self.grid.cells > BROADCAST_CELLS


_LAST: list[tuple[Study, Terms]] = []


def trees_of(study: Study) -> tuple[Hierarchy, ...]:
    """The quasi columns' trees, which the study lists in full."""
    return tuple(column.tree() for column in study.quasi)


def hub_of(study: Study) -> str:
    """The collector's name."""
    for party in study.parties:
        if party.role == "collector":
            return party.name
    raise InputError("protocol 'collect' needs a party with role = \"collector\"")


def whole(study: Study, option: str, default: int, least: int, most: int) -> int:
    """A whole number among the options. Raises InputError for anything else."""
    value = study.options.get(option, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InputError(f"[protocol] {option} must be a whole number from {least} to {most}")
    return value


def _most_cells(study: Study) -> int:
    value = study.options.get("grid", "auto")
    if value == "auto":
        return AUTO_CELLS
    if not isinstance(value, int) or isinstance(value, bool) or not 2 <= value <= MOST_CELLS:
        raise InputError(f'[protocol] grid must be "auto" or the most cells, a whole number from 2 to {MOST_CELLS:,}')
    return value


def _rho(study: Study) -> tuple[int, int]:
    value = study.options.get("rho", (0, 300))
    parts = value if isinstance(value, tuple) else ()
    numbers = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if len(parts) != 2 or len(numbers) != 2 or not 0 <= numbers[0] < numbers[1] <= LARGEST_STEP:
        raise InputError(f"[protocol] rho must be [low, high], whole numbers with 0 <= low < high <= {LARGEST_STEP:,}")
    return numbers[0], numbers[1]


def _row_bytes(study: Study) -> int:
    """The longest carried row: msgpack adds at most five bytes to a text, and five to the list."""
    cells = [
        max((len(value.encode()) for value in domain(column)), default=OPEN_CELL_BYTES) for column in carried(study)
    ]
    return 5 + sum(5 + cell for cell in cells)


def _require_listed(study: Study) -> None:
    if not study.quasi:
        raise InputError("no column has the role quasi: there is nothing to generalize")
    for column in study.quasi:
        if not column.closed:
            raise InputError(
                f"column {column.name!r}: protocol 'collect' needs a hierarchy that lists the whole domain; "
                "give it a file, or min, max and steps, or its values"
            )
    if study.privacy.l is None:
        return
    if study.privacy.diversity == "entropy":
        raise InputError(
            "protocol 'collect' keeps l by frequency or by distinct values; diversity = 'entropy' is not part of it"
        )
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: l needs its values listed, so that they can be counted unseen")
