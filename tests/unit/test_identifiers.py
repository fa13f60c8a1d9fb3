"""Columns that look like identifiers by their name or cells, and columns that only resemble them."""

from __future__ import annotations

import pytest

from covey.fitness.columns import suspected


@pytest.mark.parametrize(
    ("name", "cell", "kind"),
    [
        ("contact", "ann@example.org", "e-mail addresses"),
        ("E-Mail", "", "e-mail addresses"),
        ("reach", "+49 30 1234567", "telephone numbers"),
        ("reach", "(212) 555-0100", "telephone numbers"),
        ("n", "123-45-6789", "social security numbers"),
        ("host", "192.168.0.17", "IP addresses"),
        ("host", "2001:db8::1", "IP addresses"),
        ("page", "https://example.org/~ann", "web addresses"),
        ("car", "1M8GDM9AXKP042788", "device or vehicle numbers"),
        ("patient name", "x", "names"),
        ("mrn", "17", "medical record numbers"),
        ("day", "2024-01-15", None),
        ("day", "15.01.2024", None),
        ("time", "12:30:45", None),
        ("bill", "12 500.00", None),
        ("diagnosis", "E11.9", None),
        ("postcode", "10115", None),
        ("medication name and dose", "aspirin 100", None),
    ],
)
def test_what_a_column_looks_like(name: str, cell: str, kind: str | None) -> None:
    assert suspected(name, [cell] * 20) == kind


def test_a_few_cells_do_not_make_a_column() -> None:
    assert suspected("remark", ["ann@example.org", *["none"] * 19]) is None
