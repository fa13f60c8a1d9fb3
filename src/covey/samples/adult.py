"""UCI's Adult table as this field uses it: nine columns, the complete rows, and groupings that we made ourselves."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence

from covey.errors import InputError

# UCI's file has no header; these are its fields, in its order.
FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "salary-class",
)  # fmt: skip
COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
_UNKNOWN = "?"
_KEPT = tuple(FIELDS.index(column) for column in COLUMNS)

Files = dict[str, bytes]
Groups = Mapping[str, Mapping[str, Iterable[str]]]  # realm -> group -> values

WORKCLASS = {
    "government": ("Federal-gov", "Local-gov", "State-gov"),
    "own business": ("Self-emp-inc", "Self-emp-not-inc"),
    "employee": ("Private",),
    "without wage": ("Never-worked", "Without-pay"),
}
MARITAL = {
    "married": ("Married-civ-spouse", "Married-AF-spouse"),
    "apart": ("Married-spouse-absent", "Separated", "Divorced", "Widowed"),
    "single": ("Never-married",),
}
OCCUPATION: Groups = {
    "desk": {
        "management and professions": ("Exec-managerial", "Prof-specialty", "Tech-support"),
        "office and sales": ("Adm-clerical", "Sales"),
    },
    "hands": {
        "workshop and plant": ("Craft-repair", "Machine-op-inspct", "Handlers-cleaners", "Transport-moving"),
        "fields and waters": ("Farming-fishing",),
        "care and protection": ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
    },
}
EDUCATION: Groups = {
    "school": {
        "primary": ("Preschool", "1st-4th", "5th-6th", "7th-8th"),
        "some high school": ("9th", "10th", "11th", "12th"),
        "high school": ("HS-grad",),
    },
    "after school": {
        "college without degree": ("Some-college",),
        "associate": ("Assoc-acdm", "Assoc-voc"),
        "bachelor": ("Bachelors",),
        "advanced degree": ("Masters", "Prof-school", "Doctorate"),
    },
}
COUNTRY: Groups = {
    "Americas": {
        "Northern America": ("United-States", "Canada", "Outlying-US(Guam-USVI-etc)"),
        "Central America": ("Mexico", "Guatemala", "Honduras", "El-Salvador", "Nicaragua"),
        "Caribbean": ("Cuba", "Dominican-Republic", "Haiti", "Jamaica", "Puerto-Rico", "Trinadad&Tobago"),
        "South America": ("Columbia", "Ecuador", "Peru"),
    },
    "Asia": {
        "East Asia": ("China", "Hong", "Japan", "Taiwan"),
        "South and West Asia": ("India", "Iran"),
        "South-East Asia": ("Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"),
    },
    "Europe": {
        "British Isles": ("England", "Ireland", "Scotland"),
        "Western Europe": ("France", "Germany", "Holand-Netherlands"),
        "Southern Europe": ("Greece", "Italy", "Portugal", "Yugoslavia"),
        "Central Europe": ("Hungary", "Poland"),
    },
    "not stated clearly": {"unclear": ("South",)},
}

STUDY = """\
# UCI Adult, the table that papers on k-anonymity are measured on; 30,162 complete rows.
#   covey check study.toml --data adult.csv
#   covey anonymize study.toml --data adult.csv --out out

[study]
name = "adult"

[privacy]
k = 10

[utility]
measure = "lm"

[columns.sex]
role = "quasi"
hierarchy = "flat"
values = ["Female", "Male"]

[columns.age]
role = "quasi"
hierarchy = { min = 17, max = 90, steps = [5, 10, 20] }

[columns.race]
role = "quasi"
hierarchy = "flat"
values = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]

[columns.marital-status]
role = "quasi"
hierarchy = "hierarchies/marital-status.csv"

[columns.education]
role = "quasi"
hierarchy = "hierarchies/education.csv"

[columns.native-country]
role = "quasi"
hierarchy = "hierarchies/native-country.csv"

[columns.workclass]
role = "quasi"
hierarchy = "hierarchies/workclass.csv"

[columns.occupation]
role = "quasi"
hierarchy = "hierarchies/occupation.csv"

[columns.salary-class]
role = "sensitive"
values = ["<=50K", ">50K"]
"""

Row = tuple[str, ...]


def parse(raw: bytes) -> list[Row]:
    """Returns the complete rows of UCI's file with our nine columns; rows with an unknown field are dropped, as usual.

    Raises InputError, naming the line, if a line does not have fifteen fields.
    """
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        raise InputError("adult.data: not a text file; the archive may have sent an error page") from None
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("|"):
            continue
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(FIELDS):
            raise InputError(
                f"adult.data, line {number}: {len(fields)} fields, expected {len(FIELDS)}; fetch the file again"
            )
        if _UNKNOWN not in fields:
            rows.append(tuple(fields[at] for at in _KEPT))
    return rows


def digest(rows: Sequence[Row]) -> str:
    """SHA-256 of the rows in canonical form: fields joined by `;`, rows sorted, each ended by LF, in UTF-8."""
    return hashlib.sha256("".join(f"{';'.join(row)}\n" for row in sorted(rows)).encode()).hexdigest()


def files(rows: Iterable[Row]) -> Files:
    """Returns the files of the data set: the table, its hierarchies, its study."""
    return {
        "adult.csv": sheet(COLUMNS, rows),
        "study.toml": STUDY.encode(),
        "hierarchies/marital-status.csv": grouped(MARITAL),
        "hierarchies/workclass.csv": grouped(WORKCLASS),
        "hierarchies/education.csv": nested(EDUCATION),
        "hierarchies/native-country.csv": nested(COUNTRY),
        "hierarchies/occupation.csv": nested(OCCUPATION),
    }


def sheet(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Writes a CSV file with a header: commas, LF, UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def lines(paths: Iterable[tuple[str, ...]]) -> bytes:
    """Writes a hierarchy in ARX's format from each leaf's path below the root."""
    return "".join(";".join([*path, "*"]) + "\n" for path in paths).encode()


def grouped(groups: Mapping[str, Iterable[str]]) -> bytes:
    """Writes a hierarchy of two levels below the root: each leaf and its group."""
    return lines((leaf, group) for group, leaves in groups.items() for leaf in leaves)


def nested(realms: Groups) -> bytes:
    """Writes a hierarchy of three levels below the root: each leaf, its group and its realm."""
    return lines(
        (leaf, group, realm) for realm, groups in realms.items() for group, leaves in groups.items() for leaf in leaves
    )
