"""The first words on a TLS connection: each side learns that the other knows and accepts it.

In TLS 1.3 a caller's handshake is over before the answering side has looked at its certificate. So the answering
side speaks first, after it has; then the caller gives its name, which must be the one the roster has for the
certificate; then the answering side says welcome.
"""

from __future__ import annotations

import asyncio
import ssl

from covey.errors import AccessError
from covey.wire.contact import Contact
from covey.wire.trust import identify

GREETING_SECONDS = 10.0
_HELLO = b"covey/1"
_WELCOME, _ALREADY = b"welcome", b"already"
_NAME_BYTES = 256


class HungUp(Exception):
    """The answering side left without a word once it had seen our certificate: this is how TLS refuses it."""


async def call(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    me: str,
    peer: str,
    contacts: dict[str, Contact],
) -> None:
    """The caller's side. Raises `AccessError` if somebody else answers, `HungUp` if we are not accepted."""
    name = identify(_tls(writer), contacts)
    if name != peer:
        raise AccessError(f"party {name!r} answers at the address of party {peer!r}: correct the study's addresses")
    async with asyncio.timeout(GREETING_SECONDS):
        try:
            claimed = await read_name(reader)
        except (EOFError, ConnectionError):
            raise HungUp from None
        if claimed != peer:
            raise AccessError(f"party {peer!r} was refused: it calls itself by a name that is not its certificate's")
        introduce(writer, me)
        reply = await reader.readexactly(len(_WELCOME))
    if reply == _ALREADY:
        raise ConnectionRefusedError("an earlier connection of ours is still open there")
    if reply != _WELCOME:
        raise AccessError(f"party {peer!r} was refused: it does not speak covey's protocol")


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, me: str, contacts: dict[str, Contact]
) -> str:
    """The answering side: the caller's name. Raises `AccessError` for a stranger."""
    name = identify(_tls(writer), contacts)
    async with asyncio.timeout(GREETING_SECONDS):
        introduce(writer, me)
        claimed = await read_name(reader)
    if claimed != name:
        raise AccessError(f"party {name!r} was refused: it calls itself by a name that is not its certificate's")
    return name


def welcome(writer: asyncio.StreamWriter) -> None:
    """The answering side's last word: the caller may go on."""
    writer.write(_WELCOME)


def turn_away(writer: asyncio.StreamWriter) -> None:
    """The answering side's last word to a party that is here already: it may try again."""
    writer.write(_ALREADY)


def introduce(writer: asyncio.StreamWriter, name: str) -> None:
    """Says who we are."""
    spelled = name.encode()
    writer.write(_HELLO + len(spelled).to_bytes(2, "big") + spelled)


async def read_name(reader: asyncio.StreamReader) -> str:
    """The name that the other side gives. Raises `AccessError` for what is no greeting."""
    hello = await reader.readexactly(len(_HELLO) + 2)
    length = int.from_bytes(hello[-2:], "big")
    if not hello.startswith(_HELLO) or length > _NAME_BYTES:
        raise AccessError("a peer was refused: it does not speak covey's protocol, or another version of it")
    return (await reader.readexactly(length)).decode(errors="replace")


def _tls(writer: asyncio.StreamWriter) -> ssl.SSLObject:
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    return tls
