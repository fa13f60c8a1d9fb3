"""The parameters of `collect`: the study's options, and the studies that it cannot run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from covey.crypto.gentry_ramzan import LARGEST as LARGEST_CHUNKED
from covey.errors import InputError
from covey.hierarchy import Hierarchy, Interval
from covey.hierarchy.steps import StepTree, codes_on
from covey.option import Choice, Flag, Range, Whole, WholeOrWord
from covey.protocols.as_printed.collect.grid import AUTO_CELLS, MOST_CELLS, Grid
from covey.protocols.shared.domains import require_countable, require_listed
from covey.protocols.shared.rows import carried, domain
from covey.schema import Column
from covey.study import Study
from covey.study.ratio import at_least
from covey.study.requirements import AS_PRINTED, Requirements
from covey.table import Table

Cut = Literal["fall", "hansen-mukherjee"]

LARGEST_STEP = 1 << 16
LARGEST_OFFSET = 1 << 16
LARGEST_SPAN = 1 << 12
"""The most numbers in rho: everyone checks a token for each of them."""
LARGEST_SPARE = 1000
BROADCAST_CELLS = 1 << 14
"""Up to here everyone is sent the whole index, which hides perfectly what is read; above, it is read privately."""
ELGAMAL_BYTES = 64
DEALT_BITS = 3072
OPEN_CELL_BYTES = 48
"""The most bytes of a carried cell whose values the study does not list."""

GRID = WholeOrWord(
    "grid",
    AUTO_CELLS,
    'the cells that the curve runs through: "auto" (default) takes each column at the finest level of its hierarchy '
    f"that keeps the product at or below {AUTO_CELLS:,}; or a number, the most cells. The wider, the less a guess says",
    "auto",
    AUTO_CELLS,
    2,
    MOST_CELLS,
)
RHO = Range(
    "rho",
    (0, 300),
    "the range [low, high] of the random numbers that positions are made of (default [0, 300]); the wider it is for "
    "its mean, the less a distance says",
    LARGEST_STEP,
)
OFFSET = Whole(
    "b",
    200,
    "how many random numbers precede the first cell (default 200); hides where the line begins, not distances",
    0,
    LARGEST_OFFSET,
)
JITTER = Flag(
    "jitter",
    False,
    "true hides which respondents share a cell, as far as order allows; needs low > 0 in rho (default false)",
)
COMMITTEE = Whole(
    "committee",
    5,
    "how many respondents open ciphertexts together with the collector (default 5); a majority is needed",
    1,
    31,
)
SPARE = Whole(
    "spare",
    0,
    "how many members above k the line is cut for (default 0): so many of a class may leave before its rows are open "
    "without the class being withheld; for collections with real people",
    0,
    LARGEST_SPARE,
)
CUT = Choice(
    "cut",
    "fall",
    'how the line is cut into classes: "fall" (default) or "hansen-mukherjee"',
    ("fall", "hansen-mukherjee"),
)
SCHEME = Choice(
    "scheme",
    "elgamal",
    '"elgamal" (default): positions under a key without a dealer; "paillier": under one that a respondent deals, as in '
    "the paper: slow, and whoever hears the dealer opens every position",
    ("elgamal", "paillier"),
)
SHARES = Choice(
    "shares",
    "shamir",
    'for scheme = "paillier": how the dealt key is cut: "shamir" (default), where the sender of a wrong part is named, '
    'or "asmuth-bloom" as in the paper',
    ("shamir", "asmuth-bloom"),
)
THRESHOLD = WholeOrWord(
    "threshold",
    0,
    'how many of the committee open together with the collector: "majority" (default), or a number',
    "majority",
    0,
    1,
    31,
)
RETRIEVAL = Choice(
    "retrieval",
    "auto",
    f'how the index is read: "auto" (default) sends it whole up to {BROADCAST_CELLS:,} cells, and answers hidden '
    f'queries above; "gentry-ramzan" is the paper\'s scheme, for {LARGEST_CHUNKED:,} cells at most: seconds to minutes '
    "for each query",
    ("auto", "gentry-ramzan"),
)
REQUIREMENTS = Requirements(
    partition="respondents",
    holders=(0, None),
    empty="a respondent answers with one row",
    roles=("collector",),
    needs=("collector",),
    withholds=True,
    options=(AS_PRINTED, GRID, RHO, OFFSET, JITTER, COMMITTEE, THRESHOLD, SPARE, CUT, SCHEME, SHARES, RETRIEVAL),
)


@dataclass(frozen=True)
class Parameters:
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
    """The length that every submitted row is padded to."""
    spare: int = 0
    """The number of members above k that the line is cut for."""
    shares: Literal["shamir", "asmuth-bloom"] = "shamir"
    opening: int = 0
    """The number of trustees that open, where the study says one."""
    retrieval: str = "auto"

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """A study's parameters. Raises InputError, with what to change, if `collect` cannot keep them.

        The last study's are remembered: thousands of respondents in one process ask for the same.
        """
        if not _LAST or _LAST[0][0] is not study:
            _LAST[:] = [(study, cls._read(study))]
        return _LAST[0][1]

    @classmethod
    def _read(cls, study: Study) -> Parameters:
        require_listed(study, intervals=True)
        require_countable(study)
        if study.privacy.l is not None and study.privacy.diversity == "entropy":
            raise InputError(
                'collect keeps l by frequency or distinct values; take diversity = "frequency" with the same l, which '
                "implies entropy"
            )
        options = study.options
        low, high = RHO.of(options)
        jitter = JITTER.of(options)
        if high - low >= LARGEST_SPAN:
            raise InputError(
                f"[protocol] rho = [{low}, {high}] has {high - low + 1:,} numbers; "
                f"at most {LARGEST_SPAN:,} can be proved to be in it"
            )
        if jitter and low == 0:
            raise InputError(
                "[protocol] jitter = true needs rho = [low, high] with low of 1 or more: ties are hidden below 2 low"
            )
        grid, opening = Grid.of(trees_of(study), GRID.of(options)), THRESHOLD.of(options)
        if opening > COMMITTEE.of(options):
            raise InputError(
                f"[protocol] threshold = {opening} is more than the committee of {COMMITTEE.of(options)}; raise "
                "committee, or lower threshold"
            )
        if SHARES.of(options) != SHARES.default and SCHEME.of(options) != "paillier":
            raise InputError('[protocol] shares is about the dealt key; add scheme = "paillier", or leave shares out')
        if RETRIEVAL.of(options) != RETRIEVAL.default and grid.cells > LARGEST_CHUNKED:
            raise InputError(
                f'[protocol] retrieval = "gentry-ramzan" reads from {LARGEST_CHUNKED:,} cells at most, the grid has '
                f"{grid.cells:,}; set grid = {LARGEST_CHUNKED}"
            )
        return cls(
            k=study.privacy.k,
            low=low,
            high=high,
            b=OFFSET.of(options),
            jitter=jitter,
            committee=COMMITTEE.of(options),
            spare=SPARE.of(options),
            cut="fall" if CUT.of(options) == "fall" else "hansen-mukherjee",
            scheme=SCHEME.of(options),
            shares="shamir" if SHARES.of(options) == "shamir" else "asmuth-bloom",
            opening=opening,
            retrieval=RETRIEVAL.of(options),
            grid=grid,
            l=None if study.privacy.l is None else at_least(study.privacy.l, 64),
            diversity=study.privacy.diversity,
            watched=() if study.privacy.l is None else study.sensitive,
            row_bytes=_row_bytes(study),
        )

    def class_size(self, respondents: int) -> int:
        """The fewest members that a class is cut for: k and the spare ones, if there are so many respondents."""
        return max(self.k, min(self.k + self.spare, respondents))

    @property
    def mean(self) -> float:
        """The mean of one random number."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """The variance of one random number: uniform on the whole numbers from low to high."""
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    @property
    def largest_image(self) -> int:
        """The largest position that a respondent can have."""
        return 2 * self.high * (self.b + self.grid.cells) + (2 * self.low if self.jitter else 0)

    @property
    def dealt(self) -> bool:
        """True if positions are under a dealt Paillier key."""
        return self.scheme == "paillier"

    @property
    def entry_bytes(self) -> int:
        """The size of an entry of the index."""
        return self.bits // 4 if self.dealt else ELGAMAL_BYTES

    @property
    def bits(self) -> int:
        """The size of a dealt key."""
        return DEALT_BITS

    @property
    def private_retrieval(self) -> bool:
        """True if the index is too long to be sent to everyone."""
        return self.grid.cells > BROADCAST_CELLS and not self.chunked

    @property
    def chunked(self) -> bool:
        """True if the index is read by Gentry and Ramzan's scheme."""
        return self.retrieval == "gentry-ramzan"

    def threshold(self, trustees: int) -> int:
        """The number of so many trustees that open: what the study says, or a majority."""
        return min(self.opening, trustees) or trustees // 2 + 1


