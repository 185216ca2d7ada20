"""Tests of the statement ``records``: topics, places, conditions, and completion with the fields of records that
were read.
"""

import pytest

from console.language.completion import ABOUT, Completer
from console.language.grammar import parse
from console.language.seen_fields import MOST_FIELDS, MOST_TOPICS, SeenFields
from console.language.unparse import unparse
from console.language.verbs.records import MOST_SHOWN, Bound, Records
from console.model.record_conditions import FIELDS
from tests.language.said import mistaken, texts
from tests.unit.command_cluster import SNAPSHOT


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("records orders", Records(("orders",))),
        ("records topic orders", Records(("orders",))),
        ("records 'topic'", Records(("topic",))),
        ("records topic topic", Records(("topic",))),
        ("records orders,audit-*,orders", Records(("orders", "audit-*"))),
        ("records orders partition 3 last 7", Records(("orders",), 3, Bound("last", "7"))),
        ("records orders first 7", Records(("orders",), start=Bound("start"), limit=7)),
        (
            "records orders from offset 5 to time 2h",
            Records(("orders",), start=Bound("offset", "5"), until=Bound("time", "2h")),
        ),
        ("records orders from group billing", Records(("orders",), start=Bound("group", "billing"))),
        ("records orders key only only", Records(("orders",), key="only", key_only=True)),
        ("records orders text from without value", Records(("orders",), text="from", without="value")),
        ("records orders latest by key limit 0", Records(("orders",), latest=True, limit=0)),
        ("records orders where 'size > 5' follow", Records(("orders",), where="size > 5", follow=True)),
    ],
)
def test_what_a_statement_means(text: str, statement: Records) -> None:
    assert parse(text) == (statement,)


@pytest.mark.parametrize(
    ("text", "begins", "most"),
    [
        ("records t", Bound("last", "10"), 0),
        ("records t limit 3", Bound("last", "3"), 3),
        ("records t limit 0", Bound("start"), 0),
        ("records t from offset 5", Bound("offset", "5"), 10),
        ("records t from offset 5 limit 0", Bound("offset", "5"), 0),
        ("records t text x", Bound("start"), MOST_SHOWN),
        ("records t to offset 9", Bound("start"), MOST_SHOWN),
        ("records t latest by key", Bound("start"), MOST_SHOWN),
        ("records t text x follow", Bound("end"), 0),
        ("records t from time 1h follow", Bound("time", "1h"), 0),
    ],
)
def test_where_a_search_begins_and_how_many_it_shows(text: str, begins: Bound, most: int) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, Records)
    assert (statement.begins, statement.most) == (begins, most)


test_a_wrong_word_is_named_with_its_place = mistaken(
    ("records", "a topic", 8),
    ("records a,", "can't be empty", 9),
    ("records <default>", "no <default>", 9),
    ("records a from yesterday", "start or end or offset", 16),
    ("records a from time yesterday", "is no time", 21),
    ("records a last 0", "how many", 16),
    ("records a last 5 first 5", "not 'first'", 18),
    ("records a first 5 limit 5", "not 'limit'", 19),
    ("records a to end follow", "not 'follow'", 18),
    ("records a follow latest by key", "not 'latest'", 18),
    ("records a without header", "value or key", 19),
    ("records a text x text y", "not 'text'", 18),
    ("records a json $.a=1", "not 'json'", 11),
    ("records a where 'value.a ==='", "character 11", 28),
    ("records a where 'valeu.a == 1'", "valeu is no field", 18),
)


def test_topics_after_a_comma_are_completed() -> None:
    assert texts("records ord|", SNAPSHOT) == ["orders", "orders-dlq"]
    assert texts("records orders,orders-|", SNAPSHOT) == ["orders-dlq"]
    assert "only" in texts("records orders key k |", SNAPSHOT)
    assert "from" not in texts("records orders last 5 |", SNAPSHOT)


def seen() -> SeenFields:
    fields = SeenFields()
    fields.learn("orders", "value", {"id": 1, "customer": {"city": "x", "odd name": 1}})
    fields.learn("payments", "value", {"amount": 2})
    return fields


def in_condition(text: str) -> list[str]:
    at = text.index("|")
    completer = Completer(fields=seen)
    line = text.replace("|", "")
    return [line[: each.start] + each.text + line[at:] for each in completer.complete(line, at, SNAPSHOT)]


def test_a_condition_is_completed_from_the_records_seen() -> None:
    assert in_condition("records orders where 'value.c|") == [
        "records orders where 'value.customer",
        "records orders where 'value.customer.city",
    ]
    assert in_condition("records orders where 'size > 1 && value.i|' limit 5") == [
        "records orders where 'size > 1 && value.id' limit 5"
    ]
    assert in_condition("records payments where value.|") == ["records payments where value.amount"]
    assert in_condition("records pay*,other where 'value.a|'") == ["records pay*,other where 'value.amount'"]
    offered = in_condition("records nothing where '|'")
    assert offered == [f"records nothing where '{name}'" for name in ABOUT]
    assert set(ABOUT) == set(FIELDS)


def test_the_names_seen_are_bounded() -> None:
    fields = SeenFields()
    fields.learn("t", "value", {f"f{number}": number for number in range(10_000)})
    assert len(fields.of(["t"])) == MOST_FIELDS
    for number in range(2 * MOST_TOPICS):
        fields.learn(f"t{number}", "key", {"a": 1})
    assert len(list(fields.topics())) == MOST_TOPICS
    deep: dict[str, object] = {}
    for _ in range(200):
        deep = {"a": deep}
    fields.learn("deep", "value", deep)
    assert fields.of(["deep"])[-1] == "value.a.a.a.a"


def test_a_topic_called_topic_reads_back() -> None:
    for topics in (("topic",), ("topic", "orders"), ("a b", "x*")):
        statement = Records(topics)
        assert parse(unparse(statement)) == (statement,)
