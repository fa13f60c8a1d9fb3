"""The ledger's sentences: what a run of `suppress` teaches each party.

All of it follows from the release and from whose rows are whose, which two parties always know of each other; but for
one thing. Ties among the keyholder's least frequent tuples are broken by their first rows, and a release is sorted:
where nothing had to be suppressed, its list of frequent tuples alone shows which of two stands first in its file.
"""

from __future__ import annotations

from covey.protocols.suppress.parameters import Parameters
from covey.secure.declare import Leakage

KEYS = Leakage(
    roles={
        "holder": ("the authority's public parameters, and the key of its own name, one of {identities}",),
        "authority": (
            "that it issued the keys of {identities} in this session. With its master key it could open every "
            "ciphertext that the two parties exchange, if it saw their line, which does not pass it",
        ),
    }
)
COUNTS = Leakage(
    roles={
        "holder": (
            "the other party's number of rows",
            "which tuples the other party has {k} or more rows of by itself, and how many: they are in the release. Of "
            "the party that holds the key this is told without the {k} rows that it gives up; so, where tuples are "
            "equally frequent, also which of them stands first in its table",
            "whether both tables together were {k}-anonymous as they stood",
        )
    }
)
KEPT = Leakage(
    roles={
        "holder": (
            "which tuples the other party keeps, and how many rows of each: the tuples of the release. Of a tuple of "
            "its own that it had to suppress, that both parties' rows of it do not make {k}; of the other party's "
            "suppressed tuples nothing else, neither whether nor how often it has one",
        )
    }
)
ROWS = Leakage(
    roles={
        "holder": ("the release, and which of its rows are the other party's: all that are not its own",),
    }
)

LEAKAGE = Leakage(
    roles={
        role: tuple(line for part in (KEYS, COUNTS, KEPT, ROWS) for line in part.by_role.get(role, ()))
        for role in ("holder", "authority")
    }
)


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers and names that the sentences mention: everybody knows them."""
    return {"k": parameters.k, "identities": " and ".join(map(repr, map(parameters.name_of, parameters.holders)))}


def parts(parameters: Parameters) -> tuple[Leakage, ...]:
    """The sentences of a run, in their order."""
    return (KEYS, COUNTS, KEPT, ROWS) if parameters.encryption == "waters" else (COUNTS, KEPT, ROWS)
