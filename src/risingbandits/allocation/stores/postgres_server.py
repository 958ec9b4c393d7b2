"""What stores and memories in PostgreSQL share: the address with its schema, and the connection."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from risingbandits._core.errors import RisingBanditsError, shown

if TYPE_CHECKING:
    import psycopg

_CONNECT_SECONDS = 10


def load_psycopg(what: str) -> Any:
    """The driver that ``what`` needs."""
    try:
        import psycopg
    except ImportError as error:
        raise RisingBanditsError(
            f"psycopg is needed for {what} in PostgreSQL: pip install 'risingbandits[postgres]'."
        ) from error
    return psycopg


def split_address(address: str, schema: str) -> tuple[str, str]:
    """The address without ``?schema=...``, which only this package knows, and that schema, or the given default.

    >>> split_address("postgresql://host/runs?schema=may&user=me", "risingbandits")
    ('postgresql://host/runs?user=me', 'may')
    """
    base, _, query = address.partition("?")
    parts = query.split("&") if query else []
    schema = next((part.removeprefix("schema=") for part in parts if part.startswith("schema=")), schema)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", schema):
        raise RisingBanditsError(f"schema must be a name of letters, digits and underscores, got {shown(schema)}.")
    kept = "&".join(part for part in parts if not part.startswith("schema="))
    return f"{base}?{kept}" if kept else base, schema


def connect(driver: Any, address: str, schema: str, *options: str) -> psycopg.Connection[Any]:
    """A connection that commits each statement separately, with the schema for its tables and all digits of floats."""
    own = driver.conninfo.conninfo_to_dict(address)
    said = [own.get("options"), f'-c search_path="{schema}" -c extra_float_digits=1', *options]
    connection: psycopg.Connection[Any] = driver.connect(
        address,
        autocommit=True,
        options=" ".join(str(option) for option in said if option),
        connect_timeout=int(own.get("connect_timeout") or _CONNECT_SECONDS),
    )
    return connection


def complaint(driver: Any, address: str, error: Exception) -> str:
    """The first line of what a server or a driver says, which may quote the address, without the password."""
    try:
        secret = driver.conninfo.conninfo_to_dict(address).get("password")
    except driver.Error:
        return "its address cannot be read"
    text = str(error).strip().split("\n")[0].rstrip(".")
    return text.replace(str(secret), "***") if secret else text
