"""Writes the generated sample files into the package anew: `python -m scripts.samples`."""

from __future__ import annotations

from pathlib import Path

from scripts.samples import generate

import covey.samples

for name, content in generate().items():
    target = Path(covey.samples.__file__).parent / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    print(f"{name}  {len(content):,} bytes")
