"""Columns that meet: the common records, one release by joins, and exact values of two holders that never meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from tests.harness.harness import answers, lines, run
from tests.harness.network import seed_of
from tests.harness.parties import run_parties
from tests.harness.trial import Trial, of_study

from covey.arrays import Ints
from covey.cells import MISSING
from covey.crypto.rng import Rng
from covey.errors import Aborted, CoveyError, InputError, PeerError, Unmet
from covey.party.session.data import load_table
from covey.protocols import Forecast, Protocol, Result, Seat
from covey.protocols.shared.columns import joining, meeting
from covey.protocols.shared.columns import release as joint_release
from covey.secure.declare import Leakage
from covey.study import Study
from covey.study.requirements import Requirements
from covey.table import Table
from covey.wire import Channel

Frame = dict[str, list[str]]

_COLUMNS = """
[columns.id]
role = "key"
[columns.age]
role = "quasi"
hierarchy = { min = 0, max = 15, steps = [8] }
[columns.ill]
role = "sensitive"
values = ["flu", "none", "ulcer"]
singles_out = "nobody is real"
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
[columns.bill]
role = "plain"
singles_out = "nobody is real"
"""


def study_of(head: str = "", *, bill: str = "office", recipient: bool = False, k: int = 2) -> Study:
    """A clinic with age and illness, an office with sex; whoever `bill` says has the bill."""
    clinic = ["age", "ill"] + (["bill"] if bill == "clinic" else [])
    office = ["sex"] + (["bill"] if bill == "office" else [])
    parties = f"[parties.clinic]\ncolumns = {clinic}\n[parties.office]\ncolumns = {office}\n"
    last = '[parties.reader]\nrole = "recipient"\n' if recipient else ""
    asked = f'[study]\nname = "two"\nprotocol = "generalize"\npartition = "vertical"\n{head}\n[privacy]\nk = {k}\n'
    return Study.parse(f"{asked}[protocol]\nas_printed = true\n{_COLUMNS}{parties}{last}")


def levels(table: Table) -> Ints:
    """Every own column one level up."""
    rows = [tree.up[1][codes] for tree, codes in zip(table.trees, table.codes, strict=True)]
    return np.array(rows, dtype=np.int32).reshape(len(rows), table.rows)


async def _role(seat: Seat) -> Result:
    study, channel = seat.study, seat.channel.at("two")
    recipient = next((party.name for party in study.parties if party.role), None)
    mine = await meeting.meet(seat, channel.at("meet"))
    nodes = np.zeros((0, 0), np.int32) if mine is None else levels(mine.table)
    own = (() if mine is None else mine.ids, nodes, None if mine is None else mine.table)
    opened = await joining.join_rows(seat, channel.at("release"), *own, recipient=recipient)
    return Result() if opened is None else joint_release.result(study, opened)


def _ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    common = meeting.common_rows(study, tables)
    return joint_release.ideal_result(study, common, {name: levels(table) for name, table in common.items()})


def _receives(study: Study, party: str) -> bool:
    return study.party(party).role == "recipient" or not any(other.role for other in study.parties)


PROTOCOL = Protocol(
    name="two",
    version=1,
    about="columns one level up",
    source="this test",
    requirements=Requirements("vertical", (2, 2), roles=("recipient",)),
    needs="",
    guarantees="",
    released_to="",
    phases=(),
    leakage=Leakage(),
    roles={"holder": _role, "recipient": _role},
    receives=_receives,
    foresee=lambda study, rows: Forecast(0, 0, 0, 0.0),
    ideal=_ideal,
)


def people(count: int, seed: int = 0) -> Frame:
    """Random people, of both age bands."""
    stream = Rng(seed_of(seed)).stream("people")
    return {
        "id": [f"p{number}" for number in range(count)],
        "age": [str(stream.below(16)) for _ in range(count)],
        "ill": [("flu", "none", "ulcer")[stream.below(3)] for _ in range(count)],
        "sex": ["FM"[stream.below(2)] for _ in range(count)],
        "bill": [f"{number} crowns" for number in range(count)],
    }


def tables_of(study: Study, frame: Frame, rows: Mapping[str, Sequence[int]] | None = None) -> dict[str, Table]:
    """Each holder's columns of these people, or of the given rows of them."""
    found = {}
    for party in study.holders:
        some = rows[party.name] if rows else range(len(frame["id"]))
        own = {column.name: [frame[column.name][row] for row in some] for column in study.held_by(party.name)}
        table = load_table(study, party.name, pa.table(own))
        assert table is not None
        found[party.name] = table
    return found


def trial_of(study: Study, frame: Frame, rows: Mapping[str, Sequence[int]] | None = None) -> Trial:
    """A trial of the release above."""
    return of_study(study, PROTOCOL, tables_of(study, frame, rows))


