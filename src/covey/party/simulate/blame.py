"""Failures of several parties: the choice of the one that explains the others."""

from __future__ import annotations

from collections.abc import Mapping

from covey.errors import Aborted, AccessError, CoveyError, InputError, PeerError, Unmet

_ORDER: tuple[type[CoveyError], ...] = (InputError, AccessError, PeerError, Unmet)


def most_telling(failures: Mapping[str, CoveyError]) -> CoveyError:
    """The failure to show for a simulation, which names the party and cannot be resumed.

    A failure of the data or of an identity tells more than one of the protocol, and that more than a stop.
    """
    party, error = min(failures.items(), key=lambda item: (_rank(item[1]), item[0]))
    sentence = f"party {party!r}: {error}"
    if isinstance(error, InputError):
        return InputError(sentence)
    if isinstance(error, AccessError | PeerError):
        return AccessError(sentence)
    if isinstance(error, Unmet):
        return Unmet(sentence)
    return Aborted(sentence, resumable=False)


def rebuild(kind: str, exit_code: int, message: str) -> CoveyError:
    """An error that another process told of; a peer's breach comes as the refusal that it led to."""
    if kind == "Aborted":
        return Aborted(message, resumable=exit_code == 3)
    known = {"InputError": InputError, "StudyError": InputError, "Unmet": Unmet}
    return known.get(kind, AccessError)(message)


def _rank(error: CoveyError) -> int:
    for rank, kind in enumerate(_ORDER):
        if isinstance(error, kind):
            return rank
    refused = isinstance(error, Aborted) and not error.resumable
    return len(_ORDER) + (0 if refused else 1)
