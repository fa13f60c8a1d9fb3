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
from covey.ui.workbench import Form, Workbench, parameter

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
    is_ours: bool


def show(bench: Workbench, request: Request) -> Response:
    """The steps of a joint study, each with how far it is."""
    workspace = bench.workspace
    path = parameter(request, "study")
    file, text = workspace.study(path)
    try:
        study = Study.parse(text, file.parent)
    except StudyError as error:
        return bench.page("broken.html", request, study=path, problems=error.problems, status=400)
    notes = workspace.of_study(path)
    party = notes.get("party", "")
    if study.protocol is None or not study.parties:
        return joint.show(bench, request, path, study)
    partners = [_partner(study, member.name, party) for member in study.parties]
    run = bench.jobs.latest("run", path)
    return bench.page(
        "partners.html", request, study=path, agreed=study, data=notes.get("data", ""), party=party,
        partners=partners, complete=bool(party) and all(partner.fingerprint for partner in partners),
        tables=bench.tables(notes.get("data", "")), check=bench.jobs.latest("check", path),
        plan=bench.jobs.latest("plan", path), planned=_planned(bench, path), run=run, now=_now(bench, run),
        question=run is not None and run.state == "running" and (run.folder / QUESTION).is_file(),
        answered="" if run is None else _answered(run), refused=run is not None and _refused(run),
        out=_out(bench, run), port=joint.PORT,
        missing=[partner.name for partner in partners if not partner.fingerprint],
        needs_data=not party or study.party(party).holds_data, relay=study.relay, wrote=bool(notes.get("wrote")),
        ours=next((partner for partner in partners if partner.is_ours), None),
        changed=notes.get("shared", study.study_hash) != study.study_hash,
        keys=f"{workspace.relative(file.parent)}/keys", rows=_rows(bench.jobs.latest("plan", path)),
    )  # fmt: skip


def _rows(plan: Job | None) -> str:
    """The rows of each party that the latest plan was made for."""
    command = [] if plan is None else plan.file.commands[0]
    return command[command.index("--rows") + 1] if "--rows" in command else "1000"


def _partner(study: Study, name: str, our_party: str) -> Partner:
    party = study.party(name)
    content = study.files.get(party.certificate.as_posix()) if party.certificate is not None else None
    try:
        fingerprint = "" if content is None else Certificate.parse(content, name).fingerprint
    except CoveyError:
        fingerprint = ""
    holds = "holds rows" if party.columns is None else f"holds {', '.join(party.columns)}"
    return Partner(name, party.role or holds, party.address or "", fingerprint, name == our_party)


def _planned(bench: Workbench, path: str) -> dict[str, object]:
    """The answer of the latest plan, if it has come."""
    job = bench.jobs.latest("plan", path)
    if job is None or job.state != "done":
        return {}
    outcome = json.loads(job.out)
    return dict(outcome) if isinstance(outcome, dict) else {}


def _now(bench: Workbench, run: Job | None) -> dict[str, object]:
    """The run right now, with the time that it will take about."""
    if run is None:
        return {}
    status = json_object(run.folder / STATUS)
    began = status.get("began")
    planned = _planned(bench, run.file.subject).get("seconds")
    if isinstance(began, float) and isinstance(planned, int | float):
        status["left"] = planned - (time.time() - began)
    return status


def _out(bench: Workbench, run: Job | None) -> str:
    """The folder of the latest run, if it is finished."""
    folder = "" if run is None else run.file.notes.get("out", "")
    return folder if folder and (bench.workspace.root / folder / SUMMARY).is_file() else ""


def _refused(run: Job) -> bool:
    """True if a run ended because somebody said no, we or a partner."""
    return run.state == "failed" and (REFUSED in run.said or _answered(run) == "no")


def _answered(run: Job) -> str:
    """Our answer to the question of a run; empty if there is none."""
    file = run.folder / _ANSWERED
    return file.read_text() if file.is_file() else ""


