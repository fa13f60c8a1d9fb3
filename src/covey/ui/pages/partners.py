"""A study with partners, step by step: who takes part, our keys, cards, check, plan, and the run with its approval."""

from __future__ import annotations

import difflib
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
from covey.plain import slug
from covey.protocols import of_study
from covey.schema import Role
from covey.study import Study
from covey.summary import FILE as SUMMARY
from covey.ui.jobs import HERE, Job, covey
from covey.ui.pages import joint
from covey.ui.workbench import Form, Workbench, asked

_ANSWERED = "answered.txt"
_MOST_LINES = 400
_MARKS = ("---", "+++", "@")
REFUSED = "refused the release"
"""The words with which a run ends after a no."""


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
    party = notes.get("party", "")
    if study.protocol is None or not study.parties:
        return joint.show(bench, request, path, study)
    partners = [_partner(study, each.name, party) for each in study.parties]
    run = bench.jobs.latest("run", path)
    return bench.page(
        "partners.html", request, study=path, agreed=study, data=notes.get("data", ""), party=party,
        partners=partners, complete=bool(party) and all(each.fingerprint for each in partners),
        tables=bench.tables(notes.get("data", "")), check=bench.jobs.latest("check", path),
        plan=bench.jobs.latest("plan", path), planned=_planned(bench, path), run=run, now=_now(bench, run),
        question=run is not None and run.state == "running" and (run.folder / QUESTION).is_file(),
        answered="" if run is None else _answered(run), refused=run is not None and _refused(run),
        out=_out(bench, run), port=joint.PORT, missing=[each.name for each in partners if not each.fingerprint],
        needs_data=not party or study.party(party).holds_data, relay=study.relay, wrote=bool(notes.get("wrote")),
        ours=next((each for each in partners if each.ours), None),
        changed=notes.get("shared", study.study_hash) != study.study_hash,
        keys=f"{workspace.relative(place.parent)}/keys", rows=_rows(bench.jobs.latest("plan", path)),
    )  # fmt: skip


def _rows(plan: Job | None) -> str:
    """The rows of each party that the latest plan was made for."""
    command = [] if plan is None else plan.file.commands[0]
    return command[command.index("--rows") + 1] if "--rows" in command else "1000"


def _partner(study: Study, name: str, ours: str) -> Partner:
    party = study.party(name)
    content = study.files.get(party.certificate.as_posix()) if party.certificate is not None else None
    try:
        fingerprint = "" if content is None else Certificate.parse(content, name).fingerprint
    except CoveyError:
        fingerprint = ""
    holds = "holds rows" if party.columns is None else f"holds {', '.join(party.columns)}"
    return Partner(name, party.role or holds, party.address or "", fingerprint, name == ours)


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
    """True if a run ended because somebody said no, we or a partner."""
    return run.state == "failed" and (REFUSED in run.said or _answered(run) == "no")


def _answered(run: Job) -> str:
    """Our answer to the question of a run; empty as long as we have given none."""
    file = run.folder / _ANSWERED
    return file.read_text() if file.is_file() else ""


def me(bench: Workbench, form: Form) -> Response:
    """Says which party we are, and makes its keys if it has none here."""
    path = form.text("study")
    joint.become(bench, path, form.text("party"), form.text("address", ""))
    return bench.go("/partners", study=path)


def card(bench: Workbench, request: Request) -> Response:
    """Our card, for partners; with the study where they do not have it yet."""
    path = asked(request, "study")
    place, _ = bench.workspace.study(path)
    party = bench.workspace.of_study(path).get("party", "")
    if not party:
        raise InputError("say first which party you are")
    identity = keyring.load(place.parent / "keys").certificate
    made = cards.make(identity, Study.load(place).party(party).address, place if asked(request, "with", "") else None)
    if made.study:
        bench.workspace.note_study(path, shared=Study.load(place).study_hash)
    return joint.download(f"{party}-invitation.covey" if made.study else f"{party}.covey", made)


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
    if not given.study:
        Study.load(bench.workspace.study(path)[0]).party(given.party)
    return bench.go("/partners/compare", study=path, card=_keep(bench, content))


def compare(bench: Workbench, request: Request) -> Response:
    """The fingerprint of a card, to be compared by telephone, and what the study in it would change."""
    path = asked(request, "study")
    place, _ = bench.workspace.study(path)
    given, study = _kept(bench, asked(request, "card")), Study.load(place)
    return bench.page(
        "compare.html", request, study=path, card=asked(request, "card"), party=given.party, known=_known(study, given),
        address=given.address or "", fingerprint=given.identity.fingerprint, changes=_changes(bench, place, given),
        member=given.party in [each.name for each in study.parties],
        data=bench.workspace.of_study(path).get("data", ""),
    )  # fmt: skip


