"""The tables of a lake as data: each column with its type, unit and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from console.model.quota import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE

# A table as data: its columns with their meanings, and the same as Spark's DDL.

if TYPE_CHECKING:
    import pyarrow as pa

Type = Literal["string", "int", "bigint", "double", "boolean", "timestamp"]
Layer = Literal["bronze", "silver", "gold", "record"]


@dataclass(frozen=True)
class Column:
    """A column. type: as Spark's SQL names it; timestamps are UTC with microseconds. nullable: may be empty, and `doc`
    says what that means."""

    name: str
    type: Type
    doc: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    key: the columns that tell one row from another. partitions: the parts of the names of its folders, made of columns
    (`day` and `hour` are those of the column after the colon: ``hour:second``).
    """

    name: str
    layer: Layer
    doc: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ("cluster_id",)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order: the closing select of every job that makes the table."""
        return tuple(column.name for column in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL. Without NOT NULL: Parquet read back by Spark is nullable throughout."""
        return ", ".join(f"{column.name} {column.type.upper()}" for column in self.columns)


def column(name: str, type: Type, doc: str) -> Column:
    """A column that always has a value."""
    return Column(name, type, doc)


def maybe(name: str, type: Type, doc: str) -> Column:
    """A column that may be empty."""
    return Column(name, type, doc, nullable=True)


CLUSTER_ID = column("cluster_id", "string", "The cluster's id, as its brokers tell it.")
ENTITY_TYPE = column(
    "entity_type",
    "string",
    "What it is about: topic, broker, group, client-metrics, quota, acl, scram, feature, cluster.",
)
ENTITY_KEY = column("entity_key", "string", "Which one, in its one spelling (console.history.entities).")
ATTR = column("attr", "string", "The config's or quota's key; what is no config begins with a colon, as `:partitions`.")
RUN_ID = column("run_id", "string", "The run that wrote the row.")


# What was read, row for row, with secrets taken out.


def _maybe(of: Column) -> Column:
    return maybe(of.name, of.type, f"{of.doc} Empty where the row is about more.")


SNAPSHOT = Table(
    "snapshot",
    "bronze",
    "What a cluster had when it was looked at: all rows of a resource, whenever it differs from the last look; and a "
    "heartbeat for each look, so that unchanged and not looked at differ.",
    (
        CLUSTER_ID,
        column("observed_ts", "timestamp", "When the cluster answered."),
        column(
            "kind",
            "string",
            "`state`: a value of a resource; `absent`: the resource is gone; `heartbeat`: all resources of this type "
            "were read; `failed`: they were not, and `value` says why.",
        ),
        ENTITY_TYPE,
        _maybe(ENTITY_KEY),
        _maybe(ATTR),
        maybe("value", "string", "The value; empty where it is sensitive, then only that it is set is known."),
        maybe(
            "source", "string", "Where the value is set, in Kafka's words: DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG …"
        ),
        column("is_sensitive", "boolean", "Whether brokers hide the value."),
        RUN_ID,
    ),
    key=("cluster_id", "observed_ts", "kind", "entity_type", "entity_key", "attr"),
    partitions=("cluster_id", "day:observed_ts"),
)

KRAFT_RECORD = Table(
    "kraft_record",
    "bronze",
    "The records of the metadata log, of every type, without control records and aborted transactions.",
    (
        CLUSTER_ID,
        column("log_offset", "bigint", "The record's offset; in a snapshot, the offset that the snapshot ends at."),
        column("record_index", "int", "Its place in its snapshot; 0 for a record of the log itself."),
        column("in_snapshot", "boolean", "Whether it stands in a snapshot: then it says what is, not what changed."),
        column("leader_epoch", "int", "The controller's epoch."),
        column("record_ts", "timestamp", "When the controller wrote it; all of a snapshot have one time."),
        column("record_type", "string", "Kafka's name: ConfigRecord, TopicRecord …"),
        column("api_key", "int", "The number of the type."),
        column("version", "int", "The version of its form."),
        column("payload", "string", "Its fields as JSON, names as Kafka's; secrets are `[hidden]`."),
        maybe(
            "value_hmac",
            "string",
            "Of a hidden value: HMAC-SHA256 in hex, keyed by the lake. Empty where nothing is hidden.",
        ),
        column("file", "string", "The file that it was read from, its name alone."),
        RUN_ID,
    ),
    key=("cluster_id", "log_offset", "record_index", "in_snapshot"),
    partitions=("cluster_id", "day:record_ts"),
)

