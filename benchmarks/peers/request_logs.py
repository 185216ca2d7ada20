"""Programs that `benchmarks.requests` is compared with, of DuckDB or Polars alone: they make rows of requests per
second from a request log.

``PYTHON request_logs.py duckdb|polars LOG OUT pattern|json|container``: each needs only its own library, so PYTHON may
be of an environment with that library only. pattern: Kafka's own layout; json: objects (ECS); container: another layout
after the timestamp of a container's runtime. Only DuckDB reads json and container here. Both write Parquet of (second
since 1970, principal, client_id, api, and the sums).
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

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
_READ = """read_csv('{log}', header = false, delim = '\\x01', quote = '', escape = '', columns = {{'line': 'VARCHAR'}},
    auto_detect = false, max_line_size = 16777216)"""
_LINES = {
    "pattern": f"""
  SELECT epoch(strptime(line[2:20], '%Y-%m-%d %H:%M:%S'))::BIGINT AS second, line[51:-24] AS json
  FROM {_READ} WHERE line[26:50] = ' DEBUG Completed request:'""",
    "json": f"""
  SELECT epoch(strptime(event."@timestamp"[1:19], '%Y-%m-%dT%H:%M:%S'))::BIGINT AS second, event.message[19:] AS json
  FROM (SELECT from_json(line, '{{{{"@timestamp": "VARCHAR", "message": "VARCHAR"}}}}') AS event FROM {_READ})
  WHERE event.message[1:18] = 'Completed request:'""",
    "container": f"""
  SELECT epoch(strptime(line[41:59], '%Y-%m-%d %H:%M:%S'))::BIGINT AS second, line[135:] AS json
  FROM {_READ} WHERE line[117:134] = 'Completed request:'""",
}
_DUCKDB = """
WITH lines AS ({lines}
), asked AS (
  SELECT second, json, from_json(json, '{structure}') AS r FROM lines
), flat AS (
  SELECT second, json, r.principal AS principal, r.requestHeader.clientId AS client_id,
    r.requestHeader.requestApiKeyName AS api, r.localTimeMs AS local_ms, r.throttleTimeMs AS throttle_ms,
    coalesce(NOT r.isForwarded, false)
      AND coalesce(r.request.replicaState.replicaId, r.request.replicaId, -1) < 0 AS counts,
    flatten(list_transform(r.request.topicData, lambda each: each.partitionData)) AS produced,
    flatten(list_transform(r.response.responses, lambda each: each.partitions)) AS fetched,
    flatten(list_transform(r.response.responses, lambda each: each.partitionResponses)) AS answers,
    r.response.errorCode AS error_code
  FROM asked
), counted AS (
  SELECT CASE WHEN counts THEN second END AS second, CASE WHEN counts THEN principal END AS principal,
    CASE WHEN counts THEN coalesce(client_id, '') END AS client_id, CASE WHEN counts THEN api END AS api,
    local_ms, throttle_ms,
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
  sum(throttle_ms)::BIGINT AS throttle_ms_sum, max(throttle_ms) AS throttle_ms_max
FROM counted GROUP BY ALL
"""


def duckdb_alone(log: str, out: str, layout: str) -> None:
    """Write the rows of requests per second with DuckDB, by a typed `from_json` of each line. Rows without an API are
    kept: to leave them out, DuckDB would read the JSON twice.
    """
    import duckdb

    with duckdb.connect() as connection:
        query = _DUCKDB.format(lines=_LINES[layout].format(log=log), structure=_STRUCTURE)
        connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet)")


def polars_alone(log: str, out: str, _: str) -> None:
    """Write the rows of requests per second with Polars, by a typed `json_decode` of each line, streamed."""
    # Import it by name: polars is in a separate environment, so its types are missing when this file is checked.
    pl: Any = import_module("polars")

    def array(**fields: Any) -> Any:
        return pl.List(pl.Struct(fields))

    size, code, text = {"recordsSizeInBytes": pl.Int64}, {"errorCode": pl.Int64}, pl.String
    replica = {"replicaId": pl.Int64, "replicaState": pl.Struct({"replicaId": pl.Int64})}
    answers = array(partitionResponses=array(**code), partitions=array(**code, **size))
    body = pl.Struct({"topicData": array(partitionData=array(**size)), **replica})
    shape = pl.Struct(
        {
            "isForwarded": pl.Boolean,
            "requestHeader": pl.Struct({"clientId": text, "requestApiKeyName": text}),
            "request": body,
            "response": pl.Struct({**code, "responses": answers}),
            "localTimeMs": pl.Float64,
            "throttleTimeMs": pl.Int64,
            "principal": text,
        }
    )
    line, read, each = pl.col("line"), pl.col("read"), pl.element().struct.field

    def inner(lists: Any, name: str, field: str) -> Any:
        return lists.list.eval(each(name).list.eval(each(field)).explode())

    lines = pl.scan_csv(log, has_header=False, separator="\x01", quote_char=None, new_columns=["line"])
    asked = lines.filter(line.str.slice(25, 25) == " DEBUG Completed request:").select(
        line.str.slice(1, 19).str.to_datetime("%Y-%m-%d %H:%M:%S").dt.epoch("s").alias("second"),
        line.str.slice(50).str.strip_suffix(" (kafka.request.logger)").alias("json"),
    )
    typed = asked.with_columns(pl.col("json").str.json_decode(shape).alias("read"))
    field = read.struct.field
    request, response, header = field("request").struct.field, field("response").struct.field, field("requestHeader")
    api = header.struct.field("requestApiKeyName")
    codes, sent = inner(response("responses"), "partitions", "errorCode"), response("responses")
    flat = typed.select(
        "second",
        field("principal"),
        header.struct.field("clientId").fill_null("").alias("client_id"),
        api.alias("api"),
        field("isForwarded").not_().alias("is_own"),
        pl.coalesce(request("replicaState").struct.field("replicaId"), request("replicaId"), -1).alias("replica"),
        inner(request("topicData"), "partitionData", "recordsSizeInBytes").list.sum().fill_null(0).alias("bytes_in"),
        inner(sent, "partitions", "recordsSizeInBytes").list.sum().fill_null(0).alias("bytes_out"),
        pl.when(api == "PRODUCE")
        .then(inner(sent, "partitionResponses", "errorCode").list.eval(pl.element() != 0).list.any())
        .when(api == "FETCH")
        .then((response("errorCode") != 0) | codes.list.eval(pl.element() != 0).list.any())
        .otherwise(pl.col("json").str.contains('[eE]rrorCode":(?:-|[1-9])'))
        .fill_null(value=False)
        .alias("has_error"),
        field("localTimeMs").alias("local_ms"),
        field("throttleTimeMs").alias("throttle_ms"),
    )
    total = [pl.col(name).sum() for name in ("bytes_in", "bytes_out", "local_ms")]
    flat.filter(pl.col("is_own") & (pl.col("replica") < 0)).group_by("second", "principal", "client_id", "api").agg(
        pl.len().cast(pl.Int64).alias("requests"),
        pl.col("has_error").sum().cast(pl.Int64).alias("errors"),
        *total,
        pl.col("throttle_ms").sum().alias("throttle_ms_sum"),
        pl.col("throttle_ms").max().alias("throttle_ms_max"),
    ).sink_parquet(out)


if __name__ == "__main__":
    {"duckdb": duckdb_alone, "polars": polars_alone}[sys.argv[1]](*sys.argv[2:])
