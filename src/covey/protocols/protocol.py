"""A protocol for those who run it: its declaration, the input of a role, and its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, NamedTuple
from typing import Protocol as Interface

import pyarrow as pa

from covey.crypto.letter import LetterKey
from covey.crypto.secret import Secret
from covey.errors import PeerError
from covey.protocols.printed import Printed
from covey.secure.declare import Leakage, Lesson
from covey.study import Study
from covey.study.requirements import Requirements
from covey.summary import SingledOut
from covey.table import Table
from covey.version import ProtocolVersion
from covey.wire import Channel


class RoleProgress(Interface):
    """A display of progress, to which a role tells how far it is."""

    def phase(self, name: str, of: int = 1) -> None:
        """A phase of the protocol's declaration begins; it has that many steps."""

    def reach(self, done: int) -> None:
        """That many steps of the phase are done."""


class LedgerWriter(Interface):
    """A ledger, in which a role notes before an opening what everyone is about to learn from it."""

    def learns(self, leakage: Leakage, **numbers: object) -> None:
        """From here on every party may know what the sentences of its role say."""


class Unheeded:
    """Progress that nobody follows, and a ledger that nobody keeps."""

    def phase(self, name: str, of: int = 1) -> None: ...

    def reach(self, done: int) -> None: ...

    def learns(self, leakage: Leakage, **numbers: object) -> None: ...


SILENT = Unheeded()


@dataclass(frozen=True)
class Figures:
    """Figures of a release, as far as they are known; `None` where nothing was computed."""

    rows: int
    classes: int
    k_reached: int
    l_reached: float | None = None
    insider_k: int | None = None
    """The fewest records of others that any party sees in a class where it sees some."""
    withheld: int = 0
    suppressed_cells: int = 0
    loss: Mapping[str, float | None] = field(default_factory=dict)
    query_error: Mapping[str, float] | None = None
    """By number of columns: the relative error of random COUNT queries over all rows; None where nobody asked."""
    singled_out: SingledOut | None = field(default=None, compare=False)
    """Counted, as what is kept, once the rows have been opened: no figure of a protocol or of its ideal."""
    kept: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Preview:
    """A look at the classes that are public before the rows are opened."""

    losses: Mapping[str, float]
    """By quasi column: LM."""
    classes: tuple[tuple[tuple[str, ...], int], ...]
    """Some classes: the labels in the quasi columns, and the number of rows."""
    own: tuple[int, int] | None = None
    """The number of this party's own rows that would be published, and of those that would be withheld."""


@dataclass(frozen=True)
class Recognition:
    """The people whose rows an owner of columns finds in the release by its exact columns."""

    people: int
    alone: int
    few: int
    """Among fewer than k rows, those who are alone included."""
    losses: Mapping[str, float | None] = field(default_factory=dict)
    """The columns for which the study does not allow it; at their owner with the LM of each if it were generalized."""


@dataclass(frozen=True)
class Proposal:
    """The proposal that a party approves: figures from what is public so far, and what the last opening will show."""

    opens: Leakage
    """What each role learns by the opening."""
    numbers: Mapping[str, object] = field(default_factory=dict)
    """The numbers that its sentences mention."""
    figures: Figures | None = None
    """None where nothing of the release is known before it is opened, or where this party gets no release."""
    preview: Preview | None = None
    """None where the classes are not public before the opening."""
    known_to_all: bool = False
    """True if figures and preview follow from what every party has learned, so that all see them before they vote."""
    alone: Sequence[str] = ()
    """Exact columns of which one released row alone has a value, though the study does not allow it."""
    recognition: Recognition | None = None
    """The people whom this party recognises; None where it publishes no exact columns, or rows are split."""

    @property
    def digest(self) -> bytes:
        """The hash of the figures that a vote names; machines may differ in a float's last digits."""
        given = {} if self.figures is None else asdict(self.figures)
        content = {name: value for name, value in given.items() if name not in ("singled_out", "kept")} or None
        return hashlib.sha256(json.dumps(_rounded(content), sort_keys=True).encode()).digest()


def _rounded(content: object) -> object:
    if isinstance(content, float):
        return f"{content:.9g}"
    if isinstance(content, Mapping):
        return {name: _rounded(value) for name, value in content.items()}
    return content


class Attendance(Interface):
    """The rule of a run for a party that breaks the protocol, and the number that it serves at once."""

    crowd: int
    """How many may be sent something large at the same time."""

    def excuse(self, error: PeerError) -> None:
        """Leaves out whoever broke the protocol. Raises the error where the run cannot do without."""


