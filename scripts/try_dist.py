"""Installs the wheel and the sdist of a folder, each into an empty environment, and runs the demo there.

python scripts/try_dist.py dist
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements-user.lock"


def main(folder: Path) -> None:
    """Tries each artifact; ends with an error if one cannot be installed or its demo leaves no release."""
    artifacts = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    if len(artifacts) != 2:
        sys.exit(f"{folder}: has no wheel and sdist of one version; run `make dist`")
    for artifact in artifacts:
        with tempfile.TemporaryDirectory(prefix="covey-dist-") as scratch:
            _try(artifact.resolve(), Path(scratch))


def _try(artifact: Path, folder: Path) -> None:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", str(LOCK)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", str(artifact)], check=True)
    work = folder / "work"
    work.mkdir()
    subprocess.run([python, "-m", "covey", "demo", "--out", "demo"], check=True, cwd=work, stdout=subprocess.DEVNULL)
    if not (work / "demo" / "release.csv").is_file():
        sys.exit(f"{artifact.name}: its demo left no release")
    size = sum(file.stat().st_size for file in (folder / "venv").rglob("*") if file.is_file())
    print(f"{artifact.name}: installed ({size / 10**6:.0f} MB with what it needs), demo ran")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
