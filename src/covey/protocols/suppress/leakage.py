"""The ledger's sentences: what a run of `suppress` teaches each party.

All of it follows from the release and from whose rows are whose, which two parties always know of each other; but for
one thing. Ties among the keyholder's least frequent tuples are broken by their first rows, and a release is sorted:
where nothing had to be suppressed, its list of frequent tuples alone shows which of two stands first in its file.
Three or more do not learn whose rows are whose, but how often tuples occur that are not named.
"""

from __future__ import annotations

from covey.protocols.suppress.parameters import Parameters
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

PARTS = Leakage(
    roles={
        "holder": ("the authority's public parameters, and its own part of the key of {identities}",),
        "authority": (
            "that it issues the parts of the key of {identities} in this session. With its master key it could open "
            "every encrypted message of the parties, if it saw their lines, which do not pass it",
        ),
    },
    about=TAKING_PART,
)
SIZES = Leakage(
    roles={
        "holder": (
            "how many rows each other party has",
            "how often each combination of values occurs in all tables together, as numbers without a name and without "
            "an owner, as long as one other party or more shuffles honestly: of the suppressed combinations too",
        )
    }
)
NAMED = Leakage(
    roles={
        "holder": (
            "which of its own combinations are published. Of one that is not: that all parties together have fewer "
            "than {k} rows of it, or, where fewer than {k} rows were rare, a number of rows whose combinations were "
            "suppressed with them. Of what others suppress: no name, and not how often any of them has it",
        )
    }
)
ROWS_OF_MANY = Leakage(
    roles={
        "holder": (
            "the release, its rows in random order; not whose they are, as long as one other party or more shuffles "
            "them honestly",
        )
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


def counts(parameters: Parameters) -> Leakage:
    """The sentences about how many rows there are."""
    return SIZES if parameters.several else COUNTS


def parts(parameters: Parameters) -> tuple[Leakage, ...]:
    """The sentences of a run, in their order."""
    keys, *rest = (PARTS, SIZES, NAMED, ROWS_OF_MANY) if parameters.several else (KEYS, COUNTS, KEPT, ROWS)
    return (keys, *rest) if parameters.encryption == "waters" else tuple(rest)
