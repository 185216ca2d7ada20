"""Tests of causes about dead letters: many that come suddenly, and a group that reads the dead letters that it
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec.structs import replace

from console.language.grammar import parse
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after
from console.model.rates import NOT_POLLED, with_ends
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.causes import loops
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from console.triage.letters import LONGEST_DELAY, UNKNOWN_DELAY, Retry, letters_after, original_of, retry_of
from console.triage.symptoms import Subject
from tests.support import connectors
from tests.unit.test_triage import START, TICK, healthy, logs_seen, moved, watched
from tests.unit.test_triage_groups import with_rows

TICKS = 14


def rows(dead: str, *, orders: int, letters: int, reads: int, archive: int = 0) -> list[Claim]:
    """Return the claims of `dead-letters-reread` about a group that reads orders and a second topic.

    Args:
        dead: the name of the second topic.
        orders, letters: records that are written to each topic in each tick; the group reads all of orders.
        reads: dead letters that the group reads in each tick.
        archive: orders that another group reads in each tick; 0 for no other group.
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


def letters(
    growth: Callable[[str, int], int],
    ticks: int = 20,
    dead: str = "orders.DLT",
    sink: str = "",
    more: tuple[str, ...] = (),
    groups: Mapping[str, Sequence[tuple[str, int, int, int, str]]] | None = None,
) -> list[Claim]:
    """Return the claims about the dead letters of orders.

    Args:
        growth: topic and tick -> the records written to each partition in that tick.
        dead: the name of the topic of dead letters.
        sink: the name of a sink connector that writes them; ``""`` for no sink.
        more: further topics.
        groups: group -> its rows of `with_rows`; None for the groups of `healthy`.
    """
    orders, names = healthy().topics["orders"], ("orders", dead, *more)
    before = replace(healthy(), topics={name: replace(orders, name=name, topic_id=name) for name in names})
    if sink:
        definition = connectors.config(**{"errors.deadletterqueue.topic.name": dead})
        before = connectors.with_connect(before, connectors.cluster(), configs={"main/orders-sink": definition})
    places = [(name, number) for name in before.topics for number in range(6)]

    def ends(tick: int) -> dict[tuple[str, int], int]:
        return {(name, n): 100 + sum(growth(name, each) for each in range(1, tick + 1)) for name, n in places}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rates = NOT_POLLED
        for each in range(tick + 1):
            rates = with_ends(rates, places, ends(each), START + each * TICK)
        known = moved(snapshot, {0: (5, 5)})
        if groups is not None:
            known = with_rows(snapshot, {name: ("Stable", [*rows]) for name, rows in groups.items()}, {})
        return replace(known, rates=rates)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {place: LogOffsets(0, end, end) for place, end in ends(at).items()}))

    found = diagnose(watched(change, ticks, before=change(before, 0), facts=facts)).causes
    return [each.claim for each in found if each.claim.cause == "dead-letters-of-service"]


def since_then(before: int, after: int, orders: int = 60) -> Callable[[str, int], int]:
    return lambda name, tick: orders if name == "orders" else before if tick < 10 else after


def test_letters_that_suddenly_come_are_a_warning_with_their_reader() -> None:
    (claim,) = letters(since_then(0, 20))
    assert claim.subject == Subject(topic="orders.DLT")
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.LIKELY)
    assert claim.title == "orders.DLT gets 24 records/s, 33% of those of orders"
    assert any("billing reads orders" in each.fact for each in claim.evidence)
    assert claim.next[0].command.startswith("records orders.DLT")
    parse(claim.next[0].command)


def test_retries_that_suddenly_come_are_one_row() -> None:
    """Records that suddenly come to several retry topics are one row, because each failing record is in all of them."""
    more = ("orders-retry-1", "orders-retry-2", "customers-retry-0")
    (claim,) = letters(since_then(0, 8), dead="orders-retry-0", more=more)
    assert claim.title == "orders-retry-0 and 2 more get up to 9.6 records/s each, 13% of those of orders"
    assert any("the retries of orders" in each.fact for each in claim.evidence)
    assert letters(since_then(8, 8), dead="orders-retry-0", more=more) == []
    few = since_then(0, 7, 600)
    assert letters(few, ticks=40, dead="orders-retry-0", more=more) == [], "1.2 % of the records fail three times"
    assert rows("orders-retry-0", orders=40, letters=900, reads=900) == [], "retries are read again on purpose"


