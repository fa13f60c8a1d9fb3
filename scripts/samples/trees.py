"""The hierarchies of the sample data, in ARX's format: one line per leaf, `;` between levels, `*` on top."""

from __future__ import annotations

from scripts.samples.region import COUNTIES
from scripts.samples.vocabulary import BANDS, DIAGNOSES, INSURERS, OCCUPATIONS, WARDS

from covey.samples.adult import grouped, lines, nested


def occupation() -> bytes:
    """Occupation, group, realm."""
    return nested(OCCUPATIONS)


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
