"""Two sections of an evaluated release: what it is good for, and how exposed people are."""

from __future__ import annotations

from collections.abc import Iterator

from covey.evaluation import Evaluation
from covey.evaluation.findings import Exposure, Use
from covey.report.charts import Bar, bars, folded, legend
from covey.report.markup import Markup, join, prose, tag

_SHOWN = 6


def evaluated(found: Evaluation) -> list[Markup]:
    """The sections; each begins with its verdict in one sentence."""
    use = () if found.use is None else tuple(_use(found.use))
    return [
        join([tag("h2", "What it is good for"), tag("p", prose(found.useful)), *use]),
        join([tag("h2", "How exposed people are"), tag("p", prose(found.exposed)), *_risk(found.risk)]),
    ]


def _use(use: Use) -> Iterator[Markup]:
    errors = [
        Bar(_asked(each.columns, each.selectivity), each.median, f"{each.median:.1%}; {each.percentile_95:.0%}")
        for each in use.queries
    ]
    yield bars(errors, ("a count over", "median error; 95th percentile"), track=True)
    moved = [
        Bar(" and ".join(each.columns), each.total_variation, f"{each.total_variation:.1%}")
        for each in (*use.single, *use.pairs)
    ]
    moved.sort(key=lambda bar: -bar.part)
    yield tag("p", "Distributions: the part of the rows that would have to move.", class_="note")
    yield folded(moved, _SHOWN, ("columns", "moved"), "columns and pairs", track=True)
    if use.prediction is not None:
        task = use.prediction
        scores = [
            Bar(each.model, each.auc_release, f"{each.auc_release:.2f}; {each.auc_original:.2f}", each.auc_original)
            for each in task.scores
        ]
        said = f"Predicting {task.target}: the area under the curve on {task.tested_on:,} rows held back."
        yield tag("p", said, class_="note")
        yield legend("trained on the original", "trained on the release")
        yield bars(scores, ("model", "release; original"), track=True)


def _asked(columns: int, selectivity: float) -> str:
    return f"{columns} column{'s' * (columns > 1)}, true for {selectivity:.0%}"


def _risk(risk: Exposure) -> Iterator[Markup]:
    if risk.before is not None and risk.after is not None:
        before, after = risk.before.share, risk.after.share
        yield tag("p", "People who are alone with their values in the population, as estimated.", class_="note")
        yield legend("in the original", "in the release")
        yield bars([Bar("unique", after, f"{after:.2%}; {before:.2%}", before)], ("", "release; original"), track=True)
    guesses = [
        Bar(each.column, each.guessed, f"{each.guessed:.0%}; {each.guessed_before:.0%}", each.guessed_before)
        for each in risk.disclosure
    ]
    if guesses:
        yield tag("p", "A member's value guessed right from its class.", class_="note")
        yield legend("without the classes", "from the classes")
        yield bars(guesses, ("sensitive column", "from a class; without"), track=True)