class Everyone:
    """Nobody can be left out: the rule, but for collections among many people."""

    crowd = 32

    def excuse(self, error: PeerError) -> None:
        """Raises it."""
        raise error


EVERYONE = Everyone()


def _any_board(board: bytes) -> None:
    """Evaluates every board: the rule of a simulation."""


@dataclass(frozen=True)
class Letters:
    """Respondents' letters as a party has them."""

    delivered: Mapping[str, bytes] = field(default_factory=dict)
    """Those that the collector was handed, by handle."""
    own: LetterKey | None = None
    """A trustee's key for them."""
    evaluate: Callable[[bytes], None] = _any_board
    """Notes which letters a trustee is about to evaluate. Raises InputError if it has evaluated others before."""


SHARES = "box"
"""The step at which parties compute on shares."""
LAST = 1 << 31
"""The number of the last state, when a role has nothing more to say."""


@dataclass(frozen=True)
class States:
    """The states of a role that computes on shares, from which a run that was cut off goes on.

    It speaks at `channel.at(SHARES, attempt)`, so that no two attempts say different things at one place.
    """

    attempt: int = 1
    goes_on: bool = False
    """True if those who compute go on from a state."""
    last: bytes | None = None
    """This state; None at a party that does not compute."""
    keep: Callable[[int, Callable[[], tuple[bytes, tuple[bytes, ...]]]], None] = lambda number, spell: None
    """Keeps a state, by its number, in place of the one before the last; numbers rise.

    Beside it stand hashes of what a party has in common with the one before it, and the one behind.
    """


NO_STATES = States()
"""Of a run in one process, or in the open."""


@dataclass(frozen=True)
class Seat:
    """All that a role is given. It knows no file, no socket and no clock."""

    study: Study
    table: Table | None
    """This party's records; None for a party without data of its own."""
    channel: Channel
    progress: RoleProgress
    ledger: LedgerWriter
    approve: Callable[[Proposal], Awaitable[None]]
    """Asks everyone; returns if all agree. To be awaited, mostly by `propose`, right before the release is opened."""
    lasting: Secret
    """A secret of this party that is the same in every run of the protocol with the same keys."""
    attendance: Attendance = EVERYONE
    letters: Letters | None = None
    """Respondents' letters, in a collection by trustees."""
    states: States = NO_STATES

    @property
    def party(self) -> str:
        """This party's name."""
        return self.channel.me

    @property
    def records(self) -> Table:
        """This party's records, which a holder always has."""
        if self.table is None:
            raise TypeError(f"party {self.party!r} has no records; its role must not ask for them")
        return self.table

    def note(self, *lessons: Lesson) -> None:
        """Writes into the ledger what the next step teaches."""
        for leakage, numbers in lessons:
            self.ledger.learns(leakage, **numbers)

    async def propose(self, proposal: Proposal) -> None:
        """Asks everyone for approval; once all agree, the ledger has what the opening shows, before it is opened."""
        await self.approve(proposal)
        self.note((proposal.opens, proposal.numbers))


@dataclass(frozen=True)
class Computed:
    """The parties that computed on shares, and whether one of them that deviated was stopped."""

    parties: tuple[str, ...]
    cheating: str
    """"detect" or "trust", as the study spells it."""
    soundness_bits: int | None = None
    """A deviation went unnoticed with a chance of at most 2^-bits; None where nothing was checked, or by others."""


@dataclass(frozen=True)
class Result:
    """The result of a role: the release and its figures, or neither where the party gets none."""

    release: pa.Table | None = None
    figures: Figures | None = None
    classes: pa.Table | None = None
    """The classes with what else the run tells of each; None where it tells no more than the release."""
    computed: Computed | None = None
    """None where nobody computes on shares."""


@dataclass(frozen=True)
class Forecast:
    """The cost of a run, all parties together, and what it will teach."""

    rounds: int
    messages: int
    bytes: int
    seconds: float
    """Of computing, at the slowest party."""
    lessons: Sequence[Lesson] = ()
    """Who learns what of them follows from the parties' roles."""
    mind: tuple[str, ...] = ()
    """What to think of before a run: sentences that no ledger repeats."""
    insider_k: int | None = None
    """An estimate of the release's insider k, from the numbers of rows."""
    choices: Mapping[str, Forecast] = field(default_factory=dict)
    """The same under other options, as a study would spell them, what teaches least first."""
    chosen: str = ""
    """The one of these that the study has."""


