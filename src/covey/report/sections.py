"""The sections in words: what was learned, what an evaluation found, and how to check all of it.

What was learned stands there once, by topic, with a column for us and one for the others. The checks are the release's
hash, the signatures, and commands that trust nothing of this page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from covey.evaluation import Evaluation
from covey.evaluation.findings import Exposure, Use
from covey.judge import Requirement
from covey.report.charts import Bar, bars, folded, legend
from covey.report.findings import ReleaseFindings
from covey.report.markup import Markup, join, named, prose, tag
from covey.report.material import Material
from covey.secure.declare import Fact, rounded
from covey.summary import Summary

_NOBODY = "–"


def learned(material: Material) -> Markup:
    """The ledger: of a party, of all parties of a simulation, or of nobody."""
    summary, ledger = material.summary, material.ledger
    if ledger is None and (summary is None or not summary.parties):
        text = "Nothing: nobody else took part, and nothing left this machine."
        return join([tag("h2", "What others could learn from the run"), tag("p", text)])
    us = None if ledger is None else ledger.party
    facts = material.facts if ledger is None else ledger.told(us)
    parts = [tag("h2", "What each party learned"), _table(facts, us)]
    for earlier in () if ledger is None else ledger.earlier:
        head = tag("h2", "What had been learned before, in a session that was given up")
        parts += [head, tag("p", earlier.outcome), _table(earlier.told(us), us)]
    return join(parts)


def _table(facts: Sequence[Fact], us: str | None) -> Markup:
    """Every fact once, with a column for us and one for the others."""
    learners = list(dict.fromkeys(name for fact in facts for name in fact.learned_by))
    peers = [name for name in learners if name != us]
    if not peers:
        return tag("p", "Nothing: the parties had not met.")
    columns: list[tuple[str, Callable[[Fact], Markup]]] = [
        ("by whom", lambda fact: _who(fact, learners, "every party"))
    ]
    if us is not None:
        our_column = ("we learned", lambda fact: tag("span", "yes" if us in fact.learned_by else _NOBODY))
        all_ = {1: "yes", 2: "both"}.get(len(peers), f"all {len(peers)}")
        columns = [our_column, ("the others learned", lambda fact: _who(fact, peers, all_))]
    head = tag("tr", tag("th", "what"), *(tag("th", name) for name, _ in columns))
    rows = []
    for topic, of_topic in itertools.groupby(facts, key=lambda fact: fact.about):
        rows.append(tag("tr", tag("th", topic, colspan=1 + len(columns), class_="topic")))
        rows += [
            tag("tr", tag("td", rounded(fact.fact)), *(tag("td", cell(fact)) for _, cell in columns))
            for fact in of_topic
        ]
    note = "Each fact stands here once, and large numbers are rounded; ledger.json has every sentence with its numbers."
    return join([
        tag("p", note, class_="note"), tag("table", tag("thead", head), tag("tbody", *rows), class_="facts learned"),
    ])  # fmt: skip


def _who(fact: Fact, parties: Sequence[str], label: str) -> Markup:
    """The parties that learned it: a word for all, else their names."""
    names = [name for name in fact.learned_by if name in parties]
    if len(names) == len(parties):
        return tag("span", label)
    return join([named(name) for name in names], ", ") if names else tag("span", _NOBODY)


_SHOWN = 6


def evaluated(evaluation: Evaluation) -> list[Markup]:
    """The sections; each begins with its verdict in one sentence."""
    use = () if evaluation.use is None else tuple(_use(evaluation.use))
    return [
        join([tag("h2", "What it is good for"), tag("p", prose(evaluation.useful)), *use]),
        join([tag("h2", "How exposed people are"), tag("p", prose(evaluation.exposed)), *_risk(evaluation.risk)]),
    ]


def _use(use: Use) -> Iterator[Markup]:
    errors = [
        Bar(_asked(query.columns, query.selectivity), query.median, f"{query.median:.1%}; {query.percentile_95:.0%}")
        for query in use.queries
    ]
    yield bars(errors, ("a count over", "median error; 95th percentile"), track=True)
    distances = [
        Bar(" and ".join(distance.columns), distance.total_variation, f"{distance.total_variation:.1%}")
        for distance in (*use.single, *use.pairs)
    ]
    distances.sort(key=lambda bar: -bar.part)
    yield tag("p", "Distributions: the part of the rows that would have to move.", class_="note")
    yield folded(distances, _SHOWN, ("columns", "moved"), "columns and pairs", track=True)
    if use.prediction is not None:
        task = use.prediction
        scores = [
            Bar(
                score.model, score.auc_release, f"{score.auc_release:.2f}; {score.auc_original:.2f}", score.auc_original
            )
            for score in task.scores
        ]
        caption = f"Predicting {task.target}: the area under the curve on {task.tested_on:,} rows held back."
        yield tag("p", caption, class_="note")
        yield legend("trained on the original", "trained on the release")
        yield bars(scores, ("model", "release; original"), track=True)


def _asked(columns: int, selectivity: float) -> str:
    return f"{columns} column{'s' * (columns > 1)}, true for {selectivity:.0%}"


def _risk(risk: Exposure) -> Iterator[Markup]:
    if risk.before is not None and risk.after is not None:
        original, release = risk.before.share, risk.after.share
        yield tag("p", "People who are alone with their values in the population, as estimated.", class_="note")
        yield legend("in the original", "in the release")
        yield bars(
            [Bar("unique", release, f"{release:.2%}; {original:.2%}", original)], ("", "release; original"), track=True
        )
    guesses = [
        Bar(secret.column, secret.guessed, f"{secret.guessed:.0%}; {secret.guessed_before:.0%}", secret.guessed_before)
        for secret in risk.disclosure
    ]
    if guesses:
        yield tag("p", "A member's value guessed right from its class.", class_="note")
        yield legend("without the classes", "from the classes")
        yield bars(guesses, ("sensitive column", "from a class; without"), track=True)


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
        if material.file == "release.csv":
            yield "The release's hash, as above:", "sha256sum release.csv"
        yield (
            "k, l, risks and losses, recomputed from the files alone:",
            f"covey verify {material.file} --study study.toml{signed}",
        )
    if not summary.parties:
        yield (
            "Every released row held against an original of its own, where you have the data:",
            f"covey verify {material.file} --study study.toml --original DATA",
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


def _requirements(requirements: tuple[Requirement, ...]) -> Markup:
    rows = [
        tag(
            "tr",
            tag(
                "td",
                requirement.name,
                *([" of ", named(requirement.column)] if requirement.column is not None else []),
                requirement.detail,
            ),
            tag("td", f"{requirement.bound} {requirement.asked:.6g}"),
            tag("td", "-" if requirement.reached is None else f"{requirement.reached:.6g}"),
            tag("td", "met" if requirement.met else tag("strong", "not met")),
        )
        for requirement in requirements
    ]
    head = tag("tr", *(tag("th", name) for name in ("what", "asked", "found", "")))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="facts")


def _fingerprints(material: Material) -> Markup:
    fingerprints = {} if material.signatures is None else material.signatures.fingerprints
    return tag(
        "dl",
        *(
            join([tag("dt", named(name)), tag("dd", tag("code", fingerprint))])
            for name, fingerprint in fingerprints.items()
        ),
    )
