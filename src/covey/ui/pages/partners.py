"""A study with partners, step by step: who takes part, our keys, cards, check, plan, and the run with its approval."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from covey.errors import CoveyError, InputError, StudyError
from covey.files import PRIVATE, json_object, write_atomically
from covey.party.identity import card as cards
from covey.party.identity import keys as keyring
from covey.party.identity.card import Card
from covey.party.identity.certificate import Certificate
from covey.party.session.control import QUESTION, STATUS, answer
from covey.plain import slug, toml_string
from covey.protocols import named
from covey.schema import Role
from covey.study import Study, requirements
from covey.study.editing import set_keys
from covey.summary import FILE as SUMMARY
from covey.ui.jobs import HERE, Job, covey
from covey.ui.pages.table import values_of
from covey.ui.workbench import Form, Workbench, asked
from covey.ui.workspace import mark

_PORT = 7701
_ANSWERED = "answered.txt"


@dataclass(frozen=True)
class Partner:
    """A party of the study, and how far we know it."""

    name: str
    role: str
    address: str
    fingerprint: str
    ours: bool


def show(bench: Workbench, request: Request) -> Response:
    """The steps of a joint study, each with how far it is."""
    workspace = bench.workspace
    path = asked(request, "study")
    place, text = workspace.study(path)
    try:
        study = Study.parse(text, place.parent)
    except StudyError as error:
        return bench.page("broken.html", request, study=path, problems=error.problems, status=400)
    notes = workspace.of_study(path)
    if study.protocol is None or not study.parties:
        return bench.page(
            "joint.html", request, study=path, agreed=study, data=notes.get("data", ""), seen=mark(text),
            protocols=_protocols(),
        )  # fmt: skip
    party = notes.get("party", "")
    partners = [_partner(study, each.name, party) for each in study.parties]
    run = bench.jobs.latest("run", path)
    return bench.page(
        "partners.html", request, study=path, agreed=study, data=notes.get("data", ""), seen=mark(text), party=party,
        partners=partners, complete=bool(party) and all(each.fingerprint for each in partners),
        tables=workspace.contents().tables, sources=workspace.sources(), check=bench.jobs.latest("check", path),
        plan=bench.jobs.latest("plan", path), planned=_planned(bench, path), run=run, now=_now(bench, run),
        question=run is not None and run.state == "running" and (run.folder / QUESTION).is_file(),
        refused=run is not None and _refused(run), out=_out(bench, run), port=_PORT,
        missing=[each.name for each in partners if not each.fingerprint],
        needs_data=not party or study.party(party).holds_data, relay=study.relay,
    )  # fmt: skip


def _protocols() -> dict[str, str]:
    """The protocols for rows that are split, with what they do."""
    found = {}
    for name in requirements.names():
        for each in named(name):
            needed = each.requirements
            if needed.partition == "horizontal" and each.release != "counts" and not needed.authority({}):
                found[name] = each.about
    return dict(sorted(found.items(), key=lambda item: item[0] != "peel"))


def _partner(study: Study, name: str, ours: str) -> Partner:
    party = study.party(name)
    content = study.files.get(party.certificate.as_posix()) if party.certificate is not None else None
    try:
        fingerprint = "" if content is None else Certificate.parse(content, name).fingerprint
    except CoveyError:
        fingerprint = ""
    return Partner(name, party.role or "holds rows", party.address or "", fingerprint, name == ours)


def _planned(bench: Workbench, path: str) -> dict[str, object]:
    """The answer of the latest plan, if it has come."""
    job = bench.jobs.latest("plan", path)
    if job is None or job.state != "done":
        return {}
    found = json.loads(job.out)
    return dict(found) if isinstance(found, dict) else {}


def _now(bench: Workbench, run: Job | None) -> dict[str, object]:
    """The run right now, with the time that it will take about."""
    if run is None:
        return {}
    found = json_object(run.folder / STATUS)
    began = found.get("began")
    planned = _planned(bench, run.file.about).get("seconds")
    if isinstance(began, float) and isinstance(planned, int | float):
        found["left"] = planned - (time.time() - began)
    return found


def _out(bench: Workbench, run: Job | None) -> str:
    """The folder of the latest run, if it is finished."""
    out = "" if run is None else run.file.notes.get("out", "")
    return out if out and (bench.workspace.root / out / SUMMARY).is_file() else ""


def _refused(run: Job) -> bool:
    """True if we said no to the release."""
    file = run.folder / _ANSWERED
    return run.state != "running" and file.is_file() and file.read_text() == "no"


def make(bench: Workbench, form: Form) -> Response:
    """Makes the study of one table a joint one: protocol, parties, one l, and listed domains."""
    path = form.text("study")
    place, text = bench.workspace.study_as_seen(path, form.text("seen"))
    study = Study.parse(text, place.parent)
    own = form.text("own")
    others = [name for name in form.text("others").replace(",", " ").split() if name != own]
    text = set_keys(
        text, ("study",), {"protocol": toml_string(form.text("protocol")), "partition": '"horizontal"'}, path
    )
    limits = [limit for column in study.sensitive if (limit := study.l_of(column)) is not None]
    for column in study.sensitive:
        text = set_keys(text, ("columns", column.name), {"l": None, "t": None}, path)
    text = set_keys(text, ("privacy",), {"l": f"{min(limits):g}" if limits else None, "t": None}, path)
    text, files = _listed(bench, path, study, text)
    for name in (own, *others):
        text = set_keys(text, ("parties", name), {"address": '""'}, path).replace('address = ""\n', "", 1)
    url = form.text("relay", "")
    if url:
        text = set_keys(text, ("relay",), {"url": toml_string(url)}, path)
    for name, content in files.items():
        write_atomically(place.parent / name, content.encode())
    Study.parse(text, place.parent)
    bench.workspace.write_study(path, text, form.text("seen"))
    _become(bench, path, own, form.text("address", ""))
    return bench.go("/partners", study=path)


def _listed(bench: Workbench, path: str, study: Study, text: str) -> tuple[str, dict[str, str]]:
    """The study with the domains that it leaves open listed from our table; parties compute over listed ones only."""
    files: dict[str, str] = {}
    open_ones = [column for column in study.quasi if not column.closed]
    data = bench.workspace.of_study(path).get("data", "")
    for column in open_ones:
        values = values_of(bench, data, column.name) if data else None
        if not values:
            raise InputError(
                f"column {column.name!r}: a joint study needs the list of its values; give it a hierarchy first"
            )
        file = f"hierarchies/{slug(column.name, 'column').lower()}.txt"
        files[file] = "\n".join(sorted(values)) + "\n"
        text = set_keys(text, ("columns", column.name), {"values": toml_string(file)}, path)
    return text, files


def me(bench: Workbench, form: Form) -> Response:
    """Says which party we are, and makes its keys if it has none here."""
    path = form.text("study")
    _become(bench, path, form.text("party"), form.text("address", ""))
    return bench.go("/partners", study=path)


def _become(bench: Workbench, path: str, party: str, address: str) -> None:
    place, _ = bench.workspace.study(path)
    Study.load(place).party(party)
    folder = place.parent / "keys"
    if not (folder / f"{party}.pem").is_file():
        keyring.save(keyring.make(party), folder)
    own = cards.make(keyring.load(folder).certificate, address or None)
    cards.add(place, own)
    bench.workspace.note_study(path, party=party, address=address)


def card(bench: Workbench, request: Request) -> Response:
    """Our card, for partners; with the study where they do not have it yet."""
    path = asked(request, "study")
    place, _ = bench.workspace.study(path)
    party = bench.workspace.of_study(path).get("party", "")
    if not party:
        raise InputError("say first which party you are")
    identity = keyring.load(place.parent / "keys").certificate
    made = cards.make(identity, Study.load(place).party(party).address, place if asked(request, "with", "") else None)
    name = f"{party}-invitation.covey" if made.study else f"{party}.covey"
    return Response(
        made.spell(), media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )  # fmt: skip


def _keep(bench: Workbench, content: bytes) -> str:
    """Keeps a card that was given, until its fingerprint has been compared."""
    folder = bench.workspace.notes / "cards"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(content).hexdigest()[:32]
    write_atomically(folder / f"{name}.covey", content, PRIVATE)
    return name


def _kept(bench: Workbench, name: str) -> Card:
    path = bench.workspace.notes / "cards" / f"{name}.covey"
    if not name.isalnum() or not path.is_file():
        raise InputError("this card is not here any more; choose the file again")
    return cards.read(path.read_bytes(), "the card")


def add(bench: Workbench, form: Form) -> Response:
    """Takes a partner's card; it is used once its fingerprint has been compared."""
    content = form.content("file", cards.LARGEST)
    given = cards.read(content, form.upload("file").filename or "the card")
    path = form.text("study")
    Study.load(bench.workspace.study(path)[0]).party(given.party)
    return bench.go("/partners/compare", study=path, card=_keep(bench, content))


