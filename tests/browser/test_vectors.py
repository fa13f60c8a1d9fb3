"""Letters written by the page's own program, in JavaScript, against the Python side: the same words, the same bytes."""

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
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.collection.peeling_town import BrowserTown
from tests.harness.tiers import THOROUGH, examples

from covey.arrays import Words
from covey.crypto.letter import LetterKey, seal
from covey.crypto.rng import Rng, fresh_seed
from covey.errors import InputError
from covey.party.collection import page, questions
from covey.party.collection.invitation import Invitation
from covey.protocols.peel import letters
from covey.protocols.peel.respondents import judge, word_of

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
        self.word = word_of(self.study, judge(self.study))
        self.data = page.describe(self.study)
        self.names = self.study.of_party_role("trustee")
        self.own = {name: LetterKey.draw(Rng(fresh_seed()).stream(name)) for name in self.names}
        self.public = {name: key.public for name, key in self.own.items()}
        self.seed = fresh(32)
        self.enrolment = Ed25519PrivateKey.from_private_bytes(self.seed)
        self.key = self.enrolment.public_key().public_bytes_raw()
        parts = [Path(page.__file__).parent / name for name in ("seal.js",)]
        self.script.write_text("".join(each.read_text() for each in parts))

    def run(self, jobs: Sequence[Job], invitations: Sequence[str] = ()) -> dict[str, list[dict[str, str]]]:
        """What the page's program makes of these answers."""
        listed = [vars(job) for job in jobs]
        keys = [self.public[name].hex() for name in self.names]
        content = {"data": self.data, "jobs": listed, "invitations": invitations, "keys": keys, "seed": self.seed.hex()}
        given = json.dumps(content)
        program = [node(), "--no-warnings", str(Path(__file__).parent / "vectors.js"), str(self.script)]
        done = subprocess.run(program, input=given, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
        return found

    def words(self, raws: Raw) -> Words:
        """The word of a record as Python has it."""
        return self.word.words(questions.table_of(self.study, questions.accept(self.study, raws)))

    def expected(self, raws: Raw) -> bytes:
        """The same in bytes."""
        return letters.packed_word(self.words(raws), self.word.width)

    def opened(self, handle: str, content: bytes) -> bytes:
        """The word that the trustees can put together from a letter."""
        answer, study, width = letters.unpack(content, self.word.width), self.study.study_hash, self.word.width
        assert letters.is_signed(study, handle, answer)
        assert answer.key == self.key
        read = [
            letters.read(study, handle, self.key, name, self.own[name], sealed, width)
            for name, sealed in zip(self.names, answer.parts, strict=True)
        ]
        halves = [(part[: len(part) // 2], part[len(part) // 2 :]) for part in read if part is not None]
        assert all(halves[place][1] == halves[(place + 1) % 3][0] for place in range(3)), "two have each share"
        return bytes(one ^ two ^ three for one, two, three in zip(*(half[0] for half in halves), strict=True))


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
            "note": one(None, "a note", "'=1+1", "'-5", "ñandú " * 7, "e\u0301", "  outer  ", "x" * 64, "👩‍👩‍👧‍👦"),
            "weight": one("70", "70.50", "-0", "0.000000001", "123456789012345678", "+3", "007"),
            "day": one(None, "2024-02-29", "1900-01-01"),
        }


def test_answers_made_by_the_page_are_byte_for_byte_those_of_the_command_line(survey: Survey) -> None:
    raws = drawn_raws(1)
    size, jobs = -(-survey.word.width // 8), []
    for number in range(examples(100)):
        drawn = [fresh(2 * size), *(fresh(32) for _ in survey.names)]
        jobs.append(Job(f"r-{number}", next(raws), [each.hex() for each in drawn]))
    made = survey.run(jobs)["answers"]
    for job, answer in zip(jobs, made, strict=True):
        assert "refused" not in answer, (job, answer)
        record, handle = survey.expected(job.raws), job.handle
        shares, *seals = [bytes.fromhex(each) for each in job.drawn or ()]
        rng = cast("Rng", Given([shares[:size], shares[size:], *seals]))
        enrolment = survey.key, survey.enrolment.sign
        words, study = survey.words(job.raws), survey.study.study_hash
        due = letters.write(study, handle, words, survey.word.width, survey.public, rng, enrolment)
        assert answer["content"] == letters.pack(due).hex()
        assert answer["line"] == letters.line(handle, due.digests).hex()
        assert survey.opened(handle, bytes.fromhex(answer["content"])) == record


def test_the_page_refuses_what_the_study_does_not_allow(survey: Survey) -> None:
    fine = next(drawn_raws(2))
    wrong = {
        "age": ("15", "x", "1e2", "", "20.5"), "born": (None, "", "2026-02-30", "2026-06-01", "yesterday"),
        "income": ("90600", "-600", "12,345.6"), "visit": ("2023-12-31", "2026-01-01", "2025-2-1"),
        "temperature": (None, "", "36.25", "42.5"), "region": ("NA", "Elsewhere"), "code": ("999",),
        "drinks": ("Often?",), "pills": (None, "4"), "note": ("x" * 65, "a\u0001b"), "weight": (None, "heavy", "1e400"),
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
    draws, width, study = np.random.default_rng(4), survey.word.width, survey.study.study_hash
    refused = 0
    for number in range(many):
        place = int(draws.integers(len(made)))
        answer, key = letters.unpack(made[place], width), survey.key
        own = int(draws.integers(len(survey.names)))
        name, sealed, handle, hashed = survey.names[own], answer.parts[own], f"r-{place}", study
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
                sealed = answer.parts[(own + 1) % len(survey.names)]
            case 5:
                key = bytes(32)
            case _:
                sealed = bent(survey, handle, name, bytes(len(sealed) - 48 + 1 + number % 2 * -2))
        refused += letters.read(hashed, handle, key, name, survey.own[name], sealed, width) is None
    assert refused == many
    for content in (made[0][:-1], made[0] + b"\0", b"\x92" + made[0][1:], b"", b"\xc0"):
        with pytest.raises(InputError):
            letters.unpack(content, width)


def bent(survey: Survey, handle: str, name: str, content: bytes) -> bytes:
    """A part for that trustee with another content than shares of a word."""
    context = letters.context(survey.study.study_hash, handle, survey.key, name)
    return seal(content, survey.public[name], Rng(fresh_seed()).stream("letter"), *context)


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
