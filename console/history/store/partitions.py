"""The names of partitions: ``cluster_id=X/day=2026-11-21``. Pure.

Escaped as Spark escapes the names of folders (ExternalCatalogUtils.escapePathName), so that both write the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import unquote

from console.history.schema import Table

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What stands for an empty value, as in Spark."""
IN = "in_"
"""Before the names of columns that Delta partitions by: files leave those out, and all columns have to be in them, so
these stand beside what they are made of."""
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f")
FORMATS = {"day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H"}
"""How times are cut, by unit, as strftime."""


def parts_of(table: Table) -> tuple[tuple[str, str], ...]:
    """The parts of its partitions: (name, column), as ("day", "observed_ts")."""
    parts = (part.partition(":") for part in table.partitions)
    return tuple((name, of or name) for name, _, of in parts)


def partition_name(table: Table, values: Sequence[str | datetime | None]) -> str:
    """The partition of these values, one for each part; empty text for a table that has none."""
    parts = zip((name for name, _ in parts_of(table)), values, strict=True)
    return joined((name, f"{of:{FORMATS[name]}}" if isinstance(of, datetime) else of) for name, of in parts)


def joined(parts: Iterable[tuple[str, str | None]]) -> str:
    """The partition of these names and values."""
    return "/".join(f"{name}={_escaped(value)}" for name, value in parts)


def partition_values(partition: str) -> dict[str, str | None]:
    """What `partition_name` was made of, by name of the part."""
    parts = (part.partition("=") for part in partition.split("/") if part)
    return {name: None if value == NO_VALUE else unquote(value) for name, _, value in parts}


def _escaped(value: str | None) -> str:
    if not value:  # Spark, too, takes empty text for no value here
        return NO_VALUE
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED or each < " " else each for each in value)