def me(bench: Workbench, form: Form) -> Response:
    """Says which party we are, and makes its keys if it has none here."""
    path = form.text("study")
    joint.become(bench, path, form.text("party"), form.text("address", ""))
    return bench.go("/partners", study=path)


def card(bench: Workbench, request: Request) -> Response:
    """Our card, for partners; with the study where they do not have it yet."""
    path = parameter(request, "study")
    file, _ = bench.workspace.study(path)
    party = bench.workspace.of_study(path).get("party", "")
    if not party:
        raise InputError("say first which party you are")
    identity = keyring.load(file.parent / "keys").certificate
    invitation = cards.make(
        identity, Study.load(file).party(party).address, file if parameter(request, "with", "") else None
    )
    if invitation.study:
        bench.workspace.note_study(path, shared=Study.load(file).study_hash)
    return joint.download(f"{party}-invitation.covey" if invitation.study else f"{party}.covey", invitation)


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
    card = cards.read(content, form.upload("file").filename or "the card")
    path = form.text("study")
    if not card.study:
        Study.load(bench.workspace.study(path)[0]).party(card.party)
    return bench.go("/partners/compare", study=path, card=_keep(bench, content))


def compare(bench: Workbench, request: Request) -> Response:
    """The fingerprint of a card, and what its study would change."""
    path = parameter(request, "study")
    file, _ = bench.workspace.study(path)
    name = parameter(request, "card")
    card, study = _kept(bench, name), Study.load(file)
    return bench.page(
        "compare.html", request, study=path, card=name, party=card.party, known=_known(study, card),
        address=card.address or "", fingerprint=card.identity.fingerprint, changes=_changes(bench, file, card),
        member=card.party in [member.name for member in study.parties],
        data=bench.workspace.of_study(path).get("data", ""),
    )  # fmt: skip


def _known(study: Study, card: Card) -> bool:
    """True if the card's certificate is the one that we have of its party."""
    names = [party.name for party in study.parties]
    return card.party in names and _partner(study, card.party, "").fingerprint == card.identity.fingerprint


def _changes(bench: Workbench, file: Path, card: Card) -> dict[str, list[str]]:
    """The lines by which a card's study differs from ours, by file."""
    study = Study.load(file)
    if not card.study or _peek(bench, card).study_hash == study.study_hash:
        return {}
    texts = {cards.STUDY: file.read_text("utf-8-sig")}
    texts |= {name: content.decode(errors="replace") for name, content in study.files.items()}
    changes = {}
    for name in dict.fromkeys((*card.study, *texts)):
        old, proposed = (version.get(name, "").splitlines() for version in (texts, card.study))
        lines = [line for line in difflib.unified_diff(old, proposed, n=0, lineterm="") if not line.startswith(_MARKS)]
        if lines and not name.endswith(".pem"):
            changes[name] = lines[:_MOST_LINES]
    return changes


def admit(bench: Workbench, form: Form) -> Response:
    """Puts a compared card, or the study that it carries, into the study."""
    path = form.text("study")
    file, _ = bench.workspace.study(path)
    card = _kept(bench, form.text("card"))
    if form.text("compared", "") != "yes" and not _known(Study.load(file), card):
        raise InputError("compare the fingerprint with the partner first, by telephone, and tick the box")
    notes = bench.workspace.of_study(path)
    if form.text("take", "") == "yes":
        offered = _peek(bench, card)
        for name in filter(None, (card.party, notes.get("party"))):
            offered.party(name)
        cards.take(file, card)
        bench.workspace.note_study(path, shared=offered.study_hash)
    cards.add(file, card)
    if notes.get("party"):
        joint.become(bench, path, notes["party"], notes.get("address", ""))
    return bench.go("/partners", study=path)


