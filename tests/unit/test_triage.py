"""Tests of the causes that triage names, and their evidence, with polls of a small cluster that has one trouble
each.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.metrics import metrics_text
from console.answers.triage import exit_code, text_lines, verdict_data
from console.language.grammar import parse
from console.language.interpret import command_of
from console.language.statements import Where
from console.model import cluster
from console.model.certificates import Certificate, Listener, advertised_with_tls
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.coordinators import partition_of
from console.model.disk_trend import DirSample, seconds_left
from console.model.failure import WRONG_BROKER, WRONG_CLUSTER, Failure
from console.model.metadata_views import Views, views_after
from console.model.observed_logs import LogOffsets, Newest, ObservedLogs, logs_after
from console.model.quota import QuotaEntity
from console.model.rates import Rates, with_dirs
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, trends_after, with_failures
from console.model.transactions import OpenTransaction, Producer, StableOffsets, Transaction, Transactions
from console.plan.edits import CancelMove
from console.present.triage import alarms, cause_id, cause_rows, counts
from console.triage.cause import Claim, Next
from console.triage.causes import connect, mirrors
from console.triage.diagnosis import RULES, Verdict, diagnose
from console.triage.facts import Facts, opened
from console.triage.observations import Observations, after, begin
from console.triage.standing import ARISING, STANDING
from console.triage.symptoms import WORK, Poll, Subject
from console.tui.panes.now import evidence_of
from tests.support import samples

START = datetime(2026, 3, 1, 3, 0, tzinfo=UTC)
PARTS = ("cluster", "quorum", "topics", "groups", "reassignments", "log_dirs", "configs")
TICK = timedelta(seconds=5)

Change = Callable[[Snapshot, int], Snapshot]


def healthy(brokers: int = 3, racks: int = 3) -> Snapshot:
    """Return the snapshot of a healthy cluster whose topic orders has two partitions for each broker, led by their
    preferred replicas.
    """
    ids = tuple(range(1, brokers + 1))
    partitions = tuple(
        cluster.Partition(
            n, ids[n % brokers], tuple(ids[(n + k) % brokers] for k in range(3)), ids[:3] if brokers == 3 else ids
        )
        for n in range(2 * brokers)
    )
    partitions = tuple(each._replace(isr=each.replicas) for each in partitions)
    return Snapshot(
        cluster=cluster.ClusterInfo(
            "c", 1, tuple(cluster.Broker(i, "127.0.0.1", 9000 + i, f"rack-{i % racks}") for i in ids)
        ),
        quorum=cluster.Quorum(
            1, 7, 100, tuple(cluster.QuorumReplica(i, 100, 0, now_ms(0), now_ms(0)) for i in ids), ()
        ),
        topics={"orders": cluster.Topic("orders", partitions, topic_id="id")},
        groups={"billing": cluster.Group("billing", "Stable", "consumer", coordinator=1, members=(MEMBER,))},
        lags={
            "billing": cluster.GroupLag(
                (cluster.PartitionLag("orders", 0, 100, 100, 0, "m1"), cluster.PartitionLag("orders", 1, 5, 5, 0))
            )
        },
        log_dirs={i: (cluster.LogDir("/data", cluster.ReplicaSizes(), 1_000, 900),) for i in ids},
        read_at=dict.fromkeys(PARTS, START),
    )


MEMBER = cluster.GroupMember("m1", "c", "/127.0.0.1", (("orders", 0),))


def now_ms(tick: int) -> int:
    return int((START + tick * TICK).timestamp() * 1000)


def with_quorum(snapshot: Snapshot, **changed: object) -> Snapshot:
    """Return the snapshot with these fields of its quorum, if it has one."""
    return replace(snapshot, quorum=snapshot.quorum and replace(snapshot.quorum, **changed))  # type: ignore[arg-type]


def caught_up(snapshot: Snapshot, at_ms: int, **changed: object) -> Snapshot:
    """Return the snapshot in which all voters of the quorum caught up at `at_ms` (ms since 1970). changed: further
    fields of the quorum.
    """
    voters = snapshot.quorum.voters if snapshot.quorum is not None else ()
    moved = tuple(replace(voter, last_caught_up_ms=at_ms, **changed) for voter in voters)  # type: ignore[arg-type]
    return with_quorum(snapshot, voters=moved)


def fresh(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot in which all voters of the quorum caught up at the time of a tick (the number of a poll)."""
    return caught_up(snapshot, now_ms(tick))


def each_of_orders(snapshot: Snapshot, change: Callable[[cluster.Partition], cluster.Partition]) -> Snapshot:
    """Return the snapshot in which `change` was applied to each partition of topic orders."""
    topic = snapshot.topics["orders"]
    changed = replace(topic, partitions=tuple(map(change, topic.partitions)))
    return replace(snapshot, topics={**snapshot.topics, "orders": changed})


def first_of_orders(snapshot: Snapshot, **changed: object) -> Snapshot:
    """Return the snapshot with these fields of partition 0 of topic orders."""
    return each_of_orders(snapshot, lambda each: each if each.number else each._replace(**changed))  # type: ignore[arg-type]


def watched(
    change: Change,
    ticks: int = 8,
    silent: Iterable[int] = (),
    before: Snapshot | None = None,
    facts: Callable[[int], Facts] = lambda _: Facts(),
    closing: Iterable[int] = (),
) -> Observations:
    """Return the observations after `ticks` polls of a cluster, 5 s apart, whose snapshot `change` alters at each tick
    (the number of the poll).

    silent: brokers that do not answer. before: the first snapshot; None for a healthy one. facts: tick -> further
    facts. closing: brokers that close connections.
    """
    base = before or healthy()
    trends = trends_after({}, base.lags, START)
    observations = begin(Poll(START, replace(base, lag_trends=trends), facts=facts(0)))
    for tick in range(1, ticks + 1):
        at = START + tick * TICK
        snapshot = change(fresh(base, tick), tick)
        trends = trends_after(trends, snapshot.lags, at)
        observations = after(
            observations,
            Poll(
                at,
                replace(snapshot, lag_trends=trends),
                frozenset(silent),
                facts=facts(tick),
                closing=frozenset(closing),
            ),
        )
    return observations


def named(verdict: Verdict) -> set[tuple[str, Subject]]:
    return {(each.claim.cause, each.claim.subject) for each in verdict.causes}


def claims_of(verdict: Verdict, cause: str) -> list[Claim]:
    return [each.claim for each in verdict.causes if each.claim.cause == cause]


def without_broker(snapshot: Snapshot, gone: Iterable[int], *, fenced: bool = True) -> Snapshot:
    """Return the snapshot with these brokers out of every ISR and without leaders. They are fenced or, if `fenced` is
    false, not listed.
    """
    away = frozenset(gone)
    topics = {}
    for name, topic in snapshot.topics.items():
        changed = []
        for each in topic.partitions:
            isr = tuple(b for b in each.isr if b not in away)
            leader = each.leader if each.leader not in away else (isr[0] if isr else -1)
            changed.append(each._replace(isr=isr or each.isr, leader=leader, offline=tuple(away & set(each.replicas))))
        topics[name] = replace(topic, partitions=tuple(changed))
    brokers = tuple(replace(b, fenced=True) if b.id in away else b for b in snapshot.cluster.brokers)
    kept = brokers if fenced else tuple(b for b in brokers if b.id not in away)
    return replace(snapshot, topics=topics, cluster=replace(snapshot.cluster, brokers=kept))


