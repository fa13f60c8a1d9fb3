"""Material for pages: a small release, and the worst that a study, a table and a ledger may hold."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from covey.report import LedgerFile, Material
from covey.study import Study
from covey.summary import Summary
from covey.table import Table, build, read

NASTY = (
    "<script>document.title='run'</script>",
    "\"quoted\" & 'quoted' onload=alert(1)",
    "שלום עולם \u202e gnorts",
    "👩‍👩‍👧‍👦 emoji",
    "</style></title><img src=x onerror=alert(1)>",
    "W" * 300,
    "javascript:alert(1)//${7*7}{{7*7}}",
)


def nasty_names(many: int) -> list[str]:
    """That many column names, the worst that a study may have first: it refuses one that turns a line around."""
    worst = [name.replace("\u202e", "") for name in NASTY]
    return [worst[place] if place < len(worst) else f"column {place}" for place in range(many)]


def study_of(names: Sequence[str], k: int = 5, name: str = NASTY[0]) -> Study:
    """A study with these quasi columns, and a sensitive one."""
    columns = "".join(f'[columns.{_spelled(each)}]\nrole = "quasi"\nhierarchy = "flat"\n' for each in names)
    text = f"[study]\nname = {_spelled(name)}\n[privacy]\nk = {k}\nl = 1\n{columns}"
    return Study.parse(text + f'[columns.{_spelled("what " + NASTY[4])}]\nrole = "sensitive"\n')


def release_of(study: Study, rows: int) -> pa.Table:
    """A table of equal rows, whose cells are as bad as the names."""
    cells = {}
    for place, column in enumerate(study.released):
        values = pa.array([NASTY[place % len(NASTY)]], pa.string())
        codes = pa.array(np.zeros(rows, dtype=np.int32))
        cells[column.name] = pa.DictionaryArray.from_arrays(codes, values)
    return pa.table(cells)


def records_of(study: Study, table: pa.Table) -> Table:
    """The table as its owner's records."""
    plain = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    columns = [study.column(name) for name in table.column_names]
    return build(read(plain.to_batches(), columns, "the table"), study)


def hostile(columns: int = 200, rows: int = 12, *, parties: Sequence[str] = ()) -> Material:
    """Material in which every name, label and sentence is hostile; with records where nobody else took part."""
    study = study_of(nasty_names(columns))
    table = release_of(study, rows)
    summary = Summary(
        study=study.name,
        protocol=NASTY[0] if parties else None,
        algorithm=None if parties else NASTY[1],
        parties=list(parties),
        party=parties[0] if parties else None,
        k=5,
        l=1,
        rows=rows,
        k_reached=rows,
        l_reached=1.0,
        classes=1,
        suppressed_cells=0,
        loss={"lm": 0.0},
        seconds=1.5,
        study_hash=study.study_hash,
        release_sha256=hashlib.sha256(b"").hexdigest(),
        warnings=list(NASTY),
    )
    ledger = None
    if parties:
        others = {name: [f"{name} learned {each}." for each in NASTY] for name in parties[1:]}
        ledger = LedgerFile(study=study.name, party=parties[0], learned=list(NASTY), others=others)
    return Material(summary, ledger, study, table, records=None if parties else records_of(study, table))


def _spelled(text: str) -> str:
    """A text as TOML has it."""
    return '"' + "".join(f"\\U{ord(each):08x}" if not each.isalnum() else each for each in text) + '"'
