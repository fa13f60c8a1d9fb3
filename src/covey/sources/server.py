"""A PostgreSQL server: its address, the connection, a table or query there, and a release written as a table.

An address means what it means to `psql`: libpq reads it, with every option that it knows, the environment, services and
`.pgpass`. An option that it does not know is refused by its name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import ibis
import pyarrow as pa

from covey.addresses import name_of, taken_apart
from covey.errors import AccessError, InputError
from covey.sources.folders import as_name

if TYPE_CHECKING:
    Backend = Any
    Expression = Any  # Ibis ships no types

SCHEMES = ("postgres", "postgresql")
_REFUSED = {"replication": "rows are read over an ordinary connection"}
_CERTIFICATE = ("certificate verify failed", "does not match host name", "SSL error", "server does not support SSL")


class Address(NamedTuple):
    """An address taken apart."""

    label: str
    """The words for the server, without a password,"""
    request: Mapping[str, str]
    """the table or query there,"""
    options: Mapping[str, str]
    """and what libpq is told."""


def read_address(url: str) -> Address:
    """An address as libpq reads it. Raises InputError that names an option that it does not know."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        raise InputError(
            f"{scheme}://…: unknown kind of source; give a file, postgres://…?table=NAME or spark://…?table=NAME"
        )
    try:
        from psycopg import Error, conninfo, pq
    except ImportError:
        raise InputError("PostgreSQL needs an extra: pip install 'covey[postgres]'") from None
    base, request, parameters = taken_apart(url, ("table", "query"))
    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} - {*_REFUSED}
    for part in parameters:
        if name_of(part) not in keywords and part != "ssl=true":
            reason = _REFUSED.get(name_of(part), "libpq does not know it")
            raise InputError(f"{scheme}://…: option {name_of(part)!r} cannot be used ({reason}); correct or remove it")
    try:
        options = conninfo.conninfo_to_dict(f"{base}?{'&'.join(parameters)}")
    except Error:  # whose words quote the address
        raise InputError(
            f"{scheme}://…: is no address of PostgreSQL; write postgres://USER@HOST/DATABASE?table=NAME, with % and "
            "two digits for a special character"
        ) from None
    settings = {name: str(value) for name, value in options.items() if value is not None}
    path = f"/{settings['dbname']}" if settings.get("dbname") else ""
    return Address(f"{scheme}://{settings.get('host', '')}{path}", request, settings)


def connected(url: str) -> tuple[str, Mapping[str, str], Backend]:
    """The words for a server, what is asked of it behind `?`, and the connection.

    Raises InputError, and AccessError for a server whose certificate is not the one that is asked for.
    """
    address = read_address(url)
    name = address.label
    for option in ("sslrootcert", "sslcert", "sslkey", "sslcrl", "passfile"):
        if (file := address.options.get(option)) and file != "system" and not os.path.exists(file):  # noqa: PTH110 - as libpq
            raise InputError(f"{name}: {option} names no file that is there; correct its path")
    try:
        import psycopg

        connection = psycopg.connect(**address.options, autocommit=True)  # type: ignore[arg-type]
        backend = ibis.postgres.from_connection(connection)
    except ImportError:
        raise InputError("PostgreSQL needs an extra: pip install 'covey[postgres]'") from None
    except Exception as error:  # the driver's own words may quote the password
        if any(sign in str(error) for sign in _CERTIFICATE):
            raise AccessError(
                f"{name}: the server's certificate is not one that sslmode and sslrootcert allow; nothing was read; "
                "ask who runs the server for its certificate"
            ) from None
        raise InputError(f"{name}: the server refused the connection ({type(error).__name__})") from None
    return name, address.request, backend


def open_table(url: str) -> tuple[str, Expression, Backend]:
    """A table or query of a server, with its name: postgres://user@host/db?table=NAME or ?query=SELECT…"""
    address, request, backend = connected(url)
    try:
        name, query = named_there(address, request)
        if "query" in request:
            view = ibis.util.gen_name("covey")
            backend.raw_sql(f"create temporary view {view} as {query}").close()
            return name, backend.table(view), backend
        schema, _, table = request["table"].rpartition(".")
        return name, backend.table(table, database=schema or None), backend
    except Exception as error:  # the engine's own words quote the query
        backend.disconnect()
        if isinstance(error, InputError):
            raise
        raise InputError(f"{address}: no such table, or not a readable query ({type(error).__name__})") from None


def named_there(address: str, request: Mapping[str, str]) -> tuple[str, str]:
    """The words for the table behind `?`, and a query of it. Raises InputError for none or two."""
    if ("table" in request) == ("query" in request):
        raise InputError(f"{address}: say which table with ?table=NAME, or ?query=SELECT… (one of them)")
    if "query" in request:
        return address, request["query"]
    return f"{address}?table={request['table']}", f"select * from {_quoted_table(request['table'])}"


def _quoted_table(name: str) -> str:
    """A table's name, perhaps with its schema, as a query spells it."""
    schema, _, table = name.rpartition(".")
    return ".".join(as_name(part) for part in (schema, table) if part)


def write_table(table: pa.Table, url: str, *, force: bool) -> str:
    """Writes text cells as a new table of a server; returns its name. Raises InputError, also if it is there."""
    address, request, backend = connected(url)
    try:
        if set(request) != {"table"}:
            raise InputError(f"{address}: say which table to write with ?table=NAME")
        schema, _, name = request["table"].rpartition(".")
        if name in backend.list_tables(database=schema or None):
            if not force:
                raise InputError(f"{address}: has a table {request['table']!r} already; add --force to replace it")
            backend.raw_sql(f"drop table {_quoted_table(request['table'])}").close()
        backend.create_table(name, obj=table, database=schema or None)
        return f"{address}?table={request['table']}"
    except InputError:
        raise
    except Exception as error:  # the driver's own words quote cells
        raise InputError(
            f"{address}: the table cannot be written ({type(error).__name__}); may you create it?"
        ) from None
    finally:
        backend.disconnect()
