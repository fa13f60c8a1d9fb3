"""A workbench in a process of its own, a client that speaks plain HTTP to it, and a browser."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

SECONDS = 240.0
expect.set_options(timeout=SECONDS * 1000)  # a busy machine is no failure
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass
class Client:
    """Speaks to a workbench as a browser does, or as an attacker would."""

    port: int
    prefix: str = ""
    cookie: str = ""
    token: str = ""

    def ask(self, method: str, path: str, body: str | None = None, **headers: str | None) -> Answer:
        """One request; a header that is None is left out, an underscore stands for a hyphen."""
        usual: dict[str, str | None] = {"host": f"127.0.0.1:{self.port}", "cookie": self.cookie or None}
        if method == "POST":
            usual |= {"origin": f"http://127.0.0.1:{self.port}", "content-type": "application/x-www-form-urlencoded"}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            content = (body or "").encode()
            if body is not None:
                connection.putheader("content-length", str(len(content)))
            connection.endheaders(content)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def get(self, path: str, **query: str) -> Answer:
        """A page of the workbench."""
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return self.ask("GET", f"{self.prefix}{path}{asked}")

    def post(self, path: str, **fields: str) -> Answer:
        """A form of the workbench, with its token."""
        return self.ask("POST", f"{self.prefix}{path}", urlencode({"token": self.token, **fields}))

    def send(self, path: str, files: Mapping[str, bytes], **fields: str) -> Answer:
        """A form with files, by the names of their fields."""
        parts = [(f'name="{name}"', value.encode()) for name, value in {"token": self.token, **fields}.items()]
        parts += [(f'name="{name}"; filename="{name}.covey"', content) for name, content in files.items()]
        lines = [
            b"--edge\r\ncontent-disposition: form-data; %b\r\n\r\n%b\r\n" % (head.encode(), each)
            for head, each in parts
        ]
        body = b"".join([*lines, b"--edge--\r\n"]).decode()
        return self.ask("POST", f"{self.prefix}{path}", body, content_type="multipart/form-data; boundary=edge")

    def enter(self, address: str) -> Answer:
        """Goes through the door with the printed address."""
        parts = urlsplit(address)
        answer = self.ask("GET", f"{parts.path}?{parts.query}")
        self.cookie = answer.headers.get("set-cookie", "").split(";")[0]
        found = re.search(r"url=([^\"]+)/\"", answer.text)
        self.prefix = found[1] if found else ""
        if self.prefix:
            token = re.search(r'name="token" value="([0-9a-f]+)"', self.get("/").text)
            self.token = token[1] if token else ""
        return answer

    def wait_for(self, words: str, path: str, **query: str) -> Answer:
        """Asks for a page until it has these words."""
        ends = time.monotonic() + SECONDS
        while words not in (answer := self.get(path, **query)).text:
            assert answer.status == 200, answer.text
            assert time.monotonic() < ends, answer.text
            time.sleep(0.2)
        return answer


@dataclass
class Server:
    """A workbench that runs, and the address that it printed."""

    folder: Path
    process: subprocess.Popen[str]
    address: str
    _client: Client | None = field(default=None)

    @property
    def client(self) -> Client:
        """The one client that is let in."""
        if self._client is None:
            self._client = Client(int(urlsplit(self.address).port or 0))
            assert self._client.enter(self.address).status == 200
        return self._client

    def end(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends the server with all processes of its terminal, as Ctrl-C there does; jobs go on."""
        os.killpg(self.process.pid, how)
        self.process.communicate(timeout=SECONDS)


def start(folder: Path, *more: str) -> Server:
    """Starts `covey ui` and waits until it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "covey", "ui", str(folder), "--no-browser", *more],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://\S+", line):
            return Server(folder, process, found[0])
    raise AssertionError("the workbench did not start")


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A workbench as long as the block runs; the jobs that it started are stopped at the end."""
    server = start(folder)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end()
        stop_jobs(folder)


def _group(folder: Path, kind: str) -> int:
    """The processes of the one job of a kind that has not ended."""
    (job,) = (
        each
        for each in folder.glob(".covey-ui/jobs/*")
        if f'"kind":"{kind}"' in (each / "job.json").read_text() and not (each / "exit.txt").exists()
    )
    return int((job / "pid").read_text().split()[0])


@contextlib.contextmanager
def halted(folder: Path, kind: str) -> Iterator[None]:
    """Halts a job as long as the block runs."""
    group = _group(folder, kind)
    os.killpg(group, signal.SIGSTOP)
    try:
        assert group == _group(folder, kind), "it had not ended before"
        yield
    finally:
        os.killpg(group, signal.SIGCONT)


def kill_job(folder: Path, kind: str) -> None:
    """Kills a job with all its processes, as a machine that loses its power does."""
    os.killpg(_group(folder, kind), signal.SIGKILL)


def stop_jobs(folder: Path, jobs: str = ".covey-ui/jobs") -> None:
    """Stops what still runs in a folder, and waits until it has ended."""
    for pid in folder.glob(f"{jobs}/*/pid"):
        number = int(pid.read_text().split()[0])
        ends = time.monotonic() + SECONDS
        while not pid.with_name("exit.txt").exists() and Path(f"/proc/{number}").exists():
            assert time.monotonic() < ends
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGTERM)
            time.sleep(0.1)


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """Debian's chromium; the test is skipped where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not on this machine (scripts/install-system.sh installs it)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()
