"""A party's card carries what partners need, and nothing that could lead elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Covey
from tests.consortium import study_text

from covey.errors import AccessError, InputError
from covey.party.identity import card as cards
from covey.party.identity import keys as keyring
from covey.party.identity.roster import Roster
from covey.study import Study


def invitation(folder: Path) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(study_text())
    return folder / "study.toml"


def test_three_parties_meet_by_cards_and_have_one_roster(tmp_path: Path, covey: Covey) -> None:
    first = invitation(tmp_path / "north")
    homes = {name: tmp_path / name for name in ("north", "south", "east")}
    for name, home in homes.items():
        assert covey("keys", "new", name, "--out", home / "keys").code == 0
        made = covey(
            "keys", "card", "--keys", home / "keys", "--address", f"127.0.0.1:{7701 + len(name)}", "--out",
            tmp_path / f"{name}.covey", *(["--study", first] if name == "north" else []),
        )  # fmt: skip
        assert made.code == 0, made.err
    given = [tmp_path / f"{name}.covey" for name in homes]
    for home in homes.values():
        called = covey("keys", "add", home / "study.toml", *given)
        assert called.code == 0, called.err
    studies = [Study.load(home / "study.toml") for home in homes.values()]
    assert len({(study.study_hash, study.roster_hash, study.layout) for study in studies}) == 1
    assert set(Roster.of(studies[0]).certificates) == set(homes)


def test_another_certificate_for_a_known_party_is_refused(tmp_path: Path) -> None:
    study = invitation(tmp_path / "north")
    cards.add(study, cards.make(keyring.make("south").certificate, None))
    with pytest.raises(InputError, match="another certificate for party 'south'"):
        cards.add(study, cards.make(keyring.make("south").certificate, None))
    with pytest.raises(InputError, match="no party 'west'"):
        cards.add(study, cards.make(keyring.make("west").certificate, None))


def test_a_card_with_anothers_certificate_is_refused() -> None:
    made = json.loads(cards.make(keyring.make("south").certificate, None).spell())
    with pytest.raises(AccessError, match="is of party 'south', not of 'north'"):
        cards.read(json.dumps({**made, "party": "north"}).encode(), "card")


@pytest.mark.parametrize("name", ["../evil.toml", "/etc/x", "a/../../b", ".ssh/config", "release.csv", "a\\b", "x\n"])
def test_a_file_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    made = json.loads(cards.make(keyring.make("south").certificate, None, invitation(tmp_path / "n")).spell())
    made["study"][name] = "x"
    with pytest.raises(InputError, match="leads elsewhere"):
        cards.read(json.dumps(made).encode(), "card")


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[]", b"\xff", b'{"format": "covey-card/9", "party": "", "certificate": ""}']
)
def test_what_is_no_card_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="card"):
        cards.read(content, "card")


def test_an_invitation_overwrites_nothing(tmp_path: Path) -> None:
    study = invitation(tmp_path / "north")
    given = cards.make(keyring.make("south").certificate, None, study)
    with pytest.raises(InputError, match="is there already"):
        cards.unpack(given, study.parent)
    broken = cards.Card(given.format, given.party, given.certificate, None, {"study.toml": "[study]\n"})
    with pytest.raises(InputError):
        cards.unpack(broken, tmp_path / "fresh")
    assert not (tmp_path / "fresh").exists()


def version(folder: Path) -> Path:
    """A partner's version of the study, which asks for another k."""
    study = invitation(folder)
    study.write_text(study.read_text().replace("k = 3", "k = 4"))
    return study


def test_a_partners_version_is_taken_and_what_was_compared_stays(tmp_path: Path) -> None:
    ours, theirs = invitation(tmp_path / "north"), version(tmp_path / "south")
    east, south = keyring.make("east").certificate, keyring.make("south").certificate
    cards.add(ours, cards.make(east, "127.0.0.1:7703"))
    cards.add(theirs, cards.make(south, "127.0.0.1:7702"))
    cards.take(ours, cards.make(south, None, theirs))
    taken = Study.load(ours)
    assert taken.study_hash == Study.load(theirs).study_hash
    assert taken.files["certs/east.pem"] == east.pem
    assert taken.party("east").address == "127.0.0.1:7703"
    assert taken.party("south").certificate is None, "a certificate that nobody has compared is not taken along"


def test_a_version_with_another_certificate_of_a_third_party_is_refused(tmp_path: Path) -> None:
    ours, theirs = invitation(tmp_path / "north"), version(tmp_path / "south")
    cards.add(ours, cards.make(keyring.make("east").certificate, None))
    cards.add(theirs, cards.make(keyring.make("east").certificate, None))
    before = ours.read_text()
    with pytest.raises(InputError, match="another certificate of 'east'"):
        cards.take(ours, cards.make(keyring.make("south").certificate, None, theirs))
    assert ours.read_text() == before


def test_a_version_overwrites_no_file_that_is_not_the_studys(tmp_path: Path) -> None:
    ours = invitation(tmp_path / "north")
    (ours.parent / "rows.csv").write_text("ours")
    given = cards.make(keyring.make("south").certificate, None, ours)
    given = cards.Card(given.format, given.party, given.certificate, None, {**given.study, "rows.csv": "theirs"})
    with pytest.raises(InputError, match=r"rows\.csv: is there already"):
        cards.take(ours, given)
    assert (ours.parent / "rows.csv").read_text() == "ours"