def compare(bench: Workbench, request: Request) -> Response:
    """The fingerprint of a card, to be compared by telephone."""
    given = _kept(bench, asked(request, "card"))
    return bench.page(
        "compare.html", request, study=asked(request, "study"), card=asked(request, "card"), party=given.party,
        address=given.address or "", fingerprint=given.identity.fingerprint,
        data=bench.workspace.of_study(asked(request, "study")).get("data", ""),
    )  # fmt: skip


def admit(bench: Workbench, form: Form) -> Response:
    """Puts a compared card into the study."""
    path = form.text("study")
    if form.text("compared", "") != "yes":
        raise InputError("compare the fingerprint with the partner first, by telephone, and tick the box")
    cards.add(bench.workspace.study(path)[0], _kept(bench, form.text("card")))
    return bench.go("/partners", study=path)


def check(bench: Workbench, form: Form) -> Response:
    """Checks our data against the study, or makes the plan, with the commands of that name."""
    path, kind = form.text("study"), form.text("kind")
    party = bench.workspace.of_study(path).get("party", "")
    data = form.text("data", "")
    whose = ["--as", party, "--data", bench.workspace.data(data)] if data else []
    if data:
        bench.workspace.note_study(path, data=data)
    rows = form.whole("rows", low=1)
    if kind == "check":
        command = ["check", path, *whose]
    else:
        command = ["plan", path, *whose, *(["--rows", str(rows)] if rows else []), "--json"]
    bench.jobs.start("check" if kind == "check" else "plan", f"covey {command[0]} {path}", path, [covey(*command)])
    return bench.go("/partners", study=path)


