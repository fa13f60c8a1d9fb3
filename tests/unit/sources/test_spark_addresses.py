"""The address of a table of Spark: every option reaches Spark, or is refused by its name."""

from __future__ import annotations

import pytest

from covey.errors import InputError
from covey.sources.spark import read_address


def test_options_of_spark_connect_reach_it_and_the_table_is_apart() -> None:
    scheme, place, asked = read_address("sc://host:15002/;use_ssl=true;user_id=me?query=select a from t where b = 1")
    assert (scheme, place, asked) == (
        "sc",
        "host:15002/;use_ssl=true;user_id=me",
        {"query": "select a from t where b = 1"},
    )
    assert read_address("spark://h1:7077,h2:7077?table=a.b") == ("spark", "h1:7077,h2:7077", {"table": "a.b"})
    assert read_address("spark://?parquet=/data/rows") == ("spark", "", {"parquet": "/data/rows"})


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("sc://h:1/;use_tls=true?table=t", "'use_tls'"), ("spark://h:1?table=t&sslmode=require", "'sslmode'"),
        ("sc://h:1?table=t&use_ssl=true", "'use_ssl'"), ("spark://me:geheim@h:1?table=t", "more than a place"),
        ("spark://h:1/db?table=t", "more than a place"), ("sc://h:1/db?table=t", "more than a place"),
    ],
)  # fmt: skip
def test_what_spark_would_not_get_is_refused(address: str, named: str) -> None:
    with pytest.raises(InputError, match=named) as refused:
        read_address(address)
    assert "geheim" not in str(refused.value)