@pytest.mark.parametrize(
    ("growth", "known"),
    [
        pytest.param(since_then(20, 20), {}, id="as before"),
        pytest.param(since_then(0, 1), {}, id="few of many"),
        pytest.param(since_then(0, 1, 1), {"ticks": 11}, id="few"),
        pytest.param(since_then(0, 20), {"dead": "refunds.DLT"}, id="of another topic"),
        pytest.param(since_then(0, 20), {"sink": True}, id="of a sink"),
        pytest.param(lambda name, tick: 60 if name == "orders" or 9 < tick < 12 else 0, {"ticks": 30}, id="over"),
        pytest.param(
            lambda name, tick: (50 if name == "orders" else 2) * (1 if tick < 10 else 10),
            {},
            id="more orders",
        ),
        pytest.param(
            lambda name, tick: 0 if tick < 10 else 500 if name == "orders" else 20, {}, id="first orders of a night"
        ),
    ],
)
def test_letters_as_usual_are_no_row(growth: Callable[[str, int], int], known: dict[str, object]) -> None:
    assert letters(growth, **known) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("growth", "title", "reason"),
    [
        (
            lambda name, tick: 25 if name != "orders" and tick >= 10 else 0,
            "orders.DLT gets 30 records/s, and got 0 before",
            "older records",
        ),
        (
            lambda name, tick: 0 if tick < 10 else 500 if name == "orders" else 400,
            "orders.DLT gets 480 records/s, 80% of those of orders",
            "too few records before",
        ),
    ],
    ids=["of older orders", "most of the first orders"],
)
def test_letters_that_may_be_as_usual_are_a_guess(growth: Callable[[str, int], int], title: str, reason: str) -> None:
    (claim,) = letters(growth)
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    assert claim.title == title
    assert any(reason in each.fact for each in claim.evidence)


