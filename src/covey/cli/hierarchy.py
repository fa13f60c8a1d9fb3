"""`covey hierarchy check` and `covey hierarchy show`: tests and shows a hierarchy file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covey.cli.options import Json
from covey.cli.output import console, print_json
from covey.errors import InputError, Unmet
from covey.plain import plain

if TYPE_CHECKING:
    from rich.tree import Tree

    from covey.hierarchy import Hierarchy

app = typer.Typer(help="Shows and tests hierarchy files.", no_args_is_help=True)

_DEPTH_COLOURS = ("bold", "cyan", "green", "yellow", "magenta")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A hierarchy in ARX's format: leaf;parent;…;*")],
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Also look for the values of this data.")
    ] = None,
    column: Annotated[str | None, typer.Option("--column", metavar="COLUMN", help="The column of the data.")] = None,
    number: Annotated[
        bool, typer.Option("--number", help="The leaves are numbers: 37, 37.0 and ' 37' are one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Checks that the file is a tree, and that it has every value of the data.

    Example: covey hierarchy check region.csv --data north.csv --column region
    """
    from covey.hierarchy import read

    if (data is None) != (column is None):
        raise InputError("--data and --column go together")
    tree = read(file, "number" if number else "text")
    missing = {} if data is None or column is None else _lacking(tree, data, column)
    report = {
        "file": str(file),
        "leaves": tree.leaves,
        "levels": tree.levels,
        "nodes": tree.nodes,
        "unknown": missing,
    }
    if as_json:
        print_json(report)
    else:
        typer.echo(f"{file}: a tree of {tree.leaves:,} leaves, {tree.levels} levels, {tree.nodes:,} nodes")
        for value, rows in missing.items():
            typer.echo(f"  {value!r} in {rows:,} rows is not in it")
    if missing:
        rows = sum(missing.values())
        raise Unmet(f"{file}: lacks {len(missing):,} values of column {column!r} that stand in {rows:,} rows; add them")


def _lacking(tree: Hierarchy, data: str, column: str) -> dict[str, int]:
    from covey.schema import Column, Role
    from covey.sources import connect
    from covey.table import read_source, unknown

    source = connect(data)
    quasi = Column(column, Role.QUASI, hierarchy=tree, kind=tree.kind)
    reading = read_source(source, [quasi])
    return dict(sorted(unknown(reading, quasi).items(), key=lambda item: (-item[1], item[0])))


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A hierarchy in ARX's format: leaf;parent;…;*")],
    leaves: Annotated[int, typer.Option("--leaves", min=0, help="The number of leaves to show below each node.")] = 8,
    as_json: Json = False,
) -> None:
    """Shows the file as a tree, in colour; as JSON, the path of every leaf to the root.

    Example: covey hierarchy show hierarchies/occupation.csv --leaves 3
    """
    from rich.tree import Tree

    from covey.hierarchy import read

    tree = read(file)
    if as_json:
        print_json({"file": str(file), "root": tree.top, "paths": tree.paths()})
        return
    picture = Tree(_label(tree, tree.root))
    _grow(picture, tree, tree.root, _children(tree), leaves)
    console().print(picture)


def _children(tree: Hierarchy) -> dict[int, list[int]]:
    branches: dict[int, list[int]] = {}
    for node in range(tree.nodes):
        if node != tree.root:
            branches.setdefault(int(tree.parent[node]), []).append(node)
    return {node: sorted(children, key=lambda child: int(tree.first[child])) for node, children in branches.items()}


def _grow(branch: Tree, tree: Hierarchy, node: int, branches: dict[int, list[int]], leaves: int) -> None:
    count = 0
    for child in branches.get(node, []):
        if child < tree.codes:
            count += 1
            if count > leaves:
                continue
        _grow(branch.add(_label(tree, child)), tree, child, branches, leaves)
    if count > leaves:
        branch.add(f"… {count - leaves:,} more leaves", style="dim")


def _label(tree: Hierarchy, node: int) -> str:
    from rich.markup import escape

    colour = _DEPTH_COLOURS[min(int(tree.depth[node]), len(_DEPTH_COLOURS) - 1)]
    name = escape(plain(tree.labels[node]))
    count = "" if node < tree.codes else f" [dim]{int(tree.sizes[node]):,}[/dim]"
    return f"[{colour}]{name}[/{colour}]{count}"
