"""The guard of the workbench: what strangers, other sites and other users of the machine are told, which is nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ui.workbench import Client, Server, serving

from covey.ui.server import show_browser
from covey.ui.workspace import Workspace

ONE_WORKER = "one server answers all of them"
SECRET = "somebody's-illness"
HTML = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.csv").write_text(f"a,b\n{SECRET},1\n")
    folder = tmp_path_factory.mktemp("folder")
    plain = "".join(f"{20 + n % 30},{'Bonn' if n % 3 else 'Ulm'}\n" for n in range(90))
    (folder / "plain.csv").write_text(f"age,town\n{plain}")
    (folder / "link.csv").symlink_to(outside / "other.csv")
    (folder / "formula.csv").write_text("age,=cmd()\n1,2\n3,4\n")
    (folder / "wide.csv").write_text(",".join(f"c{n}" for n in range(10_000)) + "\n" + ",".join(["1"] * 10_000) + "\n")
    rows = "".join(f"{HTML},{number % 7},=1+{number % 3}\n" for number in range(60))
    (folder / "html.csv").write_text(f'"{HTML}",<b>n</b>,x\n{rows}')
    with serving(folder) as running:
        yield running


def test_the_token_lets_one_browser_in_once(server: Server) -> None:
    client = server.client
    stranger = Client(client.port)
    assert stranger.enter(server.address).status == 403, "the address has been used"
    assert stranger.cookie == ""
    assert client.get("/").status == 200


@pytest.mark.thorough
def test_the_cookie_is_strict_and_bound_to_a_path_that_others_do_not_know(tmp_path: Path) -> None:
    with serving(tmp_path) as own:
        client = Client(int(own.address.split(":")[2].split("/")[0]))
        said = client.enter(own.address).headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert f"path={client.prefix}" in said
    assert len(client.prefix) == 17


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "evil.example:{port}", "127.0.0.1.evil.example:{port}", ""]
)
def test_a_wrong_host_is_refused(server: Server, host: str) -> None:
    """DNS rebinding: the browser believes that our address is that of another site."""
    client = server.client
    answer = client.ask("GET", f"{client.prefix}/", host=host.format(port=client.port))
    assert answer.status in (400, 403)
    assert "plain.csv" not in answer.text


def test_without_the_cookie_nothing_is_told(server: Server) -> None:
    """Another user of the machine can connect, and sees neither names nor cells."""
    stranger = Client(server.client.port, server.client.prefix)
    for path in ("/", "/jobs", "/table?data=plain.csv", "/static/style.css", "/nowhere"):
        answer = stranger.ask("GET", f"{stranger.prefix}{path}")
        assert answer.status == 403
        assert "plain.csv" not in answer.text
    assert stranger.ask("GET", f"{stranger.prefix}/", cookie="covey=" + "0" * 64).status == 403
    assert stranger.ask("GET", "/").status == 403


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_form_of_another_site_is_refused(server: Server, origin: str | None) -> None:
    client = server.client
    body = f"token={client.token}&url=postgres://reader@host/db?table=x"
    answer = client.ask(
        "POST", f"{client.prefix}/source", body, origin=origin and origin.format(port=client.port)
    )  # fmt: skip
    assert answer.status == 403
    assert "postgres" not in client.get("/").text.replace("postgres://reader@host/database", "")


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_a_form_without_our_token_is_refused(server: Server, token: str) -> None:
    client = server.client
    answer = client.ask("POST", f"{client.prefix}/source", f"token={token}&url=postgres://reader@host/db?table=x")
    assert answer.status == 403
    assert not (server.folder / ".covey-ui" / "notes.json").exists()


def test_a_page_that_another_site_embeds_is_refused(server: Server) -> None:
    client = server.client
    for site in ("cross-site", "same-site"):
        assert client.ask("GET", f"{client.prefix}/", sec_fetch_site=site).status == 403


def test_every_page_forbids_foreign_content_and_keeps_no_copy(server: Server) -> None:
    for answer in (server.client.get("/"), server.client.get("/nowhere"), Client(server.client.port).ask("GET", "/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["../outside/other.csv", "/etc/passwd", "link.csv", "a/../../x.csv", ".covey-ui/notes.json", "x\\..\\y", ""]
)
def test_no_path_leads_out_of_the_folder(server: Server, path: str) -> None:
    client = server.client
    answers = [
        client.get("/table", data=path),
        client.get("/study", study=path),
        client.get("/run", run=path),
        client.get("/file", run=path, name="release.csv"),
        client.get("/file", run=".", name=path),
        client.post("/study/run", study=path, data=path),
        client.post("/table/save", data="plain.csv", out=path),
    ]
    assert {answer.status for answer in answers} == {400}
    assert not any(SECRET in answer.text or "root:" in answer.text for answer in answers)


def test_the_notes_are_for_their_owner_alone(server: Server) -> None:
    server.client.wait_for("What are the columns", "/table", data="plain.csv")
    notes = server.folder / ".covey-ui"
    assert stat.S_IMODE(notes.stat().st_mode) == 0o700
    for path in notes.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_the_folder_of_a_run_that_waits_for_its_partners_is_a_run_and_no_study(tmp_path: Path) -> None:
    for folder in (tmp_path / "rows", tmp_path / "rows" / "run-1"):
        folder.mkdir()
        (folder / "study.toml").write_text('[study]\nname = "rows"\n[columns.age]\nrole = "plain"\n')
    (tmp_path / "rows" / "run-1" / "run.log").write_text("begins\n")
    found = Workspace(tmp_path).contents()
    assert (found.studies, found.runs) == (("rows/study.toml",), ("rows/run-1",))


def test_another_user_of_the_machine_reads_no_note_and_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A folder that everybody may enter: what the workbench keeps in it, and the way into it, are its owner's."""
    if os.getuid():
        pytest.skip("only root can try it as another user")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "plain.csv").write_text("age\n1\n")
        Workspace(folder).add_source("postgres://reader@host/db?table=x")
        show_browser("http://127.0.0.1:1/enter?token=secret", folder)
        notes = folder / ".covey-ui"
        tried = {
            file: subprocess.run(["cat", file], user=65534, group=65534, capture_output=True, check=False).returncode
            for file in (folder / "plain.csv", notes / "notes.json", folder / "covey.html")
        }
        listed = subprocess.run(["ls", notes], user=65534, group=65534, capture_output=True, check=False)
    assert list(tried.values()) == [0, 1, 1], "the table is as open as its owner left it; notes and address are not"
    assert listed.returncode
    assert "secret" not in opened[0], "a command line can be read by everybody"


