"""Tests of groups that wait for an open transaction: they are not called stuck, and no step skips a record."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model.cluster import Group, GroupLag, Partition, PartitionLag, Topic
from console.model.coordinators import OFFSETS, java_hash, partition_of
from console.model.numbers import time_of_day
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.transactions import OpenTransaction, Producer, StableOffsets, Transaction, Transactions
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts, opened
from console.triage.symptoms import Subject
from tests.unit import test_triage as triage

PLACE = ("orders", 0)
TICKS = 30


def held(
    tick: int,
    *,
    quiet_since: int = 0,
    known: bool = True,
    stable: int = 100,
    place: tuple[str, int] = PLACE,
    timeout_ms: int = 300_000,
) -> Facts:
    """Return facts at a tick about a transaction that began at the first poll.

    Args:
        quiet_since: the tick of its last record; -1 if it writes at each poll.
        known: whether a coordinator knows its transactional id.
        stable: the last stable offset.
        place: topic and partition.
        timeout_ms: its timeout in milliseconds.
    """
    logs = triage.logs_seen(tick, lambda each: {place: LogOffsets(0, stable, 110 + 50 * each)})
    last = triage.now_ms(min(tick, quiet_since) if quiet_since >= 0 else tick)
    one = OpenTransaction(*place, Producer(77, 3, 9, last, 2, stable), confirmed=True)
    id_ = Transaction("tx-dead", 77, "Ongoing", 1, 3, timeout_ms, triage.now_ms(0), frozenset({place}))
    end = 110 + 50 * tick
    transactions = {"tx-dead": id_} if known else {}
    seen = Transactions({place: StableOffsets(stable, end)}, (one,), transactions, at_ms=triage.now_ms(tick))
    return Facts(logs, seen, opened(seen))


def reads_committed(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick with a group that has read partition 0 up to the transaction, and all of partition
    1.
    """
    return triage.moved(snapshot, {0: (100, 110 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})


def test_a_group_behind_an_open_transaction_waits_for_it() -> None:
    """A group that waits for a transaction whose producer still writes is no trouble at first."""
    verdict = diagnose(triage.watched(reads_committed, 11, facts=lambda tick: held(tick, quiet_since=-1)))
    assert verdict.is_healthy
    assert not verdict.unexplained
    (only,) = verdict.causes
    assert only.claim.cause == "transaction-open"
    assert only.claim.title.startswith("read_committed readers of orders/0 wait for transaction tx-dead, open for 55 s")
    assert only.claim.title.endswith(f"it ends by itself at {time_of_day(triage.START + timedelta(minutes=5))}")
    assert any("groups that stand at it: billing" in each.fact for each in only.claim.evidence)
    assert only.explains == {"lag-grows": 1, "commit-stands-still": 1}
    assert not any("skip" in step.command for step in only.claim.next)


def test_a_group_that_did_not_commit_the_marker_before_it_waits_as_well() -> None:
    def before_the_marker(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.moved(snapshot, {0: (99, 110 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})

    before = before_the_marker(triage.healthy(), 0)
    (only,) = diagnose(triage.watched(before_the_marker, TICKS, before=before, facts=held)).causes
    assert (only.claim.cause, only.claim.severity) == ("transaction-open", Severity.WARNING)
    assert any("groups that stand at it: billing" in each.fact for each in only.claim.evidence)


def test_a_producer_that_wrote_nothing_for_long_is_a_warning_where_somebody_waits() -> None:
    verdict = diagnose(triage.watched(reads_committed, TICKS, facts=held))
    (only,) = verdict.causes
    assert (only.claim.cause, only.claim.severity) == ("transaction-open", Severity.WARNING)
    alone = diagnose(triage.watched(lambda s, _: s, TICKS, facts=held))
    assert [each.claim.severity for each in alone.causes] == [Severity.INFO]


@pytest.mark.parametrize(
    ("ticks", "cause", "severity"),
    [(14, "transaction-open", Severity.INFO), (16, "transaction-hanging", Severity.HIGH)],
    ids=["70 s", "80 s"],
)
def test_a_coordinator_has_some_seconds_to_end_a_transaction(ticks: int, cause: str, severity: Severity) -> None:
    """Coordinators look for transactions past their timeout, here 60 s, every ten seconds."""
    verdict = diagnose(triage.watched(reads_committed, ticks, facts=lambda tick: held(tick, timeout_ms=60_000)))
    (only,) = verdict.causes
    assert (only.claim.cause, only.claim.severity) == (cause, severity)
    assert ("ends by itself within seconds" in only.claim.title) is (cause == "transaction-open")


@pytest.mark.parametrize(
    ("cycle", "ticks", "certainty"),
    [
        pytest.param(0, 30, Certainty.POSSIBLE, id="the first one since kac watches"),
        pytest.param(0, 185, Certainty.CERTAIN, id="for longer than brokers let one last"),
        pytest.param(2, 30, Certainty.CERTAIN, id="longer than before"),
        pytest.param(8, 20, None, id="as long as before"),
    ],
)
@pytest.mark.parametrize("writes", [True, False])
def test_readers_wait_for_longer_than_before(cycle: int, ticks: int, certainty: Certainty | None, writes: bool) -> None:
    """Triage says that readers wait if a transaction lasts much longer than the ones before it. Ticks are 5 s. cycle:
    the ticks of each of two transactions before it; 0 for none. writes: whether it still writes.
    """
    begins = 2 * cycle
    at = [100 + 10 * (min(tick, begins) // max(1, cycle)) for tick in range(ticks + 1)]

    def facts(tick: int) -> Facts:
        known = held(tick, quiet_since=-1 if writes else begins, stable=at[tick])
        logs = triage.logs_seen(tick, lambda each: {PLACE: LogOffsets(0, at[each], 110 + 50 * each)})
        (id_,) = known.transactions.transactions.values()
        began = {"tx-dead": replace(id_, start_ms=triage.now_ms(begins), timeout_ms=3_600_000)}
        return replace(known, logs=logs, transactions=replace(known.transactions, transactions=began))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.moved(snapshot, {0: (at[tick], 110 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})

    found = triage.claims_of(diagnose(triage.watched(change, ticks, facts=facts)), "transaction-open")
    assert [each.certainty for each in found if each.severity is Severity.WARNING] == (
        [certainty] if certainty is not None else []
    )
    if certainty is not None:
        assert ("its producer still writes" if writes else "its last record is") in found[0].title
        assert ("checkpoint" in found[0].next[0].text) is writes


@pytest.mark.parametrize(
    ("moves", "usual"),
    [
        pytest.param([2], 0.0, id="kac did not see its begin"),
        pytest.param([2, 122], 600.0, id="one whole wait"),
        pytest.param([2, 122, 124, 126, 246, 248], 600.0, id="checkpoints that end several transactions"),
        pytest.param([2, 122, 124, 126, 128], 10.0, id="one producer that died"),
    ],
)
def test_the_usual_wait_of_a_log(moves: list[int], usual: float) -> None:
    """The usual wait of a log, in seconds, follows from the ticks, of 5 s, at which its last stable offset moved while
    records waited. moves: these ticks.
    """
    stable = [sum(tick >= each for each in moves) for tick in range(max(moves) + 1)]
    logs = triage.logs_seen(max(moves), lambda tick: {PLACE: LogOffsets(0, stable[tick], 100 + tick)})
    assert logs.logs[PLACE].held == usual


def test_a_checkpoint_after_one_whose_begin_kac_did_not_see_is_only_possible() -> None:
    """If kac first polls 10 s before a checkpoint, in a job with checkpoints of 10 minutes, waiting for the next one is
    only named as possible.
    """

    def facts(tick: int) -> Facts:
        known = held(tick, quiet_since=-1, stable=100 if tick < 2 else 110)
        logs = triage.logs_seen(tick, lambda each: {PLACE: LogOffsets(0, 100 if each < 2 else 110, 120 + 50 * each)})
        return replace(known, logs=logs)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.moved(snapshot, {0: (100 if tick < 2 else 110, 120 + 50 * tick), 1: (5, 5)})

    (claim,) = triage.claims_of(diagnose(triage.watched(change, 40, facts=facts)), "transaction-open")
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)


def test_times_of_events_are_no_time_of_a_write() -> None:
    """A producer that writes records with yesterday's timestamps at each poll does not count as one that stopped
    writing.
    """

    def facts(tick: int) -> Facts:
        known = held(tick, quiet_since=-1)
        (one,) = known.transactions.open
        older = replace(one.producer, last_timestamp=one.producer.last_timestamp - 86_400_000)
        return replace(known, transactions=replace(known.transactions, open=(one._replace(producer=older),)))

    (claim,) = triage.claims_of(diagnose(triage.watched(reads_committed, TICKS, facts=facts)), "transaction-open")
    assert "wrote nothing" not in claim.title
    assert claim.title.endswith("its last record is 24 h old")


def test_a_commit_before_the_transaction_is_stuck() -> None:
    """A group whose committed offset is before the last stable offset and does not advance is named as stuck, not as
    waiting.
    """
    verdict = diagnose(
        triage.watched(reads_committed, TICKS, facts=lambda tick: held(tick, quiet_since=-1, stable=105))
    )
    (stuck,) = triage.claims_of(verdict, "consumer-stuck")
    poll, log = stuck.next
    assert poll.text == "look at the record: the committed one, or one of those after it in its batch"
    assert not log.command, "nothing shows that the record is the reason"


def test_a_transaction_that_cannot_be_looked_into_is_waited_for() -> None:
    def facts(tick: int) -> Facts:
        return replace(held(tick), transactions=Transactions(), open_before=frozenset())

    (only,) = diagnose(triage.watched(reads_committed, TICKS, facts=facts)).causes
    assert (only.claim.cause, only.claim.certainty.value) == ("transaction-open", "likely")
    assert only.claim.title == "read_committed readers of orders/0 wait for an open transaction"


def test_who_waits_for_one_that_hangs_is_named() -> None:
    verdict = diagnose(triage.watched(reads_committed, TICKS, facts=lambda tick: held(tick, known=False)))
    (hangs,) = triage.claims_of(verdict, "transaction-hanging")
    assert hangs.evidence[0].fact == "groups that stand at it: billing"
    assert not triage.claims_of(verdict, "consumer-stuck")
    assert not triage.claims_of(verdict, "transaction-open")


def test_groups_whose_offsets_are_behind_one_that_hangs_are_named() -> None:
    """If a transaction hangs in a partition of __consumer_offsets, triage names the groups whose names' hashes select
    that partition, and no others.
    """
    number = partition_of("payments", 50)
    partitions = tuple(Partition(each, 1, (1, 2, 3), (1, 2, 3)) for each in range(50))
    other = next(f"g-{n}" for n in range(99) if partition_of(f"g-{n}", 50) != number)
    names = ("payments", other)

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        groups = {name: Group(name, "Stable", "consumer") for name in names}
        lags = {name: GroupLag((PartitionLag("orders", 0, 5, 5, 0, "m"),)) for name in names}
        topics = {**snapshot.topics, OFFSETS: Topic(OFFSETS, partitions, internal=True)}
        return replace(snapshot, groups=groups, lags=lags, topics=topics)

    verdict = diagnose(
        triage.watched(change, TICKS, facts=lambda tick: held(tick, known=False, place=(OFFSETS, number)))
    )
    (hangs,) = triage.claims_of(verdict, "transaction-hanging")
    assert hangs.subject == Subject(topic=OFFSETS, partition=number)
    assert hangs.evidence[0].fact == (
        f"groups with their offsets in {OFFSETS}/{number}: payments; those in the transaction can't be read"
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("", 0), ("a", 97), ("ab", 31 * 97 + 98), ("polygenelubricants", -(2**31))]
)
def test_the_hash_is_javas(name: str, expected: int) -> None:
    assert java_hash(name) == expected
    assert partition_of(name, 50) == (expected % 50 if expected >= 0 else 0)


def test_many_transactions_at_work_are_one_line() -> None:
    """Many open transactions that still write are one line, because an application that commits at checkpoints has one
    in each partition.
    """

    def facts(tick: int) -> Facts:
        places = [("orders", number) for number in range(6)]
        logs = ObservedLogs()
        for each in range(tick + 1):
            at = (triage.START + each * triage.TICK).timestamp()
            logs = logs_after(logs, {place: LogOffsets(0, 40, 100 + each) for place in places}, at)
        last = triage.now_ms(tick)
        open_ = tuple(
            OpenTransaction(*place, Producer(n, 0, 0, last, 0, 40), confirmed=True) for n, place in enumerate(places)
        )
        known = {
            f"sink-{n}": Transaction(f"sink-{n}", n, "Ongoing", 1, 0, 900_000, triage.now_ms(0), frozenset({place}))
            for n, place in enumerate(places)
        }
        seen = Transactions({p: StableOffsets(40, 100 + tick) for p in places}, open_, known, at_ms=triage.now_ms(tick))
        return Facts(logs, seen, opened(seen))

    verdict = diagnose(triage.watched(lambda s, _: s, facts=facts, before=triage.healthy()))
    assert verdict.is_healthy
    (only,) = verdict.causes
    assert only.claim.title == "6 transactions are open: readers with read_committed wait for them"


def test_readers_of_a_topic_are_told_before_groups_whose_offsets_are_in_the_transaction() -> None:
    """If a transaction holds back readers of a topic and offsets in __consumer_offsets, triage names one cause, the
    waiting readers. It does not also list the group whose offsets the transaction holds back among the groups
    whose commits can't be known.
    """
    number = partition_of("billing", 50)
    partitions = tuple(Partition(each, 1, (1, 2, 3), (1, 2, 3)) for each in range(50))
    places = (PLACE, (OFFSETS, number))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        topics = {**snapshot.topics, OFFSETS: Topic(OFFSETS, partitions, internal=True)}
        return replace(triage.moved(snapshot, {0: (100, 110 + 50 * tick)}), topics=topics)

    def facts(tick: int) -> Facts:
        logs = ObservedLogs()
        for each in range(tick + 1):
            found = {place: LogOffsets(0, 100, 110 + 50 * each) for place in places}
            logs = logs_after(logs, found, (triage.START + each * triage.TICK).timestamp())
        producer = Producer(77, 3, 9, triage.now_ms(tick), 2, 100)
        open_ = tuple(OpenTransaction(*place, producer, confirmed=True) for place in places)
        known = Transaction("tx", 77, "Ongoing", 1, 3, 300_000, triage.now_ms(0), frozenset(places))
        offsets = {place: StableOffsets(100, 110 + 50 * tick) for place in places}
        seen = Transactions(offsets, open_, {"tx": known}, at_ms=triage.now_ms(tick))
        return Facts(logs, seen, opened(seen))

    verdict = diagnose(triage.watched(change, 6, before=change(triage.healthy(), 0), facts=facts))
    (only,) = verdict.causes
    assert only.claim.title.startswith(
        "read_committed readers of orders/0 and 1 more partition wait for transaction tx"
    )
    assert not [each for each in verdict.unknowable if "billing" in each.what]
    without = diagnose(triage.watched(change, 6, before=change(triage.healthy(), 0)))
    assert [each for each in without.unknowable if "billing" in each.what]


def test_a_stuck_group_is_not_explained_by_a_transaction_that_runs_where_its_offsets_are() -> None:
    number = partition_of("billing", 50)
    partitions = tuple(Partition(each, 1, (1, 2, 3), (1, 2, 3)) for each in range(50))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        topics = {**snapshot.topics, OFFSETS: Topic(OFFSETS, partitions, internal=True)}
        return replace(reads_committed(snapshot, tick), topics=topics)

    verdict = diagnose(
        triage.watched(change, TICKS, facts=lambda tick: held(tick, quiet_since=-1, place=(OFFSETS, number)))
    )
    assert [each.claim.cause for each in verdict.causes] == ["consumer-stuck", "transaction-open"]
