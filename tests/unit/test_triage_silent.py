"""Tests of topics to which producers stop writing, for a reason that no API shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.acl import PREFIXED, Acl
from console.model.cluster import BrokerVersion, GroupLag, LogDir, PartitionLag, ReplicaSize, ReplicaSizes
from console.model.connect import SOURCE
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after
from console.model.rates import NOT_POLLED, with_dirs, with_ends
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage import silence, spread
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.observations import after, begin
from console.triage.silence import PAUSES, QUIET, SEEN, STEADY
from console.triage.symptoms import Poll, Subject
from tests.support import connectors, samples
from tests.unit.test_triage import (
    START,
    TICK,
    each_of_orders,
    fresh,
    healthy,
    logs_seen,
    moved,
    watched,
    without_broker,
)

EVERY = TICK.total_seconds()
STOPS = int(max(STEADY, SEEN * EVERY) / EVERY) + 1
"""The last tick in which a record is written."""
LATER = STOPS + int(max(QUIET, PAUSES * EVERY) / EVERY) + 1


def verdict(ends: Callable[[int], int], ticks: int, *topics: str, acls: tuple[Acl, ...] = ()) -> Verdict:
    """Return the verdict after `ticks` polls on topics whose end offset is `ends(tick)`. acls: those of the cluster."""
    names = topics or ("orders",)
    orders = healthy().topics["orders"]
    before = replace(healthy(), topics={name: replace(orders, name=name) for name in names}, acls=acls)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {(name, 0): LogOffsets(0, ends(at), ends(at)) for name in names}))

    return diagnose(watched(lambda snapshot, _tick: snapshot, ticks, before=before, facts=facts))


def rows(found: Verdict) -> list[Claim]:
    return [each.claim for each in found.causes if each.claim.cause == "writes-stopped"]


def until(tick: int) -> Callable[[int], int]:
    return lambda at: 100 + min(at, tick)


def test_a_topic_that_falls_silent_is_no_trouble_but_says_where_to_look() -> None:
    found = verdict(until(STOPS), LATER)
    (claim,) = rows(found)
    assert (claim.subject, claim.severity) == (Subject(topic="orders"), Severity.INFO)
    assert claim.since == START + STOPS * TICK
    assert claim.title == f"orders: no new record since {claim.since:%H:%M:%S}"
    assert "producers' logs" in claim.next[0].text
    assert not claim.next[0].edits
    assert not claim.next[0].command
    assert found.is_healthy


SHOP = samples.acl("User:alice", "shop", "WRITE", on="TRANSACTIONAL_ID")


@pytest.mark.parametrize(
    ("acls", "who", "is_bound"),
    [
        ((samples.acl(operation="WRITE"), SHOP), "User:alice", True),
        ((samples.acl(operation="ALL", name="ord", pattern="PREFIXED"), SHOP), "User:alice", True),
        ((samples.acl(operation="WRITE"), SHOP._replace(pattern_type=PREFIXED)), "User:alice", False),
        ((samples.acl(operation="WRITE"), SHOP, SHOP._replace(resource_name="*")), "User:alice", False),
        (
            (samples.acl(operation="WRITE"), SHOP, SHOP._replace(principal="User:*", resource_name="*")),
            "User:alice",
            False,
        ),
        ((samples.acl(operation="WRITE"), SHOP._replace(principal="User:bob")), "User:alice", False),
        ((samples.acl(operation="WRITE"), samples.acl("User:*", operation="WRITE"), SHOP), "", False),
        ((samples.acl(operation="READ"), samples.acl(operation="WRITE", name="clicks"), SHOP), "", False),
        (tuple(samples.acl(f"User:u{n}", operation="WRITE") for n in range(4)), "", False),
        ((samples.acl(operation="WRITE"), samples.acl(operation="ALL", permission="DENY"), SHOP), "", False),
        ((), "", False),
    ],
)
def test_a_silent_topic_has_those_whom_acls_let_write_as_evidence(
    acls: tuple[Acl, ...], who: str, *, is_bound: bool
) -> None:
    """No API shows what brokers refuse a client; ACLs show who may write, and with which transactional ids."""

    (claim,) = rows(verdict(until(STOPS), LATER, acls=acls))
    facts = [each.fact for each in claim.evidence]
    assert [each for each in facts if "write there" in each] == (
        [f"ACLs let {who} write there, and no other user but super users"] if who else []
    )
    assert any("use the transactional id shop and no other" in each for each in facts) is is_bound
    assert any("as shop-0" in each.text for each in claim.next) is is_bound
    assert claim.severity is Severity.INFO
    assert not any(each.edits or each.command for each in claim.next)


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        (until(10_000), LATER),  # records arrive all the time
        (until(STOPS), LATER - 2),  # not silent for long enough
        (until(STOPS // 3), LATER),  # the writes were not seen for long enough
        (lambda at: 100 + at // 12 * 12, 34),  # in bursts: the silence is no longer than earlier ones
        (lambda _at: 0, LATER),
    ],
    ids=["written", "short silence", "short time", "bursts", "never"],
)
def test_a_silence_that_proves_nothing_is_no_row(ends: Callable[[int], int], ticks: int) -> None:
    assert not rows(verdict(ends, ticks))


def test_many_silent_topics_are_one_row_and_those_of_long_ago_count_as_without_producers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"orders-{number}" for number in range(9)]
    (claim,) = rows(verdict(until(STOPS), LATER, *names))
    assert claim.title.startswith("orders-0, orders-1, orders-2 and 6 more: no new record since")
    monkeypatch.setattr(silence, "FORGOTTEN", 2 * QUIET)
    assert not rows(verdict(until(STOPS), LATER + int(2 * QUIET / EVERY)))


@given(st.lists(st.booleans(), min_size=10, max_size=40))
def test_a_silence_is_much_longer_than_every_pause_before_it(writes: list[bool]) -> None:
    """A topic that gets records at these ticks is a row only if the time since the last one is by far its longest
    pause.
    """
    ends = [100 + sum(writes[: at + 1]) for at in range(len(writes))]
    times = [at for at in range(1, len(writes)) if writes[at]]
    if rows(verdict(lambda at: ends[at], len(writes) - 1)):
        pauses = [after - before for before, after in zip([0, *times], times, strict=False)]
        assert len(writes) - 1 - times[-1] >= 3 * max(pauses)


def of_connector(ends: Mapping[str, Callable[[int], int]]) -> list[Claim]:
    """Return the claims about topics whose heartbeats or records end. ends: topic -> tick -> its end offset."""
    orders = healthy().topics["orders"]
    before = replace(healthy(), topics={name: replace(orders, name=name) for name in ends})

    def facts(tick: int) -> Facts:
        return Facts(
            logs_seen(tick, lambda at: {(name, 0): LogOffsets(0, end(at), end(at)) for name, end in ends.items()})
        )

    found = diagnose(watched(lambda snapshot, _tick: snapshot, LATER, before=before, facts=facts))
    return [each.claim for each in found.causes if each.claim.cause in ("heartbeats-stopped", "writes-stopped")]


def test_a_connector_whose_heartbeats_end_may_have_failed() -> None:
    (claim,) = of_connector({"__debezium-heartbeat.shop": until(STOPS), "shop.public.orders": until(STOPS)})
    assert (claim.cause, claim.severity, claim.certainty) == (
        "heartbeats-stopped",
        Severity.WARNING,
        Certainty.POSSIBLE,
    )
    assert claim.title.startswith("shop: its source connector writes no more since ")
    assert any("last records of shop.public.orders came at the same time" in each.fact for each in claim.evidence)
    assert not any(each.command or each.edits for each in claim.next)


def test_connectors_that_end_together_are_one_row() -> None:
    names = [f"shop-{n}" for n in range(12)]
    (claim,) = of_connector(
        {name: until(STOPS) for each in names for name in (f"__debezium-heartbeat.{each}", f"{each}.public.orders")}
    )
    assert claim.cause == "heartbeats-stopped"
    assert "their source connectors write no more since " in claim.title


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(
            {"__debezium-heartbeat.shop": until(10_000), "shop.public.orders": until(STOPS)}, id="heartbeats go on"
        ),
        pytest.param(
            {"__debezium-heartbeat.shop": until(STOPS), "shop.public.orders": until(10_000)}, id="records go on"
        ),
        pytest.param({"__debezium-heartbeat.shop.eu": until(STOPS), "shop.eu.public.orders": until(10_000)}, id="dots"),
        pytest.param({"heartbeats": until(STOPS), "shop.public.orders": until(STOPS)}, id="no heartbeats"),
    ],
)
def test_a_connector_that_writes_or_has_no_heartbeats_is_no_row(ends: Mapping[str, Callable[[int], int]]) -> None:
    assert "heartbeats-stopped" not in {each.cause for each in of_connector(ends)}


def misspelt(name: str, *, made_at: int = STOPS + 1, read: bool = False) -> Verdict:
    """Return the verdict on orders, which gets no more records, and on another topic `name` that appears at the tick
    `made_at`.

    read: whether a group reads the other topic.
    """
    orders = healthy().topics["orders"]

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        topics = {"orders": orders} | ({name: replace(orders, name=name)} if tick >= made_at else {})
        lags = {"refunds": GroupLag((PartitionLag(name, 0, 5, 5, 0, "m2"),))} if read else {}
        return replace(snapshot, topics=topics, lags={**snapshot.lags, **lags})

    def logs(at: int) -> dict[tuple[str, int], LogOffsets]:
        end, other = until(STOPS)(at), 5 * (at - made_at)
        return {("orders", 0): LogOffsets(0, end, end)} | (
            {(name, 0): LogOffsets(0, other, other)} if at >= made_at else {}
        )

    return diagnose(watched(change, LATER, before=healthy(), facts=lambda tick: Facts(logs_seen(tick, logs))))


def test_a_new_topic_with_a_letter_less_is_written_to_instead() -> None:
    (claim,) = [each.claim for each in misspelt("order").causes]
    assert (claim.cause, claim.severity, claim.subject) == ("written-elsewhere", Severity.HIGH, Subject(topic="orders"))
    assert claim.title.endswith("; the new topic order gets some instead")
    assert "no group has read order" in {each.fact for each in claim.evidence}
    read = misspelt("order", read=True)
    assert "no group has read order" not in {each.fact for one in read.causes for each in one.claim.evidence}


@pytest.mark.parametrize(
    ("name", "made_at"), [("returns", STOPS + 1), ("order", 0)], ids=["another name", "there before"]
)
def test_a_topic_that_is_none_of_its_slips_is_not_named(name: str, made_at: int) -> None:
    (claim,) = rows(misspelt(name, made_at=made_at))
    assert "instead" not in claim.title


def half_read(partitions: Sequence[int], ticks: int) -> ObservedLogs:
    """Return the observed logs of orders, whose partitions grow at each tick; kac does not read `partitions` after
    `STOPS`.
    """

    def seen(at: int) -> dict[tuple[str, int], LogOffsets]:
        read = [number for number in range(6) if at <= STOPS or number not in partitions]
        # Of those that are read, none is written to after `STOPS`.
        return {("orders", number): LogOffsets(0, until(STOPS)(at), until(STOPS)(at)) for number in read}

    return logs_seen(ticks, seen)


@pytest.mark.parametrize(("unread", "leader", "is_silent"), [((), 1, True), ((1,), 2, False), ((1,), -1, True)])
def test_a_log_that_kac_does_not_read_is_not_one_without_records(
    unread: Sequence[int], leader: int, *, is_silent: bool
) -> None:
    before = replace(healthy(), topics={"orders": healthy().topics["orders"]})

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick <= STOPS or not unread:
            return snapshot
        return each_of_orders(snapshot, lambda each: each._replace(leader=leader) if each.number == 1 else each)

    observations = watched(change, LATER, before=before, facts=lambda tick: Facts(half_read(unread, tick)))
    assert [each.topic for each in silence.silences(observations)] == ["orders"] * is_silent
    changed = START + STOPS * TICK
    assert [*silence.fell_silent(observations, changed, changed)] == ["orders"] * is_silent
    assert [*silence.fell_silent(observations, changed, changed, 1)] == ["orders"]
    assert [*silence.fell_silent(observations, changed, changed, 2)] == ["orders"] * (leader != 2)


REMAINS = LATER + int(silence.REMAINS / EVERY) + 1


@pytest.mark.parametrize(
    ("stand", "changed", "ticks", "is_found"),
    [
        ((2,), STOPS, REMAINS, True),
        ((2,), STOPS, LATER, False),
        ((1, 2, 3), STOPS, REMAINS, False),  # without records in the whole topic, its producer has stopped
        ((2,), REMAINS - 1, REMAINS, False),
    ],
)
def test_partitions_of_a_changed_broker_stand_while_their_topic_goes_on(
    stand: Sequence[int], changed: int, ticks: int, *, is_found: bool
) -> None:
    before = replace(healthy(), topics={"orders": healthy().topics["orders"]})
    led = {each.number: each.leader for each in before.topics["orders"].partitions}

    def ends(number: int) -> Callable[[int], int]:
        return until(STOPS if led[number] in stand else ticks)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {("orders", n): LogOffsets(0, ends(n)(at), ends(n)(at)) for n in led}))

    observations = watched(lambda snapshot, _tick: snapshot, ticks, before=before, facts=facts)
    mine = [("orders", number) for number, leader in led.items() if leader == 2]
    found = [*silence.fell_silent_at_leader(observations, 2, START + changed * TICK)]
    assert mine
    assert found == mine * is_found


def sourced(ticks: int, *, again: int = 999, goes_on: bool = False, kind: str = SOURCE) -> list[Claim]:
    """Return the claims about orders, whose source connector pg is deleted at `STOPS`.

    Args:
        again: the tick at which the connector is created again.
        goes_on: whether another producer also writes to orders.
        kind: the type of the connector.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        pg = [connectors.connector("pg", kind=kind)] if not STOPS <= tick < again else []
        return connectors.with_connect(snapshot, connectors.cluster(connectors.connector("other"), *pg))

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {("orders", 0): LogOffsets(0, ends(at), ends(at))}))

    def ends(at: int) -> int:
        return 100 + (at if goes_on else min(at, STOPS) + max(0, at - again))

    found = diagnose(watched(change, ticks, before=change(healthy(), 0), facts=facts)).causes
    return [each.claim for each in found if each.claim.cause in ("source-deleted", "writes-stopped")]


