"""The agreement that all parties share; its canonical hash is the study's id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

from covey.errors import InputError
from covey.files import write_atomically
from covey.option import Value
from covey.plain import Shown
from covey.schema import Column, Role, Texts
from covey.study import requirements
from covey.study.requirements import Requirements

Partition = Literal["horizontal", "vertical", "respondents"]
Sizes = Literal["private", "public"]
Diversity = Literal["frequency", "distinct", "entropy"]
RESPONDENTS = "respondents"
"""The name under which all people who enrol stand together: in plans, ledgers and summaries, and for their table."""
INSIDER_K = 2
"""The k toward insiders that a protocol which can keep one keeps, where a study says nothing."""
_LATER = ("l_insider", "most_of_a_class")
"""Keys of [privacy] that older studies do not know: a study without them has the hash that it always had."""


@dataclass(frozen=True)
class Privacy:
    """The requirements that every class of the release must meet."""

    k: int
    l: float | None = None  # noqa: E741 - the field's name for it
    diversity: Diversity = "frequency"
    c: float | None = None
    t: float | None = None
    site_l: int | None = None
    delta: float | None = None
    k_insider: int | None = None
    l_insider: float | None = None
    most_of_a_class: float | None = None
    """The largest part of a class that may be one party's."""


@dataclass(frozen=True)
class Party:
    """One participant: where it is and what it holds."""

    name: str
    address: str | None = None
    certificate: Path | None = None
    columns: tuple[str, ...] | None = None
    role: str | None = None
    label: Texts = ()  # the party's name for people, by language

    @property
    def holds_data(self) -> bool:
        return self.role is None


@dataclass(frozen=True)
class Authority:
    """The party that issues identity keys, where a protocol needs one."""

    address: str | None = None
    certificate: Path | None = None


@dataclass(frozen=True)
class Relay:
    """The message broker of parties without an address, and its certificate if it is pinned."""

    url: str
    certificate: Path | None = None


