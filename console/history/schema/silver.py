"""What was read, brought into one form."""

from __future__ import annotations

from .table import ATTR, CLUSTER_ID, ENTITY_KEY, ENTITY_TYPE, RUN_ID, Table, column, maybe

CHANGE_EVENT = Table(
    "change_event",
    "silver",
    "Every change that some source tells of, one row for each source that does.",
    (
        CLUSTER_ID,
        column("event_ts", "timestamp", "When; of a look at a cluster, the look that first saw it."),
        column(
            "ts_uncertainty_ms",
            "bigint",
            "How much earlier it may have been, in milliseconds; -1: the first look shows it, nobody knows since when.",
        ),
        maybe("log_offset", "bigint", "Its offset in the metadata log. Empty for other sources."),
        ENTITY_TYPE,
        ENTITY_KEY,
        ATTR,
        column("op", "string", "set, delete; append and subtract as requests have them."),
        maybe("value", "string", "The value after it. Empty for a deletion, or hidden."),
        maybe(
            "value_sha256", "string", "SHA-256 in hex of the value; of a hidden one its HMAC, where the log was read."
        ),
        column("source", "string", "Who tells: kraft_log, kraft_snapshot, snapshot, journal, request_log."),
        maybe("principal", "string", "Who. Empty: the source does not say."),
        maybe("client_id", "string", "As the client calls itself."),
        maybe("client_host", "string", "The address that it came from."),
        column(
            "attribution",
            "string",
            "How `principal` is known: `request` (one request fits in time and content), `journal` (kac's own record), "
            "`several` (more fit: all are named, split by `, `), `none`.",
        ),
        RUN_ID,
    ),
    key=(
        "cluster_id",
        "event_ts",
        "log_offset",
        "source",
        "entity_type",
        "entity_key",
        "attr",
        "op",
        "value",
        "client_id",
    ),
    partitions=("cluster_id", "day:event_ts"),
)

REQUEST_1S = Table(
    "request_1s",
    "silver",
    "Requests by the second, without replicas and without forwarded copies. Bytes are of record batches: headers and "
    "everything else that a quota counts besides are not in the log.",
    (
        CLUSTER_ID,
        column("broker_id", "int", "The broker that logged them."),
        column("second", "timestamp", "The second that they ended in."),
        column("principal", "string", "Who, as `User:alice`."),
        column("client_id", "string", "As the client calls itself; may be empty text."),
        column("api", "string", "Kafka's name: PRODUCE, FETCH …"),
        column("requests", "bigint", "How many."),
        column("errors", "bigint", "How many of them have an error anywhere in the answer."),
        column("bytes_in", "bigint", "Bytes of records that were produced."),
        column("bytes_out", "bigint", "Bytes of records that were fetched."),
        column("local_ms", "double", "Milliseconds of the broker's own work."),
        column("throttle_ms_sum", "bigint", "Milliseconds that the broker made them wait, together."),
        column("throttle_ms_max", "bigint", "The longest of them, in milliseconds."),
    ),
    key=("cluster_id", "broker_id", "second", "principal", "client_id", "api"),
    partitions=("cluster_id", "hour:second"),
)
