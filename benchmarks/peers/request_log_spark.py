"""A program that `benchmarks.requests` is compared with, of Spark alone: it parses each line of a request log by
`from_json`, and writes rows of requests per second as Parquet.

``python -m benchmarks.peers.request_log_spark LOG OUT``, in a session like that of `kac lake`.
"""

from __future__ import annotations

import os
import sys

from console.collecting.spark_session import lake_session

_STRUCTURE = """
isForwarded BOOLEAN, requestHeader STRUCT<clientId: STRING, requestApiKeyName: STRING>,
request STRUCT<
  topicData: ARRAY<STRUCT<partitionData: ARRAY<STRUCT<recordsSizeInBytes: BIGINT>>>>,
  replicaId: INT, replicaState: STRUCT<replicaId: INT>>,
response STRUCT<
  errorCode: INT,
  responses: ARRAY<STRUCT<
    partitionResponses: ARRAY<STRUCT<errorCode: INT>>,
    partitions: ARRAY<STRUCT<errorCode: INT, recordsSizeInBytes: BIGINT>>>>>,
localTimeMs DOUBLE, throttleTimeMs BIGINT, principal STRING
""".replace("\n", " ")
_SQL = """
WITH lines AS (
  SELECT unix_timestamp(substring(value, 2, 19), 'yyyy-MM-dd HH:mm:ss') AS second,
    substring(value, 51, length(value) - 73) AS json
  FROM log WHERE substring(value, 26, 25) = ' DEBUG Completed request:'
), asked AS (
  SELECT second, json, from_json(json, '{structure}') AS r FROM lines
), flat AS (
  SELECT second, json, r.principal, coalesce(r.requestHeader.clientId, '') AS client_id,
    r.requestHeader.requestApiKeyName AS api, r.localTimeMs AS local_ms, r.throttleTimeMs AS throttle_ms,
    flatten(transform(r.request.topicData, each -> each.partitionData)) AS produced,
    flatten(transform(r.response.responses, each -> each.partitions)) AS fetched,
    flatten(transform(r.response.responses, each -> each.partitionResponses)) AS answers,
    r.response.errorCode AS error_code
  FROM asked
  WHERE NOT r.isForwarded AND coalesce(r.request.replicaState.replicaId, r.request.replicaId, -1) < 0
), counted AS (
  SELECT second, principal, client_id, api, local_ms, throttle_ms,
    coalesce(aggregate(produced, 0L, (sum, each) -> sum + coalesce(each.recordsSizeInBytes, 0L)), 0L) AS bytes_in,
    coalesce(aggregate(fetched, 0L, (sum, each) -> sum + coalesce(each.recordsSizeInBytes, 0L)), 0L) AS bytes_out,
    coalesce(CASE api
      WHEN 'PRODUCE' THEN exists(answers, each -> each.errorCode <> 0)
      WHEN 'FETCH' THEN error_code <> 0 OR exists(fetched, each -> each.errorCode <> 0)
      ELSE json RLIKE '[eE]rrorCode":(?:-|[1-9])'
    END, false) AS has_error
  FROM flat
)
SELECT second, principal, client_id, api, count(*) AS requests, count_if(has_error) AS errors,
  sum(bytes_in) AS bytes_in, sum(bytes_out) AS bytes_out, sum(local_ms) AS local_ms,
  sum(throttle_ms) AS throttle_ms_sum, max(throttle_ms) AS throttle_ms_max
FROM counted GROUP BY second, principal, client_id, api
"""


def main(log: str, out: str) -> None:
    """Read the log, and write the Parquet files."""
    with lake_session(os.environ, master="local[2]") as spark:
        spark.read.text(log).createOrReplaceTempView("log")
        spark.sql(_SQL.format(structure=_STRUCTURE)).write.parquet(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
