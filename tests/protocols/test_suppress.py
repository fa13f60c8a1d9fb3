"""`suppress`: the note's vectors, the real protocol against the clear function, and what the function promises."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.harness.harness import answers, lines, run, spent
from tests.harness.network import seed_of
from tests.harness.suppress_cases import ELGAMAL, WATERS, draw_people, study_of, trial_of
from tests.harness.tiers import examples, few_first
from tests.harness.trial import Case

from covey.crypto.rng import Rng
from covey.errors import Aborted, InputError, Unmet
from covey.party.audit.folders import audit
from covey.party.audit.script import strays
from covey.party.record.transcript import Entry
from covey.party.simulate.in_process import simulate
from covey.party.simulate.processes import SimulationSetting
from covey.party.simulate.processes import simulate as simulate_processes
from covey.protocols import find
from covey.protocols.as_printed.suppress.ideal import decide
from covey.protocols.as_printed.suppress.tuples import JointClasses, KeptTuples, Labels, OwnTuples
from covey.study import Study

S = "★"
TABLE_1 = (("3032", "45"), ("3138", "25"), ("3138", "32"), ("3138", "26"), ("3084", "45"))
PHONES = tuple(phone for phone, _ in TABLE_1)
AGES = tuple(age for _, age in TABLE_1)
VECTORS: dict[str, tuple[int, Sequence[object], Sequence[object], Sequence[object], Sequence[object]]] = {
    "V1, the paper's table by phone and age": (2, TABLE_1[:3], TABLE_1[3:], S * 3, S * 2),
    "V2, by phone": (2, PHONES[:3], PHONES[3:], (S, S, "3138"), ("3138", S)),
    "V3, by phone with k = 3": (3, PHONES[:3], PHONES[3:], S * 3, S * 2),
    "V4, by phone, two rows and three": (2, PHONES[:2], PHONES[2:], S * 2, ("3138", "3138", S)),
    "V5, more is lost than need be": (2, ("3138",) * 3, ("3032", "3084"), S * 3, S * 2),
    "V5, by age": (2, AGES[:3], AGES[3:], S * 3, S * 2),
    "V6, jointly anonymous": (2, "ab", "ba", "ab", "ba"),
    "V6, by the tuple that would be cut": (2, "aab", "ba", "aab", "ba"),
    "V6, with k = 3": (3, "abc", "aabbcc", "abc", "aabbcc"),
    "V7, what is cut keeps a rest": (2, "aab", "ac", f"{S}a{S}", f"a{S}"),
    "V8, theorem 6: T, T": (2, "10", "20", S * 2, S * 2),
    "V8, theorem 6: S, T": (2, "30", "20", S * 2, S * 2),
    "V8, theorem 6: T, S": (2, "10", "30", S * 2, S * 2),
    "V8, theorem 6: S, S": (2, "30", "30", "30", "30"),
    "V8, k = 3: T, T": (3, "100", "220", S * 3, S * 3),
    "V8, k = 3: S, T": (3, "300", "220", S * 3, S * 3),
    "V8, k = 3: T, S": (3, "100", "330", S * 3, S * 3),
    "V8, k = 3: S, S": (3, "300", "330", "300", "330"),
    "V9, one of two that look alike": (3, "aaab", "accc", S * 4, f"{S}ccc"),
    "V9, the other": (3, "aaab", "dccc", S * 4, f"{S}ccc"),
    "what one has k of and the other has once": (2, "aaaa", "a", "aaaa", "a"),
    "fewer than k rows each, anonymous together": (3, "aa", "a", "aa", "a"),
    "fewer than k rows each": (3, "ab", "aa", S * 2, S * 2),
    "the second party holds the key": (3, "ab", "abcccd", S * 2, f"{S * 2}ccc{S}"),
}


def own_of(rows: Sequence[object]) -> OwnTuples:
    """The rows as a party's tuples."""
    tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
    listed = list(dict.fromkeys(tuples))
    return OwnTuples.sorted(listed, np.array([listed.index(row) for row in tuples], dtype=np.int64))


def clear(k: int, a: Sequence[object], b: Sequence[object]) -> tuple[list[object], list[object]]:
    """The function itself, on two lists of tuples, with the parts swapped where only the second has k rows."""
    swapped = len(a) < k <= len(b)
    first, second = (own_of(b), own_of(a)) if swapped else (own_of(a), own_of(b))
    kept = decide(k, first, second)
    keeps = kept[::-1] if swapped else kept
    return (
        [row if keep else S for row, keep in zip(a, keeps[0].tolist(), strict=True)],
        [row if keep else S for row, keep in zip(b, keeps[1].tolist(), strict=True)],
    )


