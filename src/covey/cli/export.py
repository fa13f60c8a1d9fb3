"""`covey export`: writes a release in another format, or into a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.options import Json, Parts
from covey.cli.output import print_json
from covey.plain import plural


def export(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release, or the folder of one.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A file (.csv, .parquet, .xlsx) or postgres://…?table=NAME.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file or a table that is there.")] = False,
    parts: Parts = 1,
    as_json: Json = False,
) -> None:
    """Writes a release as CSV, Parquet or Excel, or into a table of a database; its cells stay as they are.

    Example: covey export out release.xlsx
    """
    import pyarrow as pa

    from covey.release_file import release_in
    from covey.sources import arrange, connect
    from covey.sources import export as write

    source = connect(release_in(Path(release)) or release)
    cells = pa.Table.from_batches(source.batches(source.columns)).rename_columns(list(source.columns))
    place = write(arrange(cells), target, force=force, parts=parts)
    if as_json:
        print_json({"written": place, "rows": cells.num_rows})
    else:
        typer.echo(f"wrote {plural(cells.num_rows, 'row')} to {place}")