@dataclass(frozen=True)
class Line:
    """One line of a protocol's script: messages that are to be found in every transcript of it."""

    step: str
    """The step, where `*` stands for any number or name between two slashes."""
    tag: str
    times: int | None = None
    """How many each sender sends to each recipient at each such step; None where the data decide."""
    size: int | None = None
    """Bytes of each on the wire, within 2%; None where they differ."""
    roles: tuple[str, str] | None = None
    """The sender's role and the recipient's; None where every party says it to every other."""
    needs: tuple[str, ...] = ()
    """The settings without which a study has no such message."""


class Memory(NamedTuple):
    """Bytes of memory that a party takes, as `python -m benchmarks memory` measures them, and a little more.

    Those of its process with all that a small run needs, and those for each row of all parties, or person they share.
    """

    process: int
    row: int


LITTLE = Memory(300 * 10**6, 500)
"""The memory of a protocol that keeps little for each row."""

Role = Callable[[Seat], Awaitable[Result]]


@dataclass(frozen=True)
class Demonstration:
    """The sample that `covey demo` shows a protocol on, and how the sample's study is changed for it."""

    sample: str = "hospitals"
    changes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Keys that are set, by section."""
    without: tuple[str, ...] = ()
    """Parties that are left out."""


@dataclass(frozen=True)
class Protocol:
    """One row of `covey protocols`: everything that the parties' runtime needs to know of a protocol."""

    name: str
    version: int
    """Raised with every change of messages or of an option's default: parties of other versions do not run together."""
    about: str
    source: str
    requirements: Requirements
    needs: str
    guarantees: str
    released_to: str
    phases: tuple[str, ...]
    leakage: Leakage
    roles: Mapping[str, Role]
    """Roles by name, as the ledger's sentences have them."""
    foresee: Callable[[Study, Mapping[str, int]], Forecast]
    ideal: Callable[[Study, Mapping[str, Table]], Result]
    printed: Printed | None = None
    """What a paper's own system opens and repairs; None for a protocol of ours."""
    plays: Callable[[Study, str], str] | None = None
    """The name of the role that a party plays; None where the study says it, and parties without one play the first."""
    receives: Callable[[Study, str], bool] = lambda study, party: True
    """Whether a party gets the release."""
    rehearse: Callable[[Study, Mapping[str, int], Table], Forecast] | None = None
    """`foresee` where the others' records are like these of one party; None where numbers of rows tell enough."""
    accepts: Callable[[Study, Table], None] = lambda study, own: None
    """Raises InputError, before anyone is met, for a party's own records with which a role would end later."""
    judge: Callable[[Study], object] = lambda study: None
    """Raises InputError for a study that the protocol cannot run; what it returns does not matter."""
    release: Literal["records", "counts"] = "records"
    counts_first: bool = False
    """True if a run that singles people out ends before any cell is opened."""
    memory: Memory = LITTLE
    counts_suffice: bool = False
    """True if a role works on distinct tuples and their numbers of records, so that rows may stay on an engine."""
    moves_records: bool = False
    """True if it then makes single records of them, so that its memory grows with their number."""
    demonstration: Demonstration = Demonstration()
    computing: Callable[[Study], Sequence[str]] | None = None
    """The parties that compute on shares, where these keep states instead of messages."""
    script: Callable[[Study], tuple[Line, ...] | None] | None = None
    """What an audit holds transcripts of a study to; None where only a replay can tell."""

    @property
    def spoken(self) -> ProtocolVersion:
        """The protocol with its version, as a greeting carries it."""
        return ProtocolVersion(self.name, self.version)

    def role_name(self, study: Study, party: str) -> str:
        """The name of the role that a party plays."""
        if self.plays is not None:
            return self.plays(study, party)
        given = (own.role for own in study.parties if own.name == party)
        return next(given, None) or next(iter(self.roles))

    def learned(self, study: Study, lessons: Sequence[Lesson]) -> dict[str, list[str]]:
        """The sentences of these lessons that are for each party's role, by party."""
        roles = {party.name: self.role_name(study, party.name) for party in study.parties}
        return {
            name: [line for leakage, numbers in lessons for line in leakage.sentences(role, **numbers)]
            for name, role in roles.items()
        }

    async def play(self, seat: Seat) -> Result:
        """Plays the role of the seat's party to its end."""
        return await self.roles[self.role_name(seat.study, seat.party)](seat)

    def lacks(self, option: str) -> bool:
        """True if it has no option of that name."""
        return self.requirements.option(option) is None
