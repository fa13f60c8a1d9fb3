"""The keys that a study file may have in each section, and the words that it may use."""

from __future__ import annotations

STUDY_KEYS = (
    "name", "protocol", "partition", "sizes", "mismatch", "rows_at_most", "title", "about", "language",
)  # fmt: skip
PRIVACY_KEYS = ("k", "l", "diversity", "c", "t", "site_l", "delta", "k_insider", "l_insider", "most_of_a_class")
UTILITY_KEYS = ("measure", "suppression", "effort")
COLUMN_KEYS = (
    "role", "hierarchy", "type", "missing", "null", "values", "range", "step", "site", "singles_out", "weight",
    "distance", "format", "l", "t", "label", "answers", "question", "unlisted", "cut",
)  # fmt: skip
GONE = {
    **dict.fromkeys(("mode", "window", "pairs", "buckets"), "is gone; leave it out"),
    "refine": "is gone; leave it out: labels are always narrowed",
    "nodes": "is gone; set effort in [utility] instead",
    "lend": "is gone; leave it out: about 1% more is lost",
    "leftover": "is gone; leave it out: fewer than k records that are left over are withheld",
    "insider": 'is gone; leave it out, and for "clip" set most_of_a_class in [privacy] just below 1',
    "identifies": 'is gone; write singles_out = "…" with the reason why one row alone may bear a published value',
}
"""Keys of earlier versions, and what to do instead: read where a section has no such key today."""
PARTY_KEYS = ("address", "certificate", "columns", "role", "label")
EVALUATE_KEYS = ("joint",)
AUTHORITY_KEYS = ("address", "certificate")
RELAY_KEYS = ("url", "certificate")
SECTIONS = ("study", "privacy", "utility", "columns", "parties", "protocol", "authority", "evaluate", "relay")

PARTITIONS = ("horizontal", "vertical", "respondents")
MEASURES = ("lm", "em", "em-monotone", "precision")
EFFORTS = ("quick", "normal", "thorough")
PARTY_ROLES = ("recipient", "collector", "trustee", "evaluator", "helper")