def test_a_source_that_was_deleted_is_named_for_the_silence_of_its_topics() -> None:
    (claim,) = sourced(STOPS + 8)
    assert (claim.cause, claim.subject) == ("source-deleted", Subject(connector="main/pg"))
    assert (claim.severity, claim.certainty) == (Severity.INFO, Certainty.LIKELY), "probably an operator's work"
    (later,) = sourced(STOPS + 121)
    assert (later.title, later.severity) == (claim.title, Severity.WARNING)
    assert claim.title == "source connector main/pg was deleted, and nothing is written to orders since"
    assert claim.since == START + STOPS * TICK
    assert "create it again" in claim.next[0].text
    assert not any(each.edits or each.command for each in claim.next), "kac does not know its secrets"


@pytest.mark.parametrize(
    ("ticks", "known"),
    [(STOPS + 4, {}), (STOPS + 8, {"again": STOPS + 2}), (STOPS + 8, {"goes_on": True}), (STOPS + 8, {"kind": "sink"})],
    ids=["a moment ago", "created again", "written to", "a sink"],
)
def test_a_source_that_comes_again_or_is_not_missed_is_no_row(ticks: int, known: dict[str, object]) -> None:
    assert "source-deleted" not in {each.cause for each in sourced(ticks, **known)}  # type: ignore[arg-type]