JOURNAL = Table(
    "journal",
    "bronze",
    "What was changed with kac, by the edit, with its end. The creation of a topic is a row for each that it sets "
    "(console.history.entities).",
    (
        CLUSTER_ID,
        column("change_id", "bigint", "The change's number in its journal."),
        column("edit", "int", "The edit's place in its change."),
        column("host", "string", "The host that the journal is of."),
        column("intent_ts", "timestamp", "When the change was about to be sent."),
        maybe("end_ts", "timestamp", "When the answer came. Empty: nobody heard it."),
        column("status", "string", "How it went: applied, failed, unknown …"),
        ENTITY_TYPE,
        ENTITY_KEY,
        ATTR,
        column("op", "string", "set, delete, append, subtract."),
        maybe("old_value", "string", "What was there right before. Empty: nothing of its own, or hidden."),
        maybe("old_source", "string", "Where that was set."),
        maybe("value", "string", "What was wanted. Empty for a deletion, or hidden."),
        column("is_sensitive", "boolean", "Whether a secret was set: then no value is there."),
        maybe("principal", "string", "Who, as the brokers know them. Empty: only they know, as of a certificate."),
        column("os_user", "string", "Who, as the host knows them, with the one who became them by sudo."),
        maybe("client_host", "string", "The address that their SSH connection came from."),
        column("door", "string", "Through what: console, run, shell, configs …"),
        maybe("reverts", "bigint", "The change that it takes back."),
        maybe("error", "string", "The broker's words, where it failed."),
        RUN_ID,
    ),
    key=("cluster_id", "host", "intent_ts", "change_id", "edit", "attr"),
    partitions=("cluster_id",),
)

ALTER_REQUEST = Table(
    "alter_request",
    "bronze",
    "What request logs show of changes: a row for each thing that a request changes, on each broker that logged it.",
    (
        CLUSTER_ID,
        column("broker_id", "int", "The broker that logged it."),
        column("end_ts", "timestamp", "The log line's time: the answer was sent."),
        column("start_ts", "timestamp", "`end_ts` less the total time: the request had come."),
        column("api", "string", "Kafka's name: INCREMENTAL_ALTER_CONFIGS, CREATE_ACLS …"),
        column("correlation_id", "bigint", "The client's number of the request; a forwarded copy has the same."),
        maybe("client_id", "string", "As the client calls itself."),
        maybe("client_host", "string", "The address that it came from; empty of a copy, which a broker sends."),
        column("principal", "string", "Who asked: of a forwarded copy too, the one whom it was forwarded for."),
        column("is_forwarded", "boolean", "Whether it is the controller's copy of what a broker forwarded."),
        column("validate_only", "boolean", "Whether it only asked if it would do."),
        ENTITY_TYPE,
        ENTITY_KEY,
        ATTR,
        column("op", "string", "set, delete, append, subtract."),
        maybe("value", "string", "The value; empty for a deletion, or hidden."),
        column("is_sensitive", "boolean", "Whether the broker hid the value."),
        column("error_code", "int", "Kafka's code of how it went for this thing; 0: done."),
        column("file", "string", "The log file, its name alone."),
        column("byte_pos", "bigint", "Where its line begins, in the file as it was written (unpacked)."),
        RUN_ID,
    ),
    key=(
        "cluster_id",
        "broker_id",
        "end_ts",
        "correlation_id",
        "entity_type",
        "entity_key",
        "attr",
        "op",
        "value",
        "byte_pos",
    ),
    partitions=("cluster_id", "day:end_ts"),
)


# What was read, brought into one form.

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


# What the console shows.

HISTORY = Table(
    "history",
    "gold",
    "Each value of each attribute of each entity, from when until when, and who set it. Time in which a cluster was "
    "not looked at is a row of the entity type `cluster` with the attribute `:unobserved`.",
    (
        CLUSTER_ID,
        ENTITY_TYPE,
        ENTITY_KEY,
        ATTR,
        maybe("old_value", "string", "The value before. Empty: it had none of its own, or it is hidden."),
        maybe("new_value", "string", "The value. Empty: deleted, or hidden."),
        column("valid_from", "timestamp", "Since when, or since before: the first look that shows it."),
        maybe("valid_to", "timestamp", "Until when. Empty: still."),
        column("is_current", "boolean", "Whether it is what the cluster has, as far as it is known."),
        column("is_deleted", "boolean", "Whether the value was taken away: what holds then is inherited, or nothing."),
        maybe("principal", "string", "Who. Empty: nothing tells. Several: all that fit, split by `, `."),
        column("attribution", "string", "How that is known: request, journal, several, none."),
        column(
            "source", "string", "Who tells of the change: kraft_log, kraft_snapshot, snapshot, journal, request_log."
        ),
    ),
    key=("cluster_id", "entity_type", "entity_key", "attr", "valid_from"),
)

