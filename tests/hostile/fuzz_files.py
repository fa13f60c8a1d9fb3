"""Fuzz targets for files: mutated tables, studies, hierarchies and letters are read, or refused in one sentence.

    python -m tests.hostile.fuzz_files                          # every target, five minutes each: make fuzz
    python -m tests.hostile.fuzz_files --target csv --seconds 60
    python -m tests.hostile.fuzz_files --target csv --seed 123456

A seed is repeated by its number. Each run prints a line: seconds, runs, how many were read, refused, and findings.
"""

from __future__ import annotations

import argparse
import io
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyreadstat
from numpy.random import Generator
from pyarrow import parquet
from tests.harness.network import seed_of
from tests.hostile.test_bombs import workbook

from covey.crypto.letter import LetterKey, seal
from covey.crypto.rng import Rng
from covey.errors import CoveyError
from covey.hierarchy import parse
from covey.protocols.peel import letters
from covey.sources import connect
from covey.study import Study

MOST_SECONDS = 20.0
WIDTH = 20
HASH, HANDLE, NAMES = "ab" * 32, "someone", ("north", "south", "west")
Target = Callable[[Generator, Path], None]
INTERESTING = (
    b"\0", b"\xff" * 4, b'"', b"\n", b"\r", b",", b";", b"[", b"]", b"{", b"'''", b"=", b"9" * 400, b"1e999", b"-0",
    b"\xef\xbb\xbf", b"\xff\xfe", b"&amp;", b"<", b"</", b"*", b"..", b"nan", b"\xed\xa0\x80", b"\x7f\xff\xff\xff",
)  # fmt: skip


def mutate(good: bytes, draws: Generator) -> bytes:
    """The bytes with a few things wrong with them."""
    bad = bytearray(good)
    for _ in range(1 + int(draws.integers(5))):
        at, length = int(draws.integers(len(bad) + 1)), int(draws.geometric(0.05))
        match int(draws.integers(7)):
            case 0 if at < len(bad):
                bad[at] ^= 1 << int(draws.integers(8))
            case 1:
                bad[at:at] = INTERESTING[int(draws.integers(len(INTERESTING)))]
            case 2:
                del bad[at : at + length]
            case 3:
                bad[at : at + length] = draws.bytes(length)
            case 4:
                other = int(draws.integers(len(bad) + 1))
                bad[at:at] = bad[other : other + length]
            case 5:
                bad[at : at + 4] = int(draws.integers(2**32)).to_bytes(4, ("little", "big")[int(draws.integers(2))])
            case _:
                piece = bytes(bad[at : at + length]) or b"x"
                bad[at:at] = piece * int(draws.integers(1, 3000))
    return bytes(bad[: 1 << 20])


def _people() -> pa.Table:
    return pa.table({
        "age": [37.0, 41.5, None, 12.0] * 5, "town": ["Ulm", "Rom", None, "a,b"] * 5,
        "code": pa.array([1, 2, 3, 4] * 5, pa.int32()),
    })  # fmt: skip


@cache
def _written(ending: str) -> bytes:
    """A small good file of this kind."""
    frame = _people().to_pandas()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        match ending:
            case ".sav" | ".zsav":
                pyreadstat.write_sav(
                    frame, str(path), compress=ending == ".zsav", variable_value_labels={"code": {1: "x"}}
                )
            case ".dta":
                pyreadstat.write_dta(frame, str(path))
            case ".xpt":
                pyreadstat.write_xport(frame, str(path))
            case ".por":
                pyreadstat.write_por(frame, str(path))
        return path.read_bytes()


def _read(path: Path) -> None:
    source = connect(path)
    for batch in source.batches(source.columns):
        batch.to_pylist()
    source.distinct(source.columns[:2])


def csv(draws: Generator, folder: Path) -> None:
    good = 'age,town,"a ""b"""\n37,Köln,x\n38,"Rom, Roma","y\nz"\n39,,\n'.encode()
    path = folder / "a.csv"
    path.write_bytes(mutate(good * int(draws.integers(1, 4)), draws))
    _read(path)


def excel(draws: Generator, folder: Path) -> None:
    path = folder / "a.xlsx"
    cell = (
        '<c r="A{0}" t="inlineStr"><is><t>37</t></is></c><c r="B{0}" s="0"><v>1.5</v></c><c r="C{0}" t="s"><v>0</v></c>'
    )
    rows = "".join(f'<row r="{row}">{cell.format(row)}</row>' for row in range(1, 5))
    sheet = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    workbook(path, iter([sheet, rows, "</sheetData></worksheet>"]))
    content = path.read_bytes()
    if draws.integers(4) == 0:
        path.write_bytes(mutate(content, draws))
    else:
        with zipfile.ZipFile(io.BytesIO(content)) as good, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bad:
            chosen = draws.choice([*good.namelist(), *["xl/worksheets/sheet1.xml"] * 4])
            for name in good.namelist():
                bad.writestr(name, mutate(good.read(name), draws) if name == chosen else good.read(name))
    _read(path)


def statistics(draws: Generator, folder: Path) -> None:
    ending = str(draws.choice([".sav", ".zsav", ".dta", ".xpt", ".por"]))
    path = folder / f"a{ending}"
    path.write_bytes(mutate(_written(ending), draws))
    _read(path)


