"""The loggers of brokers whose logs the lake reads, with all properties in which their logs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from console.lake import schema
from console.lake.redact import Damaged
from console.lake.requests import authorizer, counted, lines
from console.lake.requests.counted import Whose


class Logger(NamedTuple):
    """A logger of brokers, and the functions that read its lines."""

    name: str
    """The name of the lake's source that reads the logger's logs."""
    noun: str
    """The name of a log of this logger in messages, as `request log`."""
    message: bytes
    """The text with which the logger's messages begin."""
    one_line: Callable[[int, bytes], lines.Line | authorizer.Check | Damaged | None]
    """Parses the line at a byte position; returns None for a line that the logger did not write."""
    rows: Callable[[Whose, Iterable[tuple[int, bytes]]], Iterator[pa.RecordBatch]]
    """Makes the bronze table's rows from blocks of whole lines with their byte positions."""
    table: schema.Table
    others: lines.Form
    """The description of lines that are all of other loggers."""

    def is_readable(self, line: bytes) -> bool:
        """Return whether a line is a complete message of the logger that can be read."""
        found = self.one_line(0, line)
        return found is not None and (not isinstance(found, Damaged) or found.reason == authorizer.AMBIGUOUS)


REQUESTS = Logger(
    *("request_log", "request log", lines.MESSAGE, lines.one_line, counted.counted, schema.REQUEST, lines.OF_OTHERS)
)
AUTHORIZER = Logger(
    *("authorizer_log", "authorizer log", authorizer.MESSAGE, authorizer.one_line, authorizer.counted),
    *(schema.AUTHORIZATION, authorizer.OF_OTHERS),
)
LOGGERS: Mapping[str, Logger] = {each.name: each for each in (REQUESTS, AUTHORIZER)}
"""Name of the source -> its logger."""
