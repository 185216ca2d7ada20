"""Tests of the statement ``analyze``: the topic, the part of it, and the rate."""

from datetime import UTC, datetime

import pytest

from console.language.grammar import parse
from console.language.unparse import unparse
from console.language.verbs.analyze import Analyze
from console.model.records import First, FromTime, Search
from tests.language.said import mistaken, texts
from tests.unit.command_cluster import SNAPSHOT


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("analyze topic orders", Analyze("orders")),
        ("analyze orders", Analyze("orders")),
        ("analyze topic topic", Analyze("topic")),
        ("analyze topic 'last'", Analyze("last")),
        ("analyze topic orders last 1h", Analyze("orders", last_ms=3_600_000)),
        ("analyze topic orders sample 1%", Analyze("orders", sample=1.0)),
        ("analyze topic orders sample 0.5", Analyze("orders", sample=0.5)),
        ("analyze topic orders rate 10MB/s --reveal", Analyze("orders", rate=10_000_000, reveal=True)),
        ("analyze topic orders sample 2.5% last 90min", Analyze("orders", last_ms=5_400_000, sample=2.5)),
    ],
)
def test_what_a_statement_means(text: str, statement: Analyze) -> None:
    assert parse(text) == (statement,)
    assert parse(unparse(statement)) == (statement,)


test_errors_name_their_word = mistaken(
    ("analyze", "topic", 8),
    ("analyze topic ''", "can't be empty", 15),
    ("analyze topic <default>", "not <default>", 15),
    ("analyze topic a last yesterday", "a duration", 22),
    ("analyze topic a sample 0%", "a percentage", 24),
    ("analyze topic a sample 101%", "a percentage", 24),
    ("analyze topic a sample nan", "a percentage", 24),
    ("analyze topic a rate fast", "fast", 22),
    ("analyze topic a last 1h last 2h", "not 'last'", 25),
    ("analyze topic a,b partition 1", "not 'partition'", 19),
)


def test_the_search_of_a_statement() -> None:
    now = datetime(2026, 11, 20, tzinfo=UTC)
    assert Analyze("t").search(now) == Search(("t",), start=First())
    ago = FromTime(round(now.timestamp() * 1000) - 60_000)
    expected = Search(("t",), start=ago, rate=7, sample=0.25)
    assert Analyze("t", last_ms=60_000, sample=25.0, rate=7).search(now) == expected


def test_completion_offers_topics_and_then_the_options() -> None:
    assert texts("analyze topic ord|", SNAPSHOT) == ["orders", "orders-dlq"]
    assert texts("analyze topic orders last 1h |", SNAPSHOT)[:2] == ["sample", "rate"]
    assert "1%" in texts("analyze topic orders sample |", SNAPSHOT)
