"""A process that streams a metadata log and request logs to Parquet, to be killed:
`python -m tests.history.endless_streams FOLDER`. It prints each batch that ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from console.history.jobs.session import session
from console.history.spark_sources import KraftLog, RequestLogSource
from tests.support.quick_spark import quick

CLUSTER = "cluster-a"


def main() -> None:
    folder = Path(sys.argv[1])
    logs = [{"paths": [f"{folder}/logs/request.log*"], "cluster_id": CLUSTER, "broker_id": 1, "time_zone": "UTC"}]
    with session(quick({})) as spark:
        spark.dataSource.register(KraftLog)
        spark.dataSource.register(RequestLogSource)
        records = spark.readStream.format("kraft_log").option("path", str(folder / "__cluster_metadata-0")).load()
        requests = spark.readStream.format("request_log").option("logs", json.dumps(logs)).load()
        queries = [
            made.writeStream.format("parquet")
            .option("checkpointLocation", str(folder / "checkpoints" / name))
            .trigger(processingTime="200 milliseconds")
            .start(str(folder / name))
            for name, made in (("records", records), ("requests", requests))
        ]
        told = [-1, -1]
        while all(query.isActive for query in queries):
            for place, query in enumerate(queries):
                progress = query.lastProgress
                if progress is not None and progress["batchId"] > told[place] and progress["numInputRows"]:
                    told[place] = progress["batchId"]
                    print(place, told[place], flush=True)
            queries[0].awaitTermination(1)
        for query in queries:
            query.awaitTermination()


if __name__ == "__main__":
    main()