def _known(study: Study, given: Card) -> bool:
    """True if the card's certificate is the one that we have of its party."""
    own = [each.name for each in study.parties]
    return given.party in own and _partner(study, given.party, "").fingerprint == given.identity.fingerprint


def _changes(bench: Workbench, place: Path, given: Card) -> dict[str, list[str]]:
    """The lines by which the study of a card and its files differ from ours, by file; none if they mean the same."""
    study = Study.load(place)
    if not given.study or _peek(bench, given).study_hash == study.study_hash:
        return {}
    ours = {cards.STUDY: place.read_text("utf-8-sig")}
    ours |= {name: content.decode(errors="replace") for name, content in study.files.items()}
    found = {}
    for name in dict.fromkeys((*given.study, *ours)):
        old, new = (each.get(name, "").splitlines() for each in (ours, given.study))
        lines = [line for line in difflib.unified_diff(old, new, n=0, lineterm="") if not line.startswith(_MARKS)]
        if lines and not name.endswith(".pem"):
            found[name] = lines[:_MOST_LINES]
    return found


def admit(bench: Workbench, form: Form) -> Response:
    """Puts a compared card into the study, or the study that it carries in the place of ours."""
    path = form.text("study")
    place, _ = bench.workspace.study(path)
    given = _kept(bench, form.text("card"))
    if form.text("compared", "") != "yes" and not _known(Study.load(place), given):
        raise InputError("compare the fingerprint with the partner first, by telephone, and tick the box")
    notes = bench.workspace.of_study(path)
    if form.text("take", "") == "yes":
        offered = _peek(bench, given)
        for name in filter(None, (given.party, notes.get("party"))):
            offered.party(name)
        cards.take(place, given)
        bench.workspace.note_study(path, shared=offered.study_hash)
    cards.add(place, given)
    if notes.get("party"):
        joint.become(bench, path, notes["party"], notes.get("address", ""))
    return bench.go("/partners", study=path)


def check(bench: Workbench, form: Form) -> Response:
    """Checks our data against the study, or makes the plan, with the commands of that name."""
    path, kind = form.text("study"), form.text("kind")
    party = bench.workspace.of_study(path).get("party", "")
    data = form.text("data", "")
    whose = ["--as", party, "--data", bench.workspace.data(data)] if data else []
    if data:
        bench.workspace.note_study(path, data=data)
    rows, kind = form.whole("rows", low=1), "check" if kind == "check" else "plan"
    more = {} if kind == "check" else {"rows": rows, "json": True}
    bench.jobs.start(kind, f"covey {kind} {path}", path, [covey(kind, path, *whose, **more)])
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
    wait = form.text("wait", "60")
    command += ["--out", out, "--wait", wait, "--control", HERE]
    listen = form.text("listen", "")
    command += ["--listen", listen] if listen else []
    bench.jobs.start("run", f"Party {notes.get('party', '')} of {path}", path, [covey(*command)], out=out, wait=wait)
    return bench.go("/partners", study=path)


def approve(bench: Workbench, request: Request) -> Response:
    """The question before the last opening, and yes or no."""
    run = bench.jobs.find(asked(request, "job"))
    question = json_object(run.folder / QUESTION)
    study = Study.load(bench.workspace.study(run.file.about)[0])
    return bench.page(
        "approve.html", request, job=run, study=run.file.about, question=question,
        columns=[column.name for column in study.quasi], waits=run.file.notes.get("wait", "60"),
        exact=[column.name for column in study.released if column not in study.quasi],
        data=bench.workspace.of_study(run.file.about).get("data", ""),
    )  # fmt: skip


def decide(bench: Workbench, form: Form) -> Response:
    """Hands the answer to the run."""
    run = bench.jobs.find(form.text("job"))
    word = form.text("answer")
    if word not in ("yes", "no"):
        raise InputError("answer with yes or no")
    if form.text({"yes": "read", "no": "sure"}[word], "") != "yes":
        raise InputError(f"tick the box first: a {word} is signed, and cannot be taken back")
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
        roles=roles, suggested=slug(study.name, "study"), about=of_study(study).about,
        free=[each for party in study.parties if not (each := _partner(study, party.name, "")).fingerprint],
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
    joint.become(bench, path, form.text("party"), form.text("address", ""))
    bench.workspace.note_study(path, shared=Study.load(folder / cards.STUDY).study_hash)
    return bench.go("/partners", study=path)


SHOW = {
    "/partners": show, "/partners/card": card, "/partners/compare": compare, "/approve": approve, "/join": join,
}  # fmt: skip
DO = {
    "/partners/me": me, "/partners/add": add, "/partners/admit": admit,
    "/partners/check": check, "/partners/start": start, "/approve/answer": decide, "/join/open": open_invitation,
    "/join/accept": accept,
}  # fmt: skip
