"""`python -m benchmarks [NAME…]`: runs the named benchmarks, or all of them, one after the other."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


def names() -> list[str]:
    found = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return [name for name in found if not name.startswith("_")]


def main(asked: list[str]) -> int:
    known = names()
    unknown = [name for name in asked if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in asked or known:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
