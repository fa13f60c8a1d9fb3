"""Browsers' requests over a relay: each is a letter to the collector, and its answer is a letter to the page.

A browser cannot speak TLS with the collector through a broker. So the page seals its request to the collector's key,
which follows from the study's certificate, with a fresh key for the answer: the broker sees sizes and times. Requests
may be lost or come twice; a page asks again, and whatever it asks for may be asked for twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from covey.crypto.letter import LetterKey, seal
from covey.crypto.rng import Label, Rng, fresh_seed
from covey.errors import InputError
from covey.wire.depth import beside
from covey.wire.relay import RelayedParty
from covey.wire.relay.broker import Broker, Signer
from covey.wire.standing.connection import SMALL
from covey.wire.standing.gate import Gate, Sparing
from covey.wire.standing.web import LARGEST, WebAnswer, WebRefused, WebRequest

_KEY_BYTES = 32
_WAITING, _LONGEST = 64, LARGEST + SMALL
"""Requests that wait for their turn, and bytes of the longest; pages ask again for what is dropped."""


class PagePort:
    """Answers pages at a relay."""

    def __init__(
        self,
        me: RelayedParty,
        study: bytes,
        tls_key: Path,
        letters: LetterKey,
        log: Sparing,
        answer: Callable[[WebRequest], Awaitable[WebAnswer]],
    ) -> None:
        """`tls_key` is the file with the key by which the broker knows us, `letters` opens what pages have sealed."""
        self._me, self._study, self._letters, self._log, self._answer = me, study, letters, log, answer
        self._broker = Broker(me.site, Signer.of_file(tls_key), log.note)
        self._asked: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue(_WAITING)
        self._gate = Gate()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[RelayedParty]:
        """Answers while the block runs. Raises AccessError if the broker refuses our key."""
        self._broker.hear(self._me.site.from_page("*", self._me.name), self._take)
        async with self._broker.kept(), beside(self._work()):
            yield self._me

    def _take(self, subject: str, content: bytes) -> None:
        if len(content) <= _LONGEST and not self._asked.full():
            self._asked.put_nowait((subject.split(".")[-2], content))

    async def _work(self) -> None:
        while True:
            page, sealed = await self._asked.get()
            try:
                await self._serve(page, sealed)
            except InputError:
                self._log("page", "a message to pages' subject is no request, and was ignored")

    async def _serve(self, page: str, sealed: bytes) -> None:
        """Answers one request. Raises InputError for what is none."""
        opened = self._letters.open(sealed, *self._context("request", page))
        head, _, body = opened[_KEY_BYTES:].partition(b"\n")
        try:
            answer = await self._answer(self._read(page, head, body))
        except WebRefused as refusal:
            answer = refusal.answer
        content = answer.status.to_bytes(2, "big") + answer.content
        if len(content) > self._broker.most() // 2:
            content = HTTPStatus.REQUEST_ENTITY_TOO_LARGE.to_bytes(2, "big")
        stream = Rng(fresh_seed()).stream("answer")
        answered = seal(content, opened[:_KEY_BYTES], stream, *self._context("answer", page))
        self._broker.send(self._me.site.to_page(self._me.name, page), answered, b"")

    def _read(self, page: str, head: bytes, body: bytes) -> WebRequest:
        try:
            said = json.loads(head)
            headers = {str(name).lower(): str(value) for name, value in said["headers"].items()}
            method, path = str(said["method"]), str(said["path"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise WebRefused("no request that is answered here") from None

        async def read(known: bool) -> bytes:
            return body

        return WebRequest(method, path, headers, f"the relay ({page[:8]})", self._gate, len(body), read)

    def _context(self, kind: str, page: str) -> tuple[Label, ...]:
        return (f"collect page {kind}", self._study, page)
