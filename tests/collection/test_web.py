"""The collector's port for browsers: keys and limits as for everyone else, whatever a caller sends."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.collection.peeling_town import BrowserTown, PeelingTown, come, keys_of
from tests.collection.town import collecting, record_of
from tests.conftest import Covey
from tests.harness.clock import on_real_clock

from covey.crypto.rng import Rng, fresh_seed, spell
from covey.errors import InputError
from covey.party.collection import page, receipts
from covey.party.collection.enrolment import statement
from covey.party.collection.invitation import Invitation
from covey.party.collection.page.compare import compare, fetch
from covey.party.collection.questions import table_of
from covey.party.collection.web import WebTask
from covey.protocols.peel import RESPONDENTS as PROTOCOL
from covey.protocols.peel import letters
from covey.protocols.peel.respondents import judge, word_of
from covey.study import Study
from covey.wire.contact import Address
from covey.wire.standing import web as wire_web
from covey.wire.standing.gate import GUESSES

pytestmark = pytest.mark.timeout(120)
Answered = tuple[int, dict[str, str]]


async def said(port: int, raw: bytes, *, secured: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    """The status and the content that are answered to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=secured)
    try:
        writer.write(raw)
        await writer.drain()
        async with asyncio.timeout(20):
            answer = await reader.read()
    except ConnectionResetError:  # hung up on before all was read
        return 413, b"{}"
    finally:
        writer.close()
    head, _, content = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]) if head else 0, content


