"""Invitations used twice, expired or forged; second answers; lies about the phase; floods: refused, nothing lost."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.collection.callers import Caller, asked, enrolled, known, stranger
from tests.collection.town import Town, collecting, everyone
from tests.harness.clock import on_real_clock

from covey.arrays import Longs
from covey.crypto.elgamal import Ciphertexts
from covey.crypto.rng import Rng, fresh_seed
from covey.errors import AccessError, InputError, PeerError, Unmet
from covey.party.collection.invitation import Invitation
from covey.party.collection.responding import prepare
from covey.party.identity import keys as keyring
from covey.protocols.as_printed.collect import zero_test
from covey.protocols.as_printed.collect.keys import Enrolment
from covey.protocols.as_printed.collect.parameters import Parameters
from covey.wire import frame as frames
from covey.wire.contact import Address
from covey.wire.frame import Header
from covey.wire.standing import connection, gate, words
from covey.wire.standing.gate import Gate, Sparing

pytestmark = pytest.mark.timeout(90)


# -- invitations


@on_real_clock
async def test_an_invitation_serves_one_key_and_gives_it_the_same_handle_again(tmp_path: Path) -> None:
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        first = await asked(person)
        again = await asked(person)
        other = await asked(person, keys=keyring.make("respondent-other"))
        assert isinstance(first, words.Enrolled) and first == again
        assert isinstance(other, words.Refused) and "used already" in other.why
        assert len(running.collection.register.held.enrolled) == 1
        assert "used already" in running.log


@on_real_clock
async def test_an_expired_invitation_is_refused(tmp_path: Path) -> None:
    town = Town(tmp_path)
    late = town.invite(1, days=-0.1)[0]
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        answer = await asked(person, invitation=Invitation.parse(late))
        assert isinstance(answer, words.Refused) and "expired" in answer.why
        assert not running.collection.register.held.enrolled
    with pytest.raises(InputError, match="expired"):
        town.person(1, late)


@on_real_clock
async def test_a_forged_invitation_is_refused_and_guessing_is_throttled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "GUESSES", 3)
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        for _ in range(3):
            forged = replace(person.invitation, secret=fresh_seed().reveal()[:16])
            answer = await asked(person, invitation=forged)
            assert isinstance(answer, words.Refused) and "not known" in answer.why
        assert await asked(person, invitation=forged) is None, "another guess is not answered"
        assert "wrong invitations" in running.log and not running.collection.register.held.enrolled


@on_real_clock
async def test_wrong_invitations_keep_neither_the_enrolled_nor_the_invited_of_the_same_address_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One who guesses shares an address with the others, as behind a NAT."""
    monkeypatch.setattr(gate, "GUESSES", 3)
    town = Town(tmp_path)
    person, invited = (town.person(place, token) for place, token in enumerate(town.invite(2)))
    async with collecting(town, 3):
        await enrolled(person)
        for _ in range(5):
            await asked(person, invitation=replace(person.invitation, secret=fresh_seed().reveal()[:16]))
        caller = await known(person)
        assert isinstance(await caller.heard(), words.Waiting)
        caller.connection.drop()
        assert isinstance(await asked(invited), words.Enrolled)


@on_real_clock
async def test_an_enrolled_key_gets_in_while_half_open_connections_from_its_address_hold_every_place(
    tmp_path: Path,
) -> None:
    town = Town(tmp_path)
    [person] = [town.person(place, token) for place, token in enumerate(town.invite(1))]
    async with collecting(town, 3):
        await enrolled(person)
        with ExitStack() as flood:
            await asyncio.to_thread(lambda: flood.enter_context(half_open(town.port, gate.STRANGERS_PER_ADDRESS + 20)))
            async with asyncio.timeout(5):  # half-open ones stand for ten seconds
                caller = await known(person)
                assert isinstance(await caller.heard(), words.Waiting)
            caller.connection.drop()


@on_real_clock
async def test_an_invitation_for_another_study_is_refused_on_both_sides(tmp_path: Path) -> None:
    town, other = Town(tmp_path / "one"), Town(tmp_path / "two", k=5)
    person = town.person(0, town.invite(1)[0])
    with pytest.raises(InputError, match="another study"):
        prepare(other.path, person.invitation.spell(), tmp_path / "home", 0.0)
    async with collecting(town, 3):
        answer = await asked(person, study=bytes.fromhex(other.study.study_hash))
        assert isinstance(answer, words.Refused) and "another study" in answer.why


