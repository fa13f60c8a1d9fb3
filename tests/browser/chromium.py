"""Debian's chromium without a window, driven over two pipes by the DevTools protocol: no driver, no port.

Every request that a page makes is written down, so that a test can say that there was none.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

SECONDS = 60.0
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
Json = dict[str, object]


@dataclass
class Page:
    """One page in a browser: what it asked for, and what it said."""

    to: int
    came: int
    session: str = ""
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    loaded: int = 0
    _calls: int = 0
    _rest: bytes = b""

    def show(self, file: Path, width: int, height: int = 900, *, scripts: bool = False, paper: bool = False) -> None:
        """Opens a file as a screen of that width shows it, or as paper does."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia", media="print" if paper else "")
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone
        )  # fmt: skip
        self.requests.clear()
        before = self.loaded
        self.call("Page.navigate", url=file.as_uri())
        ends = time.monotonic() + SECONDS
        while self.loaded == before:
            self._read(ends)

    def ask(self, script: str) -> object:
        """What an expression gives in the page; the page's own scripts need not be allowed."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        return cast("Json", answer["result"]).get("value")

    def shoot(self, path: Path, *, whole: bool = True) -> None:
        """A picture of the page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(str(taken["data"])))

    def call(self, method: str, **parameters: object) -> Json:
        """Asks the browser to do something, and waits until it has."""
        self._calls += 1
        message: Json = {"id": self._calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + SECONDS
        while True:
            answer = self._read(ends)
            if answer.get("id") == self._calls:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return cast("Json", answer["result"])

    def _read(self, ends: float) -> Json:
        """The browser's next message; requests and complaints are written down on the way."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.came], [], [], max(0.0, ends - time.monotonic()))
            content = os.read(self.came, 1 << 16) if ready else b""
            if not content:
                raise AssertionError("chromium does not answer")
            self._rest += content
        line, _, self._rest = self._rest.partition(b"\0")
        message = cast("Json", json.loads(line))
        given = cast("Json", message.get("params", {}))
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(str(cast("Json", given["request"])["url"]))
            case "Log.entryAdded":
                self.complaints.append(str(cast("Json", given["entry"])["text"]))
            case "Page.loadEventFired":
                self.loaded += 1
        return message


@contextlib.contextmanager
def browsing() -> Iterator[Page]:
    """A browser with one empty page and a profile of its own; the test is skipped where there is no chromium."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not on this machine (scripts/install-system.sh installs it)")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        silent = os.open(os.devnull, os.O_RDWR)
        # The browser reads from 3 and writes to 4; a pipe's end may be one of these, so both are moved out of the way.
        high_in, high_out = os.dup(theirs_in), os.dup(theirs_out)
        while high_in < 5 or high_out < 5:
            high_in, high_out = os.dup(high_in), os.dup(high_out)
        pid = os.posix_spawn(
            program,
            [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            {**os.environ, "HOME": profile},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, high_in, 3),
                (os.POSIX_SPAWN_DUP2, high_out, 4),
                (os.POSIX_SPAWN_DUP2, silent, 1),
                (os.POSIX_SPAWN_DUP2, silent, 2),
            ],
            setpgroup=0,
        )
        for end in (theirs_in, theirs_out, silent, high_in, high_out):
            os.close(end)
        try:
            page = Page(ours_out, ours_in)
            target = page.call("Target.createTarget", url="about:blank")["targetId"]
            page.session = str(page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
            for domain in ("Page", "Network", "Log", "Runtime"):
                page.call(f"{domain}.enable")
            yield page
        finally:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(ours_in)
            os.close(ours_out)