def start(bench: Workbench, form: Form) -> Response:
    """Starts our party."""
    path = form.text("study")
    notes = bench.workspace.of_study(path)
    folder = bench.workspace.study(path)[0].parent
    out = bench.workspace.relative(folder / bench.workspace.free(folder, "run", ""))
    data = form.text("data", "")
    own = ["--data", bench.workspace.data(data)] if data else []
    if data:
        bench.workspace.note_study(path, data=data)
    command = ["run", path, "--as", notes.get("party", ""), *own, "--keys", f"{bench.workspace.relative(folder)}/keys"]
    command += ["--out", out, "--wait", form.text("wait", "60"), "--control", HERE]
    listen = form.text("listen", "")
    command += ["--listen", listen] if listen else []
    bench.jobs.start("run", f"Party {notes.get('party', '')} of {path}", path, [covey(*command)], out=out)
    return bench.go("/partners", study=path)


def approve(bench: Workbench, request: Request) -> Response:
    """The question before the last opening, and yes or no."""
    run = bench.jobs.find(asked(request, "job"))
    question = json_object(run.folder / QUESTION)
    return bench.page(
        "approve.html", request, job=run, study=run.file.about, question=question,
        columns=[column.name for column in Study.load(bench.workspace.study(run.file.about)[0]).quasi],
        data=bench.workspace.of_study(run.file.about).get("data", ""),
    )  # fmt: skip


def decide(bench: Workbench, form: Form) -> Response:
    """Hands the answer to the run."""
    run = bench.jobs.find(form.text("job"))
    word = form.text("answer")
    if word not in ("yes", "no"):
        raise InputError("answer with yes or no")
    if word == "yes" and form.text("read", "") != "yes":
        raise InputError("tick the box first: a yes is signed, and cannot be taken back")
    answer(run.folder, word)
    write_atomically(run.folder / _ANSWERED, word.encode(), PRIVATE)
    return bench.go("/partners", study=run.file.about)


def join(bench: Workbench, request: Request) -> Response:
    """A study that a partner invites us to; first the file, then who it is from."""
    name = asked(request, "card", "")
    if not name:
        return bench.page("join.html", request)
    given = _kept(bench, name)
    if not given.study:
        raise InputError(
            f"the file of {given.party} carries no study; open it on the page of the study that you both have, or ask "
            "for an invitation"
        )
    study = _peek(bench, given)
    roles = {role: [column.name for column in study.of_role(role)] for role in Role if study.of_role(role)}
    return bench.page(
        "invited.html", request, card=name, given=given, fingerprint=given.identity.fingerprint, agreed=study,
        roles=roles, suggested=slug(study.name, "study"), free=[
            party.name for party in study.parties if _partner(study, party.name, "").fingerprint == ""
        ],
    )  # fmt: skip


def _peek(bench: Workbench, given: Card) -> Study:
    """The study of a card, read without being kept."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=bench.workspace.notes) as apart:
        return cards.unpack(given, Path(apart) / "study")


def open_invitation(bench: Workbench, form: Form) -> Response:
    """Takes an invitation."""
    content = form.content("file", cards.LARGEST)
    cards.read(content, form.upload("file").filename or "the invitation")
    return bench.go("/join", card=_keep(bench, content))


def accept(bench: Workbench, form: Form) -> Response:
    """Joins: writes the study, makes our keys, and puts both certificates in."""
    given = _kept(bench, form.text("card"))
    if form.text("compared", "") != "yes":
        raise InputError(f"compare the fingerprint with {given.party} first, by telephone, and tick the box")
    folder = bench.workspace.path(form.text("folder"))
    cards.unpack(given, folder)
    path = bench.workspace.relative(folder / cards.STUDY)
    cards.add(folder / cards.STUDY, given)
    _become(bench, path, form.text("party"), form.text("address", ""))
    return bench.go("/partners", study=path)


SHOW = {
    "/partners": show, "/partners/card": card, "/partners/compare": compare, "/approve": approve, "/join": join,
}  # fmt: skip
DO = {
    "/partners/make": make, "/partners/me": me, "/partners/add": add, "/partners/admit": admit,
    "/partners/check": check, "/partners/start": start, "/approve/answer": decide, "/join/open": open_invitation,
    "/join/accept": accept,
}  # fmt: skip
