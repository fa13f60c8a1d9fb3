"""The section on checks: the release's hash, the signatures, and commands that trust nothing of this page."""

from __future__ import annotations

from collections.abc import Iterator

from covey.judge import Requirement
from covey.report.findings import ReleaseFindings
from covey.report.markup import Markup, join, named, tag
from covey.report.material import Material
from covey.summary import Summary


def checking(material: Material, findings: ReleaseFindings | None) -> Markup:
    """The judge's list, signatures, and commands."""
    parts = [tag("h2", "How to check it")]
    if findings is not None:
        parts += [tag("h3", "What the judge asked"), _requirements(findings.verdict.requirements)]
    if material.signatures is not None and material.signatures.fingerprints:
        parts += [tag("h3", "Fingerprints of the parties' certificates"), _fingerprints(material)]
    summary = material.summary
    if summary is not None:
        repeat = (
            "A seed repeats this run."
            if summary.reproducible
            else "No seed was given: this run cannot be repeated bit by bit."
        )
        parts.append(tag("p", repeat, class_="note"))
        parts.append(tag("h3", "In this folder"))
        parts += [
            join([tag("p", says), tag("pre", tag("code", command))]) for says, command in _commands(material, summary)
        ]
    return join(parts)


def _commands(material: Material, summary: Summary) -> Iterator[tuple[str, str]]:
    signed = " --certificate certificate.json" if material.signatures is not None else ""
    if summary.release_sha256 is not None:
        yield "The release's hash, as above:", "sha256sum release.csv"
        yield (
            "k, l, risks and losses, recomputed from the files alone:",
            f"covey verify release.csv --study study.toml{signed}",
        )
    if not summary.parties:
        yield (
            "Every released row held against an original of its own, where you have the data:",
            "covey verify release.csv --study study.toml --original DATA",
        )
    else:
        yield "Transcripts held against the protocol, the signatures and each other:", "covey audit ."
        if summary.party is not None:
            yield (
                "Our part run again from the journal, to see that we sent what the protocol prescribes:",
                "covey audit . --replay --keys KEYS",
            )
    if material.records is not None:
        yield "This page again, without figures of the original data:", "covey report ."
    elif summary.party is not None or not summary.parties:
        yield "This page again, with the original data beside the release:", "covey report . --data DATA"


def _requirements(found: tuple[Requirement, ...]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("td", each.name, *([" of ", named(each.column)] if each.column is not None else []), each.detail),
            tag("td", f"{each.bound} {each.asked:.6g}"),
            tag("td", "-" if each.reached is None else f"{each.reached:.6g}"),
            tag("td", "met" if each.met else tag("strong", "not met")),
        )
        for each in found
    ]
    head = tag("tr", *(tag("th", name) for name in ("what", "asked", "found", "")))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="facts")


def _fingerprints(material: Material) -> Markup:
    found = {} if material.signatures is None else material.signatures.fingerprints
    return tag("dl", *(join([tag("dt", named(name)), tag("dd", tag("code", own))]) for name, own in found.items()))