@pytest.mark.thorough
def test_names_and_cells_are_text_on_every_page(server: Server) -> None:
    page = server.client.wait_for("What are the columns", "/table", data="html.csv").text
    assert HTML not in page
    assert "<b>n</b>" not in page
    assert "&lt;b&gt;n&lt;/b&gt;" in page


@pytest.mark.thorough
def test_a_name_that_begins_like_a_formula_is_refused_by_name(server: Server) -> None:
    page = server.client.wait_for("begins like a formula", "/table", data="formula.csv").text
    assert "rename the column" in page


@pytest.mark.thorough
def test_ten_thousand_columns_are_refused_in_a_sentence(server: Server) -> None:
    assert server.client.get("/").status == 200
    page = server.client.wait_for("10,000 columns, more than 1,000", "/table", data="wide.csv").text
    assert "a table of their own" in page


def test_two_tabs_that_edit_one_study_do_not_overwrite_each_other(server: Server) -> None:
    client = server.client
    client.wait_for("What are the columns", "/table", data="plain.csv")
    assert client.post("/table/save", data="plain.csv", out="tabs/study.toml").status == 303
    page = client.get("/table", data="plain.csv", study="tabs/study.toml").text
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    form = {"data": "plain.csv", "study": "tabs/study.toml", "seen": seen}
    assert client.post("/table/save", **form, **{"role-1": "sensitive"}).status == 303
    after = (server.folder / "tabs" / "study.toml").read_text()
    late = client.post("/table/save", **form, **{"role-0": "plain"})
    assert late.status == 409
    assert "was changed elsewhere" in late.text
    assert (server.folder / "tabs" / "study.toml").read_text() == after


def test_a_password_in_a_database_address_is_not_taken(server: Server) -> None:
    answer = server.client.post("/source", url="postgres://reader:hunter2@host/db?table=x")
    assert answer.status == 400
    assert ".pgpass" in answer.text
