"""TLS 1.3 both ways, trusting exactly the roster's certificates; and what to say when that fails.

The standard library cannot pin a certificate, so the roster's certificates are the only authorities, each
vouching for itself alone, and what was presented is then looked up by its hash.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from pathlib import Path

from covey.errors import AccessError, InputError
from covey.wire.contact import Contact, fingerprint

_EXPIRED, _NOT_YET = 10, 9

_ALERTS = {
    "CERTIFICATE_REQUIRED": "it wants a certificate and got none",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it presented no certificate",
    "UNKNOWN_CA": "our certificate is not in its roster",
    "CERTIFICATE_EXPIRED": "our certificate has expired by its clock",
    "BAD_CERTIFICATE": "our certificate is not valid by its clock, or is damaged",
    "CERTIFICATE_UNKNOWN": "our certificate is not in its roster",
    "DECRYPT_ERROR": "our key does not belong to our certificate",
    "PROTOCOL_VERSION": "one side does not speak TLS 1.3",
    "UNSUPPORTED_PROTOCOL": "it does not speak TLS 1.3",
    "NO_PROTOCOLS_AVAILABLE": "it does not speak TLS 1.3",
    "WRONG_VERSION_NUMBER": "it does not speak TLS",
    "HTTP_REQUEST": "it speaks HTTP, not TLS",
    "NO_SHARED_CIPHER": "no cipher in common",
}


def contexts(certificate: Path, key: Path, peers: Iterable[Contact]) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The settings with which this party dials, and those with which it answers."""
    roster = b"".join(peer.certificate for peer in peers)
    return (
        _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, roster),
        _context(ssl.PROTOCOL_TLS_SERVER, certificate, key, roster),
    )


def identify(tls: ssl.SSLObject, contacts: dict[str, Contact]) -> str:
    """The name under which the roster has the presented certificate. Raises `AccessError` if it has not."""
    presented = tls.getpeercert(binary_form=True)
    if presented is None:
        raise AccessError("a peer was refused: it presented no certificate")
    contact = contacts.get(fingerprint(presented))
    if contact is None:
        raise AccessError(f"a peer was refused: certificate {fingerprint(presented)[:16]}… is not in the roster")
    contact.check_dates()
    return contact.name


def explain(error: ssl.SSLError) -> str:
    """The reason why TLS failed, in words; `it` is the other side."""
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code == _EXPIRED:
            return "its certificate has expired"
        if error.verify_code == _NOT_YET:
            return "its certificate is not valid yet (are both clocks right?)"
        return "its certificate is not in the roster"
    reason = (error.reason or "").upper().replace(" ", "_")
    return next((words for alert, words in _ALERTS.items() if alert in reason), "it broke off the TLS handshake")


async def over_tls(
    transport: asyncio.WriteTransport,
    context: ssl.SSLContext,
    limit: int,
    *,
    seconds: float,
    server_side: bool = False,
    host: str = "",
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """TLS on a transport, as streams; `limit` is how many bytes are read ahead."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        secured = await loop.start_tls(
            transport,
            protocol,
            context,
            server_side=server_side,
            server_hostname=None if server_side else host,
            ssl_handshake_timeout=seconds,
        )
    except BaseException:
        # cancelled just after the handshake: asyncio has made the secured transport, and nobody else can close it
        made = getattr(transport.get_protocol(), "_app_transport", None)
        if made is not None:
            made.abort()
        transport.abort()
        raise
    if secured is None:
        raise ConnectionResetError("the connection ended during the handshake")
    protocol.connection_made(secured)
    return reader, asyncio.StreamWriter(secured, protocol, reader, loop)


def _context(protocol: int, certificate: Path, key: Path, roster: bytes) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0  # every connection begins with both certificates
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"{certificate}, {key}: not a certificate with its key ({type(error).__name__})") from None
    context.load_verify_locations(cadata=roster)
    return context