def moved(
    snapshot: Snapshot, lags: Mapping[int, tuple[int, int]], state: str = "Stable", member: str = "m1"
) -> Snapshot:
    """Return the snapshot with these offsets of the group billing in topic orders. lags: partition -> (committed
    offset, end offset). member: the id of its member.
    """
    rows = tuple(
        cluster.PartitionLag("orders", n, committed, end, end - committed, member)
        for n, (committed, end) in lags.items()
    )
    members = (MEMBER,) if member else ()
    group = cluster.Group("billing", state, "consumer", coordinator=1, members=members)
    return replace(snapshot, lags={"billing": cluster.GroupLag(rows)}, groups={"billing": group})


def config(key: str, value: str, source: int) -> ConfigSet:
    return samples.config_set({key: value}, ConfigSource(source))


BROKER = {n: Subject(broker=n) for n in range(1, 7)}
AT_0, BILLING = Subject(group="billing", topic="orders", partition=0), Subject(group="billing")
AT_ADDRESS, PER_IP = Subject(broker=3, listener="127.0.0.1:9003"), {"max.connections.per.ip": "2"}
TOPIC_CONFIG, BROKER_CONFIG = 1, 2


def _flapping(snapshot: Snapshot, tick: int) -> Snapshot:
    return without_broker(snapshot, [3]) if tick % 2 else snapshot


def _behind(snapshot: Snapshot, _tick: int) -> Snapshot:
    assert snapshot.quorum is not None
    first, second, third = snapshot.quorum.voters
    late = replace(third, lag=50, last_caught_up_ms=now_ms(0) - 60_000)
    return with_quorum(snapshot, voters=(first, second, late))