# -- a part of the partitions ------------------------------------------------------------------------------------------


def written(
    growth: Callable[[str, int, int], int], ticks: int, *, topics: tuple[str, ...] = ("orders", "users")
) -> list[Claim]:
    """Return the claims about partitions that get no more records while others do. Brokers 1 to 3 lead two of the six
    partitions of each topic.

    Args:
        growth: topic, partition and tick -> the records written in that tick.
    """
    orders = healthy().topics["orders"]
    before = replace(healthy(), topics={name: replace(orders, name=name) for name in topics})
    places = [(name, number) for name in topics for number in range(6)]

    def ends(tick: int) -> dict[tuple[str, int], int]:
        return {place: 100 + sum(growth(*place, each) for each in range(1, tick + 1)) for place in places}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rates = NOT_POLLED
        for each in range(tick + 1):
            rates = with_ends(rates, places, ends(each), START + each * TICK)
        return replace(snapshot, rates=rates)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {place: LogOffsets(0, end, end) for place, end in ends(at).items()}))

    found = diagnose(watched(change, ticks, before=change(before, 0), facts=facts)).causes
    return [each.claim for each in found if each.claim.cause in ("leader-unwritten", "keys-collapsed")]


def led_by(number: int) -> int:
    return number % 3 + 1


def test_partitions_of_one_leader_that_get_no_record_are_named() -> None:
    (claim,) = written(lambda _t, n, tick: 0 if led_by(n) == 2 and tick > STOPS else 10, STOPS + 5)
    assert (claim.cause, claim.subject) == ("leader-unwritten", Subject(broker=2))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert claim.title.startswith("nothing is written to 4 partitions that broker 2 leads since ")
    assert claim.since == START + STOPS * TICK
    assert "advertised.listeners" in claim.next[0].text


