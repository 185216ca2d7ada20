"""Tests of the cause that a group reads the dead letters that it writes."""

from __future__ import annotations

import pytest

from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.causes.loops import original_of
from console.triage.diagnosis import diagnose
from console.triage.symptoms import Subject
from tests.unit.test_triage import watched
from tests.unit.test_triage_groups import with_rows

TICKS = 14


def rows(dead: str, *, orders: int, letters: int, reads: int, archive: int = 0) -> list[Claim]:
    """Return the claims of `dead-letters-reread` about a group that reads orders and a second topic.

    Args:
        dead: the name of the second topic.
        orders, letters: records that arrive in each topic at each tick; the group reads all of orders.
        reads: letters that the group reads at each tick.
        archive: orders that another group reads at each tick; 0 for no other group.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        mine = [("orders", 0, orders * tick, orders * tick, "m"), (dead, 0, reads * tick, letters * tick, "m")]
        groups = {"fulfilment": ("Stable", mine)}
        if archive:
            groups["archive"] = ("Stable", [("orders", 0, archive * tick, archive * tick, "a")])
        return with_rows(snapshot, groups, {})

    found = diagnose(watched(change, TICKS))
    return [each.claim for each in found.causes if each.claim.cause == "dead-letters-reread"]


def test_letters_that_go_round_are_named() -> None:
    (claim,) = rows("orders.DLT", orders=40, letters=900, reads=900)
    assert claim.subject == Subject(group="fulfilment", topic="orders.DLT")
    assert claim.severity is Severity.HIGH
    assert "reads its own dead letters" in claim.title
    assert "leave orders.DLT out of its subscription" in claim.next[0].text
    assert not claim.next[0].edits


@pytest.mark.parametrize(
    ("dead", "orders", "letters", "reads", "archive"),
    [
        pytest.param("orders.DLT", 40, 5, 5, 0, id="fewer letters than orders: it handles them"),
        pytest.param("orders.DLT", 40, 900, 0, 0, id="the letters are not read"),
        pytest.param("orders.DLT", 0, 1, 1, 0, id="a few letters"),
        pytest.param("orders.DLT", 40, 900, 900, 1_000, id="another group read enough to write them"),
        pytest.param("payments", 40, 900, 900, 0, id="another topic"),
        pytest.param("refunds-dlt", 40, 900, 900, 0, id="letters of a topic that it does not read"),
    ],
)
def test_others_that_read_letters_are_not_named(dead: str, orders: int, letters: int, reads: int, archive: int) -> None:
    assert rows(dead, orders=orders, letters=letters, reads=reads, archive=archive) == []


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("orders.DLT", "orders"),
        ("orders-dlt", "orders"),
        ("orders_dead_letter_queue", "orders"),
        ("orders.dead-letters", "orders"),
        ("dlq.orders", "orders"),
        ("checkout.orders-dlq", "checkout.orders"),
        ("orders", None),
        ("dlt", None),
        ("orders-dltx", None),
    ],
)
def test_the_topic_of_the_letters_by_their_name(name: str, original: str | None) -> None:
    assert original_of(name) == original
