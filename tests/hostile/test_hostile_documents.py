"""Documents of a run made to fill the memory or the stack: each is refused in a sentence, and nothing of it is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from covey.errors import CoveyError, InputError
from covey.files import json_object
from covey.party.collection.questions import load
from covey.party.identity.certificate import Certificate
from covey.party.record import transcript_file
from covey.party.record.run_certificate import RunCertificate
from covey.study import Study
from covey.study.document import read as read_document
from covey.summary import Summary

pytestmark = pytest.mark.timeout(60)
STUDY = '[study]\nname = "s"\n[privacy]\nk = 2\n[columns.a]\nrole = "quasi"\nhierarchy = "flat"\n'
READERS: dict[str, Callable[[Path], object]] = {
    "certificate": RunCertificate.read,
    "summary": Summary.read,
    "ledger": json_object,
    "transcript": transcript_file.read,
    "identity": lambda path: Certificate.read(path, None),
    "study of a simulation": read_document,
    "record": lambda path: load(Study.parse(STUDY), path),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_one_that_is_too_large_is_refused_before_it_is_read(
    read: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COVEY_MEMORY", "1MB")
    with (tmp_path / "file").open("wb") as stream:
        stream.truncate(10**10)  # which takes no room on the disk
    with pytest.raises(InputError, match="file: is larger than"):
        read(tmp_path / "file")


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_one_that_is_too_deep_is_refused(read: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b'{"a":' + b"[" * 40_000 + b"]" * 40_000 + b"}\n")
    if read is json_object:
        assert json_object(tmp_path / "file") == {}
        return
    with pytest.raises(CoveyError) as refused:
        read(tmp_path / "file")
    assert "Error in" not in str(refused.value)
