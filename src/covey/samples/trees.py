"""The hierarchies of the sample data, in ARX's format: one line per leaf, `;` between levels, `*` on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from covey.samples.region import COUNTIES
from covey.samples.vocabulary import BANDS, DIAGNOSES, INSURERS, OCCUPATIONS, WARDS


def lines(paths: Iterable[tuple[str, ...]]) -> bytes:
    """A hierarchy file, from each leaf's path below the root."""
    return "".join(";".join([*path, "*"]) + "\n" for path in paths).encode()


def grouped(groups: Mapping[str, Iterable[str]]) -> bytes:
    """A hierarchy of two levels below the root: each leaf and its group."""
    return lines((leaf, group) for group, leaves in groups.items() for leaf in leaves)


def occupation() -> bytes:
    """Occupation, group, realm."""
    return lines(
        (leaf, group, realm)
        for realm, groups in OCCUPATIONS.items()
        for group, leaves in groups.items()
        for leaf in leaves
    )


def diagnosis() -> bytes:
    """Diagnosis and its chapter."""
    return lines((each.name, each.chapter) for each in DIAGNOSES)


def town() -> bytes:
    """Town, county, and whether it lies by the sea."""
    by_the_sea = {"Harbour Coast"}
    return lines(
        (leaf, county, "coast" if county in by_the_sea else "inland")
        for county, towns in COUNTIES.items()
        for leaf in towns
    )


def ward() -> bytes:
    """Ward and the kind of care."""
    return grouped(WARDS)


def insurer() -> bytes:
    """Insurer and its kind."""
    return grouped(INSURERS)


def amount() -> bytes:
    """Band of the invoice, and its half."""
    return grouped(BANDS)
