"""Before any role runs: the same study, the same version, the right role, a fresh session, and who each one is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.consortium import study_text
from tests.harness.clock import run_jumping

from covey.crypto.rng import Rng, spell
from covey.crypto.secret import Secret
from covey.errors import AccessError, CoveyError, InputError, PeerError
from covey.party.identity import keys
from covey.party.identity.roster import Roster
from covey.party.record.run_record import Agreement
from covey.party.session import handshake
from covey.party.session.agreement import agreement_parts, differences
from covey.party.session.handshake import Confirm, Nonce, SessionHello, commit, hello, session_digest, shake_hands
from covey.party.session.journal import NoJournal
from covey.party.simulate.stage import with_certificates
from covey.study import Study
from covey.wire import Channel, Link, MemoryNetwork, plain_channel

NAMES = ("east", "north", "south")
KEYS = {name: keys.make(name) for name in NAMES}
STUDY = with_certificates(Study.parse(study_text()), KEYS)
ROSTER = Roster.of(STUDY)


def test_what_a_peer_says_of_itself_cannot_steer_a_terminal() -> None:
    ours = hello(STUDY, ROSTER, "north", bytes(32), 0)
    theirs = hello(STUDY, ROSTER, "south", bytes(32), 0)
    escape = "\x1b]0;owned\x07\x1b[2J\ncovey: all is well"
    strange = [
        msgspec.structs.replace(theirs, software=escape),
        msgspec.structs.replace(theirs, terms={**theirs.terms, escape: bytes(8)}),
    ]
    for each in strange:
        with pytest.raises(AccessError) as refused:
            handshake.compare("south", ours, each, STUDY)
        assert str(refused.value).isprintable()


def seed(number: int) -> Secret:
    return Secret(number.to_bytes(32, "big"))


Ends = dict[str, Agreement | CoveyError]


def meet(
    studies: Mapping[str, Study] | None = None,
    *,
    seeds: Mapping[str, int] | None = None,
    clocks: Mapping[str, Callable[[], float]] | None = None,
    strange: Mapping[str, Callable[[Link], Awaitable[object]]] | None = None,
    network: MemoryNetwork | None = None,
) -> Ends:
    """Everyone shakes hands in memory; `strange` parties do something of their own instead."""
    lines = network or MemoryNetwork(NAMES)

    async def one(name: str) -> Agreement | CoveyError:
        link = lines.link(name)
        own = (studies or {}).get(name, STUDY)
        try:
            if strange and name in strange:
                await strange[name](link)
                return InputError("a stranger has no agreement")
            number = (seeds or {}).get(name, NAMES.index(name) + 1)
            clock = (clocks or {}).get(name, lambda: 1_000_000.0)
            return await shake_hands(
                link, own, Roster.of(own), KEYS[name], seed(number), patience=60, journal=NoJournal(), clock=clock
            )
        except CoveyError as error:
            return error
        finally:
            await link.close()

    async def all_of_them() -> Ends:
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(one(name)) for name in NAMES}
        return {name: task.result() for name, task in tasks.items()}

    return run_jumping(all_of_them())


def agreements(ends: Ends) -> dict[str, Agreement]:
    for end in ends.values():
        if isinstance(end, CoveyError):
            raise end
    return {name: end for name, end in ends.items() if isinstance(end, Agreement)}


def test_everyone_is_in_the_same_session_with_randomness_of_its_own() -> None:
    found = agreements(meet())
    assert len({end.session for end in found.values()}) == 1
    drawn = {end.rng.stream("test").bytes(16) for end in found.values()}
    assert len(drawn) == len(NAMES)
    assert all(end.commitments == found["north"].commitments for end in found.values())


def test_the_same_seeds_give_the_same_session_and_one_other_seed_gives_another() -> None:
    first, again = agreements(meet()), agreements(meet())
    other = agreements(meet(seeds={"south": 99}))
    assert first["north"].session == again["north"].session
    assert first["north"].session != other["north"].session


def test_a_partys_randomness_depends_on_everyones_nonce_and_not_on_its_own_seed_alone() -> None:
    first, other = agreements(meet()), agreements(meet(seeds={"south": 99}))
    assert first["north"].rng.stream("x").bytes(16) != other["north"].rng.stream("x").bytes(16)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda text: text.replace("k = 3", "k = 4"), "privacy k"),
        (lambda text: text.replace('name = "small"', 'name = "other"'), "the study's name"),
        (lambda text: text.replace("level = 1", "level = 2"), "option 'level'"),
        (lambda text: text.replace("steps = [10, 50]", "steps = [10, 20]"), "column 'age'"),
        (lambda text: text.replace('"F", "M"', '"F", "M", "X"'), "column 'sex'"),
        (lambda text: text + '[utility]\nmeasure = "em"\n', "measure"),
    ],
)
def test_another_study_is_refused_and_the_difference_named(change: Callable[[str], str], named: str) -> None:
    other = with_certificates(Study.parse(change(study_text())), KEYS)
    ends = meet({"south": other})
    for name in NAMES:
        assert isinstance(ends[name], AccessError), name
        assert named in str(ends[name])
    assert "party 'south'" in str(ends["north"])


def test_columns_in_another_order_are_refused() -> None:
    other = replace(STUDY, columns=STUDY.columns[::-1])
    assert other.study_hash == STUDY.study_hash
    ends = meet({"south": other})
    assert all("the order of columns" in str(end) for end in ends.values())


def test_another_roster_is_refused_and_the_party_named() -> None:
    others = {**KEYS, "east": keys.make("east")}
    ends = meet({"south": with_certificates(STUDY, others)})
    assert isinstance(ends["north"], AccessError)
    assert "the certificate of party 'east'" in str(ends["north"])


def test_another_address_is_another_roster() -> None:
    moved = tuple(replace(party, address="host:1") if party.name == "east" else party for party in STUDY.parties)
    ends = meet({"south": replace(STUDY, parties=moved)})
    assert "the address of party 'east'" in str(ends["north"])


def test_clocks_an_hour_apart_are_told_and_the_run_goes_on() -> None:
    found = agreements(meet(clocks={"south": lambda: 1_003_600.0}))
    assert found["north"].warnings == (
        "the clock of party 'south' is 60 minutes ahead of ours; the run goes on, but set the wrong one",
    )
    assert len(found["south"].warnings) == 2
    assert found["south"].session == found["north"].session


def test_clocks_a_minute_apart_are_nobodys_concern() -> None:
    assert agreements(meet(clocks={"south": lambda: 1_000_060.0}))["north"].warnings == ()


def greeting(name: str, **changes: object) -> SessionHello:
    return msgspec.structs.replace(hello(STUDY, ROSTER, name, commit(seed(7)), 1_000_000), **changes)


def saying(
    *, said: SessionHello, nonce: bytes = bytes(32), confirm: Confirm | None = None
) -> Callable[[Link], Awaitable[object]]:
    """A party that speaks the handshake's messages as it likes."""

    async def speak(link: Link) -> None:
        channel = plain_channel(link, Rng(seed(7)), patience=60)
        await channel.at("hello").broadcast(said)
        await channel.at("hello").collect(SessionHello)
        await channel.at("nonce").exchange(Nonce(nonce))
        if confirm is not None:
            await channel.at("confirm").exchange(confirm)

    return speak


