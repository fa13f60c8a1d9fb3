"""Writes the generated sample files into the package anew: `python -m covey.samples`."""

from __future__ import annotations

from pathlib import Path

from covey.samples import generate

for name, content in generate().items():
    target = Path(__file__).parent / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    print(f"{name}  {len(content):,} bytes")
