"""What the pipeline says of itself."""

from __future__ import annotations

from .table import RUN_ID, Table, column, maybe

RUN = Table(
    "run",
    "record",
    "The runs, those that failed too.",
    (
        RUN_ID,
        column("job", "string", "collect, ingest, build, compact."),
        column("started_ts", "timestamp", "When it began."),
        column("ended_ts", "timestamp", "When it ended."),
        column("status", "string", "done, failed."),
        column("inputs", "string", "What it read, as JSON: files with their bytes, or clusters."),
        column("rows", "string", "Rows written, as JSON: by table."),
        column("quarantined", "bigint", "Lines and batches that could not be read."),
        maybe("message", "string", "Why it failed, or what did not answer."),
        column("versions", "string", "Of kac, Python, Spark and Java, as JSON."),
    ),
    key=("run_id",),
    partitions=(),
)

QUARANTINE = Table(
    "quarantine",
    "record",
    "What could not be read, with its secrets taken out.",
    (
        maybe("cluster_id", "string", "The cluster that the file is said to be of."),
        column("source", "string", "request_log, kraft_log, journal, snapshot."),
        column("file", "string", "The file."),
        column("byte_pos", "bigint", "Where it begins there (unpacked)."),
        column("reason", "string", "Why it could not be read."),
        column("sha256", "string", "Of its bytes, in hex."),
        column("sample", "string", "Its shape: at most 200 characters, letters and digits of values blotted out."),
        RUN_ID,
    ),
    key=("source", "file", "byte_pos", "sha256"),
    partitions=(),
)