def parquet_files(draws: Generator, folder: Path) -> None:
    sink, kinds = io.BytesIO(), ["none", "snappy", "zstd", "gzip"]
    table = _people() if draws.integers(2) else _people().append_column("list", pa.array([[1, 2]] * 20))
    parquet.write_table(
        table, sink, compression=str(draws.choice(kinds)), use_dictionary=bool(draws.integers(2)),
        data_page_version=str(draws.choice(["1.0", "2.0"])),
    )  # fmt: skip
    path = folder / "a.parquet"
    path.write_bytes(mutate(sink.getvalue(), draws))
    _read(path)


STUDY = b"""[study]
name = "diabetes"
title = "A title"
[privacy]
k = 10
l = 3
[columns.age]
role = "quasi"
hierarchy = { min = 17, max = 90, steps = [5, 10, 20] }
[columns.region]
role = "quasi"
hierarchy = "tree.csv"
missing = "value"
null = ["NA", "-"]
[columns.born]
role = "quasi"
format = "DD.MM.YYYY"
hierarchy = { age_on = 2026-01-01, top = 90, steps = [5, 10] }
[columns.diagnosis]
role = "sensitive"
values = ["none", "flu"]
[parties.north]
address = "127.0.0.1:7701"
[parties.south]
"""
TREE = b'a;x;*\nb;x;*\nc;y;*\n"d;e";y;*\n'


def study(draws: Generator, folder: Path) -> None:
    (folder / "tree.csv").write_bytes(TREE)
    (folder / "study.toml").write_bytes(mutate(STUDY, draws))
    Study.load(folder / "study.toml")


def hierarchy(draws: Generator, folder: Path) -> None:
    parse(mutate(TREE * int(draws.integers(1, 4)), draws), "tree.csv", "number" if draws.integers(4) == 0 else "text")


def letter(draws: Generator, folder: Path) -> None:
    """A part altered on its way, one whose content its writer made up, and an answer that is no letter."""
    rng = Rng(seed_of(int(draws.integers(2**32))))
    keys = {name: LetterKey.draw(rng.stream(name)) for name in NAMES}
    own, word = bytes(32), np.array([[5]], np.uint64)
    public = {name: key.public for name, key in keys.items()}
    answer = letters.write(HASH, HANDLE, word, WIDTH, public, rng, (own, lambda content: bytes(64)))
    made_up = seal(draws.bytes(int(draws.integers(200))), keys["north"].public, rng.stream("made up"),
                   *letters.context(HASH, HANDLE, own, "north"))  # fmt: skip
    for sealed in (mutate(answer.parts[0], draws), made_up):
        letters.read(HASH, HANDLE, own, "north", keys["north"], sealed, WIDTH)
    letters.unpack(mutate(letters.pack(answer), draws), WIDTH)


TARGETS: dict[str, Target] = {
    "csv": csv, "excel": excel, "statistics": statistics, "parquet": parquet_files, "study": study,
    "hierarchy": hierarchy, "letter": letter,
}  # fmt: skip


def tried(target: str, seed: int) -> str | None:
    """Reads one mutated file: None if that went well, else the refusal. Raises AssertionError for a finding."""
    draws = np.random.default_rng([seed, len(target)])
    begun = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with tempfile.TemporaryDirectory() as folder:
        try:
            TARGETS[target](draws, Path(folder))
            refusal = None
        except CoveyError as error:
            refusal = str(error)
            if error.exit_code != 2 or not refusal or "Traceback" in refusal:
                raise AssertionError(f"{target} {seed}: {refusal!r}") from None
        except Exception as error:
            raise AssertionError(f"{target} {seed} ended in {type(error).__name__}: {error}") from error
    taken = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begun
    if taken > MOST_SECONDS:
        raise AssertionError(f"{target} {seed}: took {taken:.0f} s")
    return refusal


def fuzz(target: str, seconds: float, start: int) -> bool:
    """Tries seed after seed until the time is up, and prints a line; True if there was no finding."""
    begun = time.monotonic()
    seed, read, findings = start, 0, 0
    while time.monotonic() < begun + seconds:
        try:
            read += tried(target, seed) is None
        except AssertionError as error:
            findings += 1
            print(error, file=sys.stderr, flush=True)
        seed += 1
    runs = seed - start
    taken, refused = time.monotonic() - begun, runs - read - findings
    print(f"| {target} | {taken:.0f} | {runs:,} | {read:,} | {refused:,} | {findings} |", flush=True)
    return not findings


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="repeat this one seed")
    parser.add_argument("--start", type=int, default=datetime.now(UTC).toordinal() * 10**6)
    options = parser.parse_args(arguments)
    chosen = options.target or list(TARGETS)
    if options.seed is not None:
        for target in chosen:
            print(f"{target} {options.seed}: {tried(target, options.seed) or 'read'}")
        return 0
    print("| target | seconds | runs | read | refused | findings |\n| --- | --- | --- | --- | --- | --- |")
    return max([0 if fuzz(target, options.seconds, options.start) else 1 for target in chosen])


if __name__ == "__main__":
    sys.exit(main())
