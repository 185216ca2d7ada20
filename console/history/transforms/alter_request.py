"""ALTER_REQUEST: each thing that a logged request changes, of the lines of request logs.

These requests are rare, and each API has its own form: their JSON is read in Python (`console.history.requests`), that
of no other line.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..requests.alters import ALTER_KEYS
from ..requests.logged import altered
from ..schema.arrow import arrow_schema
from ..schema.bronze import ALTER_REQUEST

_READ = (
    "start_ts",
    "api",
    "correlation_id",
    "client_id",
    "client_host",
    "principal",
    "is_forwarded",
    "validate_only",
    "entity_type",
    "entity_key",
    "attr",
    "op",
    "value",
    "is_sensitive",
    "error_code",
)
"""What `altered` gives, in its order."""
_LINE = ("cluster_id", "broker_id", "end_ts", "file", "byte_pos")
NAMES = tuple(name for name in ALTER_REQUEST.names if name != "run_id")
"""The columns: those of ALTER_REQUEST without the run, which whoever writes them knows."""
_ARROW = pa.schema([field for field in arrow_schema(ALTER_REQUEST) if field.name in NAMES])
_DDL = ", ".join(f"{column.name} {column.type.upper()}" for column in ALTER_REQUEST.columns if column.name in NAMES)


def alter_request(lines: DataFrame) -> DataFrame:
    """lines: as `sources.request_log.request_lines` reads them, all or `alters_only`. Damaged ones are left out."""
    may_alter = F.col("api_key").isNull() | F.col("api_key").isin(*sorted(ALTER_KEYS))
    return (
        lines.where(F.col("json").isNotNull() & may_alter).select(*_LINE, "json").mapInArrow(_read, _DDL).select(*NAMES)
    )


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [
            dict(zip(_LINE, (line[name] for name in _LINE), strict=True)) | dict(zip(_READ, row, strict=True))
            for line in batch.to_pylist()
            for row in altered(line["json"], line["end_ts"])
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)
