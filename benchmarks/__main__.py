"""`python -m benchmarks [NAME [ARGUMENT…]]`: runs one benchmark, or all of them one after the other."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = {
    "engine": "engine",
    "algorithms": "algorithms",
    "loss": "loss",
    "verify": "verify",
    "evaluation": "evaluation",
    "estimators": "estimators",
    "blocks_group": "blocks_group",
    "blocks_sharing": "blocks_sharing",
    "box": "box",
    "wire": "wire",
    "relay": "relay",
    "parties": "parties",
    "resume": "resume",
    "journals": "journals",
    "memory": "memory",
    "repeated": "repeated",
    "peel": "protocol_peel",
    "cluster": "protocol_cluster",
    "columns": "protocol_columns",
    "suppress": "protocol_suppress",
    "generalize": "protocol_generalize",
    "federate": "protocol_federate",
    "collect": "protocol_collect",
    "collect_crypto": "protocol_collect_crypto",
    "collection": "collect_connections",
    "papers": "papers",
    "ui": "workbench",
}
"""The module of each benchmark; it has `run(arguments)`, whose docstring or the module's explains the arguments."""


def main(arguments: list[str]) -> int:
    """Runs what was asked for and returns the exit code."""
    if arguments and arguments[0] not in BENCHMARKS:
        print(f"no benchmark {arguments[0]}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in arguments[:1] or BENCHMARKS:
        print(f"\n== {name}", flush=True)
        import_module(f"benchmarks.{BENCHMARKS[name]}").run(arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
