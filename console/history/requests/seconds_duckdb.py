"""Lines of a request log to rows of REQUEST_1S by DuckDB: a few times faster than Spark's reading of the JSON.

All lines are counted on the way: those that are no requests of a client's (forwarded copies, replicas, what is damaged)
in rows whose API is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from console.history.schema import REQUEST_1S, arrow_schema

CHUNK_BYTES = 64 << 20
"""Lines of so many bytes are added up at once; what is made of more is more rows for the same second."""

COUNTED_SECONDS = pa.schema([*arrow_schema(REQUEST_1S), pa.field("lines", pa.int64()), pa.field("damaged", pa.int64())])
"""REQUEST_1S, and of how many lines of the log a row was made, and how many of them are damaged."""

_STRUCTURE = """{
  "isForwarded": "BOOLEAN",
  "requestHeader": {"clientId": "VARCHAR", "requestApiKeyName": "VARCHAR"},
  "request": {
    "topicData": [{"partitionData": [{"recordsSizeInBytes": "BIGINT"}]}],
    "replicaId": "INTEGER", "replicaState": {"replicaId": "INTEGER"}
  },
  "response": {
    "errorCode": "INTEGER",
    "responses": [{
      "partitionResponses": [{"errorCode": "INTEGER"}],
      "partitions": [{"errorCode": "INTEGER", "recordsSizeInBytes": "BIGINT"}]
    }]
  },
  "localTimeMs": "DOUBLE", "throttleTimeMs": "BIGINT", "principal": "VARCHAR"
}"""
COUNTED_ROWS = """
WITH asked AS (
  SELECT end_us // 1000000 AS second, json, from_json(json, 'STRUCTURE') AS r FROM lines
), flat AS (
  SELECT second, json, r.principal AS principal, r.requestHeader.clientId AS client_id,
    r.requestHeader.requestApiKeyName AS api, r.localTimeMs AS local_ms, r.throttleTimeMs AS throttle_ms,
    r.principal IS NOT NULL AND r.requestHeader.requestApiKeyName IS NOT NULL AS whole,
    whole AND coalesce(NOT r.isForwarded, false)
      AND coalesce(r.request.replicaState.replicaId, r.request.replicaId, -1) < 0 AS counts,
    flatten(list_transform(r.request.topicData, lambda each: each.partitionData)) AS produced,
    flatten(list_transform(r.response.responses, lambda each: each.partitions)) AS fetched,
    flatten(list_transform(r.response.responses, lambda each: each.partitionResponses)) AS answers,
    r.response.errorCode AS error_code
  FROM asked
), counted AS (
  SELECT CASE WHEN counts THEN second END AS second, CASE WHEN counts THEN principal END AS principal,
    CASE WHEN counts THEN coalesce(client_id, '') END AS client_id, CASE WHEN counts THEN api END AS api,
    whole, local_ms, throttle_ms,
    coalesce(list_sum(list_transform(produced, lambda each: each.recordsSizeInBytes)), 0) AS bytes_in,
    coalesce(list_sum(list_transform(fetched, lambda each: each.recordsSizeInBytes)), 0) AS bytes_out,
    coalesce(CASE api
      WHEN 'PRODUCE' THEN len(list_filter(answers, lambda each: each.errorCode <> 0)) > 0
      WHEN 'FETCH' THEN error_code <> 0 OR len(list_filter(fetched, lambda each: each.errorCode <> 0)) > 0
      ELSE regexp_matches(json, '[eE]rrorCode":(?:-|[1-9])')
    END, false) AS has_error
  FROM flat
)
SELECT second, principal, client_id, api, count(*) AS requests, count(*) FILTER (WHERE has_error) AS errors,
  sum(bytes_in)::BIGINT AS bytes_in, sum(bytes_out)::BIGINT AS bytes_out, sum(local_ms) AS local_ms,
  sum(throttle_ms)::BIGINT AS throttle_ms_sum, max(throttle_ms) AS throttle_ms_max,
  count(*) AS lines, count(*) FILTER (WHERE NOT whole) AS damaged
FROM counted GROUP BY ALL
""".replace("STRUCTURE", _STRUCTURE)
"""Of `lines`, a table of end_us (microseconds since 1970) and json; second: seconds since 1970."""
_WHOLE_JSON = "SELECT end_us, CASE WHEN json_valid(json) THEN json END AS json FROM lines"


def seconds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """`COUNTED_SECONDS`, several rows of the same second and key where there are many lines. batches:
    `parts.REQUEST_LINE`, of one broker."""
    with duckdb.connect(":memory:") as connection:
        # Spark runs as many of these side by side as there are cores.
        connection.execute("SET threads = 1")
        for chunk in _chunks(batches):
            yield from _added_up(connection, chunk)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    chunk: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        chunk.append(batch)
        size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _added_up(connection: duckdb.DuckDBPyConnection, chunk: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    whole = pa.Table.from_batches(chunk)
    lines = pa.table({"end_us": whole.column("end_ts").cast(pa.int64()), "json": whole.column("json")})
    try:
        made = _asked(connection, lines, COUNTED_ROWS)
    except duckdb.InvalidInputException:
        # Some line is no JSON; to look at each of them beforehand takes longer.
        made = _asked(connection, _asked(connection, lines, _WHOLE_JSON), COUNTED_ROWS)
    rows = made.num_rows
    columns = {name: made.column(name) for name in made.column_names}
    columns["cluster_id"] = pa.repeat(whole.column("cluster_id")[0], rows)
    columns["broker_id"] = pa.repeat(whole.column("broker_id")[0], rows)
    micros = pc.multiply(made.column("second").cast(pa.int64()), 1_000_000)
    columns["second"] = micros.cast(pa.timestamp("us", "UTC"))
    fitted: list[pa.RecordBatch] = pa.table(
        [columns[field.name].cast(field.type) for field in COUNTED_SECONDS], schema=COUNTED_SECONDS
    ).to_batches()
    return fitted


def _asked(connection: duckdb.DuckDBPyConnection, lines: Any, query: str) -> Any:
    """A table of Arrow's, of a query about another."""
    connection.register("lines", lines)
    try:
        return connection.sql(query).to_arrow_table()
    finally:
        connection.unregister("lines")