def _formatted_again(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick after node 3 was formatted again: its voter no longer fetches, and an observer with
    its id and another directory id follows.
    """
    behind = _behind(snapshot, tick).quorum
    assert behind is not None
    now = now_ms(0)
    first, second, third = (replace(each, last_fetch_ms=now, directory_id=f"of-{each.id}") for each in behind.voters)
    voters = (replace(first, last_caught_up_ms=now), second, replace(third, last_fetch_ms=now - 60_000))
    again = cluster.QuorumReplica(3, 100, 0, now, now, "another")
    return with_quorum(snapshot, voters=voters, observers=(again,))


def _skewed(snapshot: Snapshot, _tick: int) -> Snapshot:
    return each_of_orders(snapshot, lambda p: p._replace(leader=p.replicas[1]) if p.leader == 3 else p)


def _min_isr(snapshot: Snapshot, _tick: int) -> Snapshot:
    resource = topic_resource("orders")
    return replace(snapshot, configs={resource: config("min.insync.replicas", "4", TOPIC_CONFIG)})


TWO_IN_SYNC = {topic_resource("orders"): config("min.insync.replicas", "2", TOPIC_CONFIG)}


def _out_of_isr(snapshot: Snapshot, _tick: int) -> Snapshot:
    return each_of_orders(snapshot, lambda p: p._replace(isr=tuple(b for b in p.isr if b != 2)) if p.leader == 1 else p)


def _no_coordinator(snapshot: Snapshot, _tick: int) -> Snapshot:
    offsets = cluster.Topic("__consumer_offsets", (cluster.Partition(0, -1, (1, 2, 3), (1,)),), internal=True)
    return replace(snapshot, topics={**snapshot.topics, offsets.name: offsets})


def _failed_dir(snapshot: Snapshot, _tick: int) -> Snapshot:
    bad = cluster.LogDir("/data", cluster.ReplicaSizes(), failure=Failure("KAFKA_STORAGE_ERROR", "disk error"))
    return replace(snapshot, log_dirs={**snapshot.log_dirs, 2: (bad,)})


def _filling(snapshot: Snapshot, tick: int) -> Snapshot:
    return replace(snapshot, log_dirs={**snapshot.log_dirs, 2: (samples.held(total=1_000, usable=900 - 20 * tick),)})


def _move_to_the_dead(snapshot: Snapshot, _tick: int) -> Snapshot:
    return replace(snapshot, reassignments=(cluster.Reassignment("orders", 0, (1, 2, 9), (9,), (3,)),))


def logs_seen(tick: int, at: Callable[[int], Mapping[tuple[str, int], LogOffsets]]) -> ObservedLogs:
    """Return the logs' offsets as the polls up to a tick observed them. at: tick -> the offsets at that poll."""
    observations = ObservedLogs()
    for each in range(tick + 1):
        observations = logs_after(observations, at(each), (START + each * TICK).timestamp())
    return observations


def kept_logs(ends: Callable[[int], Mapping[tuple[str, int], int]], **more: object) -> Callable[[int], Facts]:
    """Return a function from tick to facts about logs from which no record is deleted. ends: tick -> the end offset of
    each partition. more: further facts.
    """

    def facts(tick: int) -> Facts:
        logs = logs_seen(tick, lambda each: {place: LogOffsets(0, end, end) for place, end in ends(each).items()})
        return Facts(logs, **more)  # type: ignore[arg-type]

    return facts


def logs_at(tick: int, states: Mapping[int, LogOffsets]) -> ObservedLogs:
    """Return the observed log of orders/0 after the polls up to a tick. states: tick -> the offsets from that tick
    on.
    """
    return logs_seen(tick, lambda each: {("orders", 0): states[max(at for at in states if at <= each)]})


LATE = OpenTransaction("orders", 0, Producer(4012, 5, 2, now_ms(0) - 3_600_000, 3, 40), confirmed=True)


def prepared(state: str, *, timeout_ms: int = 60_000, open_ms: int = 10_800_000) -> Callable[[int], Facts]:
    """Return a function from tick to facts about a transaction that its coordinator has decided, but whose marker
    orders/0 does not get. state: of the transaction. timeout_ms: its timeout. open_ms: its age at the first poll.
    """
    known = Transaction("app", 4012, state, 1, 5, timeout_ms, now_ms(0) - open_ms, frozenset({LATE.place}))

    def facts(tick: int) -> Facts:
        seen = Transactions({LATE.place: StableOffsets(40, 100)}, (LATE,), {"app": known}, at_ms=now_ms(tick))
        return Facts(logs_at(tick, {0: LogOffsets(0, 40, 100)}), seen, opened(seen))

    return facts


def _hanging(tick: int) -> Facts:
    seen = Transactions({LATE.place: StableOffsets(40, 100)}, (LATE,), at_ms=now_ms(tick))
    return Facts(logs_at(tick, {0: LogOffsets(0, 40, 100)}), seen)


def _deleted(tick: int) -> Facts:
    """Return facts at a tick: from the fourth tick on, the first 90 records of orders/0 are deleted, although the
    newest of its records is only a minute old.
    """
    logs = logs_at(tick, {0: LogOffsets(0, 100, 100), 4: LogOffsets(90, 100, 100)})
    return Facts(logs, newest={("orders", 0): Newest(now_ms(0) - 60_000, 80)})


def kept_for(snapshot: Snapshot, retention_ms: int) -> Snapshot:
    """Return the snapshot in which topic orders has this retention.ms and no limit by size."""
    values = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": str(retention_ms)}
    configs = {topic_resource("orders"): samples.config_set(values, ConfigSource(TOPIC_CONFIG))}
    return replace(snapshot, configs=configs)


DAY_MS = 24 * 3_600_000


def to_and_fro(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick, in which two tools set segment.ms of topic orders to their values in turn."""
    value = str(3_600_000 * (1 + tick % 2))
    return replace(snapshot, configs={topic_resource("orders"): config("segment.ms", value, TOPIC_CONFIG)})


def slow(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick, in which the group billing reads one record of orders/0 while fifty are
    written.
    """
    return moved(kept_for(snapshot, 300_000), {0: (100 + tick, 100 + 50 * tick)})


def overtaken(tick: int) -> Facts:
    """Return facts at a tick: from the fifth poll on, the first 150 records of orders/0 are deleted."""
    return Facts(logs_seen(tick, lambda each: {("orders", 0): LogOffsets(0 if each < 5 else 150, 0, 100 + 50 * each)}))


def _unclean(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick: the last broker in the ISR of orders/0 disappears, and two polls later another
    replica leads.
    """
    alone = {"isr": (9,), "leader": 9, "replicas": (9, 2, 3), "leader_epoch": 4}
    if tick >= 2:
        alone |= {"leader": -1, "offline": (9,), "leader_epoch": 5}
    if tick >= 4:
        alone |= {"leader": 2, "isr": (2,), "leader_epoch": 6}
    brokers = (*snapshot.cluster.brokers, cluster.Broker(9, "127.0.0.1", 9009, fenced=tick >= 2))
    return replace(first_of_orders(snapshot, **alone), cluster=replace(snapshot.cluster, brokers=brokers))


def _ending(_tick: int) -> Facts:
    """Return facts with a certificate of a year that expires in five days, and one of a day that expires in sixteen
    hours, as is usual for it.
    """
    listeners = [Listener(broker, "127.0.0.1", 9000 + broker) for broker in (1, 2)]
    year = Certificate(listeners[0], "CN=b", "CN=ca", START - timedelta(days=360), START + timedelta(days=5))
    day = Certificate(listeners[1], "CN=b", "CN=ca", START - timedelta(hours=8), START + timedelta(hours=16))
    return Facts(certificates=(year, day))


def _from_the_future(tick: int) -> Facts:
    newest = {("orders", 0): Newest(now_ms(0) + 2 * DAY_MS, 7), ("orders", 1): Newest(now_ms(0) + 60_000, 7)}
    return Facts(logs_at(tick, {0: LogOffsets(0, 100, 100)}), newest=newest)


def _in_seconds(tick: int) -> Facts:
    return Facts(newest={("orders", 0): Newest(int(START.timestamp()) + tick, 41)})


def _old_leaders(tick: int) -> Facts:
    """Return facts in which broker 2 still answers with the previous leader epoch of a partition."""
    topic = cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2, 3), (1, 2, 3), leader_epoch=6),), topic_id="id")
    old = replace(topic, partitions=(topic.partitions[0]._replace(leader_epoch=5),))
    views = Views()
    for each in range(tick + 1):
        for broker in (1, 2, 3):
            answer = cluster.TopicListing({"orders": old if broker == 2 else topic})
            views = views_after(views, broker, [topic], answer, (START + each * TICK).timestamp())
    return Facts(views=views)


def set_by(snapshot: Snapshot, **changes: str) -> Snapshot:
    """Return the snapshot in which brokers 1 to 3 have four fetchers and a cleaner, and broker 2 has these other
    values. changes: underscores in keys stand for dots.
    """
    configs = {}
    for broker in (1, 2, 3):
        values = {"num.replica.fetchers": "4", "log.cleaner.enable": "true"} | (changes if broker == 2 else {})
        configs[broker_resource(broker)] = samples.config_set(values, ConfigSource(BROKER_CONFIG))
    return replace(snapshot, configs={**snapshot.configs, **configs})


def _two_replicas_away(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick: two followers leave an ISR after replica.lag.time.max.ms of their leader was
    lowered.
    """
    leader = snapshot.topics["orders"].partitions[0].leader
    patience = config("replica.lag.time.max.ms", "100" if tick >= 2 else "30000", BROKER_CONFIG)
    lonely = first_of_orders(snapshot, isr=(leader,)) if tick >= 3 else snapshot
    return replace(lonely, configs={broker_resource(leader): patience})


def _uncleaned(snapshot: Snapshot, _tick: int) -> Snapshot:
    """Return the snapshot in which a compacted partition has 100 times as many bytes on broker 2 as on the others."""
    values = {"cleanup.policy": "compact", "segment.bytes": "1000"}
    configs = {topic_resource("orders"): samples.config_set(values, ConfigSource(TOPIC_CONFIG))}
    return replace(snapshot, configs=configs, log_dirs=sized(3_000, 300_000, 3_500))


def sized(*sizes: int) -> dict[int, tuple[cluster.LogDir, ...]]:
    """Return broker -> log directories, for brokers 1, 2 and so on, with a replica of orders/0 of these sizes in
    bytes.
    """
    return {broker: (samples.held(("orders", 0, size)),) for broker, size in enumerate(sizes, 1)}


def _at_its_quota(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick: the group reads one record of 100 bytes per second, and its client's quota is 100
    bytes per second.
    """
    snapshot = moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)})
    quotas = {QuotaEntity.of({"client-id": "c"}): {"consumer_byte_rate": 100.0}}
    return replace(snapshot, log_dirs=sized(60_000, 60_000, 60_000), quotas=quotas)


_whole_logs = kept_logs(lambda _: {("orders", number): 100 for number in range(6)})
"""A function from tick to facts: six partitions of orders with 100 records each."""


def _moves(snapshot: Snapshot, tick: int, grows_to: int = 100) -> Snapshot:
    """Return the snapshot at a tick with a reassignment of orders/0 to broker 3, whose replica grows until the tick
    `grows_to`.
    """
    dirs = sized(10_000_000, 10_000_000, 100_000 * min(tick, grows_to))
    moves = (cluster.Reassignment("orders", 0, (1, 2, 3), (3,), (2,)),)
    return replace(snapshot, log_dirs=dirs, reassignments=moves)


def _hot(snapshot: Snapshot, tick: int, times: int = 10, topic: str = "orders", number: int = 0) -> Snapshot:
    """Return the snapshot at a tick in which the partitions of a topic grow by 200 KiB per second, and partition
    `number` by `times` as much.
    """
    rates = Rates()
    for poll in range(tick + 1):
        sizes = [
            cluster.ReplicaSize(topic, n, poll * (times if n == number else 1) * (1 << 20), 0, False) for n in range(6)
        ]
        dirs = {broker: (cluster.LogDir("/data", cluster.ReplicaSizes(sizes)),) for broker in snapshot.log_dirs}
        rates = with_dirs(rates, snapshot.topics, dirs, START + poll * TICK)
    return replace(snapshot, rates=rates)


def at_one_address(snapshot: Snapshot) -> Snapshot:
    first, second, *others = snapshot.cluster.brokers
    brokers = (first, replace(second, host=first.host, port=first.port), *others)
    return replace(snapshot, cluster=replace(snapshot.cluster, brokers=brokers))


def at_one_listener(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot in which brokers 2 and 3 advertise the same address on a listener that kac does not use."""
    configs = {
        broker_resource(each): samples.config_set(
            {"advertised.listeners": f"A://127.0.0.1:900{each},B://127.0.0.1:800{min(each, 2)}"},
            ConfigSource(BROKER_CONFIG),
        )
        for each in (1, 2, 3)
    }
    return replace(snapshot, configs={**snapshot.configs, **configs})


def answered_by_another(snapshot: Snapshot, name: str = WRONG_BROKER) -> Snapshot:
    why = Failure(name, "broker 1 answers at the address that is advertised by broker 3", "")
    return with_failures(snapshot, "configs", [("broker 3", why)])


Case = tuple[str, Subject, Change, dict[str, object]]


def as_it_was(snapshot: Snapshot, _tick: int) -> Snapshot:
    """Return the snapshot unchanged."""
    return snapshot


def case(cause: str, subject: Subject, change: Change = as_it_was, **how: object) -> Case:
    """Return a test case: a change of the cluster, and the cause and subject that triage has to name. how: more
    arguments of `watched`, and `beside`, the further causes that it may name.
    """
    return cause, subject, change, how


ORDERS, AT_ORDERS = Subject(topic="orders"), Subject(topic="orders", partition=0)
CASES: tuple[Case, ...] = (
    case("broker-down", BROKER[3], lambda s, _: without_broker(s, [3])),
    case("broker-down", BROKER[3], lambda s, _: without_broker(s, [3], fenced=False)),
    case("broker-flapping", BROKER[3], _flapping),
    case("rack-down", Subject(rack="rack-0"), lambda s, _: without_broker(s, [2, 4, 6]), before=healthy(6, 2)),
    case("broker-unresponsive", BROKER[2], _out_of_isr, silent=[2]),
    case("broker-turns-away", BROKER[2], lambda s, _: set_by(s, **PER_IP), silent=[2], closing=[2]),
    case("replication-broken", BROKER[2], _out_of_isr),
    # A controller ends most skews that begin while the console is open, so this one exists before.
    case("leader-skew", BROKER[3], _skewed, before=_skewed(healthy(), 0)),
    case("min-isr-impossible", ORDERS, _min_isr),
    case("leaderless", AT_ORDERS, lambda s, _: first_of_orders(s, leader=-1, isr=())),
    case("coordinator-unavailable", Subject(topic="__consumer_offsets", partition=0), _no_coordinator),
    case("reassignment-stalled", AT_ORDERS, _move_to_the_dead),
    case("unclean-election", AT_ORDERS, _unclean, beside={("broker-down", Subject(broker=9))}),
    case("cleaner-stopped", BROKER[2], _uncleaned),
    case(
        "config-odd",
        Subject(broker=2, key="num.replica.fetchers"),
        lambda s, t: set_by(_out_of_isr(s, t), **{"num.replica.fetchers": "1"}),
        beside={("replication-broken", BROKER[2])},
    ),
    case("changed-lately", Subject(broker=1, key="replica.lag.time.max.ms"), _two_replicas_away),
    case("quota-exceeded", Subject(group="billing", entity="client-id c"), _at_its_quota, facts=_whole_logs),
    case("address-of-another", Subject(broker=2, listener="127.0.0.1:9001"), lambda s, _: at_one_address(s)),
    case("address-of-another", Subject(broker=3, listener="127.0.0.1:8002"), lambda s, _: at_one_listener(s)),
    case("address-of-another", AT_ADDRESS, lambda s, _: answered_by_another(s)),
    case("address-of-another", AT_ADDRESS, lambda s, _: answered_by_another(s, WRONG_CLUSTER)),
    case("metadata-behind", BROKER[2], facts=_old_leaders),
    case("future-records", ORDERS, facts=_from_the_future, before=kept_for(healthy(), DAY_MS)),
    case("timestamps-in-seconds", ORDERS, facts=_in_seconds, before=kept_for(healthy(), DAY_MS)),
    case("transaction-hanging", AT_ORDERS, facts=_hanging),
    case("transaction-undelivered", AT_ORDERS, facts=prepared("PrepareCommit")),
    case(
        "records-deleted",
        ORDERS,
        lambda s, _: moved(s, {0: (50, 100)}),
        facts=_deleted,
        before=kept_for(moved(healthy(), {0: (50, 100)}), DAY_MS),
    ),
    case(
        "records-deleted",
        Subject(topic="orders", key="retention.ms", change="03:00:25"),
        lambda s, t: moved(kept_for(s, 60_000 if t >= 5 else DAY_MS), {0: (50, 100)}),
        facts=lambda t: replace(_deleted(t), newest={}),
        before=moved(kept_for(healthy(), DAY_MS), {0: (50, 100)}),
    ),
    case(
        "records-overtaken",
        Subject(group="billing", topic="orders"),
        slow,
        facts=overtaken,
        beside={("consumer-slow", BILLING)},
    ),
    case("config-contested", Subject(topic="orders", key="segment.ms"), to_and_fro),
    case(
        "log-shortened",
        AT_ORDERS,
        facts=lambda t: Facts(logs_at(t, {0: LogOffsets(0, 100, 100), 3: LogOffsets(0, 40, 40)})),
    ),
    case("hot-partition", AT_ORDERS, _hot, ticks=14),
    case("log-dir-failed", Subject(broker=2, dir="/data"), _failed_dir),
    case("disk-filling", Subject(broker=2, dir="/data"), _filling),
    case("quorum-lost", Subject(), lambda s, _: with_quorum(s, leader_id=-1)),
    case("quorum-unstable", Subject(), lambda s, t: with_quorum(s, leader_id=1 + t % 3, leader_epoch=7 + t)),
    case("voter-lagging", BROKER[3], _behind),
    case("voter-formatted", BROKER[3], _formatted_again),
    case("group-stopped", BILLING, lambda s, t: moved(s, {0: (100, 100 + 50 * t)}, state="Empty", member="")),
    case("consumer-stuck", AT_0, lambda s, t: moved(s, {0: (100, 100 + 50 * t), 1: (5 + 10 * t, 5 + 10 * t)})),
    case("consumer-slow", BILLING, lambda s, t: moved(s, {0: (100 + 5 * t, 100 + 50 * t)})),
    case(
        "group-rebalancing",
        BILLING,
        lambda s, t: moved(s, {0: (100, 100)}, state="PreparingRebalance" if t % 2 else "Stable"),
        ticks=14,
    ),
    case(
        "offsets-out-of-range",
        AT_0,
        lambda s, _: replace(moved(s, {0: (100, 900)}), log_ranges={("orders", 0): cluster.LogRange(500, 900)}),
    ),
)


each_case = pytest.mark.parametrize("made", CASES, ids=[f"{made[0]}-{n}" for n, made in enumerate(CASES)])


def observed(made: Case) -> Observations:
    """Return the observations of a cluster with a case's trouble."""
    _, _, change, how = made
    return watched(change, **{name: value for name, value in how.items() if name != "beside"})  # type: ignore[arg-type]


@each_case
def test_a_trouble_is_named_and_nothing_else(made: Case) -> None:
    cause, subject, _, how = made
    beside = how.get("beside", set())
    verdict = diagnose(observed(made))
    assert (cause, subject) in named(verdict)
    assert not verdict.unexplained, verdict.unexplained
    assert named(verdict) == {(cause, subject)} | beside  # type: ignore[operator]
    assert exit_code(verdict) == 4
    (mine,) = (each for each in verdict.causes if each.claim.cause == cause)
    assert mine.claim.evidence
    assert mine.claim.next
    for step in mine.claim.next:
        assert all(command_of(edit) for edit in step.edits)
        assert parse(step.command, Where.BAR) or not step.command
    data = verdict_data(verdict)
    assert data["healthy"] is False
    assert 'cause="' + cause + '"' in metrics_text(verdict)
    assert any(mine.claim.title in line for line in text_lines(verdict, 40))


def test_a_slow_consumer_is_so_many_seconds_behind_in_evidence_and_for_prometheus() -> None:
    """A slow group's evidence and metric say how many seconds it is behind: 100 records per second are written and ten
    are read, so after 40 s record 500 is next, which was written 36 s ago.
    """
    observations = watched(lambda s, t: moved(s, {0: (100 + 50 * t, 100 + 500 * t)}))
    verdict = diagnose(observations)
    (slow,) = claims_of(verdict, "consumer-slow")
    assert any(each.fact.startswith("lag 3,600 (36 s behind), +90 records/s") for each in slow.evidence), slow.evidence
    lines = metrics_text(verdict, observations.last.snapshot).splitlines()
    assert 'kac_group_lag_records{group="billing",topic="orders"} 3600' in lines
    assert 'kac_group_lag_seconds{group="billing",topic="orders"} 36' in lines
    assert 'kac_group_lag_seconds_exact{group="billing",topic="orders"} 1' in lines


def test_of_a_lag_from_before_the_watching_the_least_is_told() -> None:
    before = moved(healthy(), {0: (100, 150)})
    observations = watched(lambda s, t: moved(s, {0: (100, 150 + 50 * t)}, "Empty", ""), before=before)
    verdict = diagnose(observations)
    (stopped,) = claims_of(verdict, "group-stopped")
    assert any(each.fact.startswith("lag 450 (at least 40 s behind), ") for each in stopped.evidence), stopped.evidence
    told = metrics_text(verdict, observations.last.snapshot)
    assert 'kac_group_lag_seconds{group="billing",topic="orders"} 40\n' in told
    assert 'kac_group_lag_seconds_exact{group="billing",topic="orders"} 0\n' in told
    unseen = replace(before, lag_trends=trends_after({}, before.lags, START))
    assert "kac_group_lag_seconds{" not in metrics_text(verdict, unseen)


def test_no_retention_applies_to_an_empty_cleanup_policy() -> None:
    """If cleanup.policy is empty, triage names a request as the cause of deleted records, also of those older than
    retention.ms.
    """

    def gone(policy: str) -> set[tuple[str, Subject]]:
        entries = {"cleanup.policy": policy, "retention.bytes": "-1", "retention.ms": "1000"}
        configs = samples.config_set(entries, ConfigSource(TOPIC_CONFIG))
        before = replace(healthy(), configs={topic_resource("orders"): configs})
        return named(diagnose(watched(lambda s, _: moved(s, {0: (50, 100)}), facts=_deleted, before=before)))

    assert ("records-deleted", Subject(topic="orders")) in gone("")
    assert ("records-deleted", Subject(topic="orders")) not in gone("delete")


def test_every_cause_has_a_case() -> None:
    told = {
        "access-denied",
        "broker-denies",  # test_triage_denied.py
        "reassignment-running",
        "groups-without-members",
        "offsets-ahead",
        "transaction-open",
        "access-changed",
        "broker-cut-off",  # test_triage_restarts.py
        "restarts-overlap",  # test_triage_restarts.py
        "brokers-killed",
        "isr-flaps",  # test_triage_replication.py
        "broker-unregistered",  # test_triage_registrations.py
        # Causes from controllers alone: test_triage_controllers.py.
        "broker-stopped",
        "brokers-stopped",
        "controller-down",
        # Brokers that are stopped in order or come back: test_triage_restarts.py.
        "broker-restarting",
        # Causes without a symptom of the cluster: test_triage_silent.py.
        "writes-stopped",
        "written-elsewhere",
        "source-deleted",
        "leader-unwritten",
        "keys-collapsed",
        "heartbeats-stopped",
        # test_triage_loops.py
        "dead-letters-reread",
        "dead-letters-of-service",
        # Brokers and leaders compared with others: test_triage_in_common.py.
        "broker-slow",
        "leader-not-read",
        "remote-copy-stands",  # test_triage_tiers.py
        # Rules of lint: test_triage_standing.py.
        *({rule.name for rule in STANDING} - {"coordinator-unavailable"}),
        *(rule.name for rule in ARISING),
        # Troubles of this console: test_triage_console.py.
        "console-login-refused",
        "console-throttled",
        # Connect: test_triage_connect.py.
        *(rule.name for rule in connect.CAUSES),
        # MirrorMaker: test_triage_mirrors.py.
        *(rule.name for rule in mirrors.CAUSES),
        # Causes that need members over time: test_triage_members.py.
        "instance-contested",
        "partitions-unread",
        "subscription-missing",
        "topology-not-ready",
        "members-restart",  # test_triage_restarting.py
        "older-release",  # test_triage_standing.py
        # Causes that need a new group and its configs: test_triage_shares.py.
        "share-group-from-the-end",
    }
    assert {rule.name for rule in RULES} - told == {case[0] for case in CASES}


def test_a_healthy_cluster_has_no_cause() -> None:
    verdict = diagnose(watched(as_it_was))
    assert verdict.is_healthy
    assert (verdict.causes, verdict.unexplained, verdict.ruled_out) == ((), (), ())
    assert exit_code(verdict) == 0
    assert next(iter(text_lines(verdict, 40))).startswith("healthy")


@pytest.mark.parametrize(("ticks", "is_offered"), [(8, False), (361, True)])
def test_records_are_given_up_only_after_30_minutes(ticks: int, *, is_offered: bool) -> None:
    """An unclean election is proposed only after 30 minutes, because until then the broker with the last in-sync
    replica may still be reading its segments; at once if that broker is no longer in the cluster. Polls are 5 s
    apart.
    """
    for isr, now in (((3,), is_offered), ((9,), True)):  # broker 9 is not in the cluster any more
        before = replace(healthy(), cluster=replace(healthy().cluster, shows_fenced=True))
        observations = watched(
            lambda s, _, isr=isr: first_of_orders(s, leader=-1, isr=isr),
            ticks,
            before=before,  # type: ignore[misc]
        )
        (claim,) = claims_of(diagnose(observations), "leaderless")
        assert any(each.command == "elect unclean topic orders partition 0" for each in claim.next) is now
        assert any("accept the loss of records" in each.text for each in claim.next)


@pytest.mark.parametrize(
    ("behind_ms", "voters", "is_broker", "severity"),
    [
        (20_000, 1, False, Severity.INFO),  # it restarts
        (61_000, 1, False, Severity.HIGH),
        (20_000, 2, False, Severity.HIGH),
        (20_000, 1, True, Severity.HIGH),  # its broker runs
    ],
)
def test_a_controller_of_its_own_may_restart(
    behind_ms: int, voters: int, severity: Severity, *, is_broker: bool
) -> None:
    first = 0 if is_broker else 3_000

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        now = now_ms(tick)
        all_of = [cluster.QuorumReplica(first + n, 100, 0, now, now) for n in range(1, 6)]
        for n in range(1, 1 + voters):
            all_of[n] = replace(all_of[n], lag=50, last_caught_up_ms=now - behind_ms)
        return with_quorum(snapshot, leader_id=first + 1, voters=tuple(all_of))

    verdict = diagnose(watched(change, ticks=2, before=change(healthy(), 0)))
    found = claims_of(verdict, "voter-lagging")
    assert [each.severity for each in found] == [severity] * voters


@pytest.mark.parametrize(
    ("topic", "is_of_group", "look"),
    [
        ("orders", True, "records of one key"),
        ("__consumer_offsets", True, "their offsets there: billing. One of them commits too often"),
        ("__consumer_offsets", False, "their offsets there. One of them commits too often"),
        ("__transaction_state", True, "transactional.id"),
    ],
)
def test_a_hot_partition_of_a_coordinator_is_no_matter_of_keys(topic: str, look: str, *, is_of_group: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = replace(snapshot.topics["orders"], name=topic, internal=topic != "orders")
        number = partition_of("billing", 6) if is_of_group else 0
        hot = _hot(replace(snapshot, topics={topic: known}), tick, topic=topic, number=number)
        return moved(hot, {0: (100 + tick, 100 + tick)})

    claims = (each.claim for each in diagnose(watched(change, 25)).causes)
    (claim,) = [each for each in claims if each.cause == "hot-partition"]
    (step,) = claim.next
    assert look in step.text


def test_a_partition_that_takes_a_little_more_or_for_a_moment_is_not_hot() -> None:
    for times, ticks in ((1, 14), (4, 14), (10, 2), (10, 10)):
        assert named(diagnose(watched(lambda s, t, times=times: _hot(s, t, times), ticks))) == set()  # type: ignore[misc]


def _seen_once(tick: int) -> Facts:
    """Return facts at a tick about a decided transaction that was still ongoing at the previous poll, because markers
    take a moment.
    """
    now = prepared("PrepareCommit", timeout_ms=7_200_000, open_ms=3_600_000)(tick)
    return replace(now, open_before=dict.fromkeys(now.open_before, "Ongoing"))


def _elected_and_restarted(snapshot: Snapshot, tick: int) -> Snapshot:
    snapshot = with_quorum(snapshot, leader_epoch=7 if tick < 3 else 8)
    return without_broker(snapshot, [3]) if tick in (3, 4) else snapshot


FOR_A_DAY, FOR_EVER = kept_for(healthy(), DAY_MS), kept_for(healthy(), -1)
NO_TROUBLE = (
    case("its readers had read it, as those of Kafka Streams' own topics", ORDERS, facts=_deleted, before=FOR_A_DAY),
    case("the retention deleted it", ORDERS, facts=_deleted, before=moved(kept_for(healthy(), 30_000), {0: (50, 100)})),
    case("its coordinator ends it", ORDERS, facts=prepared("Ongoing", timeout_ms=7_200_000, open_ms=3_600_000)),
    case("a decided transaction that one poll sees", ORDERS, facts=_seen_once),
    # Voters are compared with the leader's clock, and certificates with the controller's.
    case("an hour between this host and voters", BROKER[3], lambda s, t: caught_up(s, now_ms(t) - 3_600_000, lag=1)),
    case("a year to the controller", BROKER[3], lambda s, t: caught_up(s, now_ms(t) - 365 * DAY_MS), facts=_ending),
    case("of the future, and kept for ever", ORDERS, facts=_from_the_future, before=FOR_EVER),
    case("in seconds, and kept for ever", ORDERS, facts=_in_seconds, before=FOR_EVER),
    case("one election and one restart", BROKER[3], _elected_and_restarted),
    case("a group next to an idle topic", BILLING, lambda s, _: moved(s, {0: (100, 110)})),
    case("a group without members next to one", BILLING, lambda s, _: moved(s, {0: (100, 110)}, "Empty", "")),
)


@pytest.mark.parametrize("calm", NO_TROUBLE, ids=lambda each: each[0])
def test_what_is_no_trouble(calm: Case) -> None:
    _, _, change, how = calm
    assert diagnose(watched(change, **how)).is_healthy  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort"])
def test_a_decided_transaction_without_its_markers_is_trouble_and_never_aborted(state: str) -> None:
    """A decided transaction without its marker is a trouble, and no step aborts it. After an hour the cause is certain
    if the transaction's timeout is a minute, and likely if it is two hours.
    """
    for timeout_ms, certainty in ((60_000, Certainty.CERTAIN), (7_200_000, Certainty.LIKELY)):
        facts = prepared(state, timeout_ms=timeout_ms, open_ms=3_600_000)
        (found,) = diagnose(watched(as_it_was, facts=facts)).causes
        claim = found.claim
        assert (claim.cause, claim.certainty) == ("transaction-undelivered", certainty)
        text = " ".join(each.fact for each in claim.evidence)
        assert state in text
        assert "orders/0 (broker " in text
        assert "its coordinator is broker 1" in text
        steps = " ".join(each.text for each in claim.next)
        assert "abort" not in steps
        assert "by itself" not in f"{text} {steps} {claim.title}"
        assert not any(each.edits for each in claim.next)


def test_markers_that_too_few_replicas_take_are_no_fault_of_the_coordinator() -> None:
    """If a marker is missing because the ISR is below min ISR, triage does not propose another coordinator, which could
    not write it either: markers are written with acks=all.
    """

    def short(snapshot: Snapshot, _tick: int) -> Snapshot:
        leader = snapshot.topics["orders"].partitions[0].leader
        return replace(first_of_orders(snapshot, isr=(leader,)), configs=TWO_IN_SYNC)

    verdict = diagnose(watched(short, facts=prepared("PrepareCommit")))
    (claim,) = claims_of(verdict, "transaction-undelivered")
    assert "orders/0 has fewer replicas in sync than a marker needs" in {each.fact for each in claim.evidence}
    (step,) = claim.next
    assert step.text.startswith("bring the missing replicas of orders/0 back")


def test_what_its_producer_takes_as_committed_is_copied_before_an_abort() -> None:
    known = Transaction("app", 4012, "CompleteCommit", 1, 5, 60_000, now_ms(0) - 10_800_000, frozenset())
    written = LATE._replace(producer=replace(LATE.producer, last_timestamp=now_ms(0) - 10_800_000))

    def facts(tick: int) -> Facts:
        seen = Transactions({LATE.place: StableOffsets(40, 100)}, (written,), {"app": known}, at_ms=now_ms(tick))
        return Facts(logs_at(tick, {0: LogOffsets(0, 40, 100)}), seen, opened(seen))

    (found,) = diagnose(watched(as_it_was, facts=facts)).causes
    first, second = found.claim.next
    assert (found.claim.cause, first.command) == ("transaction-hanging", "")
    assert first.text.startswith("copy its records first")
    assert "abort transaction" in second.command


def test_a_young_transaction_that_no_coordinator_knows_is_likely() -> None:
    """A young transaction that no coordinator knows is named as likely once two polls in a row have found it; it is no
    trouble if transactional ids may be hidden from kac.
    """
    young = LATE._replace(producer=replace(LATE.producer, last_timestamp=now_ms(0)))

    def facts(tick: int, gaps: tuple[Failure, ...] = (), *, again: bool = True) -> Facts:
        seen = Transactions({LATE.place: StableOffsets(40, 100)}, (young,), at_ms=now_ms(tick), gaps=gaps)
        return Facts(logs_at(tick, {0: LogOffsets(0, 40, 100)}), seen, opened(seen) if again else {})

    assert diagnose(watched(as_it_was, facts=lambda t: facts(t, again=False))).is_healthy
    (found,) = diagnose(watched(as_it_was, facts=facts)).causes
    assert (found.claim.cause, found.claim.certainty) == ("transaction-hanging", Certainty.LIKELY)
    hidden = (Failure("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "ids are hidden"),)
    assert diagnose(watched(as_it_was, facts=lambda t: facts(t, hidden))).is_healthy


def test_a_leader_that_joined_the_isr_in_between_is_no_unclean_one() -> None:
    """If a replica joins the ISR and the leader leaves between two polls, on a topic that refuses unclean elections,
    triage does not name an unclean election.
    """

    def led(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < 2:
            return first_of_orders(snapshot, isr=(1,), leader=1, leader_epoch=4)
        away = replace(without_broker(replace(snapshot, topics={}), [1]), topics=snapshot.topics)
        return first_of_orders(away, isr=(2,), leader=2, leader_epoch=5, offline=(1,))

    assert "unclean-election" not in {each.claim.cause for each in diagnose(watched(led)).causes}


@pytest.mark.parametrize(("committed", "is_unclean"), [(900, True), (300, False)])
def test_a_group_that_read_beyond_the_end_shows_an_unclean_election(committed: int, *, is_unclean: bool) -> None:
    """If a group's committed offset is beyond the end of the log after the only in-sync replica's broker disappeared
    and another replica leads, triage names an unclean election, although kac did not read the end before.
    """

    def led(snapshot: Snapshot, tick: int) -> Snapshot:
        if tick < 2:
            return first_of_orders(snapshot, isr=(1,), leader=1, leader_epoch=4)
        away = replace(without_broker(replace(snapshot, topics={}), [1]), topics=snapshot.topics)
        return moved(first_of_orders(away, isr=(2,), leader=2, leader_epoch=5, offline=(1,)), {0: (committed, 300)})

    verdict = diagnose(watched(led))
    found = claims_of(verdict, "unclean-election")
    assert bool(found) is is_unclean
    assert not is_unclean or any("stands at 900 since, and its end was 300" in each.fact for each in found[0].evidence)


def test_a_broker_that_is_a_moment_late_is_no_trouble() -> None:
    """A broker counts as late only until it answers with the new leader epoch, and only if the new epoch was known
    before its answer.
    """
    topic = cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2, 3), (1, 2, 3), leader_epoch=6),), topic_id="id")
    old = replace(topic, partitions=(topic.partitions[0]._replace(leader_epoch=5),))
    at = START.timestamp()
    views = views_after(Views(), 2, [topic], cluster.TopicListing({"orders": old}), at)
    assert [each.known for each in views.late[2]] == [6]
    views = views_after(views, 2, [topic], cluster.TopicListing({"orders": topic}), at + 60)
    assert views.behind(0) == {}
    newer = views_after(Views(), 1, [old], cluster.TopicListing({"orders": topic}), at)
    assert newer.behind(0) == {}
    assert views_after(newer, 2, [old], cluster.TopicListing({"orders": old}), at + 1).late[2][0].shown == 5
    deleted = cluster.TopicListing({}, {"orders": Failure("UNKNOWN_TOPIC_OR_PARTITION", "gone")})
    assert views_after(Views(), 2, [topic], deleted, at).late[2] == ()
    again = replace(topic, topic_id="another")
    assert views_after(Views(), 2, [topic], cluster.TopicListing({"orders": again}), at).late[2] == ()


@pytest.mark.parametrize(
    ("timestamp", "said"),
    [
        (2**63 - 1, "is of a time after the year 9999"),
        (1_700_000_000_000_000, "after the year 9999; in microseconds it would be 2023-11-14 22:13 UTC"),
    ],
)
def test_a_time_that_no_date_holds_is_no_date(timestamp: int, said: str) -> None:
    def facts(tick: int) -> Facts:
        return Facts(logs_at(tick, {0: LogOffsets(0, 100, 100)}), newest={("orders", 0): Newest(timestamp, 7)})

    found = diagnose(watched(as_it_was, facts=facts, before=kept_for(healthy(), DAY_MS)))
    (text,) = (each.claim.evidence[0].fact for each in found.causes if each.claim.cause == "future-records")
    assert text.endswith(said)
    assert "9999-12-31" not in text


def test_the_listeners_with_tls_are_those_that_the_map_says() -> None:
    configs = ConfigSet(
        (
            ConfigEntry("advertised.listeners", "IN://a:1,OUT://[::1]:2,SSL://c:3,X://d:99999", ConfigSource(4)),
            ConfigEntry("listener.security.protocol.map", "IN:PLAINTEXT,OUT:SASL_SSL,SSL:SSL,X:SSL", ConfigSource(4)),
        )
    )
    found = list(advertised_with_tls(1, configs))
    assert found == [Listener(1, "::1", 2, "OUT"), Listener(1, "c", 3, "SSL")]
    assert [each.address for each in found] == ["[::1]:2", "c:3"]


def test_a_reassignment_that_gets_bytes_is_work_and_its_broker_is_not_out_of_sync() -> None:
    verdict = diagnose(watched(lambda s, t: _moves(s, t), ticks=16))
    assert verdict.is_healthy
    (only,) = verdict.causes
    assert (only.claim.cause, only.claim.severity.value) == ("reassignment-running", "info")
    assert only.claim.evidence[1].fact == "broker 3 has 1,600,000 of 10,000,000 bytes, 20,000 a second, 420 s left"
    # Seen on real brokers: a replacement looked like broken replication.
    verdict = diagnose(watched(_all_move, ticks=16))
    assert verdict.is_healthy
    assert "reassignment-running" in {each.claim.cause for each in verdict.causes}


def _all_move(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick with a reassignment of each partition to broker 3, which is in no ISR until it has
    copied everything.
    """
    moving = each_of_orders(
        _moves(snapshot, tick), lambda p: p._replace(leader=1, replicas=(1, 2, 3), isr=(1, 2), offline=())
    )
    numbers = range(len(snapshot.topics["orders"].partitions))
    moves = tuple(cluster.Reassignment("orders", number, (1, 2, 3), (3,), (2,)) for number in numbers)
    return replace(moving, reassignments=moves)


def test_an_announced_restart_is_no_trouble() -> None:
    observations = watched(lambda snapshot, _: without_broker(snapshot, [3]))
    assert diagnose(observations, [Subject(broker=3)]).is_healthy
    assert not diagnose(observations, [Subject(broker=2)]).is_healthy


def test_a_symptom_without_a_cause_is_said() -> None:
    """Triage lists a symptom without a cause as unexplained: two replicas of one partition are out of sync, which no
    single broker explains.
    """

    def two(snapshot: Snapshot, _tick: int) -> Snapshot:
        return first_of_orders(snapshot, isr=(snapshot.topics["orders"].partitions[0].leader,))

    verdict = diagnose(watched(two))
    assert [each.symptom for each in verdict.unexplained] == ["under-replicated"]
    assert exit_code(verdict) == 5
    # A counted symptom has a row, which can be muted like any other.
    (row,) = cause_rows(verdict, {})
    assert row.claim.title == "unexplained: 1 under-replicated orders/0"
    assert alarms(verdict, {}) == 1
    assert "".join(text for text, _ in counts(verdict, {})) == "1 trouble  1 warning"
    assert evidence_of(row.claim.cause, row.claim.subject)[1] == 0
    assert alarms(verdict, {cause_id(row.claim): START + timedelta(days=1)}) == 0


def test_what_can_not_be_read_is_said() -> None:
    denied = Failure("CLUSTER_AUTHORIZATION_FAILED", "denied", "Ask for Describe on the cluster.")
    observations = watched(lambda s, _: with_failures(s, "reassignments", [("", denied)]))
    verdict = diagnose(observations)
    (hidden,) = verdict.unknowable
    assert verdict.is_calm, "it is this console's trouble, and not the cluster's"
    assert (verdict.is_healthy, verdict.unread, exit_code(verdict)) == (False, ("reassignments",), 1)
    assert [*text_lines(verdict, 10)][:2] == [
        "unknown: moves could not be read",
        "in what was read: no trouble in 10 seconds",
    ]
    assert named(verdict) == {("access-denied", Subject(entity="this console: cluster"))}
    assert "reassignments" in hidden.what
    assert hidden.where == "Ask for Describe on the cluster."


def test_what_is_one_is_said_as_one() -> None:
    """Titles and evidence use the singular for one partition, and name the single leader."""

    def small(snapshot: Snapshot, tick: int) -> Snapshot:
        topic = snapshot.topics["orders"]
        one = replace(snapshot, topics={"orders": replace(topic, partitions=topic.partitions[:3])})
        return _out_of_isr(one, tick)

    (cause,) = diagnose(watched(small)).causes
    assert cause.claim.title == "broker 2 is out of the ISR of 1 partition"
    assert "led by broker 1, which answers too" in [each.fact for each in cause.claim.evidence]
    assert "to broker 1, and at its disk" in cause.claim.next[0].text


def test_a_part_without_members_is_named_once() -> None:
    denied = Failure("CLUSTER_AUTHORIZATION_FAILED", "denied")
    verdict = diagnose(watched(lambda s, _: with_failures(s, "quorum", [("quorum", denied)])))
    assert [each.what for each in verdict.unknowable] == ["quorum: CLUSTER_AUTHORIZATION_FAILED: denied"]


def test_a_trouble_has_the_time_at_which_it_began() -> None:
    observations = watched(lambda s, t: without_broker(s, [3]) if t >= 4 else s)
    (only,) = diagnose(observations).causes
    assert only.claim.since == START + 4 * TICK
    at_first = begin(Poll(START, without_broker(healthy(), [3])))
    (known,) = diagnose(at_first).causes
    assert known.claim.since is None


@pytest.mark.parametrize(("described", "after_seconds"), [(True, 1), (False, 4)])
def test_a_broker_that_refuses_connections_is_down_before_it_is_fenced(*, described: bool, after_seconds: int) -> None:
    """A broker that refuses connections is named as down once the cluster, described one second later, still lists it
    as up, because a broker in a controlled shutdown first hands its leaders over. If the cluster is not described,
    it is named after 3 s.
    """
    base = healthy()
    observations = begin(Poll(START, base))
    seen = []
    for n in range(1, 12):
        at = START + n * timedelta(seconds=1)
        snapshot = without_broker(base, [3]) if n >= 8 else base
        snapshot = replace(snapshot, read_at=dict.fromkeys(PARTS, at)) if described else snapshot
        refusing = frozenset({3}) if 2 <= n < 8 else frozenset[int]()
        observations = after(observations, Poll(at, snapshot, refusing, refusing))
        verdict = diagnose(observations)
        assert not verdict.unexplained
        seen.append([(c.claim.cause, c.claim.certainty.value, c.claim.since) for c in verdict.causes])
    began = START + timedelta(seconds=2)
    assert seen[: 1 + after_seconds] == [[]] * (1 + after_seconds)
    assert seen[1 + after_seconds : 7] == [[("broker-down", "likely", began)]] * (6 - after_seconds)
    assert seen[7:] == [[("broker-down", "certain", began)]] * 4


def test_a_broker_that_stays_in_the_cluster_is_only_out_of_reach() -> None:
    """A broker that refuses kac's connections, but whose heartbeats arrive, is not named as down."""
    base, refusing = healthy(), frozenset({3})
    observations = begin(Poll(START, base, refusing, refusing))
    for n in range(1, 8):
        observations = after(observations, Poll(START + n * TICK, base, refusing, refusing))
    (cause,) = diagnose(observations).causes
    assert (cause.claim.cause, cause.claim.certainty.value) == ("broker-unresponsive", "possible")
    assert "refuses connections" in cause.claim.evidence[0].fact


def test_a_clock_that_is_set_back_begins_anew() -> None:
    observations = watched(_flapping)
    again = after(observations, Poll(START - timedelta(hours=1), healthy()))
    assert again.began == START - timedelta(hours=1)
    assert diagnose(again).is_healthy


@given(st.lists(st.sampled_from(CASES), min_size=1, max_size=3), st.integers(1, 6))
def test_whatever_happens_no_symptom_is_lost(cases: list[Case], ticks: int) -> None:
    """Each symptom is explained by a named cause, or listed as unexplained, for any combination of troubles."""

    def all_of(snapshot: Snapshot, tick: int) -> Snapshot:
        for _, _, change, how in cases:
            if "before" not in how:
                snapshot = change(snapshot, tick)
        return snapshot

    observations = watched(all_of, ticks)
    verdict = diagnose(observations)
    told = {each.symptom for each in verdict.unexplained}
    for symptom in observations.seen.values():
        by_cause = any(part.fits(symptom) for each in verdict.causes for part in each.claim.predicted)
        assert by_cause or symptom.name in told or symptom.name in WORK
    assert verdict.is_healthy == (exit_code(verdict) == 0)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=6))
def test_the_time_that_a_disk_has_left(usable: list[int]) -> None:
    samples = tuple(DirSample(START + n * timedelta(minutes=1), each) for n, each in enumerate(usable))
    left = seconds_left(samples)
    if usable[-1] >= usable[0]:
        assert left is None
    else:
        rate = (usable[0] - usable[-1]) / (60 * (len(usable) - 1))
        assert left == pytest.approx(usable[-1] / rate)


RATE, REPLICAS = "follower.replication.throttled.rate", "follower.replication.throttled.replicas"


@pytest.mark.parametrize(
    ("was", "became", "is_named"),
    [
        ({}, {RATE: "1000"}, True),
        ({RATE: "2000"}, {RATE: "1000"}, True),
        ({RATE: "1000"}, {RATE: "2000"}, False),
        ({RATE: "1000"}, {}, False),
        ({REPLICAS: ""}, {REPLICAS: "*"}, True),
        ({REPLICAS: "*"}, {REPLICAS: ""}, False),
        ({}, {RATE: "1000", "num.replica.fetchers": "1"}, True),
    ],
)
def test_a_throttle_that_is_taken_away_or_raised_is_no_change_before(
    was: dict[str, str], became: dict[str, str], is_named: bool
) -> None:
    """Triage names a changed throttle as a cause only if the change can slow replication. Changes that were made at
    once are one cause.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        away = _two_replicas_away(snapshot, tick)
        values = dict(sorted((became if tick >= 2 else was).items()))
        entries = samples.config_set(values, ConfigSource(BROKER_CONFIG))
        return replace(away, configs=dict.fromkeys(away.configs, entries))

    claims = claims_of(diagnose(watched(change)), "changed-lately")
    assert len(claims) == is_named
    if is_named:
        assert len(claims[0].evidence) == len(became)


def test_what_holds_up_a_copy_comes_first_among_its_fixes() -> None:
    """For a throttled reassignment the first step raises the throttle for a time; for one to a broker that is down, the
    only step cancels it.
    """

    def throttled(snapshot: Snapshot, tick: int) -> Snapshot:
        configs = {**snapshot.configs, broker_resource(3): config(RATE, "1000", BROKER_CONFIG)}
        return replace(_moves(snapshot, tick, grows_to=2), configs=configs)

    def fixes(change: Change) -> tuple[Next, ...]:
        causes = diagnose(watched(change, ticks=30)).causes
        return next(each.claim.next for each in causes if each.claim.cause == "reassignment-stalled")

    cancels = Next("cancel it", edits=(CancelMove("orders", 0),))
    raised = "set broker 3 follower.replication.throttled.rate=50000000 for 2h"
    assert fixes(throttled) == (Next("raise the throttle of broker 3", raised), cancels)
    assert parse(raised)
    assert fixes(_move_to_the_dead) == (cancels,)


@pytest.mark.parametrize(
    ("states", "change"),
    [
        ({0: 100, 3: 40, 4: 100}, lambda s, _: s),
        ({0: 100, 3: 40, 5: 130}, lambda s, _: s),
        ({0: 100, 8: 40}, lambda s, _: s),
        ({0: 100, 3: 40}, lambda s, t: s if t < 3 else of_topic_id(s, "another")),
    ],
    ids=["for a moment", "back in one step", "just now", "of another topic"],
)
def test_an_end_that_is_lower_without_a_loss_is_no_row(states: Mapping[int, int], change: Change) -> None:
    def facts(tick: int) -> Facts:
        return Facts(logs_at(tick, {at: LogOffsets(0, end, end) for at, end in states.items()}))

    before = of_topic_id(healthy(), "one")
    assert "log-shortened" not in {
        each.claim.cause for each in diagnose(watched(change, before=before, facts=facts)).causes
    }


def test_lost_records_stay_named_after_new_ones_passed_the_former_end() -> None:
    """If new records fill a log that became shorter, the row stays, and its evidence says since when."""
    states = {0: 100, 3: 40, 4: 60, 5: 80, 6: 95, 7: 115}

    def facts(tick: int) -> Facts:
        return Facts(logs_at(tick, {at: LogOffsets(0, end, end) for at, end in states.items()}))

    (claim,) = claims_of(diagnose(watched(lambda s, _: s, 12, facts=facts)), "log-shortened")
    assert claim.title == "orders/0 lost 60 records: its end went back"
    assert "its new records passed the former end at 03:00:35" in [each.fact for each in claim.evidence]


def of_topic_id(snapshot: Snapshot, topic_id: str) -> Snapshot:
    """Return the snapshot in which topic orders has this id."""
    return replace(snapshot, topics={"orders": replace(snapshot.topics["orders"], topic_id=topic_id)})
