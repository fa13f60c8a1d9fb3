"""The options and requirements of `cluster` for rows, and what a study asks of a run."""

from __future__ import annotations

from dataclasses import dataclass

from covey.anonymizers.sequential import K0, K1
from covey.errors import InputError
from covey.option import Choice, Number, WholeOrWord
from covey.protocols.shared.domains import require_listed, require_weight
from covey.study import Study
from covey.study.requirements import AS_PRINTED, Requirements

CALLS = Choice(
    "calls",
    "ring",
    '"ring" (default): every message that is printed, an AND round the ring for each removal, for a few hundred rows; '
    '"turn", ours: one exchange a turn, with the labels of Algorithm 3',
    ("ring", "turn"),
)
ALPHA = WholeOrWord(
    "alpha",
    1,
    'the part of its records that a party examines in a sweep: 1 (default), or "private" (section 8.2.3): between a '
    "half and one and a half, drawn anew for each sweep and told to nobody",
    "private",
    0,
    1,
    1,
)
K0_OPTION = Number("k0", K0, "the size of first clusters, as a part of k (default 0.5)", 0.01, 1.0)
K1_OPTION = Number("k1", K1, "clusters larger than this many times k are split (default 1.5)", 1.0, 1000.0)
REQUIREMENTS = Requirements(
    partition="horizontal",
    holders=(2, None),
    privacy=("k", "l", "diversity", "site_l"),
    options=(AS_PRINTED, CALLS, ALPHA, K0_OPTION, K1_OPTION),
)


@dataclass(frozen=True)
class Parameters:
    """The public parameters of a run."""

    k: int
    l: float | None  # noqa: E741 (the field's name for it)
    site_l: int | None
    calls: str
    private: bool
    """A party examines a random part of its records in each sweep."""
    k0: float
    k1: float
    parties: int
    entropy: bool
    """The measure needs the joint frequencies of values."""

    @classmethod
    def of(cls, study: Study) -> Parameters:
        """The parameters of a study. Raises InputError for a study that `cluster` cannot run."""
        require_weight(study)
        require_listed(study)
        privacy, calls = study.privacy, CALLS.of(study.options)
        if calls == "ring" and len(study.parties) < 3:
            raise InputError(
                'the printed ring needs three parties or more; between two take calls = "turn" in [protocol], one '
                "exchange a turn"
            )
        if calls == "turn" and ALPHA.of(study.options) != ALPHA.default:
            raise InputError('[protocol] alpha = "private" is for calls = "ring": leave one of the two out')
        if privacy.l is not None:
            _require_frequency(study)
        return cls(
            k=privacy.k,
            l=privacy.l,
            site_l=privacy.site_l,
            calls=calls,
            private=ALPHA.of(study.options) == 0,
            k0=K0_OPTION.of(study.options),
            k1=K1_OPTION.of(study.options),
            parties=len(study.parties),
            entropy=study.measure in ("em", "em-monotone"),
        )

    @property
    def two(self) -> bool:
        return self.parties == 2


def _require_frequency(study: Study) -> None:
    if study.privacy.diversity != "frequency":
        raise InputError("protocol 'cluster' keeps l by frequency; leave out diversity, or anonymize centrally")
    for column in study.sensitive:
        if column.values is None:
            raise InputError(f"column {column.name!r}: list its values in the study, so that l can be kept jointly")