_LAST: list[tuple[Study, Parameters]] = []


def trees_of(study: Study) -> tuple[Hierarchy, ...]:
    """The quasi columns' trees, which the study lists in full, or whose public steps it gives."""
    return tuple(_tree(column) for column in study.quasi)


def _tree(column: Column) -> Hierarchy:
    if not isinstance(column.hierarchy, Interval):
        return column.tree()
    try:
        return StepTree(column.hierarchy)
    except InputError as error:
        raise InputError(f"column {column.name!r}: {error}") from None


def on_trees(study: Study, table: Table) -> Table:
    """A respondent's table with codes of these trees: numbers of an interval column become places among its steps."""
    if not any(isinstance(column.hierarchy, Interval) for column in study.quasi):
        return table
    trees = trees_of(study)
    return replace(table, trees=trees, codes=codes_on(trees, [tree.labels for tree in table.trees], table.codes))


def hub_of(study: Study) -> str:
    """The collector's name."""
    for party in study.parties:
        if party.role == "collector":
            return party.name
    raise InputError("protocol 'collect' needs a party with role = \"collector\"")


def _row_bytes(study: Study) -> int:
    """The longest carried row: msgpack adds at most five bytes to a text, and five to the list."""
    cells = [
        max((len(value.encode()) for value in domain(column)), default=OPEN_CELL_BYTES) for column in carried(study)
    ]
    return 5 + sum(5 + cell for cell in cells)
