"""The files that a study names: they lie in its folder, are no links, and are read once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from covey import bounds
from covey.errors import InputError
from covey.files import read_bytes

RESERVED = frozenset(
    {
        "certificate.json", "collection.jsonl", "explanation.json", "invitations.jsonl", "journal", "ledger.json",
        "release.csv", "release.parquet", "report.html", "run.log", "status.json", "study.toml", "summary.json",
        "transcript.jsonl",
    }
)  # fmt: skip
"""Names of files that runs and releases write beside the study's."""


class Folder:
    """A study's folder; `files` holds what has been read, by relative path."""

    def __init__(self, folder: Path, files: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._folder = folder
        self.files = dict(files)

    def note(self, path: str) -> Path:
        """The relative path of a file that may not be there yet. Its content is kept if it is."""
        relative = self._relative(path)
        if (self._folder / relative).is_file():
            self.read(path)
        return Path(relative)

    def read(self, path: str) -> bytes:
        """A file's content. Raises InputError that names the file."""
        relative = self._relative(path)
        cached = self.files.get(relative.as_posix())
        if cached is not None:
            return cached
        content = read_bytes(self._folder / relative, "it must lie in the study's folder", bound=bounds.long_record)
        self.files[relative.as_posix()] = content
        return content

    def _relative(self, path: str) -> PurePosixPath:
        relative = PurePosixPath(path)
        if not path or "\0" in path or relative.is_absolute() or ".." in relative.parts or "\\" in path:
            raise InputError(f"{path!r} lies outside the study's folder; copy the file into it and name it from there")
        if relative.as_posix().lower() in RESERVED:
            raise InputError(f"{path!r} is what a release or a run calls a file of its own; rename the file")
        walked = self._folder
        for part in relative.parts:
            walked /= part
            try:
                linked = walked.is_symlink()
            except OSError as error:
                raise InputError(f"a file that the study names cannot be read ({error.strerror})") from None
            if linked:
                raise InputError(f"{path!r} is a link; a study's files must be real files in its folder")
        return relative