def _by_its_own_producer(topic: str, number: int, tick: int) -> int:
    """Return the records of a partition in a tick: one producer writes to those partitions of orders and users that
    broker 2 leads, and stops; others write to logs.
    """
    if topic == "logs":
        return 10 if led_by(number) != 2 else 0
    return 10 if led_by(number) == 2 and tick <= STOPS else 0


@pytest.mark.parametrize(
    ("growth", "ticks", "topics"),
    [
        (lambda _t, n, tick: 0 if led_by(n) == 2 and tick > STOPS else 10, STOPS + 2, ("orders", "users")),
        (lambda _t, n, tick: 0 if n == 1 and tick > STOPS else 10, STOPS + 5, ("orders", "users")),
        (lambda _t, _n, tick: 0 if tick > STOPS else 10, STOPS + 5, ("orders", "users")),
        (lambda _t, n, tick: 0 if led_by(n) == 2 and tick > STOPS else 10, STOPS + 5, ("orders",)),
        (lambda _t, n, tick: 10 if led_by(n) != 2 or tick % 4 == 0 else 0, STOPS + 7, ("orders", "users")),
        (_by_its_own_producer, STOPS + 5, ("orders", "users", "logs")),
    ],
    ids=["a moment", "one partition", "all brokers", "one topic", "rarely written", "a producer of its own"],
)
def test_partitions_that_rest_for_other_reasons_are_no_matter_of_their_leader(
    growth: Callable[[str, int, int], int], ticks: int, topics: tuple[str, ...]
) -> None:
    assert "leader-unwritten" not in {each.cause for each in written(growth, ticks, topics=topics)}


