"""A page with its owner's data beside the release: only for those who hold them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from covey.errors import InputError
from covey.report.material import Material, gather
from covey.report.page import save
from covey.schema import Role
from covey.sources import connect
from covey.study import Study
from covey.table import Table, build, read


def with_data(folder: Path, data: str) -> Path:
    """Makes the folder's report with what the data were like before.

    Raises InputError if the folder is not of someone who holds data, or if the data do not fit the study.
    """
    material = gather(folder)
    return save(folder, replace(material, records=_records(folder, material, data)))


def _records(folder: Path, material: Material, data: str) -> Table:
    summary, study = material.summary, material.study
    if summary is None or study is None:
        raise InputError(f"{folder}: has no summary.json with a study.toml; data can be shown beside a release only")
    if not summary.parties:
        return _read(study, data, None)
    if summary.party is None:
        raise InputError(f"{folder}: is of all parties together; name one party's folder below it, and its own data")
    if not study.party(summary.party).holds_data:
        raise InputError(f"{folder}: party {summary.party!r} holds no data in this study; leave out --data")
    return _read(study, data, summary.party)


def _read(study: Study, data: str, party: str | None) -> Table:
    """The released columns that the data's holder has."""
    columns = [column for column in study.held_by(party) if column.role not in (Role.IDENTIFIER, Role.KEY)]
    source = connect(data)
    return build(read(source.batches([column.name for column in columns]), columns, source.name), study)
