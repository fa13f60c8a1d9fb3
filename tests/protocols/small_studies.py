"""A small study of every joint protocol on the same people, whose hierarchy of places has a root with a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from covey.study import Study

ROOT = "Europe"
PLACES = {"Ulm": "west", "Metz": "west", "Riga": "east", "Pecs": "east"}
ILLS = ("flu", "none", "ulcer")
SITES = ("east", "north", "south")
Person = tuple[str, str, str]
"""Place, sex and illness."""
PEOPLE: list[Person] = [
    (place, "FM"[number % 2], "flu" if number % 3 else "none") for number, place in enumerate([*PLACES] * 3)
]

_COLUMNS = """
[columns.id]
role = "{key}"
[columns.place]
role = "quasi"
hierarchy = "places.csv"
missing = "error"
[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["F", "M"]
missing = "error"
[columns.ill]
role = "sensitive"
values = ["flu", "none", "ulcer"]
singles_out = "nobody is real"
missing = "error"
"""
_SPLIT = '[parties.north]\ncolumns = ["place"]\n[parties.south]\ncolumns = ["sex", "ill"]\n'
_OPTIONS = {
    "cluster": 'calls = "turn"',
    "cluster of two": 'calls = "turn"',
    "suppress of two": 'encryption = "elgamal"\ncompare = "bins"',
    "count": 'column = "place"\nlevel = 1',
    "federate": 'population = "population.csv"',
    "collect": "grid = 8\ncommittee = 3",
}
ROWS = (
    *(f"{name}{parties}" for name in ("peel", "cluster", "count") for parties in ("", " of two")), "suppress of two",
)  # fmt: skip
COLUMNS = ("peel by columns", "cluster by columns", "generalize", "federate")
RESPONDENTS = ("peel by respondents", "collect")
PRINTED = ("cluster", "suppress", "generalize", "federate", "collect")
EVERY = (*ROWS, *COLUMNS, *RESPONDENTS)


def study_of(name: str, folder: Path, k: int, people: int) -> Study:
    """The study of that name in a folder of its own, for so many people."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "places.csv").write_text("".join(f"{place};{part};{ROOT}\n" for place, part in PLACES.items()))
    (folder / "population.csv").write_text("".join(f"p{number}\n" for number in range(people)))
    partition = "horizontal" if name in ROWS else "vertical" if name in COLUMNS else "respondents"
    if name in ROWS:
        parties = "".join(f"[parties.{site}]\n" for site in sites_of(name))
        parties += '[parties.other]\nrole = "helper"\n' if name == "peel of two" else ""
    elif name in COLUMNS:
        roles = {"peel by columns": "helper", "federate": "recipient"}
        parties = _SPLIT + (f'[parties.other]\nrole = "{roles[name]}"\n' if name in roles else "")
    else:
        parties = '[parties.office]\nrole = "collector"\n'
        if name == "peel by respondents":
            parties += "".join(f'[parties.{site}]\nrole = "trustee"\n' for site in SITES)
    asked = f'protocol = "{name.split(maxsplit=1)[0]}"\npartition = "{partition}"\n[privacy]\nk = {k}\n'
    columns = _COLUMNS.format(key="key" if name in COLUMNS else "identifier")
    printed = "as_printed = true\n" if name.startswith(PRINTED) else ""
    options = f"[protocol]\n{printed}{_OPTIONS.get(name, '')}\n"
    (folder / "study.toml").write_text(f'[study]\nname = "small"\n{asked}{options}{columns}{parties}')
    return Study.load(folder / "study.toml")


def sites_of(name: str) -> tuple[str, ...]:
    """The parties with rows."""
    return SITES[1:] if name.endswith("of two") else SITES


def data_of(name: str, people: Sequence[Person], empty: str | None = None) -> dict[str, pa.Table]:
    """The people's tables as the parties of that study hold them, the rows of one party nobody's."""
    cells = {
        "id": [f"p{number}" for number in range(len(people))],
        "place": [place for place, _, _ in people],
        "sex": [sex for _, sex, _ in people],
        "ill": [ill for _, _, ill in people],
    }
    if name in ROWS:
        dealt = [site for site in sites_of(name) if site != empty]
        return {
            site: _table(cells, dealt.index(site) if site != empty else 0, len(dealt), none=site == empty)
            for site in sites_of(name)
        }
    if name in RESPONDENTS:
        return {"respondents": _table(cells, 0, 1)}
    held = {"north": ("id", "place"), "south": ("id", "sex", "ill")}
    return {
        site: _table({name: cells[name] for name in columns}, 0, 1, none=site == empty)
        for site, columns in held.items()
    }


def _table(cells: Mapping[str, Sequence[str]], first: int, step: int, *, none: bool = False) -> pa.Table:
    return pa.table({name: pa.array([] if none else own[first::step], pa.string()) for name, own in cells.items()})
