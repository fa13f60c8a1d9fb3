"""The hierarchies of the sample data, in ARX's format: one line per leaf, `;` between levels, `*` on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scripts.samples.region import COUNTIES
from scripts.samples.vocabulary import BANDS, DIAGNOSES, INSURERS, OCCUPATIONS, WARDS


def occupation() -> bytes:
    """Occupation, group, realm."""
    return nested(OCCUPATIONS)


def diagnosis() -> bytes:
    """Diagnosis and its chapter."""
    return lines((entry.name, entry.chapter) for entry in DIAGNOSES)


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


def lines(paths: Iterable[tuple[str, ...]]) -> bytes:
    """Writes a hierarchy in ARX's format from each leaf's path below the root."""
    return "".join(";".join([*path, "*"]) + "\n" for path in paths).encode()


def grouped(groups: Mapping[str, Iterable[str]]) -> bytes:
    """Writes a hierarchy of two levels below the root: each leaf and its group."""
    return lines((leaf, group) for group, leaves in groups.items() for leaf in leaves)


def nested(realms: Mapping[str, Mapping[str, Iterable[str]]]) -> bytes:
    """Writes a hierarchy of three levels below the root: each leaf, its group and its realm."""
    return lines(
        (leaf, group, realm) for realm, groups in realms.items() for group, leaves in groups.items() for leaf in leaves
    )