def test_another_version_is_refused() -> None:
    ends = meet(strange={"south": saying(said=greeting("south", software="9.9.9"))})
    assert isinstance(ends["north"], AccessError)
    assert "runs covey 9.9.9" in str(ends["north"])
    assert "install the same version everywhere" in str(ends["north"])


def test_another_version_of_the_protocol_is_refused_on_both_sides_and_says_who_is_behind() -> None:
    own = hello(STUDY, ROSTER, "north", bytes(32), 0).protocol_version
    ends = meet(strange={"south": saying(said=greeting("south", protocol_version=own + 1))})
    for name in ("east", "north"):
        assert isinstance(ends[name], AccessError), name
        assert str(ends[name]) == (
            f"party 'south' has version {own + 1} of protocol 'count', party '{name}' has version {own}: party "
            f"'{name}' is behind; install the same version of Covey everywhere"
        )
    with pytest.raises(AccessError, match="party 'north' is behind"):
        handshake.compare("north", greeting("south", protocol_version=own + 1), greeting("north"), STUDY)


def test_the_versions_are_named_where_defaults_make_another_study_of_the_same_file() -> None:
    other = greeting("south", protocol_version=9, study_hash=bytes(32), software="9.9.9")
    with pytest.raises(AccessError, match="has version 9 of protocol 'count'"):
        handshake.compare("south", greeting("north"), other, STUDY)
    elsewhere = msgspec.structs.replace(other, terms={**other.terms, "protocol": bytes(8)})
    with pytest.raises(AccessError, match=r"runs covey 9\.9\.9"):
        handshake.compare("south", greeting("north"), elsewhere, STUDY)


def test_a_claimed_name_that_is_not_the_certificates_is_refused() -> None:
    ends = meet(strange={"south": saying(said=greeting("south", party="east"))})
    assert isinstance(ends["north"], AccessError)
    assert "another name than its certificate's" in str(ends["north"])


