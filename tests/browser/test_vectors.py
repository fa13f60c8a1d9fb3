"""Answers made by the page's own program, in JavaScript, against the Python side: the same numbers, the same bytes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from benchmarks import _adult
from tests.collection.peeling_town import BrowserTown
from tests.harness.tiers import THOROUGH, examples

from covey.crypto import sharing
from covey.crypto.group import ORDER
from covey.crypto.letter import LetterKey, seal
from covey.crypto.rng import Rng, fresh_seed
from covey.crypto.scalar_field import FQ
from covey.errors import InputError
from covey.party.collection import page, questions
from covey.party.collection.invitation import Invitation
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.party.session.playing import letter_keys
from covey.protocols.collect_peel import letters
from covey.protocols.collect_peel.layout import RecordLayout

COLUMNS = """
[columns.age]
role = "quasi"
hierarchy = { min = 16, top = 90, steps = [5, 10, 20] }
label = { en = "How old are you?", de = "Wie alt sind Sie?" }
[columns.born]
role = "quasi"
hierarchy = { age_on = 2026-01-01, top = 90, steps = [5, 10] }
missing = "error"
[columns.income]
role = "quasi"
hierarchy = { min = 0, max = 90000, unit = 1000, round = true, steps = [5000, 10000] }
[columns.visit]
role = "quasi"
hierarchy = { date = ["month", "year"], min = 2024-01-01, max = 2025-12-31 }
[columns.temperature]
role = "quasi"
hierarchy = { bottom = 35.5, max = 42, unit = 0.5, steps = [1, 2] }
missing = "error"
[columns.region]
role = "quasi"
hierarchy = "region.csv"
null = ["?", "NA"]
[columns.code]
role = "quasi"
hierarchy = { prefix = [2, 1] }
values = ["101", "102", "111", "201", "211", "212", "221", "301", "302", "311", "321", "331", "332", "341"]
[columns.drinks]
role = "sensitive"
values = ["never", "sometimes", "often"]
answers.de = { never = "nie", sometimes = "manchmal", often = "oft" }
[columns.pills]
role = "sensitive"
type = "number"
values = ["2", "1", "0", "3"]
missing = "error"
[columns.dose]
role = "plain"
hierarchy = { min = 0, top = 50, steps = [10] }
[columns.note]
role = "plain"
[columns.weight]
role = "plain"
type = "number"
missing = "error"
[columns.day]
role = "plain"
type = "date"
"""
REGIONS = 'Ashby;North;*\nBrook;North;*\nÇastle;South;*\nDéal;South;*\n<b>&"E";South;*\n'
Raw = dict[str, str | None]
MALFORMED = 1000 if THOROUGH else 100


@cache
def node() -> str:
    """The program that runs the page's script outside a browser; the test is skipped where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not on this machine (scripts/install-system.sh installs it)")
    return found


@dataclass(frozen=True)
class Job:
    """An answer that the page's program is to make, from what stands in its fields and what it draws."""

    handle: str
    raws: Raw
    drawn: list[str] | None = None