def study_text(k: int, columns: int, encryption: str) -> str:
    quasi = "".join(f'[columns.q{place}]\nrole = "quasi"\nhierarchy = "flat"\n' for place in range(columns))
    head = f'[study]\nname = "vector"\nprotocol = "suppress"\n[privacy]\nk = {k}\n'
    rest = '[columns.row]\nrole = "plain"\n[parties.alice]\n[parties.bob]\n'
    return f'{head}[protocol]\nas_printed = true\nencryption = "{encryption}"\ncompare = "bins"\n{quasi}{rest}'


def frame_of(rows: Sequence[object], name: str) -> pa.Table:
    tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
    cells = {f"q{place}": [row[place] for row in tuples] for place in range(len(tuples[0]))}
    return pa.table({**cells, "row": [f"{name} {place}" for place in range(len(rows))]})


def suppressed(release: pa.Table, name: str, rows: Sequence[object]) -> list[object]:
    """A party's rows as they were released, in their order; a suppressed one as the star."""
    table = release.to_pydict()
    names = [column for column in table if column != "row"]
    shown = {row: tuple(table[column][place] for column in names) for place, row in enumerate(table["row"])}
    found: list[object] = []
    for place, row in enumerate(rows):
        labels = shown[f"{name} {place}"]
        found.append(S if set(labels) == {"*"} else labels if isinstance(row, tuple) else labels[0])
    return found


@pytest.mark.parametrize("name", VECTORS)
def test_the_clear_function_gives_the_note_s_vectors(name: str) -> None:
    k, a, b, due_a, due_b = VECTORS[name]
    assert clear(k, a, b) == (list(due_a), list(due_b))


@pytest.mark.few(5)
@pytest.mark.parametrize("encryption", ["elgamal", "waters"])
@pytest.mark.parametrize("name", few_first(VECTORS, few=8))
def test_the_protocol_gives_the_note_s_vectors(name: str, encryption: str) -> None:
    k, a, b, due_a, due_b = VECTORS[name]
    width = len(a[0]) if isinstance(a[0], tuple) else 1
    study = Study.parse(study_text(k, width, encryption))
    release = simulate(study, {"alice": frame_of(a, "alice"), "bob": frame_of(b, "bob")}, seed=1).table
    assert suppressed(release, "alice", a) == list(due_a)
    assert suppressed(release, "bob", b) == list(due_b)


@pytest.mark.thorough
def test_three_rows_meet_more_than_a_thousand() -> None:
    """One tuple is listed after two rows were given up; its places do not fit into one answer."""
    a, b = ["x", "y", "t5"], [f"t{number}" for number in range(1100)]
    study = Study.parse(study_text(2, 1, "elgamal"))
    release = simulate(study, {"alice": frame_of(a, "alice"), "bob": frame_of(b, "bob")}, seed=1).table
    assert suppressed(release, "alice", a) == [S, S, "t5"]
    assert [row for row in suppressed(release, "bob", b) if row != S] == ["t5"]


def over_processes(name: str, encryption: str, folder: Path) -> None:
    k, a, b, due_a, due_b = VECTORS[name]
    width = len(a[0]) if isinstance(a[0], tuple) else 1
    folder.mkdir()
    (folder / "study.toml").write_text(study_text(k, width, encryption))
    data = {}
    for party, rows in (("alice", a), ("bob", b)):
        frame = frame_of(rows, party).to_pydict()
        lines = [",".join(frame), *(",".join(cells) for cells in zip(*frame.values(), strict=True))]
        (folder / f"{party}.csv").write_text("\n".join(lines) + "\n")
        data[party] = str(folder / f"{party}.csv")
    simulate_processes(Study.load(folder / "study.toml"), data, folder / "out", SimulationSetting())
    cells = [line.split(",") for line in (folder / "out" / "release.csv").read_text().splitlines()]
    release = pa.table({name: [row[place] for row in cells[1:]] for place, name in enumerate(cells[0])})
    assert suppressed(release, "alice", a) == list(due_a)
    assert suppressed(release, "bob", b) == list(due_b)


@pytest.mark.thorough
def test_a_vector_over_processes_leaves_folders_that_pass_the_audit(tmp_path: Path) -> None:
    over_processes("V2, by phone", "waters", tmp_path / "vector")
    found = audit([tmp_path / "vector" / "out"])
    assert [each.party for each in found] == ["alice", "authority", "bob"]
    assert [(each.scripted, each.wrong) for each in found] == [(True, ())] * 3


