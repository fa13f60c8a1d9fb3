"""The ledger's sentences: what a run of `suppress` teaches each party.

All of it follows from the release and from whose rows are whose, which both know of each other; but for one thing.
Ties among the keyholder's least frequent tuples are broken by their first rows, and a release is sorted: where nothing
had to be suppressed, its list of frequent tuples alone shows which of two stands first in its file.
"""

from __future__ import annotations

from covey.protocols.as_printed.suppress.parameters import Parameters
from covey.secure.declare import RELEASE, TAKING_PART, Leakage

KEYS = Leakage(
    roles={
        "holder": ("the authority's public parameters, and the key of its own name, one of {identities}",),
        "authority": (
            "that it issues the keys of {identities} in this session. With its master key it could open every "
            "encrypted message of the two parties, if it saw their line, which does not pass it",
        ),
    },
    about=TAKING_PART,
)
COUNTS = Leakage(
    roles={
        "holder": (
            "how many rows the other party has",
            "which combinations of values the other party has {k} or more rows of by itself, and how many; they are in "
            "the release. The party that holds the key leaves out the {k} rows that it gives up, which shows which of "
            "several equally frequent combinations stands first in its table",
            "whether both tables together were {k}-anonymous as they stood",
        )
    }
)
KEPT = Leakage(
    roles={
        "holder": (
            "which combinations the other party keeps, and how many rows of each; they are in the release. Of a "
            "combination of its own that it has to suppress: that both parties together have fewer than {k} rows of "
            "it. Of those that the other suppresses: nothing else, neither whether nor how often it has one",
        )
    }
)
ROWS = Leakage(
    roles={
        "holder": ("the release, and which of its rows are the other party's: all that are not its own",),
    },
    about=RELEASE,
)

LEAKAGE = Leakage(
    roles={
        role: tuple(line for part in (KEYS, COUNTS, KEPT, ROWS) for line in part.by_role.get(role, ()))
        for role in ("holder", "authority")
    }
)


def numbers(parameters: Parameters) -> dict[str, object]:
    """The numbers and names that the sentences mention: everybody knows them."""
    names = dict.fromkeys(map(parameters.name_of, parameters.holders))
    return {"k": parameters.k, "identities": " and ".join(map(repr, names))}


def parts(parameters: Parameters) -> tuple[Leakage, ...]:
    """The sentences of a run, in their order."""
    rest = (COUNTS, KEPT, ROWS)
    return (KEYS, *rest) if parameters.encryption == "waters" else rest
