"""The first screen: may this be released? The judge's answer, the figures that it rests on, and who took part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from covey.report import spelling
from covey.report.findings import ReleaseFindings
from covey.report.markup import Markup, join, listed, named, tag
from covey.report.material import Material
from covey.study import Study
from covey.summary import Summary


@dataclass(frozen=True)
class Answer:
    """The answer in a word, a sentence, and what it rests on."""

    kind: Literal["yes", "no", "unknown"]
    word: str
    sentence: str
    reasons: tuple[str, ...] = ()


def answer(material: Material, findings: ReleaseFindings | None, unreadable: str | None) -> Answer:
    """The answer: no if a check fails, yes only if the judge has said so."""
    summary = material.summary
    if summary is None:
        outcome = material.ledger.outcome if material.ledger is not None else ""
        return Answer("unknown", "No release", "The run has not come to its end; nothing was released.", (outcome,))
    if summary.release_sha256 is None:
        return Answer(
            "unknown", "Not here", "The run is finished; the release went to others and is not in this folder."
        )
    faults = list(_wrong(material, findings, unreadable))
    if faults:
        return Answer("no", "No", "Do not publish this.", tuple(faults))
    if material.release is None:
        return Answer("unknown", "Not judged", "The release is not in this folder, so that there is nothing to judge.")
    if findings is None:
        return Answer("unknown", "Not judged", _why_not(material.study))
    return Answer(
        "yes",
        "Yes",
        "An independent judge has recomputed everything from the release and found all that the study asks.",
        (
            *_cautions(findings),
            "Whether the study asks enough is for you to say: the judge only holds the release to it.",
        ),
    )


def _cautions(findings: ReleaseFindings) -> Iterator[str]:
    """A caution for each sensitive column that the study protects by nothing but k."""
    for name in findings.unasked():
        part, sizes = findings.shared[name], findings.released.sizes
        uniform = part == 1
        if uniform.any():
            classes = spelling.plural(int(uniform.sum()), "class", "classes")
            consequence = (
                f"in {classes} with {spelling.plural(int(sizes[uniform].sum()), 'row')} all people share one value"
            )
        else:
            consequence = f"in one class {spelling.share(float(part.max()))} of the people share one value"
        yield (
            f"Caution: the study asks no l and no t of the sensitive column {name}, so that a class may tell the value "
            f"of everyone in it: {consequence}."
        )


def _wrong(material: Material, findings: ReleaseFindings | None, unreadable: str | None) -> Iterator[str]:
    if material.altered:
        yield "The release in this folder is not the one of this run: its SHA-256 is another than in summary.json."
    if _is_another_study(material):
        yield "The study in this folder is not the one of this run: its hash is another than in summary.json."
    if unreadable is not None:
        yield f"The judge cannot read it: {unreadable}."
    for requirement in () if findings is None else findings.verdict.unmet:
        yield f"{str(requirement)[0].upper()}{str(requirement)[1:]}."
    for sentence in () if material.signatures is None else material.signatures.wrong:
        yield f"The certificate does not hold: {sentence}."


def _is_another_study(material: Material) -> bool:
    study, summary = material.study, material.summary
    return study is not None and summary is not None and study.study_hash != summary.study_hash


def _why_not(study: Study | None) -> str:
    if study is None:
        return "The study is not in this folder, so that the judge does not know what was asked."
    return "The release is a table of counts, which the judge of records cannot read; the parties signed its figures."


def opening(material: Material, findings: ReleaseFindings | None, unreadable: str | None) -> Markup:
    """The title, the answer, the figures, and who took part."""
    result = answer(material, findings, unreadable)
    reasons = (
        listed(result.reasons)
        if len(result.reasons) > 1
        else join(tag("p", reason) for reason in result.reasons if reason)
    )
    box = tag(
        "div",
        tag("div", result.word, class_="word"),
        tag("div", tag("p", tag("strong", result.sentence)), reasons),
        class_=f"answer {result.kind}",
    )
    summary = material.summary
    parts = [
        tag("h1", "May this be released? ", tag("span", "Study ", named(_study(material)), class_="lead")),
        tag("p", _scene(material), class_="lead"),
        box,
    ]
    if summary is not None and summary.release_sha256 is not None:
        parts.append(tag("div", *_tiles(summary, findings), class_="tiles"))
    parts.append(_facts(material))
    notes = [*(() if summary is None else summary.warnings), *(() if findings is None else findings.verdict.notes)]
    if notes:
        parts += [tag("h3", "To mind"), listed(notes)]
    return join(parts)


def _study(material: Material) -> str:
    if material.summary is not None:
        return material.summary.study
    return material.ledger.study if material.ledger is not None else ""


def _scene(material: Material) -> str:
    """The maker of the release, in a sentence."""
    summary = material.summary
    party = summary.party if summary is not None else material.ledger.party if material.ledger is not None else None
    if party is not None:
        return f"The report of party {party}."
    if summary is not None and summary.parties:
        return "The report of a simulation: all parties on one machine."
    return "The report of one owner's table."


def _tiles(summary: Summary, findings: ReleaseFindings | None) -> Iterator[Markup]:
    verdict = None if findings is None else findings.verdict
    counted = summary.singled_out if verdict is None else verdict.singled_out
    if counted is not None:
        columns = join([named(name) for name in counted.columns], ", ") if counted.columns else "in no column"
        yield _tile("rows that one cell singles out", spelling.count(counted.one), columns)
        pair = counted.pairs[0].columns if counted.pairs else []
        remark = join(["most by ", join([named(name) for name in pair], " and ")]) if pair else "no pair of columns"
        yield _tile("rows that two cells single out", spelling.count(counted.two), remark)
    k = summary.k_reached if verdict is None else verdict.k
    if k is not None:
        yield _tile("k, smallest class", spelling.count(k), f"asked: {summary.k}")
    if summary.insider_k is not None:
        yield _tile(
            "insider k",
            spelling.count(summary.insider_k),
            "the fewest of others' records in a class where a party sees some",
        )
    yield from _diversity(summary, findings)
    publishable = verdict is None or verdict.answer
    if publishable and summary.kept is not None:
        yield _tile("kept", spelling.loss(summary.kept), "of the columns that could be published; 1 is all")
    lm = summary.loss.get("lm") if publishable else None
    if lm is not None:
        yield _tile("loss (LM) of the quasi columns", spelling.loss(lm), "0 is untouched, 1 is all gone")
    if summary.rows is not None:
        classes = spelling.plural(summary.classes, "class", "classes") if summary.classes is not None else ""
        yield _tile("rows released", spelling.count(summary.rows), f"in {classes}")
        left_out = "counted as fully lost" if summary.withheld else "nobody is left out"
        if summary.dropped:
            left_out = f"{spelling.count(summary.dropped)} more had missing values"
        yield _tile("rows withheld", spelling.count(summary.withheld), left_out)
    if summary.suppressed_cells is not None:
        yield _tile("cells suppressed", spelling.count(summary.suppressed_cells), _of_all(summary, findings))
    if verdict is not None:
        risk = verdict.risk.prosecutor
        yield _tile("highest risk", spelling.share(risk.highest), f"on average {spelling.share(risk.average)}")


def _diversity(summary: Summary, findings: ReleaseFindings | None) -> Iterator[Markup]:
    """l as the judge found it, in the column where it is least."""
    request = "not asked" if summary.l is None else f"asked: {spelling.level(summary.l)}"
    value, column_name = summary.l_reached, ""
    if findings is not None and findings.verdict.diversity:
        kinds = {
            requirement.column: requirement
            for requirement in findings.verdict.requirements
            if requirement.name.startswith("l (")
        }
        levels = [
            (requirement.reached, column) for column, requirement in kinds.items() if requirement.reached is not None
        ]
        lowest = min(levels) if levels else min((entry.frequency, entry.column) for entry in findings.verdict.diversity)
        value, column_name = lowest[0], f" ({lowest[1]})"
    if value is not None:
        yield _tile("l, diversity", spelling.level(value), join([request, named(column_name)]))


def _of_all(summary: Summary, findings: ReleaseFindings | None) -> str:
    if findings is None or not summary.rows or summary.suppressed_cells is None:
        return ""
    return f"{spelling.share(summary.suppressed_cells / (summary.rows * len(findings.columns)))} of the quasi cells"


def _tile(name: str, value: str, remark: str) -> Markup:
    return tag(
        "div", tag("div", name, class_="name"), tag("div", value, class_="value"), tag("div", remark, class_="more"),
        class_="tile",
    )  # fmt: skip


def _cheating(summary: Summary) -> str:
    """The study's choice, and how likely it was that a party passed all checks."""
    if summary.cheating != "detect":
        return "would not have been caught"
    bits = summary.soundness_bits
    return "would have been stopped" if bits is None else f"would have been stopped, but for a chance of 2^-{bits}"


