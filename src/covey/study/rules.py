"""What a study file may say: the keys of each section, and what each protocol needs."""

from __future__ import annotations

from dataclasses import dataclass, field

STUDY_KEYS = ("name", "protocol", "partition", "sizes", "mismatch", "rows_at_most")
PRIVACY_KEYS = ("k", "l", "diversity", "c", "t", "site_l", "delta", "k_insider")
UTILITY_KEYS = ("measure", "suppression")
COLUMN_KEYS = (
    "role", "hierarchy", "type", "missing", "null", "values", "range", "site", "identifies", "weight", "distance",
)  # fmt: skip
PARTY_KEYS = ("address", "certificate", "columns", "role")
AUTHORITY_KEYS = ("address", "certificate")
SECTIONS = ("study", "privacy", "utility", "columns", "parties", "protocol", "authority")

PARTITIONS = ("horizontal", "vertical", "respondents")
MEASURES = ("lm", "em", "em-monotone", "precision")
PARTY_ROLES = ("recipient", "collector", "evaluator")


@dataclass(frozen=True)
class Rule:
    """What a protocol asks of the study."""

    partitions: tuple[str, ...]
    holders: tuple[int, int | None]  # the fewest and the most parties with data of their own
    roles: tuple[str, ...] = ()  # the roles without data that it knows
    needs: tuple[str, ...] = ()  # of these, the ones it cannot do without
    options: tuple[str, ...] = ()
    privacy: tuple[str, ...] = field(default=("k", "l", "diversity"))


PROTOCOLS: dict[str, Rule] = {
    "count": Rule(("horizontal",), (2, None), options=("column", "level"), privacy=("k",)),
    "suppress": Rule(("horizontal",), (2, 2), ("authority",), options=("encryption", "epoch"), privacy=("k",)),
    "collect": Rule(
        ("respondents",), (0, None), ("collector",), ("collector",),
        ("scheme", "b", "rho", "grid", "jitter", "committee", "cut", "spare"),
    ),
    "generalize": Rule(
        ("vertical",), (2, 2), ("recipient",), (), ("leakage", "local", "variant", "ties"), ("k",),
    ),
    "cluster": Rule(
        ("horizontal", "vertical"), (2, None), ("evaluator",), (), ("schedule", "start"),
        ("k", "l", "diversity", "site_l", "k_insider"),
    ),
    "federate": Rule(
        ("vertical",), (2, 2), ("recipient",), ("recipient",),
        ("population", "alpha", "schedule", "score", "candidates", "presence", "bits"), ("k", "delta"),
    ),
    "peel": Rule(
        ("horizontal",), (2, None), (), (), ("mode", "nodes", "buckets", "insider", "leftover"),
        ("k", "l", "diversity", "k_insider", "site_l"),
    ),
}  # fmt: skip

OPTION_VALUES: dict[tuple[str, str], tuple[str, ...]] = {
    ("suppress", "encryption"): ("waters", "elgamal"),
    ("generalize", "leakage"): ("auto", "matrix", "one-sided", "threshold"),
    ("generalize", "local"): ("datafly", "peel", "sequential", "mondrian", "hilbert"),
    ("generalize", "variant"): ("paper", "datafly", "finished-cells"),
    ("generalize", "ties"): ("first", "last"),
    ("cluster", "schedule"): ("guarded", "strict", "exact", "paper"),
    ("cluster", "start"): ("fitted", "paper"),
    ("federate", "schedule"): ("level", "paper"),
    ("federate", "score"): ("weighted", "paper"),
    ("federate", "presence"): ("quasi", "sensitive"),
    ("collect", "scheme"): ("elgamal", "paillier"),
    ("collect", "cut"): ("fall", "hansen-mukherjee"),
    ("peel", "mode"): ("visit", "skip", "wave"),
}
