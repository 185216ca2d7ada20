"""The tables of a lake as records: each column with its type, unit and meaning. The page docs/lake-tables.md is made
from them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

from console.model.quota import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE

if TYPE_CHECKING:
    import pyarrow as pa

LAYERS = {
    "bronze": "The rows as kac read them",
    "silver": "The same rows in one format",
    "gold": "The rows that the console shows",
    "part": "Rows within rows of bronze",
}
"""Name of a layer -> a description of the content of its tables."""
Type = Literal["string", "int", "bigint", "double", "boolean", "timestamp", "struct"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, type and meaning."""

    name: str
    type: Type
    """The type as in Spark's SQL; timestamps are UTC with microseconds."""
    doc: str
    nullable: bool = False
    """Whether the column may be null; `doc` says what null means."""
    of: Table | None = None
    """The table whose columns are the fields of this struct; None for other types."""

    @property
    def sql_type(self) -> str:
        """The type in Spark's DDL."""
        return self.type.upper() if self.of is None else f"STRUCT<{', '.join(self.of.fields(': '))}>"


maybe = partial(Column, nullable=True)
"""Makes a nullable column."""


@dataclass(frozen=True)
class Table:
    """A table of the lake: its columns, partitions and keys."""

    name: str
    layer: str
    doc: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    """The columns that identify a row."""
    partitions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Column by which the files are partitioned -> its SQL expression; the columns that the expression uses are in the
    files, too.
    """
    newest: tuple[str, ...] = ()
    """Columns (or SQL expressions) that group rows which replace each other: among rows with equal values only those
    with the highest `made` are valid. If empty, all rows are valid.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def fields(self, between: str = " ") -> tuple[str, ...]:
        """Return the columns, each with its name and its type in Spark's SQL, separated by `between`. Without NOT NULL,
        because columns of Parquet files are always nullable.
        """
        return tuple(f"{column.name}{between}{column.sql_type}" for column in self.columns)

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL."""
        return ", ".join(self.fields())

    @property
    def stored(self) -> str:
        """The stored columns as Spark's DDL: with the partition columns, and with `made` if newer rows replace older
        ones.
        """
        partitions = [f"{name} STRING" for name in self.partitions]
        return ", ".join((*self.fields(), *(["made BIGINT"] if self.newest else []), *partitions))

    @property
    def there(self) -> str:
        """The name of the column that is null in a tombstone: a row which only reports that earlier rows of its key
        are no longer valid.
        """
        return next(column.name for column in self.columns if column.name not in self.newest)


def _table(layer: str, name: str, doc: str, *columns: Column, **more: Any) -> Table:
    """Return a table. more: key, partitions, newest of `Table`."""
    return Table(name, layer, doc, columns, **more)


_bronze, _silver, _gold, _part = (partial(_table, layer) for layer in LAYERS)

# -- columns that many tables have ------------------------------------------------------------------------------------

CLUSTER_ID = Column("cluster_id", "string", "The cluster's id, as its brokers report it.")
ENTITY_TYPE = Column(
    "entity_type",
    "string",
    "The entity's type: topic, broker, group, client-metrics, quota, acl, scram, feature, connector, cluster.",
)
ENTITY_KEY = Column("entity_key", "string", "The entity's key, as console.lake.entities writes it.")
ATTR = Column(
    "attr", "string", "The config's or quota's key; other attributes begin with a colon, such as `:partitions`."
)


def unless_several(of: Column) -> Column:
    """Return a nullable copy of a column: it is null in rows about several entities or attributes."""
    return maybe(of.name, of.type, f"{of.doc} Empty if the row is about several of them.")


ENTITY = ("cluster_id", "entity_type", "entity_key")
"""The columns that identify an entity."""
_THING = ("entity_type", "entity_key", "attr", "op", "value")
"""Key columns that all tables of changes have."""

CLUSTER_PART = {"in_cluster_id": "cluster_id"}
"""The partition of a table whose files are separated by cluster."""


def by_day(column: str) -> dict[str, str]:
    """Return the partition that divides a table by the day of its column `column`."""
    return {"in_day": f"date_format({column}, 'yyyy-MM-dd')"}


SNAPSHOT = _bronze(
    "snapshot",
    "The results of polls. If a resource differs from the last poll, the table has all its rows. For each poll the "
    "table also has the types that the poll read. These rows distinguish an unchanged resource from one that kac did "
    "not poll.",
    CLUSTER_ID,
    Column("observed_ts", "timestamp", "When the cluster answered."),
    Column(
        "kind",
        "string",
        "`state`: a resource's value; `absent`: the resource was deleted; `heartbeat`: the poll read these types; "
        "`failed`: the poll could not read them, and `value` has the error.",
    ),
    Column("entity_type", "string", "The entity's type; in a heartbeat all types that the poll read, with commas."),
    unless_several(ENTITY_KEY),
    unless_several(ATTR),
    maybe("value", "string", "The value. Empty if it is sensitive: a value is set, but kac does not know it."),
    maybe("source", "string", "Where the value is set, by Kafka's names: DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG …"),
    Column("is_sensitive", "boolean", "Whether brokers hide the value."),
    key=("cluster_id", "observed_ts", "kind", "entity_type", "entity_key", "attr"),
    partitions=by_day("observed_ts"),
)

QUARANTINE = _part(
    "quarantine",
    "Unreadable data, without secrets: the column `quarantined` of bronze tables.",
    maybe("cluster_id", "string", "The cluster of the file, as configured."),
    Column("source", "string", "request_log, authorizer_log, kraft_log, journal."),
    Column("file", "string", "The file."),
    Column("byte_pos", "bigint", "The position in the uncompressed file."),
    Column("reason", "string", "The error."),
    Column("sha256", "string", "SHA-256 of the unreadable bytes, in hex."),
    Column("sample", "string", "The first 200 unreadable characters, with letters and digits of values masked."),
    key=("source", "file", "byte_pos", "sha256"),
)
LOST = "are lost"
"""Words in the reason of every row that reports data of a file or topic that was lost before kac read it."""
QUARANTINED = Column("quarantined", "struct", "Unreadable data; the row has nothing else.", True, QUARANTINE)

KRAFT_RECORD = _bronze(
    "kraft_record",
    "The records of the metadata log, of every type, without control records and aborted transactions.",
    CLUSTER_ID,
    Column("log_offset", "bigint", "The record's offset; in a snapshot, the offset at which the snapshot ends."),
    Column("record_index", "int", "The record's position in its snapshot; 0 for a record of the log itself."),
    Column("in_snapshot", "boolean", "Whether the record is in a snapshot: then it is a state, not a change."),
    Column("leader_epoch", "int", "The controller's epoch."),
    Column(
        "record_ts", "timestamp", "When the controller wrote the record; all records of a snapshot have the same time."
    ),
    Column("record_type", "string", "Kafka's name: ConfigRecord, TopicRecord …"),
    Column("api_key", "int", "The type's number."),
    Column("version", "int", "The version of the record's schema."),
    Column("payload", "string", "The record's fields as JSON, with Kafka's names; secrets are `[hidden]`."),
    maybe(
        "value_hmac", "string", "HMAC-SHA256 of a hidden value, in hex, by the lake's key. Empty: no value is hidden."
    ),
    Column("file", "string", "The name of the file, without the folder."),
    maybe("entity_type", "string", "The type of the entity that the record is about. Empty: it is about no entity."),
    maybe("entity_key", "string", "The entity's key, if the record has it."),
    maybe("entity_id", "string", "The id by which the record names the entity: a topic's, an ACL's."),
    QUARANTINED,
    key=("cluster_id", "log_offset", "record_index", "in_snapshot"),
    partitions={**CLUSTER_PART, **by_day("record_ts")},
)
RECORD_COLUMNS = KRAFT_RECORD.names[: KRAFT_RECORD.names.index("file") + 1]
"""The columns that a decoder fills."""

JOURNAL = _bronze(
    "journal",
    "Changes made with kac, by edit, with their outcomes. The creation of a topic has a row for each attribute that it "
    "sets (console.lake.entities).",
    CLUSTER_ID,
    Column("change_id", "bigint", "The change's number in its journal."),
    Column("edit", "int", "The edit's position in its change."),
    Column("host", "string", "The host of the journal."),
    Column("intent_ts", "timestamp", "The time right before kac sent the change."),
    maybe("end_ts", "timestamp", "When the answer came. Empty: no answer came."),
    Column("status", "string", "The outcome: applied, failed, unknown …"),
    ENTITY_TYPE,
    ENTITY_KEY,
    ATTR,
    Column("op", "string", "set, delete, append, subtract."),
    maybe("old_value", "string", "The value right before the change. Empty: not set, or hidden."),
    maybe("old_source", "string", "Where that value was set."),
    maybe("value", "string", "The new value. Empty: deleted, or hidden."),
    Column("is_sensitive", "boolean", "Whether the change set a secret: then the value is empty."),
    maybe("principal", "string", "The principal. Empty: only the brokers know it, as with a client certificate."),
    Column("os_user", "string", "The user of the host, with the user who called sudo."),
    maybe("client_host", "string", "The address that the user's SSH connection came from."),
    Column("door", "string", "The front end: console, run, shell, configs …"),
    maybe("reverts", "bigint", "The number of the change that this change reverts."),
    maybe("error", "string", "The broker's error, if the change failed."),
    Column("read_ts", "timestamp", "When the row was read: of several rows with the same key the last one counts."),
    QUARANTINED,
    key=("cluster_id", "host", "intent_ts", "change_id", "edit", "attr"),
)

ALTER_REQUEST = _part(
    "alter_request",
    "Changes in request logs: a row for each value that a request changes, and for each broker that logged the "
    "request.",
    CLUSTER_ID,
    Column("broker_id", "int", "The broker that logged the request."),
    Column("end_ts", "timestamp", "The log line's time: when the answer was sent."),
    Column("start_ts", "timestamp", "`end_ts` minus the total time: when the request arrived."),
    Column("api", "string", "Kafka's name: INCREMENTAL_ALTER_CONFIGS, CREATE_ACLS …"),
    Column("correlation_id", "bigint", "The client's number of the request; a forwarded copy has the same number."),
    maybe("client_id", "string", "The client's id."),
    maybe("client_host", "string", "The client's address. Empty for a forwarded copy, which a broker sends."),
    Column("principal", "string", "The principal; for a forwarded copy the principal of the original request."),
    Column("is_forwarded", "boolean", "Whether this is the controller's copy of a forwarded request."),
    Column("validate_only", "boolean", "Whether the request only validated the change."),
    ENTITY_TYPE,
    ENTITY_KEY,
    ATTR,
    Column("op", "string", "set, delete, append, subtract."),
    maybe("value", "string", "The value. Empty: deleted, or hidden."),
    Column("is_sensitive", "boolean", "Whether the broker hid the value."),
    Column("error_code", "int", "Kafka's error code for this change; 0: no error."),
    Column("file", "string", "The name of the log file, without its folder."),
    Column("byte_pos", "bigint", "The position of the line in the uncompressed file."),
    key=("cluster_id", "broker_id", "end_ts", "correlation_id", *_THING, "byte_pos"),
)

REQUEST_1S = _part(
    "request_1s",
    "Requests by the second, without requests of replicas and forwarded copies. Bytes are those of record batches: the "
    "log does not have headers and other bytes that quotas count.",
    CLUSTER_ID,
    Column("broker_id", "int", "The broker that logged the requests."),
    Column("second", "timestamp", "The second in which the requests ended."),
    Column("principal", "string", "The principal, such as `User:alice`."),
    Column("client_id", "string", "The client's id; may be empty text."),
    Column("api", "string", "Kafka's name: PRODUCE, FETCH …"),
    Column("requests", "bigint", "The number of requests."),
    Column("errors", "bigint", "The number of requests with any error in the answer."),
    Column("bytes_in", "bigint", "Bytes of produced records."),
    Column("bytes_out", "bigint", "Bytes of fetched records."),
    Column("local_ms", "double", "Milliseconds of the broker's own work."),
    Column("throttle_ms_sum", "bigint", "The sum of throttling, in milliseconds."),
    Column("throttle_ms_max", "bigint", "The longest throttling, in milliseconds."),
    key=("cluster_id", "broker_id", "second", "principal", "client_id", "api"),
)

REQUEST = _bronze(
    "request",
    "The contents of request logs as kac read them. Each part of a log has rows with the requests by the second, the "
    "changes, and the unreadable data. If several rows have the same second and key, add the rows up.",
    CLUSTER_ID,
    Column("lines", "bigint", "The number of lines that kac read, in one row of each part; else 0."),
    Column("damaged", "bigint", "The number of unreadable lines."),
    maybe("second", "struct", "Requests by the second: see `request_1s`.", of=REQUEST_1S),
    maybe("alter", "struct", "A value that a request changes: see `alter_request`.", of=ALTER_REQUEST),
    QUARANTINED,
    key=("cluster_id", "second", "alter", "quarantined"),
    partitions={**CLUSTER_PART, **by_day("coalesce(second.second, alter.end_ts)")},
)

_RESOURCE = (
    Column("operation", "string", "Kafka's name: READ, DESCRIBE_CONFIGS …"),
    Column("resource_type", "string", "Kafka's name: TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID …"),
    Column("pattern_type", "string", "LITERAL: a check is about one resource."),
    Column("resource_name", "string", "The resource's name as the client wrote it; the resource may not exist."),
)
_FIRST = Column("first_ts", "timestamp", "The time of the first check.")
_LAST = Column("last_ts", "timestamp", "The time of the last check.")
_RULE = maybe(
    "rule",
    "string",
    "The rule that decided the last check, as the broker writes it: an ACL, DefaultDeny … At most 500 characters. "
    "Empty: brokers with ZooKeeper do not write the rule.",
)

CHECK_1M = _part(
    "check_1m",
    "The authorizer's decisions by the minute.",
    CLUSTER_ID,
    Column("broker_id", "int", "The broker that logged the requests."),
    Column("minute", "timestamp", "The minute's beginning."),
    Column("principal", "string", "The principal, such as `User:alice`."),
    Column("host", "string", "The client's address."),
    *_RESOURCE,
    Column("request", "string", "The request that needs the right, by Kafka's name: FETCH, FIND_COORDINATOR …"),
    Column("is_allowed", "boolean", "Whether the authorizer allowed the operation; else it denied it."),
    Column("checks", "bigint", "The number of checks."),
    _FIRST,
    _LAST,
    _RULE,
    key=(
        *("cluster_id", "broker_id", "minute", "principal", "host", "operation", "resource_type", "pattern_type"),
        *("resource_name", "request", "is_allowed"),
    ),
)

AUTHORIZATION = _bronze(
    "authorization",
    "The contents of authorizer logs as kac read them. Each part of a log has rows with the decisions by the minute, "
    "and with the unreadable data. If several rows have the same minute and key, add the rows up.",
    CLUSTER_ID,
    Column("lines", "bigint", "The number of lines that kac read, in one row of each part; else 0."),
    Column("damaged", "bigint", "The number of unreadable lines."),
    maybe("minute", "struct", "Decisions by the minute: see `check_1m`.", of=CHECK_1M),
    QUARANTINED,
    key=("cluster_id", "minute", "quarantined"),
    partitions={**CLUSTER_PART, **by_day("minute.minute")},
)

CHANGE_EVENT = _silver(
    "change_event",
    "Every change that a source reports, one row for each source.",
    CLUSTER_ID,
    Column(
        "event_ts",
        "timestamp",
        "When the change was made; for a change between two polls, the time of the poll that first saw it.",
    ),
    Column(
        "ts_uncertainty_ms",
        "bigint",
        "The number of milliseconds by which the change may be earlier than `event_ts`; -1: the change may be of any "
        "time before the first poll.",
    ),
    maybe("log_offset", "bigint", "The change's offset in the metadata log. Empty for other sources."),
    ENTITY_TYPE,
    ENTITY_KEY,
    ATTR,
    Column("op", "string", "set, delete; append and subtract if a request has them."),
    maybe("value", "string", "The value after the change. Empty: deleted, or hidden."),
    maybe("value_sha256", "string", "SHA-256 of the value, in hex; for a hidden value its HMAC, if kac read the log."),
    Column("source", "string", "kraft_log, kraft_snapshot, snapshot, journal, request_log."),
    maybe("principal", "string", "The author. Empty: the source does not have it."),
    maybe("client_id", "string", "The client's id."),
    maybe("client_host", "string", "The client's address."),
    Column(
        "attribution",
        "string",
        "How kac knows `principal`: `request` (one request fits in time and content), `journal` (kac's own record), "
        "`several` (several requests fit; all authors are listed, separated by `, `), `none`.",
    ),
    key=("cluster_id", "event_ts", "log_offset", "source", *_THING, "client_id"),
    partitions=CLUSTER_PART,
    newest=ENTITY,
)

HISTORY = _gold(
    "history",
    "Each value of each attribute of each entity, with its beginning, its end and its author. A time in which a "
    "cluster was not polled is a row of the entity type `cluster` with the attribute `:unobserved`.",
    CLUSTER_ID,
    ENTITY_TYPE,
    ENTITY_KEY,
    ATTR,
    maybe("old_value", "string", "The former value. Empty: not set, or hidden."),
    maybe("new_value", "string", "The value. Empty: deleted, or hidden."),
    Column("valid_from", "timestamp", "The latest possible beginning of the value: the first poll that shows it."),
    maybe("valid_to", "timestamp", "The end of the value. Empty: it is still set."),
    Column("is_current", "boolean", "Whether this is the latest known value."),
    Column("is_deleted", "boolean", "Whether the value was deleted: an inherited value applies then, or no value."),
    maybe("principal", "string", "The author. Empty: unknown. If several authors fit, all of them, separated by `, `."),
    Column("attribution", "string", "How kac knows the author: request, journal, several, none."),
    Column("source", "string", "The change's source: kraft_log, kraft_snapshot, snapshot, journal, request_log."),
    key=("cluster_id", "entity_type", "entity_key", "attr", "valid_from"),
    partitions=CLUSTER_PART,
    newest=ENTITY,
)

DRIFT = _gold(
    "drift",
    "Values that now differ from those of their peers.",
    CLUSTER_ID,
    Column(
        "scope",
        "string",
        "The peers: `broker` (the brokers of a cluster), `cluster` (the clusters of the lake), `baseline` (the values "
        "of a file).",
    ),
    Column(
        "entity_key", "string", "The entity that differs, with its type before the colon: `broker:2`, `topic:orders` …"
    ),
    ATTR,
    maybe("majority_value", "string", "The value of most peers, or of the baseline. Empty: not set."),
    maybe("this_value", "string", "The value of this entity. Empty: not set."),
    Column("peers", "int", "The number of compared entities, including this one."),
    Column("differing", "int", "The number of entities whose value is not that of the majority."),
    maybe("since", "timestamp", "When the difference began. Empty: unknown."),
    Column("severity", "string", "high, medium, low."),
    key=("cluster_id", "scope", "entity_key", "attr"),
)

USAGE_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
"""The quota keys whose usage can be computed from request logs."""

QUOTA_USAGE = _gold(
    "quota_usage",
    "The usage of each pair of user and client id by broker and minute, with the quota that applies to the pair. kac "
    "estimates the usage from request logs.",
    CLUSTER_ID,
    Column("broker_id", "int", "The broker. A quota applies to each broker separately."),
    Column("minute", "timestamp", "The minute's beginning."),
    maybe("scope_user", "string", "The user whose clients share the limit, or whose usage it is. Empty: all."),
    maybe("scope_client", "string", "The client id that shares the limit. Empty: all clients of the user."),
    Column("quota_key", "string", "producer_byte_rate, consumer_byte_rate (bytes/s) or request_percentage (%)."),
    maybe("quota_value", "double", "The limit, in bytes/s or %. Empty: no limit."),
    maybe("level", "int", "Which of the eight levels applies; 1 is the most specific (user, client). Empty: no limit."),
    Column("rate_avg", "double", "The mean rate of the minute, in bytes/s or %."),
    Column("rate_p95_10s", "double", "The 95th percentile of the rates over ten seconds that end in the minute."),
    Column("rate_max_10s", "double", "The highest of the rates over ten seconds that end in the minute."),
    maybe("utilisation", "double", "`rate_max_10s` / `quota_value`; 1 is the limit. Empty: no limit."),
    Column("throttle_ms", "bigint", "The sum of throttling of all clients, in milliseconds."),
    Column("throttled_requests", "bigint", "The number of requests that were certainly throttled; there may be more."),
    maybe("headroom", "double", "`quota_value` minus `rate_max_10s`, in bytes/s or %. Empty: no limit."),
    key=("cluster_id", "broker_id", "minute", "scope_user", "scope_client", "quota_key"),
    partitions={**CLUSTER_PART, **by_day("minute")},
    newest=("cluster_id", "date_trunc('hour', minute)"),
)

QUOTA_SUGGESTION = _gold(
    "quota_suggestion",
    "The quota that the usage of a pair of user and client id suggests, from all minutes under one limit.",
    CLUSTER_ID,
    Column("quota_key", "string", "producer_byte_rate, consumer_byte_rate (bytes/s) or request_percentage (%)."),
    maybe("scope_user", "string", "The user. Empty: all."),
    maybe("scope_client", "string", "The client id. Empty: all clients of the user."),
    maybe("quota_value", "double", "The limit. Empty: no limit."),
    maybe("level", "int", "The level that applies. Empty: no limit."),
    maybe("suggested_value", "double", "A suggested limit, in bytes/s or %. Empty: keep the limit."),
    Column("reason", "string", "The reason for the suggestion, or why there is no suggestion."),
    key=("cluster_id", "quota_key", "scope_user", "scope_client", "quota_value", "level"),
    partitions=CLUSTER_PART,
    newest=("cluster_id",),
)

POLICY_VIOLATION = _gold(
    "policy_violation",
    "Violations of policies, now and before.",
    CLUSTER_ID,
    Column("policy_id", "string", "The policy's name in the file."),
    Column(
        "entity_key", "string", "The entity that violates the policy, with its type before the colon: `topic:orders`."
    ),
    ATTR,
    maybe("actual", "string", "The value. Empty: not set, or hidden."),
    Column("expected", "string", "The value that the policy expects, as text."),
    Column("severity", "string", "high, medium, low."),
    Column("first_seen", "timestamp", "When the violation began."),
    maybe("last_seen", "timestamp", "When the violation ended. Empty: it has not ended."),
    key=("cluster_id", "policy_id", "entity_key", "attr", "first_seen"),
    partitions=CLUSTER_PART,
    newest=("cluster_id", "policy_id", "entity_key"),
)

ACCESS = _gold(
    "access",
    "The decisions of authorizers: which principals were allowed or denied which operations, by the hour, for all "
    "brokers and requests together.",
    CLUSTER_ID,
    Column("hour", "timestamp", "The hour's beginning."),
    Column("principal", "string", "The principal, such as `User:alice`."),
    Column("host", "string", "The client's address."),
    *_RESOURCE,
    Column("is_allowed", "boolean", "Whether the authorizer allowed the operation; else it denied it."),
    Column("checks", "bigint", "The number of checks."),
    _FIRST,
    _LAST,
    Column("requests", "string", "The requests that needed the right, by Kafka's names, separated by `, `."),
    _RULE,
    key=(
        *("cluster_id", "hour", "principal", "host", "operation", "resource_type", "pattern_type", "resource_name"),
        "is_allowed",
    ),
    partitions={**CLUSTER_PART, **by_day("hour")},
    newest=("cluster_id", "hour"),
)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        *(SNAPSHOT, KRAFT_RECORD, JOURNAL, REQUEST, AUTHORIZATION, CHANGE_EVENT),
        *(HISTORY, DRIFT, QUOTA_USAGE, QUOTA_SUGGESTION, POLICY_VIOLATION, ACCESS),
    )
}
"""All tables by name, ordered by layer."""
PARTS: Mapping[str, Table] = {table.name: table for table in (REQUEST_1S, ALTER_REQUEST, CHECK_1M, QUARANTINE)}
"""Name -> the table that describes the fields of a struct column of bronze tables."""
BRONZE = tuple(table for table in TABLES.values() if table.layer == "bronze")


class _WithoutPandas:
    """A module finder that reports pandas as not installed, for imports by the thread that made it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, *_: object) -> None:
        """Raise ModuleNotFoundError for pandas in that thread; return None in all other cases, so that the next finder
        searches.
        """
        if name == "pandas" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(name=name)


@cache
def _keep_pandas_out() -> None:
    """Make PyArrow look for pandas now and not find it, so that PyArrow does not import pandas later."""
    import pyarrow as pa

    # PyArrow imports an installed pandas when it makes its first array: 40 MiB in each Python worker.
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)


def arrow_schema(table: Table) -> pa.Schema:
    """Return the columns as an Arrow schema; every field is nullable, as in Parquet that Spark has written."""
    import pyarrow as pa  # imported late: readers of a lake may lack PyArrow

    _keep_pandas_out()
    types: dict[Type, pa.DataType] = {
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", "UTC"),
    }

    def type_of(column: Column) -> pa.DataType:
        return types[column.type] if column.of is None else pa.struct(list(arrow_schema(column.of)))

    return pa.schema([pa.field(column.name, type_of(column)) for column in table.columns])
