"""Small files that would take gigabytes: each is refused in one sentence, in 1.2 GB and 20 seconds of the processor.

The same files as a table, by format: `python -m tests.hostile.test_bombs`.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyreadstat
import pytest
from pyarrow import parquet

MOST_SECONDS, MOST_MEMORY = 20.0, 1_200_000
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
SHEET = f'<worksheet xmlns="{MAIN}"><sheetData>'
END = "</sheetData></worksheet>"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/sharedStrings.xml" ContentType="{KIND}.sharedStrings+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>a</t></si></sst>',
}
HEADER = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c><c r="B1" t="inlineStr"><is><t>b</t></is></c></row>'


def workbook(path: Path, sheet: Iterator[str], **parts: Iterator[str]) -> Path:
    """A workbook whose one sheet, and perhaps other parts, are written piece by piece."""
    written = {name: iter([text]) for name, text in PARTS.items()}
    written |= {f"xl/{name}.xml": pieces for name, pieces in parts.items()} | {"xl/worksheets/sheet1.xml": sheet}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, pieces in written.items():
            with packed.open(name, "w", force_zip64=True) as stream:
                for piece in pieces:
                    stream.write(piece.encode())
    return path


def many(before: str, middle: str, times: int, after: str) -> Iterator[str]:
    """A text in which another is repeated."""
    yield before
    for _ in range(0, times, 10_000):
        yield middle * 10_000
    yield after


def excel_rows(folder: Path) -> Path:
    return workbook(folder / "a.xlsx", many(SHEET + HEADER, "<row/>", 40_000_000, END))


def excel_cells(folder: Path) -> Path:
    row = '<row><c t="n"><v>1</v></c><c t="n"><v>2</v></c></row>'
    return workbook(folder / "a.xlsx", many(SHEET + HEADER, row, 5_000_000, END))


def excel_below_the_ratio(folder: Path) -> Path:
    """Just below what a small file may unpack to."""
    return workbook(folder / "a.xlsx", many(SHEET + HEADER, '<row><c t="n"><v>1</v></c></row>', 1_800_000, END))


def excel_strings(folder: Path) -> Path:
    strings = many(
        '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">', "<si/>", 24_000_000, "</sst>"
    )
    return workbook(folder / "a.xlsx", iter([SHEET + HEADER + END]), sharedStrings=strings)


def excel_cell_of_a_gigabyte(folder: Path) -> Path:
    cell = '<row r="2"><c r="A2" t="inlineStr"><is><t>'
    return workbook(folder / "a.xlsx", many(SHEET + HEADER + cell, "x" * 100, 10_000_000, "</t></is></c></row>" + END))


def excel_sparse_cells(folder: Path) -> Path:
    names = "".join(f'<c t="inlineStr"><is><t>c{place}</t></is></c>' for place in range(9_000))
    last = '<row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'
    return workbook(
        folder / "a.xlsx", many(f"{SHEET}<row>{names}</row>", '<row><c r="XFD2"/></row>', 900_000, last + END)
    )


def excel_last_cell(folder: Path) -> Path:
    last = '<row r="1"><c r="XFD1" t="n"><v>1</v></c></row><row r="1048576"><c r="XFD1048576" t="n"><v>1</v></c></row>'
    return workbook(folder / "a.xlsx", iter([SHEET + last + END]))


def excel_row_numbers(folder: Path) -> Path:
    last = '<row r="99999999999"><c r="A99999999999" t="n"><v>1</v></c></row>'
    return workbook(folder / "a.xlsx", iter([SHEET + HEADER + last + END]))


def excel_entities(folder: Path) -> Path:
    names = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
    before = f'<!DOCTYPE x [<!ENTITY e0 "{"x" * 100}">{names}]>'
    cell = '<row r="2"><c r="A2" t="inlineStr"><is><t>&e12;</t></is></c></row>'
    return workbook(folder / "a.xlsx", iter([before + SHEET + HEADER + cell + END]))


def excel_directory(folder: Path) -> Path:
    """Very many entries in the directory of the archive."""
    with zipfile.ZipFile(folder / "a.xlsx", "w") as packed:
        for number in range(200_000):
            packed.writestr(str(number), b"")
    return folder / "a.xlsx"


def spss_blocks(folder: Path) -> Path:
    table = pa.table({f"c{place}": np.zeros(400_000) for place in range(60)}).to_pandas()
    pyreadstat.write_sav(table, str(folder / "a.zsav"), compress=True)
    return folder / "a.zsav"


def spss_long_cells(folder: Path) -> Path:
    table = pa.table({"a": pa.array(["x" * 32_000] * 60_000)}).to_pandas()
    pyreadstat.write_sav(table, str(folder / "a.zsav"), compress=True)
    return folder / "a.zsav"


def parquet_dictionary(folder: Path) -> Path:
    cells = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000, pa.int32()), pa.array(["x" * 200_000]))
    parquet.write_table(pa.table({"a": cells}), folder / "a.parquet", compression="zstd")
    return folder / "a.parquet"


def parquet_cell_of_a_gigabyte(folder: Path) -> Path:
    parquet.write_table(pa.table({"a": ["x" * 10**9]}), folder / "a.parquet", compression="zstd")
    return folder / "a.parquet"


def parquet_columns(folder: Path) -> Path:
    parquet.write_table(pa.table({f"c{place}": [1] for place in range(100_000)}), folder / "a.parquet")
    return folder / "a.parquet"


def parquet_rows(folder: Path) -> Path:
    cells = pa.DictionaryArray.from_arrays(pa.nulls(10**7, pa.int32()), pa.array(["x"]))
    table = pa.table({"a": cells})
    with parquet.ParquetWriter(folder / "a.parquet", table.schema) as writer:
        for _ in range(30):
            writer.write_table(table, row_group_size=10**7)
    return folder / "a.parquet"


def csv_columns(folder: Path) -> Path:
    (folder / "a.csv").write_text(",".join(f"c{place}" for place in range(10**6)) + "\n" + "1," * (10**6 - 1) + "1\n")
    return folder / "a.csv"


def csv_cell_of_a_gigabyte(folder: Path) -> Path:
    with (folder / "a.csv").open("wb") as stream:
        stream.write(b'a,b\n1,"')
        for _ in range(1000):
            stream.write(b"x" * 10**6)
        stream.write(b'"\n')
    return folder / "a.csv"


def csv_quoted_lines(folder: Path) -> Path:
    with (folder / "a.csv").open("wb") as stream:
        stream.write(b'a,b\n1,"')
        for _ in range(1000):
            stream.write((b"x" * 999 + b"\n") * 1000)
        stream.write(b'"\n')
    return folder / "a.csv"


def csv_packed(folder: Path) -> Path:
    with gzip.open(folder / "a.csv.gz", "wb") as stream:
        stream.write(b"a,b\n")
        for _ in range(500):
            stream.write(b"1,2\n" * 250_000)
    return folder / "a.csv.gz"


def csv_packed_short_cells(folder: Path) -> Path:
    """Just below what a small file may unpack to, and all of it separators."""
    with gzip.open(folder / "a.csv.gz", "wb") as stream:
        stream.write(b",".join(b"c%d" % place for place in range(100)) + b"\n")
        for _ in range(12):
            stream.write((b"," * 99 + b"\n") * 100_000)
    return folder / "a.csv.gz"


STUDY = '[study]\nname = "s"\n[privacy]\nk = 2\n[columns.a]\nrole = "quasi"\nhierarchy = "{}"\n'


def study_lists(folder: Path) -> Path:
    (folder / "study.toml").write_text(STUDY.format("flat") + "values = [" + "[]," * 1_200_000 + "]\n")
    return folder / "study.toml"


def study_tables(folder: Path) -> Path:
    (folder / "study.toml").write_text(STUDY.format("flat") + "".join(f"[a.b.c{n}]\n" for n in range(250_000)))
    return folder / "study.toml"


def study_depth(folder: Path) -> Path:
    (folder / "study.toml").write_text(STUDY.format("flat") + "[protocol]\nx = " + "[" * 10**6 + "]" * 10**6 + "\n")
    return folder / "study.toml"


def study_hierarchy(folder: Path) -> Path:
    with (folder / "tree.csv").open("w") as stream:
        for number in range(400_000):
            stream.write(";".join(f"l{number}-{level}" for level in range(24)) + ";*\n")
    (folder / "study.toml").write_text(STUDY.format("tree.csv"))
    return folder / "study.toml"


TABLES: tuple[Callable[[Path], Path], ...] = (
    excel_rows, excel_cells, excel_below_the_ratio, excel_strings, excel_cell_of_a_gigabyte, excel_sparse_cells,
    excel_last_cell, excel_row_numbers, excel_entities, excel_directory, spss_blocks, spss_long_cells,
    parquet_dictionary, parquet_cell_of_a_gigabyte, parquet_columns, parquet_rows, csv_columns,
    csv_cell_of_a_gigabyte, csv_quoted_lines, csv_packed, csv_packed_short_cells,
)  # fmt: skip
STUDIES: tuple[Callable[[Path], Path], ...] = (study_lists, study_tables, study_depth, study_hierarchy)
_RUN = """
import sys, time, resource
def said(code):
    ours = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = int(ours) + children.ru_maxrss
    print(code, used, time.process_time() + children.ru_utime + children.ru_stime, file=open(sys.argv[1], "w"))
