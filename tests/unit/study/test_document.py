"""A study file that is read and written again is the same study."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from covey import samples
from covey.errors import InputError
from covey.study import Study, document

plain = some.one_of(
    some.text(max_size=8).filter(lambda text: not any(0xD800 <= ord(mark) <= 0xDFFF for mark in text)),
    some.integers(-(2**60), 2**60),
    some.booleans(),
    some.floats(allow_nan=False),
    some.dates(min_value=date(1000, 1, 1)),
)
names = some.text(some.characters(min_codepoint=1, max_codepoint=0x2FF), max_size=6)
values = some.recursive(
    plain, lambda below: some.lists(below, max_size=3) | some.dictionaries(names, below, max_size=3), max_leaves=12
)


@given(some.dictionaries(names, values, max_size=4))
def test_what_is_spelled_reads_back(content: document.Document) -> None:
    assert tomllib.loads(document.spell(content)) == content


@pytest.mark.parametrize("sample", samples.names())
def test_every_sample_study_survives_with_a_new_roster(sample: str, tmp_path: Path) -> None:
    source = samples.path(sample) / "study.toml"
    before = Study.load(source)
    content = document.read(source)
    roster = {party.name: f"certs/{party.name}.pem" for party in before.parties}
    document.give_roster(content, dict.fromkeys(roster, "127.0.0.1:7701"), roster)
    pems = dict.fromkeys(roster.values(), b"not looked at here")
    after = document.save(content, {**before.files, **pems}, tmp_path)
    assert after.study_hash == before.study_hash
    assert after.layout == before.layout
    assert all(party.address == "127.0.0.1:7701" for party in after.parties)


def test_an_old_address_does_not_survive_a_new_roster() -> None:
    content: document.Document = {"parties": {"a": {"address": "old:1", "certificate": "old.pem"}}}
    document.give_roster(content, {}, {"a": "certs/a.pem"})
    assert content == {"parties": {"a": {"certificate": "certs/a.pem"}}}


def test_what_is_no_study_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("= nonsense")
    with pytest.raises(InputError, match=r"study\.toml"):
        document.read(tmp_path / "study.toml")
