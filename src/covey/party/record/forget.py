"""Forgetting a finished run: journal and states are erased, and with them the seed and all that follows from it.

What may be kept stays: the release, the report, the certificate, the transcript, the ledger, the summary, the study,
the log. After that the run can be neither resumed nor replayed.
"""

from __future__ import annotations

import os
from pathlib import Path

from covey.errors import InputError
from covey.files import erase
from covey.party.record.names import JOURNAL, RELEASE, STATES, SUMMARY, TRANSCRIPT


def forget(folder: Path, *, unfinished: bool = False) -> list[Path]:
    """Erases what a run, or each party of a simulation, keeps secret; the files that are gone.

    Raises InputError where there is no run, and for one that has not ended and could not go on, unless that is wanted.
    Links are not followed: nothing is erased outside of the folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name the folder of a run")
    folders = [folder, *sorted(child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())]
    runs = [each for each in folders if _is_run(each)]
    if not runs:
        raise InputError(f"{folder}: holds no run")
    journals = [each / name for each in runs for name in (JOURNAL, *STATES) if os.path.lexists(each / name)]
    for journal in journals:
        if journal.is_symlink():
            raise InputError(f"{journal}: is a link or not a file, and is left as it is; remove it yourself")
        if not unfinished and not (journal.parent / SUMMARY).exists():
            raise InputError(
                f"{journal.parent}: its run has not ended and could not go on without the journal; "
                "add --unfinished to give it up"
            )
    for journal in journals:
        erase(journal)
    return journals


def _is_run(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (JOURNAL, SUMMARY, TRANSCRIPT, RELEASE))