def test_letters_stay_a_row_while_their_share_lasts() -> None:
    """Triage names suddenly arriving dead letters as long as their share of the records lasts: for an hour, even if the
    load falls to a tenth.
    """
    topics = {name: replace(healthy().topics["orders"], name=name) for name in ("orders", "orders.DLT")}
    logs, rates, known = ObservedLogs(), NOT_POLLED, ()
    orders = dead = 0
    seen = []
    for tick in range(800):
        at = START + tick * TICK
        many = 500 if tick < 600 else 50
        orders, dead = orders + many, dead + (0 if tick < 20 else many // 5)
        ends = {("orders", 0): orders, ("orders.DLT", 0): dead}
        logs = logs_after(logs, {place: LogOffsets(0, end, end) for place, end in ends.items()}, at.timestamp())
        before, rates = rates, with_ends(rates, ends, ends, at)
        known = letters_after(known, logs, topics, rates, before, at, {})
        seen.append([each.at for each in known])
    first = next(tick for tick, rows in enumerate(seen) if rows)
    assert first < 30
    assert seen[first:] == [[START + first * TICK]] * (800 - first)


@pytest.mark.parametrize("dead", ["orders.DLT", "dlq-warehouse", "billing-dlq"])
def test_letters_of_most_records_are_possible_if_kac_did_not_see_them_begin(dead: str) -> None:
    """If all records become dead letters already when kac begins, they are a possible cause; letters may be named after
    the topic, the sink or the group that reads it.
    """
    orders = [("orders", n, 100, 100, "m") for n in range(6)]
    (claim,) = letters(since_then(60, 60), dead=dead, groups={"connect-warehouse": orders, "billing": orders})
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    assert claim.title == f"{dead} gets 72 records/s, 100% of those of orders"
    assert any("since kac looked have become letters" in each.fact for each in claim.evidence)
    assert any("connector warehouse" in each.text for each in claim.next) is (dead == "dlq-warehouse")


def test_letters_of_a_sink_are_compared_with_all_its_topics() -> None:
    rows = [(topic, n, 100, 100, "m") for n in range(6) for topic in ("orders", "payments")]

    def growth(name: str, tick: int) -> int:
        return 60 if name in ("orders", "payments") else 0 if tick < 10 else 60

    (claim,) = letters(growth, dead="dlq-warehouse", more=("payments",), groups={"connect-warehouse": rows})
    assert claim.certainty is Certainty.LIKELY
    assert claim.title == "dlq-warehouse gets 72 records/s, 50% of those of the 2 topics that connect-warehouse reads"
    assert any("named after group connect-warehouse, which reads the 2 topics" in each.fact for each in claim.evidence)


@pytest.mark.parametrize(
    ("growth", "dead", "groups"),
    [
        pytest.param(since_then(20, 20), "orders.DLT", {}, id="a third"),
        pytest.param(since_then(60, 60), "dlq-warehouse", {}, id="without its sink"),
        pytest.param(
            since_then(60, 60), "dlq-warehouse", {"connect-warehouses": ["orders"]}, id="of a sink of another name"
        ),
        pytest.param(since_then(20, 20), "dlq-warehouse", {"connect-warehouse": ["orders"]}, id="a third, of a sink"),
        pytest.param(since_then(60, 60, 6), "orders.DLT", {}, id="more than orders"),
        pytest.param(since_then(60, 60), "orders-retry", {}, id="retries of all records"),
    ],
)
def test_letters_that_were_always_few_or_of_others_are_no_row(
    growth: Callable[[str, int], int], dead: str, groups: dict[str, list[str]]
) -> None:
    mine = {name: [(topic, n, 100, 100, "m") for topic in topics for n in range(6)] for name, topics in groups.items()}
    assert letters(growth, dead=dead, groups=mine) == []


def test_letters_that_go_round_are_one_row() -> None:
    def ends(name: str, tick: int) -> int:
        return 40 * tick if name == "orders" else 900 * max(0, tick - 12)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rates = NOT_POLLED
        for each in range(tick + 1):
            now = {(name, 0): ends(name, each) for name in snapshot.topics}
            rates = with_ends(rates, now, now, START + each * TICK)
        mine = [(name, 0, ends(name, tick), ends(name, tick), "m") for name in snapshot.topics]
        return replace(with_rows(snapshot, {"fulfilment": ("Stable", mine)}, {}), rates=rates)

    def facts(tick: int) -> Facts:
        return Facts(
            logs_seen(
                tick, lambda at: {(name, 0): LogOffsets(0, ends(name, at), ends(name, at)) for name in before.topics}
            )
        )

    topics = {name: replace(healthy().topics["orders"], name=name, topic_id=name) for name in ("orders", "orders.DLT")}
    before = replace(healthy(), topics=topics)
    observations = watched(change, 22, before=change(before, 0), facts=facts)
    assert [each.topic for each in observations.past.letters] == ["orders.DLT"]
    named = [each.claim.cause for each in diagnose(observations).causes]
    assert "dead-letters-reread" in named
    assert "dead-letters-of-service" not in named


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0"),
        (0.437, "0.44"),
        (4.02, "4"),
        (33.3, "33"),
        (2_481.0, "2,500"),
        (1.26e6, "1,300,000"),
    ],
)
def test_a_rate_has_two_digits_that_count(rate: float, text: str) -> None:
    assert loops.about(rate) == text


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


@pytest.mark.parametrize(
    ("topic", "original", "delay"),
    [
        ("orders-retry", "orders", UNKNOWN_DELAY),
        ("orders-retry-2", "orders", UNKNOWN_DELAY),
        ("orders-retry-600000", "orders", 600.0),
        ("orders.retry.5000", "orders", 5.0),
        ("orders-retry-20241130", "orders", LONGEST_DELAY),
        ("retry-orders", "orders", UNKNOWN_DELAY),
        ("orders", None, 0.0),
        ("orders-retries", None, 0.0),
        ("retry", None, 0.0),
        ("orders-dlt", None, 0.0),
    ],
)
def test_a_retry_topic_is_told_by_its_name(topic: str, original: str | None, delay: float) -> None:
    assert retry_of(topic) == (None if original is None else Retry(original, delay))
    assert original is None or original_of(topic) is None