@pytest.mark.parametrize(("unread_from", "skipped"), [(6, 0), (999, 3)], ids=["a leader's logs unread", "a late read"])
def test_what_kac_did_not_read_says_nothing_about_a_leader(unread_from: int, skipped: int) -> None:
    """Partitions of broker 2 that grow but are not read give no row. Those that stop growing do, even after one late
    read.
    """
    orders = healthy().topics["orders"]
    before = replace(healthy(), topics={name: replace(orders, name=name) for name in ("orders", "users")})
    stops = 999 if unread_from < 999 else STOPS + 5

    def facts(tick: int) -> Facts:
        logs = ObservedLogs()
        for at in range(tick + 1):
            ends = {
                (name, number): 100 + 10 * (min(at, stops) if led_by(number) == 2 else at)
                for name in ("orders", "users")
                for number in range(6)
                if at < unread_from or led_by(number) != 2
            }
            read = {place: LogOffsets(0, end, end) for place, end in ends.items()}
            if at != skipped or not skipped:
                logs = logs_after(logs, read, (START + at * TICK).timestamp())
        return Facts(logs)

    found = diagnose(watched(lambda snapshot, _tick: snapshot, STOPS + 10, before=before, facts=facts)).causes
    assert ("leader-unwritten" in {each.claim.cause for each in found}) is (unread_from == 999)