@pytest.mark.few(2)
@pytest.mark.parametrize("recipient", [False, True])
@pytest.mark.parametrize("bill", ["clinic", "office"])
def test_the_release_is_the_ideal_and_goes_to_whom_it_should(bill: str, recipient: bool) -> None:
    study = study_of(bill=bill, recipient=recipient)
    for seed in range(3):
        trial = trial_of(study, people(11, seed))
        ends = run(trial, seed=seed)
        assert answers(trial, ends) == trial.ideal
        assert {line.sender for line in lines(ends) if line.tag == "approval.vote"} == set(trial.names)
        assert {name for name, due in trial.ideal.items() if due is not None} == (
            {"reader"} if recipient else {"clinic", "office"}
        )


def test_the_ledger_says_what_was_met_and_who_got_the_release() -> None:
    told: dict[str, dict[str, list[str]]] = {}

    async def role(seat: Seat) -> Result:
        result = await _role(seat)
        told[seat.party] = seat.ledger.lines  # type: ignore[attr-defined]
        return result

    protocol = replace(PROTOCOL, roles=dict.fromkeys(PROTOCOL.roles, role))
    study = study_of(recipient=True)
    run(of_study(study, protocol, tables_of(study, people(7))))
    for ledger in told.values():
        reader, clinic = " ".join(ledger["reader"]), " ".join(ledger["clinic"])
        assert "the release: " in reader and "permuted within each class" in reader and "own ids" not in reader
        assert "which of its own ids all 2 holders of columns have" in clinic and "the release: " not in clinic
    assert "have 7 records in common" in " ".join(told["clinic"]["office"])


def test_people_whom_one_holder_lacks_are_left_out() -> None:
    trial = trial_of(study_of(), people(12), {"clinic": range(10), "office": [11, *range(9, 1, -1)]})
    ends = run(trial)
    assert answers(trial, ends) == trial.ideal
    finished = ends["clinic"].finished
    assert finished is not None and finished.figures is not None and finished.figures.rows == 8


def errors(trial: Trial) -> dict[str, CoveyError | None]:
    return {name: end.error for name, end in run(trial).items()}


def test_a_study_that_wants_all_records_ends_at_everyone_with_the_names_of_those_who_have_more() -> None:
    study = study_of('mismatch = "abort"')
    tables = tables_of(study, people(9), {"clinic": range(9), "office": range(8)})
    for error in errors(Trial(study, PROTOCOL, tables, {}, lambda name, finished: None)).values():
        assert isinstance(error, Unmet) and "'clinic' has ids that not all holders have" in str(error)
    with pytest.raises(Unmet, match="'clinic' has ids that not all holders have"):
        PROTOCOL.ideal(study, tables)


def test_a_study_that_wants_all_records_runs_where_all_have_them() -> None:
    trial = trial_of(study_of('mismatch = "abort"'), people(9))
    assert answers(trial, run(trial)) == trial.ideal


def test_fewer_common_records_than_k_release_nothing() -> None:
    study = study_of(k=4)
    tables = tables_of(study, people(9), {"clinic": range(6), "office": range(3, 9)})
    ends = run(Trial(study, PROTOCOL, tables, {}, lambda name, finished: None))
    assert all("3 records in common, fewer than k = 4" in str(end.error) for end in ends.values())


def test_a_key_that_repeats_or_lacks_is_refused_before_anything_is_said() -> None:
    frame = people(6)
    frame["id"][2] = frame["id"][1]
    with pytest.raises(InputError, match=r"in column 'id', 2 rows share their key with another row"):
        tables_of(study_of(), frame)
    frame["id"][2] = ""
    with pytest.raises(InputError, match=r"column 'id' has no key in 1 row"):
        tables_of(study_of(), frame)


def test_keys_are_looked_at_again_where_tables_meet() -> None:
    """Whoever brings a table may have made it in another way than by reading a file."""
    table = tables_of(study_of(), people(6))["clinic"]
    assert table.key is not None
    assert meeting.keys_of(table, "clinic") == [f"p{number}" for number in range(6)]
    twice = replace(table, key=replace(table.key, codes=np.array([0, 1, 1, 3, 4, 5], np.int32)))
    with pytest.raises(InputError, match=r"^clinic: in column 'id', 2 rows share their key with another row"):
        meeting.keys_of(twice, "clinic")
    lacking = replace(table, key=replace(table.key, labels=(MISSING, *table.key.labels[1:])))
    with pytest.raises(InputError, match=r"^clinic: column 'id' has no key in 1 row"):
        meeting.keys_of(lacking, "clinic")
    with pytest.raises(InputError, match=r"^clinic: has no key column"):
        meeting.keys_of(replace(table, key=None), "clinic")