from covey.cli import main
try:
    main(sys.argv[2:])
except SystemExit as end:
    said(end.code)
"""


class Outcome(NamedTuple):
    """What a call of covey cost: memory of the process and of the largest that it started, and processor time."""

    code: int
    kilobytes: int
    seconds: float
    said: str


def measured(folder: Path, *arguments: str) -> Outcome:
    """Runs a command in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder / "used"), *arguments], capture_output=True, text=True, cwd=folder
    )
    code, used, seconds = (folder / "used").read_text().split()
    return Outcome(int(code), int(used), float(seconds), run.stderr)


def attack(make: Callable[[Path], Path], folder: Path) -> tuple[int, Outcome]:
    """Makes a bomb, and has covey read it; the size of the file, and what came of it."""
    path = make(folder)
    if path.suffix == ".toml":
        size = sum(file.stat().st_size for file in folder.iterdir())
        (folder / "data.csv").write_text("a\n1\n")
        return size, measured(folder, "check", str(path), "--data", str(folder / "data.csv"))
    return path.stat().st_size, measured(folder, "new", str(path), "--out", str(folder / "new.toml"))


@pytest.mark.thorough
@pytest.mark.parametrize("make", [*TABLES, *STUDIES], ids=lambda make: make.__name__)
def test_a_bomb_is_refused_in_one_sentence_before_it_takes_memory(make: Callable[[Path], Path], tmp_path: Path) -> None:
    _, outcome = attack(make, tmp_path)
    assert outcome.code == 2, outcome
    assert outcome.kilobytes < MOST_MEMORY and outcome.seconds < MOST_SECONDS, outcome
    assert len(outcome.said.strip().splitlines()) <= 2 and str(tmp_path) in outcome.said


def main() -> None:
    """Prints a line for each bomb."""
    chosen = sys.argv[1:]
    for make in (*TABLES, *STUDIES):
        if chosen and make.__name__ not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            size, outcome = attack(make, Path(folder))
            print(
                f"{make.__name__:28} {size / 1e6:8.2f} MB  exit {outcome.code}  {outcome.seconds:5.1f} s "
                f"{outcome.kilobytes / 1e3:6.0f} MB  made in {time.perf_counter() - begun - outcome.seconds:.0f} s  "
                f"{outcome.said.strip()[-160:].replace(folder, '')!r}",
                flush=True,
            )


if __name__ == "__main__":
    main()
