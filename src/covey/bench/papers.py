"""Every paper's figures on one page: what it claims in words, our curve, and where a claim did not hold."""

from __future__ import annotations

import time
from collections.abc import Iterator

from covey.bench import NAMES, find
from covey.bench.experiment import Setting
from covey.bench.page import Chapter


def chapter(name: str, setting: Setting) -> Chapter:
    """One experiment, done."""
    experiment = find(name)
    begun = time.perf_counter()
    findings = experiment.run(setting)
    return Chapter(name, experiment.about, experiment.source, findings, time.perf_counter() - begun)


def of_name(name: str, setting: Setting) -> list[Chapter]:
    """What `covey bench NAME` shows: one experiment; for `cluster`, rows split and columns split."""
    return [chapter(each, setting) for each in ((name, "columns") if name == "cluster" else (name,))]


def chapters(setting: Setting) -> Iterator[Chapter]:
    """All experiments, one after the other, each as soon as it is done."""
    for name in NAMES:
        setting.tell(f"{name}: {find(name).about}")
        yield chapter(name, setting)