def _facts(material: Material) -> Markup:
    """The participants, the protocol, and the hashes of study and release."""
    summary, ledger = material.summary, material.ledger
    facts: list[tuple[str, str]] = []
    if summary is not None:
        if summary.parties:
            facts.append(("took part", join([named(name) for name in summary.parties], ", ")))
        if summary.row_counts:
            stated = [join([named(name), f" {spelling.count(rows)}"]) for name, rows in summary.row_counts.items()]
            facts.append(("rows, as each signed", join(stated, ", ")))
        method = f"protocol {summary.protocol}" if summary.protocol else f"algorithm {summary.algorithm}"
        facts.append(("made by", method + (f", {summary.partition} partition" if summary.partition else "")))
        if summary.computing:
            facts.append(("computed by", join([named(name) for name in summary.computing], ", ")))
            facts.append(("a computing party that cheats", _cheating(summary)))
        if summary.parties:
            facts.append(("signed by", _signed(material)))
        if summary.release_sha256 is not None:
            facts.append(("release SHA-256", tag("code", summary.release_sha256)))
        facts.append(("study hash", tag("code", summary.study_hash)))
    elif ledger is not None:
        took_part = [name for name in (ledger.party, *ledger.others) if name]
        facts.append(("took part", join([named(name) for name in took_part], ", ")))
        facts.append(("protocol", ledger.protocol or ""))
        facts.append(("study hash", tag("code", ledger.study_hash)))
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in facts))


def _signed(material: Material) -> str:
    signatures = material.signatures
    if signatures is None:
        return "nobody: there is no certificate in this folder"
    if signatures.wrong:
        return "the signatures do not hold"
    signers = join([named(name) for name in signatures.release or signatures.run], ", ")
    subject = "the run and the release" if signatures.release else "the run"
    checked = f"not checked: {signatures.unchecked}" if signatures.unchecked else "all signatures hold"
    return join([signers, f" ({subject}; {checked})"])