def test_exact_values_of_one_holder_stay_together_and_nothing_is_permuted() -> None:
    study, frame = study_of(bill="clinic"), people(12)
    release = _ideal(study, tables_of(study, frame)).release
    assert release is not None
    shown = set(zip(release["ill"].to_pylist(), release["bill"].to_pylist(), strict=True))
    assert shown == set(zip(frame["ill"], frame["bill"], strict=True))
    assert joint_release.pairing(study) == ""


def test_the_pairing_of_two_holders_values_depends_on_the_published_values_alone() -> None:
    """Two tables with the same classes and values, of which different ones belong together, are paired alike."""
    study, frame = study_of(), people(40)
    other = {**frame, "bill": list(frame["bill"])}
    classes = [(int(age) // 8, sex) for age, sex in zip(frame["age"], frame["sex"], strict=True)]
    for band in set(classes):
        members = [row for row, own in enumerate(classes) if own == band]
        for row, source in zip(members, reversed(members), strict=True):
            other["bill"][row] = frame["bill"][source]
    one, two = (_ideal(study, tables_of(study, each)).release for each in (frame, other))
    assert one is not None and two is not None and one.equals(two)
    belong = set(zip(frame["ill"], frame["bill"], strict=True))
    assert set(zip(one["ill"].to_pylist(), one["bill"].to_pylist(), strict=True)) != belong
    assert "the exact values of clinic, office are permuted within each class" in joint_release.pairing(study)


def test_the_pairing_is_no_sorting() -> None:
    """Values that are sorted on both sides would pair low with low: the draw must not."""
    classes = np.zeros(60, dtype=np.int64)
    cells = [(f"{number:02}",) for number in range(60)]
    _, [first, second] = joint_release.paired([(classes, cells), (classes, cells)])
    assert Counter(first) == Counter(second) == Counter(cells)
    assert sum(one == two for one, two in zip(first, second, strict=True)) < 8
    assert first != sorted(first) and second != sorted(second)


@pytest.mark.parametrize("other", [[[1, 1], [2, 2], [2, 2]], [[1, 1], [1, 1], [3, 3]]], ids=["sizes", "nodes"])
def test_joins_with_other_classes_are_refused(other: list[list[int]]) -> None:
    nodes = np.array([[1, 1], [1, 1], [2, 2]], dtype=np.int32)
    lanes = [(nodes, [("a",)] * 3), (np.array(other, dtype=np.int32), [("b",)] * 3)]
    with pytest.raises(Aborted, match="do not have the same classes"):
        joint_release.released_rows(study_of(), lanes)


def test_an_open_release_with_a_small_class_is_refused() -> None:
    study = study_of(bill="clinic")
    one = joint_release.ReleasedRows(np.array([0, 0, 1]), np.array([[0, 0], [1, 1]], np.int32), {"ill": ["flu"] * 3})
    with pytest.raises(Aborted, match="fewer than k = 2"):
        joint_release.result(study, one)


def test_the_figures_say_how_diverse_the_classes_are() -> None:
    study = study_of(bill="clinic")
    ills = ["flu", "none", "flu", "flu", "none", "ulcer"]
    one = joint_release.ReleasedRows(
        np.array([0, 0, 0, 1, 1, 1]), np.array([[0, 0], [1, 1]], np.int32), {"ill": ills, "bill": ["1"] * 6}
    )
    figures = joint_release.result(study, one).figures
    assert figures is not None and figures.l_reached == 1.5


def test_a_missing_exact_value_stands_only_where_the_study_lets_it() -> None:
    ill = next(column for column in study_of().columns if column.name == "ill")
    assert joining.fits(replace(ill, missing="value"), MISSING)
    assert not joining.fits(replace(ill, missing="error"), MISSING)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x92\x91\x00", msgspec.msgpack.encode(([99], [])), msgspec.msgpack.encode(([0, 0], [])),
     msgspec.msgpack.encode(([-1], [])), msgspec.msgpack.encode(([0], ["x"]))],
)  # fmt: skip
def test_a_part_that_is_no_row_of_its_holder_is_refused_by_name(raw: bytes) -> None:
    study = study_of(bill="clinic")
    good = msgspec.msgpack.encode(([0], ["flu", "1"]))

    async def role(channel: Channel) -> object:
        return joining.read_rows(channel.at("open"), study, [(good, raw)], "clinic")

    error = run_parties({"clinic": role})["clinic"].error
    assert isinstance(error, PeerError) and error.party == "office" and error.step == "open"


def test_an_exact_value_that_the_study_does_not_list_is_refused() -> None:
    study = study_of(bill="clinic")
    part = msgspec.msgpack.encode(([0], ["plague", "1"]))

    async def role(channel: Channel) -> object:
        return joining.read_rows(channel.at("open"), study, [(part, b"")], "clinic")

    error = run_parties({"clinic": role})["clinic"].error
    assert isinstance(error, PeerError) and error.party == "clinic" and "plague" not in str(error)