def test_keys_that_become_one_are_named() -> None:
    (claim,) = written(lambda _t, n, tick: 50 if tick < 10 else 300 if n == 3 else 1, 20, topics=("orders",))
    assert (claim.cause, claim.subject) == ("keys-collapsed", Subject(topic="orders", partition=3))
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.LIKELY)
    assert claim.title.startswith("orders/3 gets 98% of the topic's new records, and got 17% before")
    assert "key" in claim.next[0].text


def test_a_partition_with_all_records_is_one_row_if_it_is_also_hot() -> None:
    """A partition that gets all records, 6 MiB/s, has one row: `keys-collapsed`, or `hot-partition` if the rates are
    computed from the sizes of replicas alone.
    """
    before = replace(healthy(), topics={"orders": healthy().topics["orders"]})

    def ends(tick: int) -> dict[tuple[str, int], int]:
        return {("orders", n): 100 + 50 * min(tick, 9) + max(0, tick - 9) * (300 if n == 3 else 1) for n in range(6)}

    def change(snapshot: Snapshot, tick: int, *, offsets: bool) -> Snapshot:
        rates = NOT_POLLED
        for each in range(tick + 1):
            replicas = [ReplicaSize("orders", n, end * 102_400, 0, False) for (_, n), end in ends(each).items()]
            dirs = {broker: (LogDir("/data", ReplicaSizes(replicas)),) for broker in (1, 2, 3)}
            rates = with_dirs(rates, snapshot.topics, dirs, START + each * TICK)
            if offsets:
                rates = with_ends(rates, ends(each), ends(each), START + each * TICK)
        return replace(snapshot, rates=rates)

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {place: LogOffsets(0, end, end) for place, end in ends(at).items()}))

    for offsets, name in ((True, "keys-collapsed"), (False, "hot-partition")):
        observations = watched(partial(change, offsets=offsets), 30, before=before, facts=facts)
        found = [each.claim for each in diagnose(observations).causes]
        assert [each.cause for each in found if each.subject == Subject(topic="orders", partition=3)] == [name]


