"""A question to DuckDB, put together from fixed text and parameters: nothing of a cluster's is ever part of the SQL."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
FILES = "read_parquet(?, hive_partitioning = false)"
"""The files of a table, as a parameter; what their folders are called says nothing that is not in them."""


class Where:
    """Conditions that all have to hold, with their parameters."""

    def __init__(self) -> None:
        self._conditions: list[str] = []
        self.parameters: list[Any] = []

    def add(self, condition: str, *parameters: Any) -> Where:
        """One more; `?` in it stands for a parameter."""
        self._conditions.append(condition)
        self.parameters += parameters
        return self

    def equal(self, column: str, value: Any) -> Where:
        """A column has a value; None asks for nothing."""
        return self if value is None else self.add(f"{column} = ?", value)

    def between(self, column: str, since: datetime | None, until: datetime | None) -> Where:
        """A column of times lies in [since, until)."""
        if since is not None:
            self.add(f"{column} >= ?", since)
        if until is not None:
            self.add(f"{column} < ?", until)
        return self

    def like(self, column: str, pattern: str | None) -> Where:
        """A column is a text, or is matched by one with `*` and `?`."""
        if pattern is None:
            return self
        return self.add(f"{column} GLOB ?" if set(pattern) & set("*?") else f"{column} = ?", pattern)

    @property
    def sql(self) -> str:
        """As a WHERE clause."""
        return f"WHERE {' AND '.join(self._conditions)}" if self._conditions else ""


def time(microseconds: int | None) -> datetime | None:
    """A time that was asked for as `epoch_us`: DuckDB's own would need a package for time zones."""
    return None if microseconds is None else EPOCH + microseconds * _MICROSECOND


def known_time(microseconds: int) -> datetime:
    """The same of a column that is never empty."""
    return EPOCH + microseconds * _MICROSECOND
