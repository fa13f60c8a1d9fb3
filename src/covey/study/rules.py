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
PARTY_KEYS = ("address", "certificate", "columns", "role", "label")
EVALUATE_KEYS = ("joint",)
AUTHORITY_KEYS = ("address", "certificate")
RELAY_KEYS = ("url", "certificate")
SECTIONS = ("study", "privacy", "utility", "columns", "parties", "protocol", "authority", "evaluate", "relay")

PARTITIONS = ("horizontal", "vertical", "respondents")
MEASURES = ("lm", "em", "em-monotone", "precision")
EFFORTS = ("quick", "normal", "thorough")
PARTY_ROLES = ("recipient", "collector", "trustee", "evaluator", "helper")
