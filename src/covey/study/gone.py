"""Names that are gone since 0.2.0, each with what to do instead: one table, read where a name is unknown.

A name is that of a key below its section (`columns identifies`), of an option below its protocol (`collect jitter`) or
below `protocol`, if no protocol has it any more, of a value (`parties role=evaluator`), or of a flag behind its command
(`collect respond --leave`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LEAVE_OUT = "leave it out"
BY_PEEL = 'use protocol = "peel"'

GONE: Mapping[str, str] = {
    "columns identifies": 'write singles_out = "…" with the reason why one row alone may bear a published value',
    "parties role=evaluator": 'use role = "helper": a helper holds no data and sees random bits alone',
    **{f"protocol {name}": LEAVE_OUT for name in ("mode", "window", "pairs", "buckets")},
    "protocol refine": f"{LEAVE_OUT}: labels are always narrowed",
    "protocol nodes": "set effort in [utility] instead",
    "protocol lend": f"{LEAVE_OUT}: about 1% more is lost",
    "protocol leftover": f"{LEAVE_OUT}: fewer than k records that are left over are withheld",
    "protocol insider": f'{LEAVE_OUT}, and for "clip" set most_of_a_class in [privacy] just below 1',
    "protocol committee": 'name exactly three parties with role = "trustee"',
    "cluster schedule": f'{LEAVE_OUT} for the printed messages; calls = "turn" is what "exact" was; else {BY_PEEL}',
    "cluster start": f"{LEAVE_OUT}: clusters start as the paper prints it",
    "collect method": 'write as_printed = true: protocol = "collect" cuts the curve, and protocol = "peel" peels',
    **{f"collect {name}": LEAVE_OUT for name in ("jitter", "spare")},
    "collect shares": f"{LEAVE_OUT}: keys are shared by Asmuth and Bloom's scheme",
    "collect retrieval": f"{LEAVE_OUT}: entries are retrieved by Gentry and Ramzan's scheme",
    "collect threshold": "write t_ss, as the paper does",
    "count least": f"{LEAVE_OUT}: k is the threshold, and counts below k are told to nobody",
    "federate schedule": f"{LEAVE_OUT}: calls are made one after the other, as the paper prints them",
    "federate score": f"{LEAVE_OUT}: the score is the paper's",
    "federate candidates": f"{LEAVE_OUT}: every value is a candidate",
    "federate bits": f"{LEAVE_OUT}: keys have one length",
    "federate presence": f"{LEAVE_OUT}: delta counts labels alone",
    "generalize outliers": f"{LEAVE_OUT}: outliers are suppressed as in the paper's Algorithm 1",
    "generalize ties": f"{LEAVE_OUT}: ties are broken as in the paper's trace",
    "generalize leakage": f'{LEAVE_OUT} for the matrix, or write compare = "threshold"; else {BY_PEEL} with a helper',
    "collect respond --leave": f"{LEAVE_OUT}: one letter is sent, and the command ends",
}


def successor(scope: str, name: str) -> str | None:
    """Returns what to do instead of a key, or of `key=value`, in a section, a protocol or any protocol."""
    sentence = GONE.get(f"{scope} {name}") or GONE.get(f"protocol {name}")
    key, equals, value = name.partition("=")
    words = f'{key} = "{value}"' if equals else key
    return None if sentence is None else f"{words} is gone; {sentence}"


def of_call(arguments: Sequence[str]) -> str | None:
    """Returns what to do instead of a flag, if one of a call's flags is gone."""
    flags = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    for name, sentence in GONE.items():
        command, _, flag = name.rpartition(" ")
        if flag in flags and " ".join(arguments).startswith(f"{command} "):
            return f"{flag} is gone; {sentence}"
    return None
