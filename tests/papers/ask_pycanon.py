"""Run by pyCANON's own Python: judges each release named on standard input, and prints what it found as JSON."""

from __future__ import annotations

import json
import sys
from typing import TypedDict

import pandas as pd
from pycanon import anonymity


class Release(TypedDict):
    """A release to judge: its file, its quasi-identifiers, and the kind of each sensitive column."""

    path: str
    quasi: list[str]
    sensitive: dict[str, str]


def judge(release: Release) -> list[dict[str, float]]:
    """k, l and t of a release, per sensitive column."""
    table = pd.read_csv(release["path"], dtype=str, keep_default_na=False)
    quasi = release["quasi"]
    found = []
    for name, kind in release["sensitive"].items():
        data = table.assign(**{name: pd.to_numeric(table[name])}) if kind == "number" else table
        found.append({
            "k": int(anonymity.k_anonymity(data, quasi)),
            "distinct": int(anonymity.l_diversity(data, quasi, [name])),
            "entropy": int(anonymity.entropy_l_diversity(data, quasi, [name])),
            "alpha": float(anonymity.alpha_k_anonymity(data, quasi, [name])[0]),
            "t": float(anonymity.t_closeness(data, quasi, [name])),
        })  # fmt: skip
    return found


if __name__ == "__main__":
    json.dump([judge(release) for release in json.load(sys.stdin)], sys.stdout)