def test_a_wrong_role_is_refused() -> None:
    ends = meet(strange={"south": saying(said=greeting("south", role="recipient"))})
    assert isinstance(ends["north"], AccessError)
    assert "another role than the study gives it" in str(ends["north"])


def test_a_forged_study_hash_does_not_hide_a_difference_in_its_parts() -> None:
    parts = {**agreement_parts(STUDY, ROSTER), "privacy k": bytes(8)}
    ends = meet(strange={"south": saying(said=greeting("south", terms=parts))})
    assert isinstance(ends["north"], AccessError)
    assert "privacy k" in str(ends["north"])


def test_a_difference_that_has_no_name_is_refused_too() -> None:
    ends = meet(strange={"south": saying(said=greeting("south", study_hash=bytes(32)))})
    assert isinstance(ends["north"], AccessError)


def test_whoever_computes_another_session_is_refused() -> None:
    lie = Confirm(bytes(32), KEYS["south"].sign(b"anything"))
    ends = meet(strange={"south": saying(said=greeting("south"), confirm=lie)})
    assert isinstance(ends["north"], PeerError)
    assert "another session" in str(ends["north"])


def test_a_session_signed_with_another_key_is_refused() -> None:
    """The TLS key was stolen, the signing key was not."""

    async def speak(link: Link) -> None:
        await shake_hands(
            link, STUDY, ROSTER, keys.make("south"), seed(3), patience=60, journal=NoJournal(), clock=lambda: 1e6
        )

    ends = meet(strange={"south": speak})
    assert isinstance(ends["north"], PeerError)
    assert "signing key" in str(ends["north"])


def test_a_handshake_recorded_in_one_session_is_refused_in_the_next() -> None:
    recorded: list[bytes] = []

    class Tape(MemoryNetwork):
        async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
            if (sender, recipient) == ("south", "north"):
                recorded.append(frame)
            await super().carry(sender, recipient, frame)

    agreements(meet(network=Tape(NAMES)))
    assert len(recorded) == 3

    class Replay(MemoryNetwork):
        position = 0

        async def carry(self, sender: str, recipient: str, frame: bytes) -> None:
            if (sender, recipient) == ("south", "north"):
                frame = recorded[self.position]
                self.position += 1
            await super().carry(sender, recipient, frame)

    # Everyone else is new: the recorded words do not fit this session's nonces.
    ends = meet(seeds={"north": 50, "east": 51, "south": 52}, network=Replay(NAMES))
    assert isinstance(ends["north"], PeerError)
    assert "another session" in str(ends["north"])


def test_who_tells_everyone_another_nonce_brings_nobody_into_a_session() -> None:
    """South tells north another nonce than it tells east, and confirms to each the session that it then computes."""

    async def speak(link: Link) -> None:
        channel: Channel = plain_channel(link, Rng(seed(7)), patience=60)
        await channel.at("hello").broadcast(greeting("south"))
        heard = await channel.at("hello").collect(SessionHello)
        commitments = {name: said.commitment for name, said in heard.items()} | {"south": commit(seed(7))}
        told = {"north": bytes(32), "east": bytes([1]) * 32}
        for name, nonce in told.items():
            await channel.at("nonce").send(name, Nonce(nonce))
        nonces = {name: said.nonce for name, said in (await channel.at("nonce").collect(Nonce)).items()}
        for name, nonce in told.items():
            session = session_digest(STUDY.study_hash, commitments, {**nonces, "south": nonce})
            statement = spell("covey handshake/1", session, ROSTER.roster_hash, "south")
            await channel.at("confirm").send(name, Confirm(session, KEYS["south"].sign(statement)))
        await channel.at("confirm").collect(Confirm)

    ends = meet(strange={"south": speak})
    assert isinstance(ends["north"], PeerError)
    assert isinstance(ends["east"], PeerError)
    assert "another session" in str(ends["east"])


def test_a_seed_cannot_be_told_from_its_commitment_but_is_bound_by_it() -> None:
    assert commit(seed(1)) == commit(seed(1))
    assert commit(seed(1)) != commit(seed(2))
    assert seed(1).reveal() not in commit(seed(1))


def test_every_part_of_the_study_hash_has_a_name_in_the_terms(tmp_path: Path) -> None:
    ours = agreement_parts(STUDY, ROSTER)
    assert differences(ours, dict(ours)) == []
    without = {name: value for name, value in ours.items() if name != "protocol"}
    assert differences(ours, without) == ["protocol"]
    assert differences(without, ours) == ["protocol"]


def test_the_handshakes_messages_are_bounded() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode({"type": "handshake.nonce", "nonce": bytes(33)}), type=Nonce)
    assert handshake.CLOCKS_APART < 3600
