"""One raw table through `new` and `anonymize`, nothing edited; `python -m tests.drafts.trial [SEED]` prints a table."""

from __future__ import annotations

import csv
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.drafts import linker, tables

import covey


@dataclass(frozen=True)
class Trial:
    """What a stranger and a careful owner see of an unedited release."""

    name: str
    answer: bool
    rows: int
    one: int
    two: int
    recognized: dict[str, str]
    alive: list[str]
    publishable: list[str]

    @property
    def ruined(self) -> list[str]:
        """Columns that may be published and of which little or nothing is left."""
        return [name for name in self.publishable if name not in self.alive]

    @property
    def useful(self) -> bool:
        """True if half of the publishable columns are alive."""
        return 2 * len(self.alive) >= len(self.publishable)

    def __str__(self) -> str:
        two = f"{self.two / max(self.rows, 1):.1%}"
        return (
            f"{self.name:22} {'yes' if self.answer else 'NO':4} {self.rows:5} {self.one:5} {self.two:5} {two:>6} "
            f"{len(self.alive):3}/{len(self.publishable):<3} {','.join(self.recognized) or '-'}"
        )


def raw_of(path: Path, raw: tables.RawTable) -> linker.Published:
    """Returns the cells of a raw file."""
    with path.open(encoding=raw.encoding, newline="") as file:
        header, *rows = list(csv.reader(file, delimiter=raw.separator))
    return linker.Published({name: [row[place] for row in rows] for place, name in enumerate(header)})


def judge(name: str, path: Path, released: Path, answer: bool) -> Trial:
    """Returns what a stranger reads from the released file of this raw table."""
    raw = tables.TABLES[name]
    release = linker.read(released)
    return Trial(
        name,
        answer,
        release.rows,
        len(linker.singled_out(release, 1)),
        len(linker.singled_out(release, 2)),
        linker.recognized(release, raw_of(path, raw), raw.names("never")),
        [each for each in raw.names("may") if linker.alive(release, each)],
        raw.names("may"),
    )


def run(name: str, folder: Path, seed: int) -> Trial:
    """Drafts a study over the table, anonymizes with it, and reads the release as a stranger."""
    path = tables.write(name, folder, seed)
    study = folder / name / "study.toml"
    data = str(path) if tables.TABLES[name].encoding == "utf-8" else f"{path}?encoding={tables.TABLES[name].encoding}"
    covey.new(data, out=study)
    release = covey.anonymize(data, covey.Study.load(study))
    out = folder / f"{name}-out"
    release.save(out)
    return judge(name, path, out / "release.csv", covey.verify(release.table, release.study).answer)


def main() -> None:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    names = sys.argv[2:] or list(tables.TABLES)
    print(f"{'table':22} {'says':4} {'rows':>5} {'one':>5} {'two':>5} {'':>6} {'alive':7} names, numbers, remarks in")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = run(name, Path(folder), seed)
                print(found, f" ruined: {', '.join(found.ruined)}" if "-v" in sys.argv else "", flush=True)
            except covey.CoveyError as error:
                print(f"{name:22} {error}", flush=True)


if __name__ == "__main__":
    main()
