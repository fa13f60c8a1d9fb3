"""The login: one browser of one person is let in, and nobody else on this machine or behind another web site.

A token in the printed address works once and is exchanged for a cookie. The cookie is for scripts unreadable, strictly
same-site, and bound to a random first part of every path: cookies know no ports, so that a server of another user on
the same machine would be sent it otherwise. Host and Origin are compared with our own address, which ends DNS rebinding
and requests from other pages; every form carries a token besides."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from covey.crypto.rng import fresh_seed

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Of a report in the folder: it shows itself and can do nothing."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none, browsers send no Origin with our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = ("GET", "HEAD")
_OURS = ("same-origin", "none")
_COOKIE = "covey"
TOKEN_FIELD = "token"  # noqa: S105 - the name of a form's field
LARGEST_UPLOAD = 4 * 2**30


class Guard:
    """Stands before the application. `port` is known once the server listens."""

    def __init__(self) -> None:
        self.port = 0
        self.prefix = f"/{_random()[:16]}"
        """The first part of every path of this server."""
        self.form_token = _random()
        self._entry: str | None = _random()
        self._session = _random()

    @property
    def address(self) -> str:
        """The address that lets a browser in, once."""
        return f"http://127.0.0.1:{self.port}/enter?{TOKEN_FIELD}={self._entry}"

    @property
    def _hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def refusal(self, scope: Scope) -> str | None:
        """The reason why a request is not answered; None if it is one of ours."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts:
            return "this server answers to its own address only"
        if headers.get("sec-fetch-site", "none") not in _OURS:
            return "the request comes from another site"
        if scope["method"] not in _SAFE:
            if headers.get("origin") != f"http://{host}":
                return "the request does not come from a page of this server"
            if int(headers.get("content-length", "0") or 0) > LARGEST_UPLOAD:
                return "the file is larger than 4 GB; copy it into the folder instead"
        if not _same(_cookie(headers), self._session):
            return "this browser has not been let in, or the workbench was started again"
        return None

    def enter(self, request: Request) -> Response:
        """Lets a browser in that has the token; it is of no use after that."""
        token, entry = request.query_params.get(TOKEN_FIELD, ""), self._entry
        if request.headers.get("host", "") not in self._hosts or entry is None or not _same(token, entry):
            return refused("the address has been used already, or is not complete")
        self._entry = None
        page = HTMLResponse(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Covey</title>'
            f'<meta http-equiv="refresh" content="0;url={self.prefix}/"><p><a href="{self.prefix}/">Go on</a></p>'
        )
        page.set_cookie(_COOKIE, self._session, path=self.prefix, httponly=True, samesite="strict")
        return page

    def accepts(self, token: object) -> bool:
        """True for the token that every form of ours has."""
        return isinstance(token, str) and _same(token, self.form_token)

    def around(self, app: ASGIApp) -> ASGIApp:
        """The application behind the guard."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            sending = _with_headers(send)
            path = scope["path"]
            if path == "/enter" and scope["method"] == "GET":
                await self.enter(Request(scope, receive))(scope, receive, sending)
                return
            reason = self.refusal(scope)
            if reason is None and not path.startswith(f"{self.prefix}/"):
                reason = "there is no such page"
            if reason is not None:
                await refused(reason)(scope, receive, sending)
                return
            await app({**scope, "path": path.removeprefix(self.prefix), "root_path": ""}, receive, sending)

        return guarded


def refused(reason: str) -> Response:
    """The page for those who are not let in: it says nothing about the folder."""
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Covey: refused</title>'
        f"<h1>Refused</h1><p>Covey's workbench did not answer: {reason}.</p>"
        "<p>Use the address that <code>covey ui</code> printed. Where it was used already, end <code>covey ui</code> "
        "with Ctrl-C and start it again: what is running goes on.</p>",
        403,
    )


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            headers = {"content-security-policy": POLICY, **_HEADERS}
            added = [(name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in present]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


def _random() -> str:
    return fresh_seed().reveal().hex()


def _same(first: str, second: str) -> bool:
    """Compares in a time that does not depend on where they differ."""
    return hmac.compare_digest(hashlib.sha256(first.encode()).digest(), hashlib.sha256(second.encode()).digest())