@pytest.mark.slow
@pytest.mark.parametrize("encryption", ["elgamal", "waters"])
@pytest.mark.parametrize("name", VECTORS)
def test_every_vector_over_processes(name: str, encryption: str, tmp_path: Path) -> None:
    over_processes(name, encryption, tmp_path / "vector")


def equals_ideal(encryption: str, seeds: range) -> None:
    for seed in seeds:
        people = draw_people(Rng(seed_of(seed)).stream("generated", encryption), 3, 12, 2 + seed % 5)
        trial = trial_of(study_of(encryption, k=2 + seed % 4), people)
        ends = run(trial, seed=seed)
        assert answers(trial, ends) == trial.ideal, f"seed {seed}"
        assert trial.cost is not None and spent(ends).messages == trial.cost.messages, f"seed {seed}"


@pytest.mark.few(1)
@pytest.mark.parametrize(("encryption", "tables"), [("elgamal", 16), ("waters", 4)])
def test_real_equals_ideal_on_generated_tables(encryption: str, tables: int) -> None:
    equals_ideal(encryption, range(tables))


@pytest.mark.slow
@pytest.mark.parametrize("encryption", ["elgamal", "waters"])
def test_real_equals_ideal_on_five_hundred_generated_tables(encryption: str) -> None:
    equals_ideal(encryption, range(500))


ROWS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=8)


@given(k=st.integers(2, 5), a=ROWS, b=ROWS)
@settings(max_examples=examples(400), deadline=None)
def test_the_function_is_k_anonymous_and_leaves_alone_what_is(k: int, a: list[str], b: list[str]) -> None:
    if len(a) + len(b) < k:
        with pytest.raises(Unmet):
            clear(k, a, b)
        return
    kept_a, kept_b = clear(k, a, b)
    together = Counter([*kept_a, *kept_b])
    assert all(count >= k for count in together.values())
    assert all(new in (old, S) for new, old in zip([*kept_a, *kept_b], [*a, *b], strict=True))
    already = all(count >= k for count in Counter([*a, *b]).values())
    assert already == (together[S] == 0)


@given(k=st.integers(2, 5), a=ROWS, b=ROWS, names=st.permutations("abcd"))
@settings(max_examples=examples(400), deadline=None)
def test_renaming_values_changes_nothing_else(k: int, a: list[str], b: list[str], names: list[str]) -> None:
    if len(a) + len(b) < k:
        return
    renamed = dict(zip("abcd", names, strict=True)) | {S: S}
    there = [[renamed[str(cell)] for cell in half] for half in clear(k, a, b)]
    assert there == list(clear(k, [renamed[cell] for cell in a], [renamed[cell] for cell in b]))


def test_small_tables_are_all_k_anonymous_and_untouched_if_they_were() -> None:
    for k, (a, b) in itertools.product((2, 3), itertools.product(_tables(), _tables())):
        if len(a) < k:
            continue
        kept_a, kept_b = clear(k, a, b)
        together = Counter([*kept_a, *kept_b])
        assert all(count >= k for count in together.values())
        assert (together[S] == 0) == all(count >= k for count in Counter([*a, *b]).values())


def _tables() -> list[str]:
    return ["".join(rows) for size in (1, 2, 3) for rows in itertools.product("abc", repeat=size)]


def test_fewer_than_k_rows_in_all_are_refused() -> None:
    trial_study = Study.parse(study_text(5, 1, "elgamal"))
    with pytest.raises(Unmet, match="fewer than k"):
        simulate(trial_study, {"alice": frame_of("ab", "alice"), "bob": frame_of("ab", "bob")})


@pytest.mark.parametrize(
    ("k", "a", "b", "due"),
    [
        (3, "aaab", "abbb", 1),  # a: three and one of the other's; b: one and three
        (2, "aaaabbbb", "aabbb", 2),
        (2, "abc", "de", 2),  # the suppressed rows are a class like any other
        (3, "aaa", "bbbb", 3),  # no class has rows of both: each party sees the other's whole
        (3, "aaaa", "a", 1),
    ],
)
def test_two_parties_are_told_the_fewest_records_of_the_other_in_a_class(k: int, a: str, b: str, due: int) -> None:
    study = Study.parse(study_text(k, 1, "elgamal"))
    tables = {"alice": frame_of(a, "alice"), "bob": frame_of(b, "bob")}
    release = simulate(study, tables, seed=1)
    assert release.summary["insider_k"] == due == _fewest_of_others(release.table)


