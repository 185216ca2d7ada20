"""What the console shows."""

from __future__ import annotations

from console.model.effective_quota import CONSUMER_BYTE_RATE, PRODUCER_BYTE_RATE, REQUEST_PERCENTAGE

from .table import ATTR, CLUSTER_ID, ENTITY_KEY, ENTITY_TYPE, Table, column, maybe

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