def test_an_invitation_with_a_slip_is_refused_without_quoting_it(tmp_path: Path) -> None:
    text = Town(tmp_path).invite(1)[0]
    for wrong in (text[:-3], text[:20] + ("a" if text[20] != "a" else "b") + text[21:], "covey-", "hello", text + "AA"):
        with pytest.raises(InputError, match="copy the whole line") as refused:
            Invitation.parse(wrong)
        assert wrong not in str(refused.value)
    assert Invitation.parse(f" {text[:40]}\n{text[40:]} ").spell() == text


def test_the_collectors_folder_keeps_hashes_of_invitations_only(tmp_path: Path) -> None:
    town = Town(tmp_path)
    [text] = town.invite(1)
    secret = Invitation.parse(text).secret
    content = b"".join(path.read_bytes() for path in town.out.iterdir())
    assert secret not in content and secret.hex().encode() not in content


@on_real_clock
async def test_a_key_whose_owner_does_not_prove_it_is_refused(tmp_path: Path) -> None:
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        stolen = replace(keyring.make("respondent-thief"), certificate=person.keys.certificate)
        answer = await asked(person, keys=stolen)
        assert isinstance(answer, words.Refused) and "another's" in answer.why
        assert not running.collection.register.held.enrolled


@on_real_clock
async def test_nobody_enrols_once_it_has_begun(tmp_path: Path) -> None:
    town = Town(tmp_path)
    tokens = town.invite(4)
    late = town.person(3, tokens[3])
    async with collecting(town, 3) as running:
        staying = asyncio.create_task(everyone([town.person(place, tokens[place]) for place in range(3)]))
        await running.begun()
        with pytest.raises(AccessError, match="has begun"):
            await late.run()
        assert set(await staying) == {"released"}
        await running.task
    assert town.judged() == 3


@on_real_clock
async def test_who_enrolled_and_was_not_ready_in_time_is_told_so(tmp_path: Path) -> None:
    town = Town(tmp_path)
    tokens = town.invite(4)
    late = town.person(3, tokens[3])
    async with collecting(town, 3) as running:
        await enrolled(late)
        staying = asyncio.create_task(everyone([town.person(place, tokens[place]) for place in range(3)]))
        await running.begun()
        async with asyncio.timeout(20):
            with pytest.raises(Unmet, match="was not ready when the collection began"):
                await late.run()
        assert set(await staying) == {"released"}


@on_real_clock
async def test_a_respondent_does_not_speak_to_another_collector_than_the_invited(tmp_path: Path) -> None:
    real, false = Town(tmp_path / "real"), Town(tmp_path / "false")
    person = real.person(0, real.invite(1)[0])
    misled = replace(person, invitation=replace(person.invitation, address=false_address(false)))
    async with collecting(false, 3) as running:
        with pytest.raises(AccessError, match="somebody else"):
            await misled.run()
        assert not running.collection.register.held.enrolled


def false_address(town: Town) -> Address:
    return Address.parse(town.address)


@on_real_clock
async def test_a_certificate_that_is_not_enrolled_gets_no_word(tmp_path: Path) -> None:
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3):
        with pytest.raises((ssl.SSLError, OSError, EOFError)):
            await known(person)


# -- respondents who lie


def forged(person: object, session: bytes, step: str, payload: bytes, *, sender: str, number: int = 0) -> bytes:
    header = Header(frames.VERSION, session[:16], sender, "office", step, "collect.answers", number, 1)
    return bytes(frames.write(header, bytes(16), payload).raw)


@on_real_clock
async def test_a_letter_before_the_collection_has_begun_is_refused_and_logged(tmp_path: Path) -> None:
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        handle = await enrolled(person)
        liar = await known(person)
        assert isinstance(await liar.heard(), words.Waiting)
        await liar.connection.give(forged(person, bytes(16), "answers", b"x", sender=handle))
        assert await liar.heard() is None
        assert "before the collection has begun" in running.log