def _fewest_of_others(release: pa.Table) -> int:
    """The insider k, counted in a release whose rows name their party."""
    counts = Counter((row["q0"], row["row"].split()[0]) for row in release.to_pylist())
    return min(counts.values())  # one party's records are the other's records of others


def test_a_study_may_forbid_that_much_suppression() -> None:
    text = study_text(2, 1, "elgamal") + "[utility]\nsuppression = 0.5\n"
    with pytest.raises(Unmet, match=r"5 of 5 records.*suppression = 0\.5"):
        simulate(Study.parse(text), {"alice": frame_of("abc", "alice"), "bob": frame_of("de", "bob")})


def test_what_is_not_k_anonymous_together_is_never_exchanged() -> None:
    study = Study.parse(study_text(3, 1, "elgamal"))
    kept: dict[Labels, int] = {("a",): 1}
    with pytest.raises(Aborted, match="not k-anonymous together") as error:
        JointClasses.of(study, [KeptTuples(kept, 4), KeptTuples(kept, 5)])
    assert not error.value.resumable


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("k = 2", "k = 5000", "takes k up to 4,096"),
        ('encryption = "elgamal"', f'encryption = "elgamal"\nepoch = "{"x" * 65}"', "epoch must be a text"),
        ('encryption = "elgamal"', 'encryption = "elgamal"\nepoch = ""', "epoch must be a text"),
        ('compare = "bins"', "", 'take compare = "bins", which is ours'),
    ],
)
def test_a_study_that_cannot_be_kept_is_refused_with_what_to_change(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        find("suppress").judge(Study.parse(study_text(2, 1, "elgamal").replace(old, new)))


def test_more_rows_than_the_study_allows_are_refused_at_home() -> None:
    text = study_text(2, 1, "elgamal").replace('name = "vector"', 'name = "vector"\nrows_at_most = 3')
    with pytest.raises(InputError, match="this party has more than 3 rows; raise rows_at_most"):
        simulate(Study.parse(text), {"alice": frame_of("abcd", "alice"), "bob": frame_of("ab", "bob")})


def test_a_cell_that_is_too_long_to_be_sent_is_refused_at_home() -> None:
    study = Study.parse(study_text(2, 1, "elgamal"))
    long = pa.table({"q0": ["a", "a"], "row": ["x" * 4097, "y"]})
    with pytest.raises(InputError, match="column 'row' has cells of more than 4,096 characters"):
        simulate(study, {"alice": long, "bob": frame_of("aa", "bob")})


# -- what an audit holds transcripts to


@pytest.mark.parametrize("case", [ELGAMAL, WATERS], ids=["elgamal", "waters"])
def test_an_audit_knows_the_protocol_s_messages_and_names_every_other(case: Case) -> None:
    trial = case.smallest()
    said = [line for line in lines(run(trial)) if not line.step.startswith("closing")]

    def wrong(messages: list[Entry]) -> str:
        return " ".join(strays(trial.study, trial.protocol, messages, finished=True))

    assert wrong(said) == ""
    listed = next(line for line in said if line.step.startswith("list/"))
    first = replace(listed, number=0)
    assert "the protocol declares no 'suppress.sealed' there" in wrong([*said, replace(first, step="sizes/more")])
    assert "'suppress.sizes' is missing" in wrong([line for line in said if line.step != "sizes"])
    assert "declares no 'suppress.tuples' there" in wrong([*said, replace(first, step="list/9", tag="suppress.tuples")])
    if case is WATERS:
        told = wrong([*said, replace(first, recipient="authority")])
        assert "to 'authority' at list" in told and "declares no 'suppress.sealed' there" in told
        keys = next(line for line in said if line.step == "issue")
        assert "2 messages 'suppress.issued'" in wrong([*said, replace(keys, number=1)])
        assert "not of the declared size" in wrong(
            [replace(line, size=line.size // 2) if line == keys else line for line in said]
        )


def test_the_plan_compares_the_encryptions() -> None:
    study = Study.parse(study_text(10, 4, "waters"))
    forecast = find("suppress").foresee(study, {"alice": 1000, "bob": 1000})
    other = find("suppress").foresee(Study.parse(study_text(10, 4, "elgamal")), {"alice": 1000, "bob": 1000})
    assert any('encryption = "elgamal"' in line for line in forecast.mind)
    assert forecast.seconds > 3 * other.seconds and forecast.bytes > 5 * other.bytes
    learned = find("suppress").learned(study, forecast.lessons)
    assert not any("issues the keys" in line for line in learned["alice"])
    assert any("issues the keys" in line for line in learned["authority"])
    assert not any("authority" in leakage.by_role for leakage, _ in other.lessons)