@dataclass
class PageVisitor:
    """Somebody who speaks with the collector as the page does."""

    town: BrowserTown
    token: str
    own: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    handle: str = ""

    @property
    def key(self) -> bytes:
        return self.own.public_key().public_bytes_raw()

    async def post(self, path: str, content: bytes, headers: Mapping[str, str] | None = None) -> Answered:
        given = {"Covey-Protocol": str(PROTOCOL.version), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n{lines}\r\n"
        status, answer = await said(self.town.web_port, head.encode() + content)
        return status, json.loads(answer)

    async def enrol(self, **changes: str) -> Answered:
        invited = Invitation.parse(self.token)
        study, own = invited.study.hex(), invited.fingerprint.hex()
        proof = self.own.sign(statement(study, own, b"", invited.secret, self.key))
        asked = {"study": study, "secret": invited.secret.hex(), "key": self.key.hex(), "signature": proof.hex()}
        status, answer = await self.post("/api/enrol", json.dumps({**asked, **changes}).encode())
        self.handle = answer.get("handle", self.handle)
        return status, answer

    def sealed(self, place: int) -> bytes:
        study = self.town.study
        keys = {shown.trustee: shown.key for shown in keys_of(self.town)}
        word, table = word_of(study, judge(study)), table_of(study, record_of(place))
        given = (word.words(table), word.width, keys, Rng(fresh_seed()), (self.key, self.own.sign))
        return letters.pack(letters.write(study.study_hash, self.handle, *given))

    async def deliver(self, content: bytes, **changes: str) -> Answered:
        digest = hashlib.sha256(content).digest()
        due = spell("covey delivery/1", self.town.study.study_hash, self.handle, digest)
        given = {"key": self.key.hex(), "digest": digest.hex(), "signature": self.own.sign(due).hex(), **changes}
        return await self.post("/api/deliver", content, {f"Covey-{name}": value for name, value in given.items()})


@on_real_clock
async def test_a_page_enrols_once_delivers_once_and_a_restart_knows_it(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    tokens = town.invite(3)
    visitor, thief = PageVisitor(town, tokens[0]), PageVisitor(town, tokens[0])
    async with collecting(town, 6) as running:
        status, answer = await visitor.enrol()
        assert (status, answer["why"]) == (503, "the trustees have not come yet; try again later")
        come(town, running)
        status, answer = await visitor.enrol()
        assert (status, set(answer)) == (200, {"handle", "keys"})
        assert await visitor.enrol() == (200, answer), "the same key, the same handle"
        assert (await thief.enrol())[1]["code"] == "used"
        other = PageVisitor(town, tokens[1])
        assert (await other.enrol(key=visitor.key.hex()))[0] == 403, "a key that it does not hold"
        assert (await other.enrol(study="00" * 32))[0] == 403
        await town.delivery(0, tokens[2]).deliver()
    async with collecting(town, 6) as running:
        content = visitor.sealed(0)
        changed = content[:-1] + bytes([content[-1] ^ 1])
        assert (await visitor.deliver(changed, digest=hashlib.sha256(content).hexdigest()))[0] == 403
        stranger = PageVisitor(town, tokens[1], handle=visitor.handle)
        assert (await stranger.deliver(content))[0] == 403
        assert (await stranger.deliver(content, key=visitor.key.hex()))[0] == 403, "signed by another"
        status, receipt = await visitor.deliver(content)
        assert status == 200
        assert await visitor.deliver(content) == (200, receipt)
        assert (await visitor.deliver(visitor.sealed(1)))[1]["code"] == "used", "the first answer stands"
        kept = {"handle": visitor.handle, "study_hash": town.study.study_hash, **receipt}
        assert receipts.check(town.study, town.keys.certificate, kept, None) is None
        assert len(running.collection.register.held.answers) == 2
        assert len(running.collection.register.certificates()) == 1, "a page's key is no certificate"


@on_real_clock
async def test_malformed_requests_are_refused_and_nobody_else_is_kept_out(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    tokens = town.invite(2)
    longest = b"Covey-Key: " + b"0" * 20_000
    wrong = {
        b"\r\n\r\n": 501,
        b"GET / HTTP/2\r\n\r\n": 501,
        b"BREW / HTTP/1.1\r\n\r\n": 501,
        b"GET /../collection.jsonl HTTP/1.1\r\n\r\n": 404,
        b"GET /invitations.jsonl HTTP/1.1\r\n\r\n": 404,
        b"GET /board.json HTTP/1.1\r\n\r\n": 404,
        b"GET / HTTP/1.1\r\n" + longest + b"\r\n\r\n": 431,
        b"GET / HTTP/1.1\r\nno header\r\n\r\n": 400,
        b"POST /api/enrol HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}": 400,
        b"POST /api/enrol HTTP/1.1\r\nContent-Length: -2\r\n\r\n{}": 413,
        b"POST /api/enrol HTTP/1.1\r\nContent-Length: 99999\r\n\r\n": 413,
        b"POST /api/enrol HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n": 413,
        b"POST /api/enrol HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}": 400,
        b"POST /api/enrol HTTP/1.1\r\nContent-Length: 9\r\n\r\n[[[[[[[[[": 400,
        b'POST /api/state HTTP/1.1\r\nContent-Length: 18\r\n\r\n{"invitation":"0"}': 400,
        b"POST /api/deliver HTTP/1.1\r\nContent-Length: 200000\r\n\r\n": 400,
        b"OPTIONS /api/deliver HTTP/1.1\r\n\r\n": 204,
        b"HEAD / HTTP/1.1\r\n\r\n": 200,
    }
    async with collecting(town, 6) as running:
        come(town, running)
        for line, status in wrong.items():
            raw = line.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nCovey-Protocol: %d\r\n" % PROTOCOL.version, 1)
            assert (await said(town.web_port, raw))[0] == status, raw[:60]
        guesser = PageVisitor(town, tokens[0])
        answers = [await guesser.enrol(secret=f"{number:032x}") for number in range(GUESSES + 2)]
        assert [status for status, _ in answers] == [403] * GUESSES + [429] * 2
        assert answers[0][1]["code"] == "unknown"
        visitor = PageVisitor(town, tokens[0])
        assert (await visitor.enrol())[0] == 200, "a right invitation from the same address"
        assert (await visitor.deliver(b"\x90"))[0] == 403, "an answer has a letter for each trustee"
        assert (await visitor.deliver(b"\x93" + bytes(wire_web.LARGEST)))[0] == 413
        assert (await visitor.deliver(visitor.sealed(0)))[0] == 200
        status, _ = await visitor.post("/api/state", b'{"invitation":"%s"}' % (b"00" * 32))
        assert status == 429
        assert not running.task.done()


@on_real_clock
async def test_callers_that_drip_make_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_web, "STRANGERS", 5)
    town = BrowserTown(tmp_path)
    visitor = PageVisitor(town, town.invite(1)[0])
    async with collecting(town, 6) as running:
        come(town, running)
        dripping = [await asyncio.open_connection("127.0.0.1", town.web_port) for _ in range(12)]
        for _, writer in dripping:
            writer.write(b"POST /api/enrol HTTP/1.1\r\n")
        assert (await visitor.enrol())[0] == 200
        assert (await visitor.deliver(visitor.sealed(0)))[0] == 200
        for _, writer in dripping:
            writer.close()


def certificate_for(host: str, folder: Path) -> tuple[Path, Path]:
    """A certificate as browsers know them, for an address, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
    )
    files = folder / "web.pem", folder / "web.key"
    files[0].write_bytes(builder.sign(key, SHA256()).public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


@dataclass
class SecuredTown(BrowserTown):
    """A town with a certificate for browsers."""

    @property
    def web(self) -> str:
        return f"https://127.0.0.1:{self.web_port}"

    @property
    def web_task(self) -> WebTask:
        return WebTask(Address("127.0.0.1", self.web_port), *certificate_for("127.0.0.1", self.folder))


@pytest.mark.thorough
@on_real_clock
async def test_the_page_that_is_served_is_the_studys_and_another_one_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, covey: Covey
) -> None:
    town = SecuredTown(tmp_path)
    async with collecting(town, 6):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "web.pem"))
        found = await asyncio.to_thread(fetch, town.web)
        assert found == page.build(town.study)
        assert compare(page.build(town.study), found) is None
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(InputError, match="cannot be fetched"):
            await asyncio.to_thread(fetch, town.web)
    saved = tmp_path / "page.html"
    made = covey("collect", "page", town.path, "--out", saved, "--json")
    assert json.loads(made.out)["page"] == hashlib.sha256(saved.read_bytes()).hexdigest()
    assert covey("collect", "page", town.path, "--check", saved).code == 0
    content = saved.read_text()
    key = page.describe(town.study)["trustees"][0]["key"]  # type: ignore[index]
    for old, new, reason in (
        (key, "00" * 32, "keys or texts are others"),
        ("const random", "var random", "another page than the study's"),
    ):
        assert old in content
        saved.write_text(content.replace(old, new))
        refused = covey("collect", "page", town.path, "--check", saved)
        assert refused.code == 1
        assert reason in refused.err
    links = covey("collect", "invite", town.path, "--out", town.out, "--count", "2", "--links").out.split()
    assert all(link.startswith(f"{town.web}/#covey-") for link in links)


def test_a_study_without_a_page_or_with_anothers_is_told_what_to_write(tmp_path: Path, covey: Covey) -> None:
    bare = PeelingTown(tmp_path / "bare")
    told = covey("collect", "page", bare.path)
    assert told.code == 2
    assert page.program() in "".join(told.err.split())
    town = BrowserTown(tmp_path / "web")
    whole = town.study.study_hash
    for pattern, instead, reason in (
        (page.program(), "0" * 64, "this version of covey"),
        (town.web, "http://survey.example.org", "must be https://"),
        (town.web, "https://survey.example.org/path", "without a path"),
    ):
        text = town.path.read_text()
        town.path.write_text(text.replace(pattern, instead))
        assert town.study.study_hash != whole, "the page is part of what the study's hash covers"
        refused = covey("collect", "page", town.path)
        assert refused.code == 2
        assert reason in re.sub(r"\s+", " ", refused.err)
        town.path.write_text(text)
    with pytest.raises(InputError, match="on this machine alone"):
        WebTask(Address("0.0.0.0", 80))
    with pytest.raises(InputError, match="go together"):
        WebTask(Address("127.0.0.1", 80), tmp_path)
    served = covey("collect", "serve", town.path, "--out", town.out, "--quorum", "6", "--web-key", "x")
    assert "say where browsers are answered" in served.err


def test_the_words_that_people_read_are_part_of_the_study(tmp_path: Path) -> None:
    town = BrowserTown(tmp_path)
    text = town.path.read_text()
    hashes = {town.study.study_hash}
    for old, new in (
        ('name = "mood"', 'name = "mood"\ntitle = { en = "How are you?", de = "Wie geht es?" }'),
        ('name = "mood"', 'name = "mood"\nabout = "We ask."'),
        ('name = "mood"', 'name = "mood"\nlanguage = "de"'),
        ("[columns.sex]", '[columns.sex]\nlabel = "Your sex"'),
        ("[columns.sex]", '[columns.sex]\nanswers.de = { F = "weiblich" }'),
        ("[parties.board]", '[parties.board]\nlabel = "The ethics board"'),
    ):
        hashes.add(Study.parse(text.replace(old, new), tmp_path).study_hash)
    assert len(hashes) == 7
    for old, new, reason in (
        ("[columns.sex]", '[columns.sex]\nlabel = { German = "x" }', "is no language code"),
        ("[columns.sex]", '[columns.sex]\nlabel = ""', "label must be a plain text"),
        ("[columns.sex]", "[columns.sex]\nlabel = 3", "label must be a text"),
        ("[columns.sex]", '[columns.sex]\nanswers.de = { X = "anders" }', "words for X that the study does not list"),
        ("[columns.sex]", '[columns.sex]\nanswers = { F = "weiblich" }', "by language"),
        ('name = "mood"', 'name = "mood"\nlanguage = "Deutsch"', "language must be a code"),
    ):
        with pytest.raises(InputError, match=reason):
            Study.parse(text.replace(old, new), tmp_path)
