"""The collector's answers to browsers: the page, an enrolment, an answer handed in, the board.

A page makes a key of its own, as `covey collect respond` does, and signs with it: its enrolment, and the hash of what
it hands in. So nothing of a stranger's is read that is longer than an enrolment, and a proxy in between can change
nothing. What is kept, and refused, is what the register keeps and refuses of everyone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from covey.crypto.letter import LetterKey
from covey.crypto.rng import spell
from covey.errors import InputError
from covey.party.collection import page, receipts
from covey.party.collection.enrolment import EnrolmentDesk
from covey.party.identity.keys import Keys
from covey.protocols import spoken
from covey.protocols.peel.letters import verifies
from covey.study import Study
from covey.wire.contact import Address
from covey.wire.relay import RelayedParty
from covey.wire.standing.gate import Sparing
from covey.wire.standing.hub import EnrolmentRefused
from covey.wire.standing.page_port import PagePort
from covey.wire.standing.port import tls_context
from covey.wire.standing.web import WebAnswer, WebPort, WebRefused, WebRequest

_HEADERS = "content-type, covey-key, covey-digest, covey-signature, covey-protocol"


@dataclass(frozen=True)
class WebTask:
    """The address at which browsers are listened to, and the certificate that they trust."""

    listen: Address
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InputError("--web-certificate and --web-key go together")
        if self.certificate is None and not self.listen.is_local:
            raise InputError(
                f"--web {self.listen}: without a certificate browsers are listened to on this machine alone, for a "
                "proxy with one; name 127.0.0.1, or give --web-certificate and --web-key"
            )


class Web:
    """Answers browsers."""

    def __init__(self, study: Study, desk: EnrolmentDesk, note: Callable[[str], None]) -> None:
        self._page, self._study, self._desk, self._log = page.build(study), study, desk, Sparing(note)
        self._protocol = spoken(study)
        self.changed: Callable[[], None] = lambda: None
        """Called when somebody has enrolled or answered."""

    @asynccontextmanager
    async def open(
        self, task: WebTask | None, relay: RelayedParty | None, tls_key: Path, keys: Keys
    ) -> AsyncIterator[str]:
        """Answers at a port, at the relay, or at both while the block runs; gives the places in words."""
        async with AsyncExitStack() as stack:
            places: list[object] = []
            if task is not None:
                secured = None
                if task.certificate is not None and task.key is not None:
                    secured = tls_context(task.certificate, task.key, ask=False)
                port = WebPort(secured, self._log, self._answer)
                places.append(await stack.enter_async_context(port.listening(task.listen)))
            if relay is not None:
                letters, study = LetterKey.of_signing(keys.signing), bytes.fromhex(self._study.study_hash)
                pages = PagePort(relay, study, tls_key, letters, self._log, self._answer)
                places.append(await stack.enter_async_context(pages.listening()))
            yield " and ".join(map(str, places))

    async def _answer(self, request: WebRequest) -> WebAnswer:
        if request.method == "OPTIONS":
            allowed = {
                "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Allow-Headers": _HEADERS,
                "Access-Control-Max-Age": "600",
            }
            return WebAnswer(status=HTTPStatus.NO_CONTENT, headers=allowed)
        match request.method, request.path:
            case "GET" | "HEAD", "/" | "/index.html":
                policy = {"Content-Security-Policy": "frame-ancestors 'none'"}
                return WebAnswer(self._page, kind="text/html; charset=utf-8", headers=policy)
            case "GET" | "HEAD", "/board.json":
                return self._board()
            case "POST", "/api/state":
                return await self._refusing(request, self._state)
            case "POST", "/api/enrol":
                return await self._refusing(request, self._enrol)
            case "POST", "/api/deliver":
                return await self._refusing(request, self._deliver)
        raise WebRefused("there is no such page", HTTPStatus.NOT_FOUND)

    def _board(self) -> WebAnswer:
        try:
            return WebAnswer((self._desk.folder / receipts.FILE).read_bytes())
        except OSError:
            raise WebRefused("the board is not published yet", HTTPStatus.NOT_FOUND) from None

    async def _state(self, request: WebRequest) -> WebAnswer:
        """A word for what an invitation is good for; it is named by its hash, which nobody guesses."""
        (token,) = _fields(await request.body(), invitation=32)
        state = self._desk.state_of(token.hex())
        if state == "unknown":
            self._guess(request)
        return WebAnswer.of({"state": state})

    async def _enrol(self, request: WebRequest) -> WebAnswer:
        content = _fields(await request.body(), study=32, secret=16, key=32, signature=64)
        handle, new = self._desk.enrol_page(*content)
        if new:
            self._log("enrolled", f"{handle} enrolled in a browser")
            self.changed()
        keys = self._desk.keys()
        if len(keys) < len(self._desk.trustees):
            raise WebRefused("the trustees have not come yet; try again later", HTTPStatus.SERVICE_UNAVAILABLE)
        shown = [{"key": own.key.hex(), "signature": own.signature.hex(), "trustee": own.trustee} for own in keys]
        return WebAnswer.of({"handle": handle, "keys": shown})

    async def _deliver(self, request: WebRequest) -> WebAnswer:
        """Takes an answer. The key is known by the request's head, before anything longer is read."""
        given = {name: request.headers.get(f"covey-{name}", "") for name in ("key", "digest", "signature")}
        key, digest, signature = _fields(json.dumps(given).encode(), key=32, digest=32, signature=64)
        handle = self._desk.handle_of(key)
        due = spell("covey delivery/1", self._study.study_hash, handle or "", digest)
        if handle is None or not verifies(key, signature, due):
            raise EnrolmentRefused("the key is not enrolled, or another's", guess=True)
        content = await request.body(known=True)
        if hashlib.sha256(content).digest() != digest:
            raise WebRefused("not what was signed")
        receipt = self._desk.deliver(handle, content)
        self.changed()
        return WebAnswer.of({"line": receipt.line.hex(), "signature": receipt.signature.hex()})

    async def _refusing(self, request: WebRequest, act: Callable[[WebRequest], Awaitable[WebAnswer]]) -> WebAnswer:
        """The answer, or the reason why there is none; a page that another version of the protocol made gets none."""
        try:
            made = request.headers.get("covey-protocol", "1")
            if made != str(self._protocol.number):
                theirs = int(made) if made.isdecimal() and len(made) < 10 else 0
                why = self._protocol.apart(theirs, "the page in this browser", "the collector")
                raise EnrolmentRefused(why, code="version")
            return await act(request)
        except EnrolmentRefused as refusal:
            if refusal.guess:
                self._guess(request)
            self._log("browser", f"a browser at {request.address} was refused: {refusal}")
            return WebAnswer.of({"code": refusal.code, "why": str(refusal)}, HTTPStatus.FORBIDDEN)

    def _guess(self, request: WebRequest) -> None:
        """Counts a wrong invitation. Raises WebRefused where there were too many from one address."""
        if request.gate.guesses(request.address):
            raise WebRefused("too many wrong invitations from one address", HTTPStatus.TOO_MANY_REQUESTS)
        request.gate.wrong_guess(request.address)


def _fields(content: bytes, **sizes: int) -> list[bytes]:
    """The bytes of each field of an object in JSON, in hexadecimal. Raises WebRefused for anything else."""
    try:
        given = json.loads(content)
        found = [bytes.fromhex(given[name]) for name in sizes]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = []
    if [len(each) for each in found] != list(sizes.values()):
        raise WebRefused("no request that is answered here")
    return found