@dataclass
class Survey:
    """A study with every kind of question, and its trustees."""

    town: BrowserTown
    script: Path

    def __post_init__(self) -> None:
        self.study = self.town.study
        self.layout = RecordLayout.of(self.study)
        self.data = page.describe(self.study)
        self.names = self.study.of_party_role("trustee")
        known = letter_keys(None, Roster.of(self.study)).known
        self.public = {name: known[name] for name in self.names}
        own = {name: keyring.load(self.town.folder / f"keys-{name}") for name in self.names}
        self.own = {name: LetterKey.of_signing(keys.signing) for name, keys in own.items()}
        parts = [Path(page.__file__).parent / name for name in ("seal.js",)]
        self.script.write_text("".join(each.read_text() for each in parts))

    def run(self, jobs: Sequence[Job], invitations: Sequence[str] = ()) -> dict[str, list[dict[str, str]]]:
        """What the page's program makes of these answers."""
        listed = [vars(job) for job in jobs]
        given = json.dumps({"data": self.data, "jobs": listed, "invitations": invitations})
        program = [node(), "--no-warnings", str(Path(__file__).parent / "vectors.js"), str(self.script)]
        done = subprocess.run(program, input=given, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
        return found

    def expected(self, raws: Raw) -> list[int]:
        """The numbers of a record as Python has them."""
        return self.layout.spell(questions.table_of(self.study, questions.accept(self.study, raws)))

    def opened(self, handle: str, content: bytes) -> list[int]:
        """The record that the trustees can put together from an answer."""
        answer = letters.unpack(content, len(self.names))
        shares = {}
        for place, (name, sealed) in enumerate(zip(self.names, answer.letters, strict=True), start=1):
            found = letters.read(self.study.study_hash, handle, name, self.own[name], sealed, self.layout.width)
            assert found is not None
            shares[place] = found
        opened: list[int] = sharing.reveal(shares, sharing.threshold(len(self.names)), FQ).tolist()
        return opened


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    folder = tmp_path_factory.mktemp("survey")
    (folder / "region.csv").write_text(REGIONS)
    return Survey(BrowserTown(folder, columns=COLUMNS), folder / "seal.js")


class Given:
    """Streams of bytes that were drawn before, in the order in which the page draws them."""

    def __init__(self, drawn: list[bytes]) -> None:
        self._drawn, self._rest = drawn, b""

    def stream(self, *labels: object) -> Given:
        self._rest = self._drawn.pop(0)
        return self

    def bytes(self, size: int) -> bytes:
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def drawn_raws(seed: int) -> Iterator[Raw]:
    """Answers as people type them, of every kind, some left unsaid."""
    draws = np.random.default_rng(seed)

    def one(*choices: str | None) -> str | None:
        return choices[int(draws.integers(len(choices)))]

    while True:
        year, month, day = draws.integers(1930, 2025), draws.integers(1, 13), draws.integers(1, 29)
        yield {
            "age": one(None, str(draws.integers(16, 130)), f" {draws.integers(16, 90)} ", "090"),
            "born": f"{year}-{month:02}-{day:02}",
            "income": one(None, str(draws.integers(0, 90000)), "500", "1499.999", "0", "90000.4"),
            "visit": one(None, f"{draws.integers(2024, 2026)}-{month:02}-{day:02}", "2024-02-29", "2025-12-31"),
            "temperature": one("35.5", "30", "36", "36.5", "42", "41.50", "+37.0", "-5"),
            "region": one(None, "Ashby", "Çastle", "Déal", '<b>&"E"', "C\u0327astle"),
            "code": one(None, "101", "341", "212"),
            "drinks": one(None, "never", "sometimes", "often"),
            "pills": one("0", "1", "2", "3"),
            "dose": one(None, "0", "7", "49", "50", "3000"),
            "note": one(None, "a note", "'=1+1", "'-5", "ñandú " * 7, "e\u0301", "  outer  ", "x" * 62, "👩‍👩‍👧‍👦"),
            "weight": one("70", "70.50", "-0", "0.000000001", "123456789012345678", "+3", "007"),
            "day": one(None, "2024-02-29", "1900-01-01"),
        }


def test_answers_made_by_the_page_are_byte_for_byte_those_of_the_command_line(survey: Survey) -> None:
    raws = drawn_raws(1)
    width, jobs = survey.layout.width, []
    for number in range(examples(100)):
        drawn = [fresh(48 * width), *(fresh(32) for _ in survey.names)]
        jobs.append(Job(f"r-{number}", next(raws), [each.hex() for each in drawn]))
    made = survey.run(jobs)["answers"]
    for job, answer in zip(jobs, made, strict=True):
        assert "refused" not in answer, (job, answer)
        record, handle = survey.expected(job.raws), job.handle
        given = Given([bytes.fromhex(each) for each in job.drawn or ()])
        due = letters.write(survey.study.study_hash, handle, record, survey.public, cast("Rng", given))
        assert answer["content"] == letters.pack(due).hex()
        assert answer["line"] == letters.line(handle, due).hex()
        assert survey.opened(handle, bytes.fromhex(answer["content"])) == record


def test_the_page_refuses_what_the_study_does_not_allow(survey: Survey) -> None:
    fine = next(drawn_raws(2))
    wrong = {
        "age": ("15", "x", "1e2", "", "20.5"), "born": (None, "", "2026-02-30", "2026-06-01", "yesterday"),
        "income": ("90600", "-600", "12,345.6"), "visit": ("2023-12-31", "2026-01-01", "2025-2-1"),
        "temperature": (None, "", "36.25", "42.5"), "region": ("NA", "Elsewhere"), "code": ("999",),
        "drinks": ("Often?",), "pills": (None, "4"), "note": ("x" * 63, "a\u0001b"), "weight": (None, "heavy", "1e400"),
        "day": ("29.02.2024",),
    }  # fmt: skip
    jobs = [
        (name, Job("r-1", {**fine, name: value}))
        for name, values in wrong.items()
        for value in values
        if not (name == "region" and value == "NA")
    ]
    made = survey.run([job for _, job in jobs])["answers"]
    assert [answer.get("refused") for answer in made] == [name for name, _ in jobs]
    for asked, job in jobs:  # and so does Python, but for words that only a field for one kind of thing can hold back
        if asked not in ("note", "day", "weight", "income", "age"):
            with pytest.raises(InputError):
                survey.expected({name: value for name, value in job.raws.items() if value is not None})


def test_malformed_letters_are_refused(survey: Survey) -> None:
    raws, many = drawn_raws(3), MALFORMED
    jobs = [Job(f"r-{number}", next(raws)) for number in range(5)]
    made = [bytes.fromhex(each["content"]) for each in survey.run(jobs)["answers"]]
    assert survey.opened("r-0", made[0]) == survey.expected(jobs[0].raws)
    draws, width, study = np.random.default_rng(4), survey.layout.width, survey.study.study_hash
    refused = 0
    for number in range(many):
        place = int(draws.integers(len(made)))
        answer = letters.unpack(made[place], len(survey.names))
        own = int(draws.integers(len(survey.names)))
        name, sealed, handle, hashed = survey.names[own], answer.letters[own], f"r-{place}", study
        match number % 7:
            case 0:
                at = int(draws.integers(len(sealed)))
                sealed = sealed[:at] + bytes([sealed[at] ^ (1 << int(draws.integers(8)))]) + sealed[at + 1 :]
            case 1:
                sealed = sealed[: int(draws.integers(len(sealed)))]
            case 2:
                handle = f"r-{place + 1}"
            case 3:
                hashed = survey.study.roster_hash
            case 4:
                sealed = answer.letters[(own + 1) % len(survey.names)]
            case 5:
                sealed = bent(survey, handle, name, [ORDER] * width)
            case _:
                sealed = bent(survey, handle, name, [1] * (width + 1 + number % 2 * -2))
        refused += letters.read(hashed, handle, name, survey.own[name], sealed, width) is None
    assert refused == many
    for content in (made[0][:-1], made[0] + b"\0", b"\x92" + made[0][1:], b"", b"\xc0"):
        with pytest.raises(InputError):
            letters.unpack(content, len(survey.names))


def bent(survey: Survey, handle: str, name: str, content: Sequence[int]) -> bytes:
    """A letter to that trustee with other numbers in it than an answer has."""
    packed = b"".join(number.to_bytes(32, "little") for number in content)
    stream = Rng(fresh_seed()).stream("letter")
    context = letters._context(survey.study.study_hash, handle, name)
    return seal(packed, survey.public[name], stream, *context)


def fresh(size: int) -> bytes:
    return Rng(fresh_seed()).stream("vector").bytes(size)


def test_the_page_reads_invitations_and_links_and_nothing_else(survey: Survey) -> None:
    tokens = survey.town.invite(3)
    spoilt = [tokens[0][:-1] + ("A" if tokens[0][-1] != "A" else "B"), tokens[0][:40], "covey-", "", "https://x/#"]
    found = survey.run([], [*tokens, f"https://survey.example.org/#{tokens[0]}", *spoilt])["invitations"]
    for token, read in zip([*tokens, tokens[0]], found, strict=False):
        due = Invitation.parse(token)
        assert read == {
            "fingerprint": due.fingerprint.hex(), "study": due.study.hex(), "secret": due.secret.hex(),
            "token": read["token"],
        }  # fmt: skip
    assert found[4:] == [None] * len(spoilt)
    assert Invitation.parse(f"https://survey.example.org/#{tokens[1]}") == Invitation.parse(tokens[1])


@pytest.mark.slow
def test_a_thousand_answers_of_the_page_open_in_python(survey: Survey) -> None:
    raws = drawn_raws(5)
    jobs = [Job(f"r-{number}", next(raws)) for number in range(1000)]
    made = survey.run(jobs)
    for job, answer in zip(jobs, made["answers"], strict=True):
        assert "refused" not in answer, (job, answer)
        assert survey.opened(job.handle, bytes.fromhex(answer["content"])) == survey.expected(job.raws)


def test_a_page_of_adults_columns_is_small(tmp_path: Path) -> None:
    columns = [f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{name}.csv"\n' for name in _adult.QUASI]
    if not _adult.is_here():
        pytest.skip("the Adult table is not on this machine")
    shutil.copytree(_adult.FOLDER, tmp_path, dirs_exist_ok=True)
    town = BrowserTown(tmp_path, columns="".join(columns) + _adult.SALARY)
    assert len(page.build(town.study)) < 100_000