@dataclass(frozen=True, repr=False)
class Study(Shown):
    """One joint release: its columns, its parameters, its parties."""

    name: str
    columns: tuple[Column, ...]
    privacy: Privacy
    protocol: str | None = None
    partition: Partition | None = None
    sizes: Sizes = "private"
    mismatch: Literal["intersect", "abort"] = "intersect"
    rows_at_most: int | None = None
    measure: str = "lm"
    suppression: float = 1.0
    effort: str | None = None
    """How long one owner's search goes on, where the study says it."""
    evaluates_jointly: bool = False
    """True if the parties add up, unseen, how far queries on the release are from the truth of all rows."""
    parties: tuple[Party, ...] = ()
    options: Mapping[str, Value] = field(default_factory=dict)
    authority: Authority | None = None
    relay: Relay | None = None
    path: Path | None = None
    text: str | None = field(default=None, repr=False, compare=False)
    """The file as it was read."""
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)  # every file it names, by its relative path
    as_written: bool = False  # its hash covers defaults that are said aloud, as that of 0.1.0 did
    title: Texts = ()  # for people, by language
    about: Texts = ()
    language: str = "en"  # of what people are told, where a text does not say

    @staticmethod
    def load(path: str | Path) -> Study:
        """The study in a file. Raises StudyError with every problem, each with its line."""
        from covey.study.read import load

        return load(Path(path))

    @staticmethod
    def parse(text: str, folder: str | Path = ".", files: Mapping[str, bytes] = MappingProxyType({})) -> Study:
        """The study in a text whose files are given, or lie in `folder`."""
        from covey.study.read import parse

        return parse(text, Path(folder), Path(folder) / "study.toml", files)

    @staticmethod
    def of(source: StudyLike) -> Study:
        """The study itself, or that of a file or of a dict of tables. Raises InputError for anything else."""
        from covey.study.document import Document, spell

        if isinstance(source, Study):
            return source
        if isinstance(source, str | Path):
            return Study.load(source)
        if isinstance(source, Mapping):
            return Study.parse(spell(cast("Document", source)))
        raise InputError(f"a study is a path, a Study or a dict of its tables, not {type(source).__name__}")

    def save(self, folder: str | Path) -> Path:
        """Writes study.toml and its files into a folder, and returns the path."""
        if self.text is None:
            raise InputError("the study has no text to save; read it with Study.load, Study.parse or Study.of")
        for name, content in {**self.files, "study.toml": self.text.encode()}.items():
            write_atomically(Path(folder, name), content)
        return Path(folder, "study.toml")

    def _shown(self) -> Iterator[tuple[str, str]]:
        yield "name", repr(self.name)
        for role in Role:
            if names := [column.name for column in self.of_role(role)]:
                yield str(role), ", ".join(names)
        yield "k", f"{self.privacy.k}"
        if self.protocol is not None:
            yield "protocol", self.protocol
            yield "parties", ", ".join(party.name for party in self.parties)

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"the study has no column {name!r}")

    def party(self, name: str) -> Party:
        for party in self.parties:
            if party.name == name:
                return party
        names = ", ".join(party.name for party in self.parties) or "none"
        raise InputError(f"the study has no party {name!r}; it has {names}")

    def of_role(self, *roles: Role) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role in roles)

    def of_party_role(self, role: str) -> tuple[str, ...]:
        """The names of the parties of that role, sorted."""
        return tuple(sorted(party.name for party in self.parties if party.role == role))

    @property
    def signers(self) -> frozenset[str]:
        """The parties that sign a run: all that the study names. For respondents the collector signs."""
        return frozenset(party.name for party in self.parties)

    @property
    def enrols(self) -> bool:
        """True if people enrol with the collector instead of being named in the study."""
        return self.partition == "respondents" and not self.holders

    @property
    def with_respondents(self) -> Study:
        """The study with all who enrol as one party more, where people do."""
        return replace(self, parties=(*self.parties, Party(RESPONDENTS))) if self.enrols else self

    @property
    def states_rows(self) -> bool:
        """True if every party states the number of its rows to the others."""
        return self.sizes == "public" and self.partition == "horizontal"

    @property
    def quasi(self) -> tuple[Column, ...]:
        return self.of_role(Role.QUASI)

    @property
    def sensitive(self) -> tuple[Column, ...]:
        return self.of_role(Role.SENSITIVE)

    @property
    def waiting(self) -> tuple[Column, ...]:
        """The columns that are left out until a person answers their question."""
        return self.of_role(Role.ASK)

    def l_of(self, column: Column) -> float | None:
        """The l that is asked of a sensitive column: its own, or that of [privacy]."""
        return self.privacy.l if column.l is None else column.l

    def t_of(self, column: Column) -> float | None:
        """The t that is asked of a sensitive column."""
        return self.privacy.t if column.t is None else column.t

    @property
    def key(self) -> Column | None:
        return next(iter(self.of_role(Role.KEY)), None)

    @property
    def released(self) -> tuple[Column, ...]:
        """The columns of the release, in its order."""
        return tuple(column for column in self.columns if column.released)

    @property
    def holders(self) -> tuple[Party, ...]:
        """The parties with data of their own."""
        return tuple(party for party in self.parties if party.holds_data)

    def held_by(self, party: str | None) -> tuple[Column, ...]:
        """The columns that a party's data must have: all, or its own and the key."""
        if party is None or self.partition != "vertical":
            return self.columns
        names = self.party(party).columns or ()
        return tuple(column for column in self.columns if column.name in names or column.role is Role.KEY)

    @cached_property
    def declared(self) -> Requirements | None:
        """The declaration of the protocol that the study asks for. None where it asks for none that is known."""
        return requirements.chosen(requirements.of_protocol(self.protocol or ""), self.partition, self.options)

    @cached_property
    def study_hash(self) -> str:
        """SHA-256 of all that is agreed, but addresses and certificates.

        A default said aloud, the order of keys, comments and white space do not count; the order of columns and
        parties is compared at the handshake instead (`layout`).
        """
        options, privacy = self._beyond_defaults()
        return _digest({
            "format": "covey-study/1",
            "name": self.name,
            "protocol": self.protocol,
            "partition": self.partition,
            "sizes": self.sizes,
            "mismatch": self.mismatch,
            "rows_at_most": self.rows_at_most,
            "privacy": {
                key: _number(value)
                for key, value in vars(privacy).items()
                if value is not None or key not in _LATER
            },
            "measure": self.measure,
            "suppression": _number(self.suppression),
            "columns": {column.name: column.describe() for column in self.columns},
            "parties": {
                party.name: {
                    "columns": None if party.columns is None else sorted(party.columns),
                    "role": party.role,
                    **({"label": dict(party.label)} if party.label else {}),
                }
                for party in self.parties
            },
            "options": {key: _number(value) for key, value in options.items()},
            "authority": self.authority is not None,
            "population": _sha256(self.files.get(str(self.options.get("population", "")))),
            **({"evaluate": "joint"} if self.evaluates_jointly else {}),
            **({} if self.effort is None else {"effort": self.effort}),
            **({"reference": _sha256(self.files.get(str(self.options["reference"])))}
               if "reference" in self.options else {}),
            **({"title": dict(self.title)} if self.title else {}),
            **({"about": dict(self.about)} if self.about else {}),
            **({} if self.language == "en" else {"language": self.language}),
        })  # fmt: skip

    @cached_property
    def roster_hash(self) -> str:
        """SHA-256 of the parties' addresses and certificates, and of the relay where there is one."""
        certificate = {party.name: self._content(party.certificate) for party in self.parties}
        content = {
            "format": "covey-roster/1",
            "parties": {party.name: [party.address, _sha256(certificate[party.name])] for party in self.parties},
            "authority": None if self.authority is None
            else [self.authority.address, _sha256(self._content(self.authority.certificate))],
        }  # fmt: skip
        if self.relay is not None:
            content["relay"] = [self.relay.url, _sha256(self._content(self.relay.certificate))]
        return _digest(content)

    @property
    def layout(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The order of columns and parties, for the release's header and some roles."""
        return tuple(column.name for column in self.columns), tuple(party.name for party in self.parties)

    @property
    def folder(self) -> Path:
        return self.path.parent if self.path is not None else Path()

    def as_recorded(self, study_hash: str) -> Study:
        """The study with the hash that a finished run of 0.1.0 recorded, else as it is."""
        older = replace(self, as_written=True)
        return older if study_hash == older.study_hash else self

    def _beyond_defaults(self) -> tuple[Mapping[str, Value], Privacy]:
        """The options and requirements without defaults that are said aloud."""
        if self.declared is None or self.as_written:
            return self.options, self.privacy
        unsaid = "k_insider" in self.declared.privacy and self.privacy.k_insider == INSIDER_K
        privacy = replace(self.privacy, k_insider=None) if unsaid else self.privacy
        return self.declared.beyond_defaults(self.options), privacy

    def _content(self, file: Path | None) -> bytes | None:
        return None if file is None else self.files.get(file.as_posix())


StudyLike: TypeAlias = "Study | str | Path | Mapping[str, object]"
"""A study, its file, or a dict of its tables."""


def _number(value: object) -> object:
    """Numbers as one spelling: 3 and 3.0 are the same agreement."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return repr(float(value)) if float(value) == value else str(value)
    if isinstance(value, tuple):
        return [_number(part) for part in value]
    return str(value)


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