@pytest.mark.parametrize(
    ("growth", "ticks"),
    [
        (lambda _t, n, _tick: 300 if n == 3 else 1, 20),
        (lambda _t, n, tick: 50 if tick < 10 or n != 3 else 3_000, 20),
        (lambda _t, n, tick: 2 if tick < 10 else 12 if n == 3 else 0, 20),
        (lambda _t, _n, _tick: 50, 20),
        (lambda _t, n, tick: 50 if tick < 3 else 300 if n == 3 else 1, 8),
        (lambda _t, n, tick: 300 if n == (tick // 4) % 6 else 0, 40),
        (lambda _t, n, tick: 50 if tick < 10 else (300 if n == 3 else 1) if tick < 20 else 0, 28),
        (lambda _t, n, tick: 50 if tick < 10 else 615 if n == 3 else 15, 20),
        (lambda _t, n, tick: 50 if tick < 10 else 60 if n == 3 else 1, 20),
        (lambda _t, n, tick: 300 if n == (3 if tick < 10 else 4) else 5, 20),
    ],
    ids=[
        "always",
        "more of one tenant",
        "few records",
        "spread",
        "not seen for long",
        "one after the other",
        "over",
        "less load and a batch of one tenant",
        "one tenant stays",
        "one after another",
    ],
)
def test_an_uneven_topic_that_was_or_has_more_is_no_row(growth: Callable[[str, int, int], int], ticks: int) -> None:
    assert "keys-collapsed" not in {each.cause for each in written(growth, ticks, topics=("orders",))}


def test_the_load_of_half_an_hour_ago_is_no_measure_and_a_deleted_topic_is_no_row() -> None:
    topics = {"orders": healthy().topics["orders"]}
    places = [("orders", number) for number in range(6)]
    logs, rates = ObservedLogs(), NOT_POLLED
    ends = dict.fromkeys(places, 100)
    for tick in range(410):
        at = START + tick * TICK
        for number in range(6):
            # The load of a day, then that of a night, then a batch of one tenant in addition.
            ends["orders", number] += 50 if tick < 200 else 200 if tick >= 400 and number == 3 else 5
        logs = logs_after(logs, {place: LogOffsets(0, end, end) for place, end in ends.items()}, at.timestamp())
        before, rates = rates, with_ends(rates, places, ends, at)
        assert spread.collapsed_after((), logs, topics, rates, before, at) == ()
    first = spread.Collapsed("orders", 3, 0.9, 0.1, 6, at)
    assert spread.collapsed_after([first], logs, topics, rates, rates, at) == [first]
    assert spread.collapsed_after([first], logs, {}, rates, rates, at) == ()


# -- brokers that refuse old clients -----------------------------------------------------------------------------------


def upgraded(snapshot: Snapshot, tick: int, was: str, became: str, at: int) -> Snapshot:
    """Return the snapshot at a tick: broker 2 has the release `became` from the tick `at` on, `was` before it."""
    versions = {n: BrokerVersion(became if n == 2 and tick >= at else was, {}) for n in (1, 2, 3)}
    return replace(snapshot, versions=versions)


@pytest.mark.parametrize(
    ("was", "became", "leader", "stops", "is_named"),
    [
        ("3.9", "4.3", 2, STOPS, True),
        ("3.7", "3.9", 2, STOPS, False),
        ("4.0", "4.3", 2, STOPS, False),
        ("", "4.3", 2, STOPS, False),
        ("3.9", "4.3", 1, STOPS, False),
        ("3.9", "4.3", 2, STOPS + 26, False),
    ],
    ids=["to 4", "before 4", "from 4", "unknown", "of another leader", "long before"],
)
def test_a_silence_after_an_upgrade_may_be_of_old_clients(
    was: str, became: str, leader: int, stops: int, *, is_named: bool
) -> None:
    orders = healthy().topics["orders"]
    orders = replace(orders, partitions=tuple(each._replace(leader=leader) for each in orders.partitions))
    before = replace(healthy(), topics={"orders": orders})

    def facts(tick: int) -> Facts:
        return Facts(logs_seen(tick, lambda at: {("orders", 0): LogOffsets(0, until(stops)(at), until(stops)(at))}))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return upgraded(snapshot, tick, was, became, STOPS + 1)

    found = diagnose(watched(change, LATER + stops - STOPS, before=change(before, 0), facts=facts))
    (claim,) = rows(found)
    assert (claim.severity is Severity.WARNING) is is_named
    assert claim.title.endswith(", after brokers were upgraded") is is_named
    assert any("refuse clients older than 2.1" in each.fact for each in claim.evidence) is is_named
    assert ("upgrade the clients" in claim.next[0].text) is is_named


def test_a_group_that_stopped_at_an_upgrade_may_have_old_clients() -> None:
    def change(snapshot: Snapshot, tick: int, at: int = 5) -> Snapshot:
        gone = tick > 4
        now = moved(snapshot, {0: (100 + 50 * min(tick, 4), 100 + 50 * tick)}, *(("Empty", "") if gone else ()))
        return upgraded(now, tick, "3.9", "4.3", at)

    for at, is_named in ((5, True), (99, False)):
        verdict = diagnose(watched(lambda s, t, at=at: change(s, t, at), 14, before=change(healthy(), 0)))  # type: ignore[misc]
        (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "group-stopped"]
        assert any("refuse clients older than 2.1" in each.fact for each in claim.evidence) is is_named
        assert ("upgrade the clients" in claim.next[0].text) is is_named


@pytest.mark.parametrize(
    ("stops", "leaves", "others", "is_told"),
    [
        pytest.param(21, 20, True, True, id="when the broker stopped"),
        pytest.param(40, 20, True, False, id="minutes later"),
        pytest.param(21, None, True, False, id="no broker stopped"),
        pytest.param(21, 20, False, False, id="nothing is written any more"),
        pytest.param(1_000, 20, True, False, id="its producers came back"),
    ],
)
def test_producers_that_do_not_come_back_after_a_broker_stopped(
    stops: int, leaves: int | None, *, others: bool, is_told: bool
) -> None:
    """If a topic gets no more records after broker 2 was away for 30 s and led nothing meanwhile, triage says that its
    producers did not come back. Ticks are 5 s.

    Args:
        stops: the last tick with a record of orders.
        leaves: the tick at which the broker stops; None if it does not.
        others: whether other topics are written to after that.
    """
    orders = healthy().topics["orders"]
    names = {"orders": stops, "users": 1_000 if others else stops}
    led = tuple(each._replace(leader=1) for each in orders.partitions)
    topics = {name: replace(orders, name=name, topic_id=name, partitions=led) for name in names}

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        is_away = leaves is not None and leaves <= tick < leaves + 6
        return without_broker(snapshot, [2]) if is_away else snapshot

    def facts(tick: int) -> Facts:
        ends = [{(name, 0): 100 + 10 * min(at, last) for name, last in names.items()} for at in range(tick + 1)]
        return Facts(logs_seen(tick, lambda at: {place: LogOffsets(0, end, end) for place, end in ends[at].items()}))

    found = diagnose(watched(change, 52, before=replace(healthy(), topics=topics, groups={}, lags={}), facts=facts))
    told = [each for each in rows(found) if each.severity is Severity.WARNING]
    assert len(told) == is_told
    if is_told:
        assert told[0].title.startswith("orders: no new record since ")
        assert "when broker 2 stopped: its producers did not come back, others did" in told[0].title
        assert told[0].certainty is Certainty.POSSIBLE
        assert told[0].next[0].text.startswith("look at the logs of its producers first")


def not_back(ends: Mapping[str, int], away: Mapping[int, int], late: bool = False) -> list[Claim]:
    """Return the warnings about topics whose producers did not come back. Ticks are 5 s.

    Args:
        ends: topic -> its last tick with a record.
        away: broker -> the tick at which it stops for 30 s; each topic is led by brokers 1 to 3.
        late: whether the broker does not stop, but only answers kac late.
    """
    orders = healthy().topics["orders"]
    topics = {name: replace(orders, name=name, topic_id=name) for name in (*ends, *(f"live{n}" for n in range(6)))}

    def gone(tick: int) -> list[int]:
        return [broker for broker, at in away.items() if at <= tick < at + 6]

    def facts(tick: int) -> Facts:
        last = [{(name, 0): 100 + 10 * min(at, ends.get(name, at)) for name in topics} for at in range(tick + 1)]
        return Facts(logs_seen(tick, lambda at: {place: LogOffsets(0, end, end) for place, end in last[at].items()}))

    seen = begin(Poll(START, base := replace(healthy(), topics=topics, groups={}, lags={}), facts=facts(0)))
    for tick in range(1, 62):
        now = fresh(base if late else without_broker(base, gone(tick)), tick)
        seen = after(seen, Poll(START + tick * TICK, now, frozenset(gone(tick) if late else ()), facts=facts(tick)))
    return [each for each in rows(diagnose(seen)) if each.severity is Severity.WARNING]


def test_topics_that_one_job_may_have_written_are_only_possible_and_one_row_for_each_broker() -> None:
    (claim,) = not_back({f"etl{n}": 21 for n in range(5)}, {2: 20})
    assert claim.certainty is Certainty.POSSIBLE
    assert "Restart them only if they ended with an error" in claim.next[0].text
    two = not_back({"a": 21, "b": 21, "c": 45, "d": 45}, {2: 20, 3: 44})
    assert sorted(each.subject.topic or "" for each in two) == ["a", "b", "c", "d"]
    for each in two:
        assert f"when broker {2 if each.subject.topic in ('a', 'b') else 3} stopped" in each.title


def test_a_broker_that_answers_kac_late_has_not_stopped() -> None:
    assert not_back({"orders": 21}, {2: 20}, late=True) == []
