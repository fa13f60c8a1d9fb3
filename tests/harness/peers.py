"""Peers and judges that we did not write: each in a Python of its own, since their pins conflict with ours.

`python -m tests.harness.peers` makes them all, which `.ci/run` does while it installs; else a test makes its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = {
    "phe": ("phe==1.5.0", "gmpy2==2.3.2"),
    "pycanon": ("pycanon==1.3.6",),
    "tno": ("tno.mpc.protocols.distributed_keygen==4.3.0", "tno.mpc.encryption_schemes.utils==0.12.3"),
}


def make(name: str) -> str:
    """Makes a peer's environment, once. An empty text, or the last line that says why it cannot be made."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "make-venv.sh"), name, *PEERS[name]],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    return "" if made.returncode == 0 else (made.stderr.strip().splitlines() or ["no reason given"])[-1]


def ask(name: str, script: Path, question: object) -> object:
    """Runs a script in a peer's Python, with a question and an answer in JSON; skips where there is no such peer."""
    if reason := make(name):
        pytest.skip(f"{PEERS[name][0]} cannot be installed here: {reason}")
    python = ROOT / ".venvs" / name / "bin" / "python"
    answered = subprocess.run([str(python), str(script)], input=json.dumps(question), capture_output=True, text=True)
    assert answered.returncode == 0, answered.stderr[-2000:]
    found: object = json.loads(answered.stdout)
    return found


if __name__ == "__main__":
    for each in PEERS:
        print(f"{each}: {make(each) or 'made'}", flush=True)
