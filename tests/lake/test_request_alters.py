"""What each API's logged request changes; the bodies are in the form that real brokers log."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.requests.alters import ALTER_APIS, NO_ANSWER, Change, changes
from console.lake.requests.lines import altered, client_host
from tests.lake.request_lines import Logged, alter_configs, alter_scram, produce

END = datetime(2026, 11, 21, 10)


def change(type_: str, key: str, attr: str, op: str, value: str | None = None, error: int = 0) -> Change:
    return Change(type_, key, attr, op, value, False, error)


ACL = {
    "resourceType": 2,
    "resourceName": "ord:ers",
    "principal": "User:alice",
    "host": "*",
    "operation": 3,
    "permissionType": 3,
}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[Change]]] = [
    (
        "CREATE_TOPICS",
        {
            "topics": [
                {
                    "name": "cfg",
                    "numPartitions": 3,
                    "replicationFactor": -1,
                    "assignments": [],
                    "configs": [{"name": "retention.ms", "value": "1000"}],
                },
                {
                    "name": "put",
                    "numPartitions": -1,
                    "replicationFactor": -1,
                    "assignments": [
                        {"partitionIndex": 0, "brokerIds": [1, 2]},
                        {"partitionIndex": 1, "brokerIds": [2, 1]},
                    ],
                    "configs": [],
                },
            ]
        },
        {"topics": [{"name": "put", "errorCode": 17}, {"name": "cfg", "errorCode": 0}]},
        [
            change("topic", "cfg", ":partitions", "set", "3"),
            change("topic", "cfg", ":replication", "set", "-1"),
            change("topic", "cfg", "retention.ms", "set", "1000"),
            change("topic", "put", ":partitions", "set", "2", 17),
            change("topic", "put", ":replication", "set", "2", 17),
        ],
    ),
    (
        "DELETE_TOPICS",
        {"topicNames": ["gone", "nothere"]},
        {"responses": [{"name": "nothere", "errorCode": 3}, {"name": "gone", "errorCode": 0}]},
        [change("topic", "nothere", ":topic_id", "delete", error=3), change("topic", "gone", ":topic_id", "delete")],
    ),
    (
        "DELETE_TOPICS",
        {"topics": [{"name": None, "topicId": "P1f9caSbSwenu8Sh8M4B-A"}]},
        {"responses": [{"name": "gone", "topicId": "P1f9caSbSwenu8Sh8M4B-A", "errorCode": 0}]},
        [change("topic", "gone", ":topic_id", "delete")],
    ),
    (
        "CREATE_PARTITIONS",
        {"topics": [{"name": "orders", "count": 4, "assignments": None}]},
        {"results": [{"name": "orders", "errorCode": 37}]},
        [change("topic", "orders", ":partitions", "set", "4", 37)],
    ),
    (
        "INCREMENTAL_ALTER_CONFIGS",
        {
            "resources": [
                {
                    "resourceType": 4,
                    "resourceName": "",
                    "configs": [{"name": "log.cleaner.threads", "configOperation": 0, "value": "2"}],
                },
                {
                    "resourceType": 2,
                    "resourceName": "t",
                    "configs": [
                        {"name": "segment.ms", "configOperation": 1, "value": None},
                        {"name": "cleanup.policy", "configOperation": 3, "value": "compact"},
                    ],
                },
            ]
        },
        {
            "responses": [
                {"resourceType": 2, "resourceName": "t", "errorCode": 40},
                {"resourceType": 4, "resourceName": "", "errorCode": 0},
            ]
        },
        [
            change("broker", "<default>", "log.cleaner.threads", "set", "2"),
            change("topic", "t", "segment.ms", "delete", error=40),
            change("topic", "t", "cleanup.policy", "subtract", "compact", 40),
        ],
    ),
    (
        "ALTER_CONFIGS",
        {
            "resources": [
                {
                    "resourceType": 32,
                    "resourceName": "g",
                    "configs": [{"name": "consumer.session.timeout.ms", "value": "7"}],
                }
            ]
        },
        {"responses": [{"resourceType": 32, "resourceName": "g", "errorCode": 0}]},
        [change("group", "g", "consumer.session.timeout.ms", "set", "7")],
    ),
    (
        "ALTER_CLIENT_QUOTAS",
        {
            "entries": [
                {
                    "entity": [
                        {"entityType": "client-id", "entityName": None},
                        {"entityType": "user", "entityName": "<default>"},
                    ],
                    "ops": [
                        {"key": "producer_byte_rate", "value": 20000.0, "remove": False},
                        {"key": "request_percentage", "value": 12.5, "remove": False},
                        {"key": "consumer_byte_rate", "value": 0.0, "remove": True},
                    ],
                }
            ]
        },
        {
            "entries": [
                {
                    "errorCode": 0,
                    "entity": [
                        {"entityType": "user", "entityName": "<default>"},
                        {"entityType": "client-id", "entityName": None},
                    ],
                }
            ]
        },
        [
            change("quota", "user=%3Cdefault%3E,client-id=<default>", "producer_byte_rate", "set", "20000"),
            change("quota", "user=%3Cdefault%3E,client-id=<default>", "request_percentage", "set", "12.5"),
            change("quota", "user=%3Cdefault%3E,client-id=<default>", "consumer_byte_rate", "delete"),
        ],
    ),
    (
        "CREATE_ACLS",
        {"creations": [ACL | {"resourcePatternType": 3}, ACL | {"resourcePatternType": 4}]},
        {"results": [{"errorCode": 0}, {"errorCode": 42}]},
        [
            change("acl", "TOPIC:LITERAL:ord%3Aers", "ALLOW READ User:alice from *", "set", "set"),
            change("acl", "TOPIC:PREFIXED:ord%3Aers", "ALLOW READ User:alice from *", "set", "set", 42),
        ],
    ),
    (
        "DELETE_ACLS",
        {"filters": [{"resourceTypeFilter": 2}, {"resourceTypeFilter": 3}]},
        {
            "filterResults": [
                {"errorCode": 0, "matchingAcls": [ACL | {"patternType": 4, "errorCode": 0}]},
                {"errorCode": 0, "matchingAcls": []},
            ]
        },
        [change("acl", "TOPIC:PREFIXED:ord%3Aers", "ALLOW READ User:alice from *", "delete")],
    ),
    (
        "ALTER_PARTITION_REASSIGNMENTS",
        {
            "topics": [
                {
                    "name": "t",
                    "partitions": [
                        {"partitionIndex": 0, "replicas": [3, 1]},
                        {"partitionIndex": 1, "replicas": None},
                    ],
                }
            ]
        },
        {
            "errorCode": 0,
            "responses": [
                {
                    "name": "t",
                    "partitions": [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 85}],
                }
            ],
        },
        [
            change("topic", "t", ":reassignment/0", "set", "3,1"),
            change("topic", "t", ":reassignment/1", "delete", error=85),
        ],
    ),
    (
        "UPDATE_FEATURES",
        {
            "featureUpdates": [
                {"feature": "group.version", "maxVersionLevel": 1},
                {"feature": "x", "maxVersionLevel": 0},
            ]
        },
        {"errorCode": 0, "results": [{"feature": "group.version", "errorCode": 95}, {"feature": "x", "errorCode": 0}]},
        [change("feature", "group.version", ":level", "set", "1", 95), change("feature", "x", ":level", "delete")],
    ),
    (
        "UPDATE_FEATURES",
        {"featureUpdates": [{"feature": "group.version", "maxVersionLevel": 1}]},
        {"errorCode": 95},
        [change("feature", "group.version", ":level", "set", "1", 95)],
    ),
    (
        "UNREGISTER_BROKER",
        {"brokerId": 3},
        {"errorCode": 0},
        [change("broker", "3", attr, "delete") for attr in (":endpoints", ":rack", ":fenced")],
    ),
    ("METADATA", {"topics": None}, {"topics": []}, []),
]


@pytest.mark.parametrize(
    ("api", "request_", "response", "expected"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_an_api_changes(
    api: str, request_: dict[str, Any], response: dict[str, Any], expected: list[Change]
) -> None:
    assert list(changes(api, request_, response)) == expected


@pytest.mark.parametrize(
    ("name", "value"), [("my.plugin.token", "x"), ("sasl.jaas.config", "[hidden]"), ("a", "[hidden]")]
)
def test_a_secret_is_named_and_not_told(name: str, value: str) -> None:
    text = alter_configs([(name, 0, value)], resource=(4, "1")).text
    ((*_, key, attr, op, told, sensitive, error),) = altered(text, END)
    assert (key, attr, op, told, sensitive, error) == ("1", name, "set", None, True, 0)


def test_of_a_credential_only_the_iterations_are_told() -> None:
    ((*_, type_, key, attr, op, value, sensitive, error),) = altered(
        alter_scram("carol", "U0FMVA", "U0FMVEVE").text, END
    )
    assert (type_, key, attr, op, value, sensitive, error) == (
        "scram",
        "carol",
        "SCRAM-SHA-256",
        "set",
        "iterations=8192",
        False,
        0,
    )


def test_an_answer_that_says_nothing_of_a_thing_does_not_say_done() -> None:
    told = changes("CREATE_PARTITIONS", {"topics": [{"name": "t", "count": 2}]}, {"throttleTimeMs": 0, "results": []})
    assert [each.error_code for each in told] == [NO_ANSWER]


def test_who_asked_and_when() -> None:
    logged = alter_configs(
        [("retention.ms", 1, None)], validate_only=True, correlation_id=9, client_id="", total_ms=1500.5
    )
    ((*head, _, _, _, _, _, _, _),) = altered(logged.text, END)
    assert head == [
        END - timedelta(milliseconds=1500.5),
        "INCREMENTAL_ALTER_CONFIGS",
        9,
        "",
        "10.0.0.7",
        "User:alice",
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("connection", "host"),
    [
        ("127.0.0.1:22858-127.0.0.1:49126-1-0", "127.0.0.1"),
        ("127.0.0.1:16823-10.1.2.3:46622-8", "10.1.2.3"),
        ("0:0:0:0:0:0:0:1:9092-fe80:0:0:0:1:2:3:4%eth0:40000-1-0", "fe80:0:0:0:1:2:3:4%eth0"),
        ("somewhere", None),
    ],
)
def test_where_a_client_is(connection: str, host: str | None) -> None:
    assert client_host(connection) == host


@given(st.integers(0, 2000))
def test_a_cut_request_gives_nothing(cut: int) -> None:
    text = alter_configs([("retention.ms", 0, "1")]).text
    assert altered(text[: min(cut, len(text) - 1)], END) == []


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
)
def test_bodies_of_any_form_are_no_error(body: Any) -> None:
    logged = json.loads(alter_configs([("retention.ms", 0, "1")]).text)
    for field in ("request", "response", "requestHeader", "connection"):
        altered(json.dumps(logged | {field: body}), END)
    altered(json.dumps(body), END)


def test_a_change_of_another_form_is_not_passed_over() -> None:
    logged = json.loads(alter_configs([("retention.ms", 0, "1")]).text)
    logged["request"] = {"resources": [{"kind": "topic", "called": "orders"}]}
    ((_, api, *_, principal, _, _, type_, _, attr, _, value, _, error),) = altered(json.dumps(logged), END)
    assert (api, principal, type_, attr, value) == (
        "INCREMENTAL_ALTER_CONFIGS",
        "User:alice",
        "cluster",
        ":unread",
        None,
    )
    assert error == NO_ANSWER


def test_produce_changes_nothing() -> None:
    assert altered(produce(1).text, END) == []
    assert isinstance(produce(1), Logged)


def test_the_names_of_the_apis_are_kafkas() -> None:
    from kio.index import api_key_map

    assert {name.upper() for name in api_key_map.values() if isinstance(name, str)} | {
        name.upper() for name in api_key_map if isinstance(name, str)
    } >= ALTER_APIS


@pytest.mark.parametrize("number", [1 << 70, -(1 << 31) - 1, 40_000])
def test_a_number_that_kafka_has_not_is_no_error(number: int) -> None:
    request = alter_configs([("a", 0, "b")], error=number)
    assert [row[-1] for row in altered(request.text, END)] == [NO_ANSWER]
    assert len(altered(alter_configs([("a", 0, "b")], correlation_id=number).text, END)) == (number == 40_000)