@on_real_clock
async def test_lies_about_the_session_and_second_answers_are_refused_and_the_first_answer_counts(
    tmp_path: Path,
) -> None:
    """A fourth respondent, k being three, lies in every way, and is left out; the others do not notice."""
    town = Town(tmp_path)
    tokens = town.invite(5)
    bad = town.person(4, tokens[4])
    async with collecting(town, 5, phase_seconds=6.0) as running:
        handle = await enrolled(bad)
        waiting = await known(bad)
        staying = asyncio.create_task(everyone([town.person(place, tokens[place]) for place in range(4)]))
        said = await waiting.heard()
        while not isinstance(said, words.Begin):
            said = await waiting.heard(30.0)
            assert said is not None
        session = said.session
        await waiting.connection.say(words.Have(bytes(32), []))  # of another session
        await hung_up(waiting)

        twice = await known(bad)
        assert isinstance(await twice.heard(), words.Begin)
        await twice.connection.say(words.Have(session, []))
        letter = forged(bad, session, "answers", b"first", sender=handle)
        await twice.connection.give(letter)
        await twice.connection.give(letter)  # the same again: taken once
        acknowledged: list[bytes] = []
        while len(acknowledged) < 2:
            said = await twice.heard()
            assert said is not None
            acknowledged += said.digests if isinstance(said, words.Ack) else []
        await twice.connection.give(forged(bad, session, "answers", b"second", sender=handle))
        await hung_up(twice)
        assert running.collection.journal.digests(handle) == [frames.digest(letter)]

        posing = await known(bad)
        assert isinstance(await posing.heard(), words.Begin)
        await posing.connection.say(words.Have(session, []))
        await posing.connection.give(forged(bad, session, "keys/enrol", b"", sender="r-somebody"))
        await hung_up(posing)
        assert set(await staying) == {"released"}
        await running.task
    for why in ("a session that is not under way", "a second, different letter", "another's name"):
        assert why in running.log
    assert town.judged() == 4 and handle in running.collection.journal.gone


async def hung_up(caller: Caller) -> None:
    """Waits until the collector hangs up or says that it is over, whatever it says before; fails if it falls silent."""
    while (said := await caller.heard()) is not None and not isinstance(said, words.Over):
        pass


@on_real_clock
async def test_a_new_connection_of_the_same_respondent_takes_the_old_ones_place(tmp_path: Path) -> None:
    town = Town(tmp_path)
    person = town.person(0, town.invite(1)[0])
    async with collecting(town, 3) as running:
        await enrolled(person)
        first = await known(person)
        assert isinstance(await first.heard(), words.Waiting)
        second = await known(person)
        assert isinstance(await second.heard(), words.Waiting)
        assert await first.heard() is None
        assert len(running.collection.register.held.ready) == 1
        second.connection.drop()


# -- a collector that asks for more


@on_real_clock
async def test_a_respondent_who_has_answered_takes_part_in_no_second_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.errors import Left
    from covey.protocols.as_printed.collect import collector as role

    original = role.open_positions

    async def again(
        tester: zero_test.Tester, parameters: Parameters, enrolment: Enrolment, given: Sequence[Ciphertexts]
    ) -> Longs:
        await original(tester, parameters, enrolment, given)
        raise Left(enrolment.handles[0], "is said to have left")

    monkeypatch.setattr(role, "open_positions", again)
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(5))]
    async with collecting(town, 5):
        ends = await asyncio.gather(*(person.run() for person in people), return_exceptions=True)
    refused = [end for end in ends if isinstance(end, PeerError)]
    assert len(refused) >= 4 and all("a second time" in str(end) for end in refused)


def test_a_collector_without_the_journal_of_its_attempt_does_not_begin_another(tmp_path: Path) -> None:
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(3))]

    async def begin() -> None:
        async with collecting(town, 3) as running:
            staying = asyncio.create_task(everyone(people))
            await running.begun()
            staying.cancel()
            await asyncio.wait([staying])

    asyncio.run(begin())
    (town.out / "journal").unlink()

    async def go_on() -> None:
        async with collecting(town, 3) as running:
            await running.task

    with pytest.raises(InputError, match="is not the journal of attempt 1"):
        asyncio.run(go_on())


# -- garbage and floods


