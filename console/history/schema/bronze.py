"""What was read, row for row, with secrets taken out."""

from __future__ import annotations

from .table import ATTR, CLUSTER_ID, ENTITY_KEY, ENTITY_TYPE, RUN_ID, Column, Table, column, maybe


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
