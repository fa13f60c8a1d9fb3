"""What environments take: pip's check, sizes, licences, import time: `python scripts/supplies.py .venvs/user`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SMALL = 2 * 10**6
_LISTED = """
import importlib.metadata as m, json, os
found = []
for each in m.distributions():
    data = each.metadata
    licence = data.get("License-Expression") or data.get("License") or ""
    if not licence or len(licence) > 60:
        kinds = data.get_all("Classifier") or []
        named = [kind.rpartition(" :: ")[2] for kind in kinds if kind.startswith("License ::")]
        licence = ", ".join(named) or licence.splitlines()[0][:60] if licence or named else "not said"
    size = sum(os.path.getsize(place) for file in each.files or [] if os.path.isfile(place := each.locate_file(file)))
    found.append([data["Name"], each.version, size, licence])
print(json.dumps(found))
"""


def main() -> None:
    """Prints the tables."""
    for folder in map(Path, sys.argv[1:] or [".venvs/user"]):
        python = str(folder / "bin" / "python")
        packages = json.loads(_said(python, "-c", _LISTED))
        size = sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())
        print(f"\n{folder}: {size / 1e6:,.0f} MB; {_said(python, '-m', 'pip', 'check').strip()}")
        for name, statement in (("import covey", "import covey"), ("covey.cli", "import covey.cli")):
            print(f"{name}: {min(_seconds(python, statement) for _ in range(3)):.2f} s")
        print("| package | version | MB | licence |\n| --- | --- | --- | --- |")
        for package, version, octets, licence in sorted(packages, key=lambda row: -row[2]):
            if octets >= SMALL:
                print(f"| {package} | {version} | {octets / 1e6:,.0f} | {licence} |")
        remainder = [row for row in packages if row[2] < SMALL]
        licences = sorted({row[3] for row in remainder})
        print(f"| {len(remainder)} others | | {sum(row[2] for row in remainder) / 1e6:,.0f} | {'; '.join(licences)} |")


def _said(*command: str) -> str:
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout


def _seconds(python: str, statement: str) -> float:
    code = f"import time; begun = time.perf_counter(); {statement}; print(time.perf_counter() - begun)"
    return float(_said(python, "-c", code))


if __name__ == "__main__":
    main()
