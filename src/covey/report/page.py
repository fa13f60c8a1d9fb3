"""A plain page from summary.json and ledger.json: the release, what it cost, what everyone learned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from covey.errors import InputError
from covey.sources.release import write_atomically

FILE = "report.html"

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.1rem;margin-top:2rem;border-bottom:1px solid #ccc}
table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:600;width:14rem;vertical-align:top}
td,th{padding:.25rem .5rem .25rem 0;border-bottom:1px solid #eee}
td.n{text-align:right;font-variant-numeric:tabular-nums}
li{margin:.3rem 0}code{font-size:.85em;overflow-wrap:anywhere}.lead{color:#444;margin-top:0}
"""


def write(folder: Path) -> Path:
    """Makes the folder's report anew from its summary and ledger. Raises InputError if there is no run in it."""
    summary = _read(folder / "summary.json")
    ledger = _read(folder / "ledger.json") if (folder / "ledger.json").is_file() else {}
    path = folder / FILE
    write_atomically(path, render(summary, ledger).encode())
    return path


def render(summary: Mapping[str, object], ledger: Mapping[str, object]) -> str:
    """The page as HTML; every text in it is escaped."""
    study = str(summary.get("study", ""))
    who = summary.get("party")
    lead = f"as party {who} saw it" if who else "all parties together"
    body = [
        f"<h1>Study {escape(study)}</h1>",
        f'<p class="lead">Protocol {escape(str(summary.get("protocol")))}, {escape(lead)}.</p>',
        *_section("The release", _release(summary)),
        *_section("What it cost", _cost(summary)),
        *_parties(summary),
        *_learned(summary, ledger),
        *_section("For the record", _record(summary)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(study)}: report</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _section(title: str, rows: Mapping[str, object]) -> list[str]:
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(_spell(value))}</td></tr>" for name, value in rows.items())
    return [f"<h2>{escape(title)}</h2>", "<table>", *cells, "</table>"]


def _release(summary: Mapping[str, object]) -> dict[str, object]:
    if "release_sha256" not in summary:
        return {"": "This party gets no release in this study."}
    loss = summary.get("loss")
    losses = loss if isinstance(loss, Mapping) else {}
    return {
        "Rows": summary.get("rows"),
        "Withheld": summary.get("withheld"),
        "Classes": summary.get("classes"),
        "k asked for": summary.get("k"),
        "k reached": summary.get("k_reached"),
        "l asked for": summary.get("l"),
        "l reached": summary.get("l_reached"),
        "Suppressed cells": summary.get("suppressed_cells"),
        **{f"Loss ({name})": value for name, value in losses.items()},
    }


def _cost(summary: Mapping[str, object]) -> dict[str, object]:
    return {
        "Seconds": summary.get("seconds"),
        "Rounds": summary.get("rounds"),
        "Messages": summary.get("messages"),
        "Bytes": summary.get("bytes"),
    }


def _record(summary: Mapping[str, object]) -> dict[str, object]:
    rows: dict[str, object] = {
        "Study hash": summary.get("study_hash"),
        "Release SHA-256": summary.get("release_sha256"),
        "Repeatable from a seed": "yes" if summary.get("reproducible") else "no",
    }
    warnings = summary.get("warnings")
    if isinstance(warnings, list) and warnings:
        rows["Warnings"] = "; ".join(map(str, warnings))
    return rows


def _parties(summary: Mapping[str, object]) -> list[str]:
    traffic = summary.get("per_party")
    if not isinstance(traffic, Mapping):
        return []
    rows = [
        f'<tr><th>{escape(str(name))}</th><td class="n">{_spell(sent.get("messages"))}</td>'
        f'<td class="n">{_spell(sent.get("bytes"))}</td></tr>'
        for name, sent in traffic.items()
        if isinstance(sent, Mapping)
    ]
    head = '<tr><th>Party</th><td class="n">messages sent</td><td class="n">bytes sent</td></tr>'
    return ["<table>", head, *rows, "</table>"]


def _learned(summary: Mapping[str, object], ledger: Mapping[str, object]) -> list[str]:
    """The ledger: the joint summary of a simulation has everyone's sentences, a party's ledger tells them apart."""
    if not ledger:
        own = summary.get("ledger")
        return ["<h2>What was learned</h2>", *_list(own if isinstance(own, list) else [])]
    mine = ledger.get("learned")
    own = mine if isinstance(mine, list) else []
    lines = ["<h2>What this party learned</h2>", *_list(own), "<h2>What the others could learn</h2>"]
    others = ledger.get("others")
    parties = others if isinstance(others, Mapping) else {}
    me = str(ledger.get("party", ""))
    same = [str(name) for name, sentences in parties.items() if _nameless(name, sentences) == _nameless(me, own)]
    if same:
        lines.append(f"<p>The same as this party, all of it: {escape(', '.join(same))}.</p>")
    for name, sentences in parties.items():
        if name not in same:
            lines += [f"<h3>{escape(str(name))}</h3>", *_list(sentences if isinstance(sentences, list) else [])]
    return lines


def _nameless(name: object, sentences: object) -> list[str]:
    """What was learned, whoever it was."""
    return [str(each).removeprefix(f"{name} ") for each in sentences] if isinstance(sentences, list) else []


def _list(sentences: Iterable[object]) -> list[str]:
    return ["<ul>", *(f"<li>{escape(str(sentence))}</li>" for sentence in sentences), "</ul>"]


def _spell(value: object) -> str:
    if value is None:
        return "not computed"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    return str(value)


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name the folder of a finished run") from None
    except ValueError:
        raise InputError(f"{path}: is damaged; it is no JSON") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is damaged; it is no JSON object")
    return content
