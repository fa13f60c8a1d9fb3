"""What may be said at which step: an audit holds transcripts to it. Sizes follow from the groups, and are left open."""

from __future__ import annotations

from covey.protocols.federate.leakage import PROVIDER, RECIPIENT
from covey.protocols.federate.meeting import BIT_KEY_BYTES, NUMBER_KEY_BYTES
from covey.protocols.federate.parameters import Parameters
from covey.protocols.protocol import Line
from covey.secure import approval
from covey.study import Study

BETWEEN, TO_RECIPIENT = (PROVIDER, PROVIDER), (PROVIDER, RECIPIENT)

LESS = ("compare.digits", "compare.blinded")
SIGNS = ("compare.masked", *LESS)
VERDICT = (*LESS, "compare.flags")
COUNT = ("cardinality.blinded", "cardinality.echoed", "cardinality.common")
WINDOW = ("window.has", "window.shifted", "compare.flags")


def script(study: Study) -> tuple[Line, ...]:
    """The lines of the study's schedule."""
    params = Parameters.of(study)
    common = (
        Line("approval", "approval.vote", times=1, size=approval.MESSAGE_BYTES),
        Line("federate/meet", "federate.bit-key", times=1, size=BIT_KEY_BYTES, roles=BETWEEN),
        Line("federate/ready", "federate.ready", times=1, roles=TO_RECIPIENT),
        Line("federate/release/boxes", "federate.boxes", roles=TO_RECIPIENT),
        *_said("federate/release/order", "federate.order"),
    )
    return common + (_by_level(params) if params.by_level else _paper())


def _by_level(params: Parameters) -> tuple[Line, ...]:
    cut = "federate/divide/*/cut/*"
    return (
        Line("federate/enrol", "federate.number-key", 1, NUMBER_KEY_BYTES + params.bits // 4, BETWEEN),
        Line("federate/enrol/membership", "federate.membership", roles=BETWEEN),
        *_tests("federate/divide/root"),
        *_said("federate/divide/*/range", *LESS),
        *_said("federate/divide/*/range/open", "compare.flags"),
        *_said(f"{cut}/choose/candidates", "federate.candidates", "federate.above"),
        *_said(f"{cut}/choose/scores", "federate.scores"),
        *_said(f"{cut}/choose/largest/*", *SIGNS, "compare.flags"),
        *_tests(f"{cut}/verify"),
        *_said(f"{cut}/halves", "federate.halves"),
        *_tests("federate/exact/*"),
        *_said("federate/release/numbers", "federate.summed"),
        *(Line("federate/release/numbers", tag, roles=TO_RECIPIENT) for tag in ("federate.veiled", "federate.veils")),
    )


def _paper() -> tuple[Line, ...]:
    group = "federate/divide/*/*"
    return (
        *_said("federate/divide/root/k", *WINDOW),
        *_said("federate/divide/root/common", *COUNT),
        *_said("federate/divide/root/agree", "compare.flags"),
        *_said(f"{group}/range", *LESS),
        *_said(f"{group}/range/open", "compare.flags"),
        *_said(f"{group}/candidates", "federate.candidates"),
        *_said(f"{group}/above/*", *COUNT),
        *_said(f"{group}/users", *COUNT),
        *_said(f"{group}/verify/k/*", *WINDOW),
        *_said(f"{group}/verify/common/*", *COUNT),
        *_said(f"{group}/verify/verdict", "compare.flags"),
        *_said(f"{group}/halves", "federate.halves"),
        *_said("federate/release/count/*/*", *COUNT),
        Line("federate/release/numbers", "federate.veils", roles=TO_RECIPIENT),
    )


def _tests(step: str) -> tuple[Line, ...]:
    return (*_said(f"{step}/signs", *SIGNS), *_said(f"{step}/verdict", *VERDICT))


def _said(step: str, *tags: str) -> tuple[Line, ...]:
    """What one provider says to the other there, as often as it takes."""
    return tuple(Line(step, tag, roles=BETWEEN) for tag in tags)