DRIFT = Table(
    "drift",
    "gold",
    "What is different from its peers now.",
    (
        CLUSTER_ID,
        column(
            "scope",
            "string",
            "Among whom: `broker` (the brokers of a cluster), `cluster` (the clusters of the lake), `baseline` (a file "
            "of wanted values).",
        ),
        column(
            "entity_key", "string", "The one that differs: `broker:2`, `topic:orders` …, its type before the colon."
        ),
        ATTR,
        maybe("majority_value", "string", "What most have, or the baseline wants. Empty: nothing of their own."),
        maybe("this_value", "string", "What this one has. Empty: nothing of its own."),
        column("peers", "int", "How many were compared, this one among them."),
        column("differing", "int", "How many of them have not the majority's value."),
        maybe("since", "timestamp", "Since when it differs. Empty: since before anything was known."),
        column("severity", "string", "high, medium, low."),
    ),
    key=("cluster_id", "scope", "entity_key", "attr"),
)

USAGE_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
"""The quota keys whose use request logs show."""

QUOTA_USAGE = Table(
    "quota_usage",
    "gold",
    "What each pair of user and client id used of the quota that counts for it, by broker and minute: an estimate from "
    "request logs.",
    (
        CLUSTER_ID,
        column("broker_id", "int", "Quotas hold for each broker."),
        column("minute", "timestamp", "The minute's beginning."),
        maybe("scope_user", "string", "The user that shares the limit, or whom it is measured for. Empty: all users."),
        maybe("scope_client", "string", "The client id that shares the limit. Empty: all clients of the user."),
        column("quota_key", "string", "producer_byte_rate, consumer_byte_rate (bytes/s) or request_percentage (%)."),
        maybe("quota_value", "double", "The limit, in bytes/s or %. Empty: none."),
        maybe("level", "int", "Which of the eight levels won, 1 the most special (user, client). Empty: none."),
        column("rate_avg", "double", "The mean of the minute, in bytes/s or %."),
        column("rate_p95_10s", "double", "The 95th percentile of the rates over ten seconds that end in the minute."),
        column("rate_max_10s", "double", "The highest of them."),
        maybe("utilisation", "double", "`rate_max_10s` / `quota_value`; 1 is the limit. Empty: no limit."),
        column("throttle_ms", "bigint", "Milliseconds that the broker made the clients wait, together."),
        column("throttled_requests", "bigint", "Requests that were made to wait, at least."),
        maybe("headroom", "double", "`quota_value` less `rate_max_10s`, in bytes/s or %. Empty: no limit."),
        maybe("suggested_value", "double", "A limit that would fit, in bytes/s or %. Empty: leave it."),
        column("reason", "string", "Why that, or why none."),
    ),
    key=("cluster_id", "broker_id", "minute", "scope_user", "scope_client", "quota_key"),
    partitions=("cluster_id", "day:minute"),
)

POLICY_VIOLATION = Table(
    "policy_violation",
    "gold",
    "What is or was against a policy of the user's file.",
    (
        CLUSTER_ID,
        column("policy_id", "string", "The policy's name in the file."),
        column("entity_key", "string", "What is against it: `topic:orders`, its type before the colon."),
        ATTR,
        maybe("actual", "string", "What it has. Empty: nothing of its own, or it is hidden."),
        column("expected", "string", "What the policy asks for, in words."),
        column("severity", "string", "high, medium, low."),
        column("first_seen", "timestamp", "Since when."),
        maybe("last_seen", "timestamp", "When it ended. Empty: it still is so."),
    ),
    key=("cluster_id", "policy_id", "entity_key", "attr", "first_seen"),
)


# What the pipeline says of itself.

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


# All tables by name.

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            SNAPSHOT,
            KRAFT_RECORD,
            JOURNAL,
            ALTER_REQUEST,
            CHANGE_EVENT,
            REQUEST_1S,
            HISTORY,
            DRIFT,
            QUOTA_USAGE,
            POLICY_VIOLATION,
            RUN,
            QUARANTINE,
        )
    }
)
"""Every table of a lake, by layer."""


def arrow_schema(table: Table) -> pa.Schema:
    """The columns as an Arrow schema; every field may be null, as in Parquet that Spark has written."""
    import pyarrow as pa  # readers may not have it

    types: dict[Type, pa.DataType] = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", "UTC"),
    }
    return pa.schema([pa.field(column.name, types[column.type]) for column in table.columns])
