"""The roles of a collection: three trustees compute, the collector hands out the board and gets the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from covey.arrays import Longs
from covey.errors import InputError, Unmet
from covey.protocols.peel import board, role
from covey.protocols.peel.letter_intake import LetterIntake, left_out, letter_word, require_short
from covey.protocols.peel.letters import sealed_bytes
from covey.protocols.peel.parameters import run_of
from covey.protocols.peel.record_word import RecordWord
from covey.protocols.peel.run import Run
from covey.protocols.protocol import Forecast, Letters, Result, Seat
from covey.secure.declare import TAKING_PART, Leakage
from covey.study import Study
from covey.table import Table

LEFT_OUT = Leakage(everyone=("whose letters were no answers and were left out: {names}",), about=TAKING_PART)
_ENTRY = 64 + 32 + 64 + 3 * 32
"""Bytes that a letter takes on a trustee's board besides its part."""


async def trustee(seat: Seat) -> Result:
    """Reads the letters with the two others, and computes. Raises Unmet if fewer than k are answers."""
    run = await role.begun(seat)
    trustees, hub, width = run.parties[:3], run.parties[3], word_of(seat.study, run).width
    at = seat.channel.at("letters")
    posted = await board.read(at, hub, trustees, seat.study.study_hash, seat.letters or Letters(), width)
    return await role.played(seat, _with(run, seat, posted.handles, posted))


async def collector(seat: Seat) -> Result:
    """Hands out the board, waits for the classes, and reads the release. Raises Unmet if fewer than k answered."""
    run = await role.begun(seat)
    answers = {} if seat.letters is None else seat.letters.delivered
    if len(answers) < seat.study.privacy.k:
        raise Unmet(f"fewer than k = {seat.study.privacy.k} respondents answered; nothing can be released")
    width, at = word_of(seat.study, run).width, seat.channel.at("letters")
    handles = await board.hand_out(at, run.parties[:3], answers, width)
    return await role.waited(seat, _with(run, seat, handles, None))


def _with(run: Run, seat: Seat, handles: Sequence[str], posted: board.Posted | None) -> Run:
    """Returns the run with an intake of these letters, which notes in the ledger who is left out."""

    def dropped(places: Longs) -> None:
        if len(places):
            seat.ledger.learns(LEFT_OUT, names=left_out(handles, places))

    return replace(run, letters=LetterIntake(seat.study, word_of(seat.study, run), posted, len(handles), dropped))


def role_of(study: Study, party: str) -> str:
    """Returns the role of a party; whoever the study does not name is a respondent."""
    return next((known.role or "" for known in study.parties if known.name == party), "respondent")


def hub_of(study: Study) -> str:
    """Returns the collector's name. Raises InputError where there is none, or more than one."""
    collectors = study.of_party_role("collector")
    if len(collectors) != 1:
        raise InputError(f'a collection has one party with role = "collector", and the study names {len(collectors)}')
    return collectors[0]


def word_of(study: Study, run: Run) -> RecordWord:
    """Returns the word in a letter."""
    return letter_word(study, run.terms)


def judge(study: Study) -> Run:
    """Returns the run of a study. Raises InputError for a study that cannot be collected."""
    hub_of(study)
    run = run_of(study)
    return replace(run, letters=LetterIntake(study, word_of(study, run)))


def accepts(study: Study, own: Table) -> None:
    """Raises InputError for an answer that is too long to be sent."""
    require_short(word_of(study, run_of(study)), own)


def ideal(study: Study, tables: Mapping[str, Table]) -> Result:
    """Returns the release of a trusted party. Raises Unmet where fewer than k answered."""
    return role.trusted(judge(study), tables)


def foresee(study: Study, rows: Mapping[str, int]) -> Forecast:
    """Returns the cost of a run of the trustees on answers that are drawn evenly from the domains."""
    return _with_board(study, rows, role.rehearsed(judge(study), rows, None))


def rehearse(study: Study, rows: Mapping[str, int], like: Table) -> Forecast:
    """Returns the same of answers like these."""
    return _with_board(study, rows, role.rehearsed(judge(study), rows, like))


def _with_board(study: Study, rows: Mapping[str, int], forecast: Forecast) -> Forecast:
    """Returns the forecast with the board, which three trustees are given."""
    part = sealed_bytes(word_of(study, run_of(study)).width)
    size = 3 * sum(rows.values()) * (part + _ENTRY + board.SHARE_DIGEST)
    return replace(forecast, bytes=forecast.bytes + size, rounds=forecast.rounds + 5)