@contextmanager
def half_open(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections that never say a word."""
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            sockets.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)))
        yield sockets


@pytest.mark.thorough
@on_real_clock
async def test_a_flood_of_half_open_connections_keeps_nobody_out_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "STRANGERS_PER_ADDRESS", 20)
    monkeypatch.setattr("covey.wire.standing.port.GREETING_SECONDS", 1.0)
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(3))]
    async with collecting(town, 3) as running:
        with ExitStack() as flood:
            await asyncio.to_thread(lambda: flood.enter_context(half_open(town.port, 300)))
            assert set(await everyone(people)) == {"released"}
        await running.task
    assert town.judged() == 3


@on_real_clock
async def test_garbage_in_place_of_tls_and_of_words_costs_its_sender_the_connection(tmp_path: Path) -> None:
    town = Town(tmp_path)
    people = [town.person(place, token) for place, token in enumerate(town.invite(3))]
    async with collecting(town, 3) as running:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", town.port), timeout=5) as raw:
                raw.sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)
        caller = await stranger(people[0])
        caller.connection._writer.write(b"\xff\xff\xff\xff\x01" + bytes(1000))
        assert await caller.heard() is None
        small = await stranger(people[0])
        small.connection._writer.write((100_000).to_bytes(4, "big") + b"\x01")
        assert await small.heard() is None
        assert set(await everyone(people)) == {"released"}
        await running.task
    assert "more than is allowed" in running.log and town.judged() == 3


@pytest.mark.thorough
@on_real_clock
async def test_random_frames_from_strangers_and_from_the_enrolled_end_nothing_but_their_connections(
    tmp_path: Path,
) -> None:
    town = Town(tmp_path)
    tokens = town.invite(4)
    people = [town.person(place, tokens[place]) for place in range(3)]
    mad = town.person(3, tokens[3])
    noise = Rng(fresh_seed()).stream("noise")
    async with collecting(town, 4, phase_seconds=3.0) as running:
        await enrolled(mad)
        for number in range(40):
            caller = await (known(mad) if number % 2 else stranger(mad))
            body = noise.bytes(noise.below(300))
            kind = bytes([noise.below(4)])
            caller.connection._writer.write(len(body).to_bytes(4, "big") + kind + body + noise.bytes(20))
            with contextlib.suppress(AssertionError):
                while await caller.heard(0.2) is not None:
                    continue
            caller.connection.drop()
        assert set(await everyone(people)) == {"released"}
        assert "error of ours" not in running.log


@pytest.mark.thorough
@on_real_clock
async def test_a_respondent_who_reads_nothing_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SLOW_SECONDS", 1.0)
    town = Town(tmp_path, grid=512)
    tokens = town.invite(5)
    slow = town.person(4, tokens[4])
    async with collecting(town, 5, phase_seconds=5.0) as running:
        await enrolled(slow)
        caller = await known(slow)
        transport = caller.connection._writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        ends = await everyone([town.person(place, tokens[place]) for place in range(4)])
        assert set(ends) == {"released"}
        await running.task
        caller.connection.drop()
    assert town.judged() == 4


def test_the_gate_counts_strangers_and_forgets_those_who_are_known() -> None:
    now = [0.0]
    door = Gate(clock=lambda: now[0])
    dropped: list[int] = []
    callers = []
    for number in range(gate.STRANGERS_PER_ADDRESS):
        caller = door.admit("192.0.2.1")
        assert caller is not None
        caller.drop = lambda number=number: dropped.append(number)  # type: ignore[misc]
        callers.append(caller)
    door.known(callers[0])  # it has shown its key: nobody hangs up on it
    assert door.admit("192.0.2.1") is not None and not dropped
    assert door.admit("192.0.2.1") is not None and dropped == [1], "the longest there makes room"
    assert door.admit("192.0.2.2") is not None and dropped == [1]
    for place in range(gate.STRANGERS):
        door.admit(f"198.51.100.{place}")
    assert door.strangers == gate.STRANGERS and len(dropped) > 2, "the fullest address makes room"
    for _ in range(gate.GUESSES):
        assert not door.guesses("c")
        door.wrong_guess("c")
    assert door.guesses("c")
    now[0] += gate.GUESS_SECONDS + 1
    assert not door.guesses("c")


def test_addresses_of_one_household_count_as_one() -> None:
    same = ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:DB8:1:2::1%eth0"]
    assert len({gate.neighbourhood(each) for each in same}) == 1
    assert gate.neighbourhood("2001:db8:1:3::1") != gate.neighbourhood(same[0])
    assert gate.neighbourhood("::ffff:192.0.2.7") == gate.neighbourhood("192.0.2.7") == "192.0.2.7"
    assert gate.neighbourhood("192.0.2.8") != "192.0.2.7"


def test_a_log_that_is_flooded_says_how_much_it_left_out() -> None:
    now, lines = [0.0], list[str]()
    log = Sparing(lines.append, clock=lambda: now[0])
    for _ in range(500):
        log("tls", "a caller was refused")
    assert len(lines) == 10
    now[0] = 61.0
    log("tls", "a caller was refused")
    assert lines[10] == "tls: 490 more in the last minute" and len(lines) == 12
