"""The address of a PostgreSQL server means what it means to psql, and a password is nowhere to be read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.harness.engines import GuardedServer, guarded_server

from covey.addresses import has_password
from covey.errors import AccessError, InputError
from covey.sources import connect

pytestmark = pytest.mark.postgres

STUDY = """[study]
name = "t"
[privacy]
k = 2
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 120, steps = [10] }
[columns.code]
role = "quasi"
hierarchy = "flat"
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedServer]:
    with guarded_server(tmp_path_factory.mktemp("tls")) as running:
        yield running


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def checked(server: GuardedServer, certificate: Path, **options: str) -> str:
    return server.address(sslmode="verify-full", sslrootcert=str(certificate), table="stays", **options)


def pgpass(server: GuardedServer, folder: Path, password: str | None = None) -> Path:
    file = folder / "pass"
    file.write_text(f"localhost:{server.port}:*:{server.user}:{password or server.password}\n")
    file.chmod(0o600)
    return file


def test_a_server_with_the_right_certificate_is_read(server: GuardedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", server.password)
    assert connect(checked(server, server.certificate)).rows == 200


def test_a_server_with_another_certificate_is_refused_with_exit_code_4(
    server: GuardedServer, covey: Covey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", server.password)
    (tmp_path / "study.toml").write_text(STUDY)
    called = covey("check", tmp_path / "study.toml", "--data", checked(server, server.other))
    assert called.code == 4 and "the server's certificate is not one that" in called.err, called
    assert len(called.err.strip().splitlines()) == 1
    with pytest.raises(AccessError):
        connect(checked(server, server.certificate).replace("localhost", "127.0.0.1"))  # named otherwise
    assert covey("check", tmp_path / "study.toml", "--data", checked(server, server.certificate)).code == 0


def test_the_environment_a_file_of_passwords_and_a_service_are_honoured(
    server: GuardedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connect(checked(server, server.certificate, passfile=str(pgpass(server, tmp_path)))).rows == 200
    (tmp_path / ".pgpass").write_text(pgpass(server, tmp_path).read_text())
    (tmp_path / ".pgpass").chmod(0o600)
    assert connect(checked(server, server.certificate)).rows == 200
    service = f"[ward]\nhost=localhost\nport={server.port}\nuser={server.user}\ndbname=postgres\nsslmode=verify-full\n"
    (tmp_path / "services").write_text(f"{service}sslrootcert={server.certificate}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert connect("postgres://?service=ward&table=stays").rows == 200
    (tmp_path / "services").write_text(f"{service}sslrootcert={server.other}\n")
    with pytest.raises(AccessError):
        connect("postgres://?service=ward&table=stays")
    for name, value in (("PORT", str(server.port)), ("HOST", "localhost"), ("USER", server.user)):
        monkeypatch.setenv(f"PG{name}", value)
    assert connect("postgres:///postgres?table=stays").rows == 200
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(server.other))
    with pytest.raises(AccessError):
        connect("postgres:///postgres?table=stays")


def test_options_of_the_session_are_honoured(server: GuardedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", server.password)
    query = "query=select current_setting('statement_timeout') as a, current_setting('application_name') as b"
    given = server.address(options="-c statement_timeout=4321", application_name="ward")
    source = connect(f"{given}&{query}&target_session_attrs=read-write")
    assert next(source.batches(["a", "b"])).to_pylist() == [{"a": "4321ms", "b": "ward"}]
    with pytest.raises(InputError, match="refused the connection"):
        connect(server.address(target_session_attrs="standby", table="stays"))


@pytest.mark.parametrize("name", ["sslmod", "replication", "foo", "passwort"])
def test_an_unknown_option_is_refused_by_its_name(name: str, covey: Covey, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    called = covey("check", tmp_path / "study.toml", "--data", f"postgres://me@localhost/db?table=t&{name}=1")
    assert called.code == 2 and repr(name) in called.err and len(called.err.strip().splitlines()) == 1


def test_a_file_of_certificates_that_is_not_there_is_named_by_its_option() -> None:
    with pytest.raises(InputError, match="sslrootcert names no file"):
        connect("postgres://me@localhost/db?table=t&sslmode=verify-full&sslrootcert=/nowhere.pem")


@pytest.mark.parametrize(
    "address",
    [
        "postgres://me:geheim@localhost/db?table=t", "north=postgresql://me:ge%20heim@h:1/db",
        "postgres://h/db?pass%77ord=geheim&table=t", "postgres://h/db?table=t&sslpassword=geheim",
        "postgres://me:ge#heim@h/db?table=t", "sc://h:1/;token=geheim?table=t",
    ],
)  # fmt: skip
def test_a_password_on_the_command_line_is_refused_and_not_repeated(address: str, covey: Covey) -> None:
    assert has_password(address)
    called = covey("new", address)
    assert called.code == 2 and "list of processes" in called.err
    assert "heim" not in called.err + called.out


def test_addresses_without_a_password_are_taken() -> None:
    for address in ("postgres://me@h:5/db?table=a:b@c", "spark://h:7077?table=x", "a.csv", "sc://h:1/;use_ssl=true"):
        assert not has_password(address)


@pytest.mark.parametrize(
    "address", ["postgres://me:ge#heim@127.0.0.1:1/db?table=t", "postgres://me:%zzgeheim@h/db?table=t"]
)
def test_a_password_stands_in_no_message(address: str) -> None:
    with pytest.raises(InputError) as refused:
        connect(address)
    assert "heim" not in str(refused.value)


def test_a_password_is_in_no_file_and_no_list_of_processes(
    server: GuardedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study is drafted, checked and anonymized from the server, while every process's command line is read."""
    address = checked(server, server.certificate, passfile=str(pgpass(server, tmp_path)))
    seen: set[bytes] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for place in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(place.read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    (tmp_path / "work").mkdir()
    said = []
    try:
        for arguments in (
            ("new", address, "--out", "study.toml", "--k", "2"),
            ("anonymize", "study.toml", "--data", address, "--out", "out", "--budget", "1"),
            ("check", "study.toml", "--data", address.replace("table=stays", "table=nowhere")),
        ):
            run = subprocess.run(
                [sys.executable, "-m", "covey", *arguments], cwd=tmp_path / "work", capture_output=True, text=True,
                env={**os.environ, "COVEY_DEBUG": "1"},
            )  # fmt: skip
            said += [run.stdout, run.stderr]
    finally:
        ended.set()
        watcher.join()
    files = [file.read_bytes() for file in (tmp_path / "work").rglob("*") if file.is_file()]
    assert any(b"anonymize" in line for line in seen) and len(files) > 3, said
    secret = server.password.encode()
    assert not [text for text in (*seen, *files, *(part.encode() for part in said)) if secret in text]