def check(bench: Workbench, form: Form) -> Response:
    """Checks our data against the study, or makes the plan."""
    path, kind = form.text("study"), form.text("kind")
    party = bench.workspace.of_study(path).get("party", "")
    data = form.text("data", "")
    data_flags = ["--as", party, "--data", bench.workspace.data(data)] if data else []
    if data:
        bench.workspace.note_study(path, data=data)
    rows, kind = form.whole("rows", low=1), "check" if kind == "check" else "plan"
    options = {} if kind == "check" else {"rows": rows, "json": True}
    bench.jobs.start(kind, f"covey {kind} {path}", path, [covey(kind, path, *data_flags, **options)])
    return bench.go("/partners", study=path)


def start(bench: Workbench, form: Form) -> Response:
    """Starts our party."""
    path = form.text("study")
    notes = bench.workspace.of_study(path)
    folder = bench.workspace.study(path)[0].parent
    target = bench.workspace.relative(folder / bench.workspace.free(folder, "run", ""))
    data = form.text("data", "")
    data_flags = ["--data", bench.workspace.data(data)] if data else []
    if data:
        bench.workspace.note_study(path, data=data)
    command = [
        "run",
        path,
        "--as",
        notes.get("party", ""),
        *data_flags,
        "--keys",
        f"{bench.workspace.relative(folder)}/keys",
    ]
    wait = form.text("wait", "60")
    command += ["--out", target, "--wait", wait, "--control", HERE]
    listen = form.text("listen", "")
    command += ["--listen", listen] if listen else []
    bench.jobs.start("run", f"Party {notes.get('party', '')} of {path}", path, [covey(*command)], out=target, wait=wait)
    return bench.go("/partners", study=path)


def approve(bench: Workbench, request: Request) -> Response:
    """The question before the last opening, and yes or no."""
    run = bench.jobs.find(parameter(request, "job"))
    question = json_object(run.folder / QUESTION)
    study = Study.load(bench.workspace.study(run.file.subject)[0])
    return bench.page(
        "approve.html", request, job=run, study=run.file.subject, question=question,
        columns=[column.name for column in study.quasi], waits=run.file.notes.get("wait", "60"),
        exact=[column.name for column in study.released if column not in study.quasi],
        data=bench.workspace.of_study(run.file.subject).get("data", ""),
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
    return bench.go("/partners", study=run.file.subject)


def join(bench: Workbench, request: Request) -> Response:
    """A study that a partner invites us to."""
    name = parameter(request, "card", "")
    if not name:
        return bench.page("join.html", request)
    card = _kept(bench, name)
    if not card.study:
        raise InputError(
            f"the file of {card.party} carries no study; open it on the page of the study that you both have, or ask "
            "for an invitation"
        )
    study = _peek(bench, card)
    roles = {role: [column.name for column in study.of_role(role)] for role in Role if study.of_role(role)}
    return bench.page(
        "invited.html", request, card=name, given=card, fingerprint=card.identity.fingerprint, agreed=study,
        roles=roles, suggested=slug(study.name, "study"), about=of_study(study).about,
        free=[seat for party in study.parties if not (seat := _partner(study, party.name, "")).fingerprint],
    )  # fmt: skip


def _peek(bench: Workbench, card: Card) -> Study:
    """The study of a card, read without being kept."""
    import tempfile

    with tempfile.TemporaryDirectory(dir=bench.workspace.notes) as scratch:
        return cards.unpack(card, Path(scratch) / "study")


def open_invitation(bench: Workbench, form: Form) -> Response:
    """Takes an invitation."""
    content = form.content("file", cards.LARGEST)
    cards.read(content, form.upload("file").filename or "the invitation")
    return bench.go("/join", card=_keep(bench, content))


def accept(bench: Workbench, form: Form) -> Response:
    """Joins: writes the study, makes our keys, and puts both certificates in."""
    card = _kept(bench, form.text("card"))
    if form.text("compared", "") != "yes":
        raise InputError(f"compare the fingerprint with {card.party} first, by telephone, and tick the box")
    folder = bench.workspace.path(form.text("folder"))
    cards.unpack(card, folder)
    path = bench.workspace.relative(folder / cards.STUDY)
    cards.add(folder / cards.STUDY, card)
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
