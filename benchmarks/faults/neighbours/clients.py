"""Neighbours (healthy clusters that resemble a fault) of the faults of clients: transactions, quotas, rights, and
the coordinators of groups. Each function makes the healthy cluster or, with `ill`, the one with the fault.
"""

from __future__ import annotations

from msgspec.structs import replace

from benchmarks.faults.fault import cause
from benchmarks.faults.neighbours import Neighbour, embedded, modelled
from console.admin.settings import ConnectionSettings, SaslSettings
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import EmbeddedCluster
from console.embedded.group_coordinator import GROUP_TOPIC, TRANSACTION_TOPIC, ensure_topic
from console.embedded.groups import Committed, Group
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import COMPLETE
from console.embedded.producers import Transaction as OfCoordinator
from console.embedded.record_batch import marker_batch, read_batch, transactional_batch
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import add_group, allow, batch_of
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tokens import Token
from console.model.acl import Acl
from console.model.cluster import LogDir, Partition, ReplicaSize, ReplicaSizes, Topic
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.model.throttling import Client, Throttled
from console.model.transactions import OpenTransaction, Producer, StableOffsets, Transaction, Transactions
from console.triage.facts import Facts, RequestLogs, opened
from tests.unit.test_triage import START, TICK, healthy, moved, now_ms

PLACE = ("orders", 0)


# -- transactions ------------------------------------------------------------------------------------------------------


def _logs(tick: int, stable: int, end: int, grows: int) -> ObservedLogs:
    logs = ObservedLogs()
    for each in range(tick + 1):
        offsets = LogOffsets(0, stable, end + grows * each)
        logs = logs_after(logs, {PLACE: offsets}, (START + each * TICK).timestamp())
    return logs


def _long_transaction(tick: int, ill: bool) -> Facts:
    """Return facts with a transaction in which a job writes for an hour, as its timeout allows. If `ill` is true, no
    coordinator knows the transaction.
    """
    producer = Producer(77, 3, 9, now_ms(0) - 3_600_000 if ill else now_ms(tick), 2, 100)
    open_ = OpenTransaction(*PLACE, producer, confirmed=True)
    known = Transaction("export", 77, "Ongoing", 1, 3, 7_200_000, now_ms(0) - 3_000_000, frozenset({PLACE}))
    places = {PLACE: StableOffsets(100, 110 + 50 * tick)}
    seen = Transactions(places, (open_,), {} if ill else {"export": known}, at_ms=now_ms(tick))
    return Facts(_logs(tick, 100, 110, 50), seen, opened(seen))


def _committed_reader(snapshot: Snapshot, tick: int, _ill: bool) -> Snapshot:
    return moved(snapshot, {0: (100, 110 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})


def _idle_transactional(cluster: EmbeddedCluster, ill: bool) -> None:
    """Add a group that has read all records; its offset is before the marker that ended the last transaction. If `ill`
    is true, the last transaction has no marker, and no coordinator knows it.
    """
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    for name in (GROUP_TOPIC, TRANSACTION_TOPIC):
        ensure_topic(state, name)
    state.put_topic(new_topic("orders", striped([1, 2, 3], 1, 3), [1, 2, 3]))
    log = state.logs["orders", 0] = PartitionLog()
    for sequence in range(3):
        written = now - (60 - sequence) * 60_000
        batch = read_batch(batch_of([b"one", b"two"], written, b"k"), 0)
        log.append(transactional_batch(batch, 4012, 5, 2 * sequence), 0)
        if sequence < 2 or not ill:
            log.append(marker_batch(4012, 5, 3, written, commit=True), 0)
    state.transactions["app"] = OfCoordinator("app", 4012, 5, 60_000, COMPLETE[True], now - 3_600_000)
    add_group(cluster, "billing", ["orders"], ["billing-1"], 0)
    state.groups["billing"].offsets["orders", 0] = Committed(log.stable - (0 if ill else 1), at=now / 1000)


# -- quotas ------------------------------------------------------------------------------------------------------------


def _at_its_limit(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a client reads all records that are written, which are nearly as
    many as its quota allows. If `ill` is true, more are written than its quota allows.
    """
    written, read = (100, 45) if ill else (45, 45)
    sizes = ReplicaSizes([ReplicaSize("orders", 0, 10_000, 0, False)])
    dirs = {broker: (LogDir("/data", sizes, 10**9, 9 * 10**8),) for broker in (1, 2, 3)}
    quotas = {QuotaEntity.of({"client-id": "c"}): {"consumer_byte_rate": 1_000.0}}
    rows = {0: (100 + read * tick, 100 + written * tick)}
    return replace(moved(snapshot, rows), log_dirs=dirs, quotas=quotas)


def _hundred_records(tick: int, _ill: bool) -> Facts:
    logs = ObservedLogs()
    for each in range(tick + 1):
        found = {("orders", number): LogOffsets(0, 100 if number == 0 else 0, 100) for number in range(6)}
        found = {place: LogOffsets(0, 100, 100) if place[1] == 0 else LogOffsets(0, 0, 0) for place in found}
        logs = logs_after(logs, found, (START + each * TICK).timestamp())
    return Facts(logs)


def _throttled(_tick: int, ill: bool) -> Facts:
    """Return facts from a request log in which a few requests of clients, in a burst, are throttled; if `ill` is true,
    most requests are.
    """
    few, some = (Client(name, "User:app", "FETCH") for name in ("c", "d"))
    much = {few: Throttled(50, 40 if ill else 2, 900), some: Throttled(120, 6, 2_000)}
    return Facts(request_logs=RequestLogs(much, ("kafka-request.log",)))


# -- rights ------------------------------------------------------------------------------------------------------------

PASSWORD = Secret("of alice")


def _few_rights(cluster: EmbeddedCluster, ill: bool) -> None:
    """Let a principal describe everything that triage reads, and do nothing else. If `ill` is true, it may not describe
    the cluster.
    """
    state = cluster.state
    state.put_topic(new_topic("orders", striped([1, 2, 3], 3, 3), [1, 2, 3]))
    for type_, name in (("TOPIC", "*"), ("GROUP", "*"), ("TRANSACTIONAL_ID", "*")):
        allow(state, "User:alice", "DESCRIBE", type_, name)
    for type_, name in (("TOPIC", "*"), ("CLUSTER", "kafka-cluster")):
        allow(state, "User:alice", "DESCRIBE_CONFIGS", type_, name)
    if not ill:
        allow(state, "User:alice", "DESCRIBE", "CLUSTER", "kafka-cluster")


def _as_alice(addresses: str) -> ConnectionSettings:
    return ConnectionSettings(parse_bootstrap(addresses), "SASL_PLAINTEXT", SaslSettings("PLAIN", "alice", PASSWORD))


DENIED = Acl(
    AclResourceType.parse("TOPIC"),
    "orders",
    PatternType.parse("LITERAL"),
    "User:app",
    "*",
    AclOperation.parse("WRITE"),
    Permission.parse("DENY"),
)


def _denied(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: when a job has just finished, an ACL with DENY is added, for a topic
    that the job did not write. If `ill` is true, it is for the topic that the job wrote.
    """
    at = {**snapshot.read_at, "acls": START + tick * TICK}
    acl = DENIED if ill else DENIED._replace(resource_name="invoices")
    return replace(snapshot, acls=(acl,) if tick >= 4 else (), read_at=at)


def _written_until_then(tick: int, _ill: bool) -> Facts:
    logs = ObservedLogs()
    for each in range(tick + 1):
        end = 100 + 10 * min(each, 4)
        logs = logs_after(logs, {PLACE: LogOffsets(0, end, end)}, (START + each * TICK).timestamp())
    return Facts(logs)


# -- coordinators ------------------------------------------------------------------------------------------------------


def _coordinators_move(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: the leaders of __consumer_offsets change from poll to poll, as in a
    rolling restart. If `ill` is true, its partition has no leader.
    """
    leader = -1 if ill else 1 + tick % 3
    ids = (leader, *(each for each in (1, 2, 3) if each != leader)) if leader > 0 else (1, 2, 3)
    partition = Partition(0, leader, ids, ids if leader > 0 else (1,), leader_epoch=tick)
    offsets = Topic("__consumer_offsets", (partition,), internal=True)
    return replace(snapshot, topics={**snapshot.topics, offsets.name: offsets})


def _one_broker(ill: bool) -> ClusterSpec:
    factor = {"offsets.topic.replication.factor": "3"} if ill else {}
    return ClusterSpec(brokers=1, static_configs=factor)


def _no_group_yet(cluster: EmbeddedCluster, _ill: bool) -> None:
    cluster.state.put_topic(new_topic("orders", striped([1], 3, 1), [1]))


# -- many groups -------------------------------------------------------------------------------------------------------


def _hundreds_of_dead_groups(cluster: EmbeddedCluster, ill: bool) -> None:
    """Add hundreds of groups without members whose unread records retention has deleted. If `ill` is true, add one more
    such group, which has a member.
    """
    state = cluster.state
    ensure_topic(state)
    state.put_topic(new_topic("orders", striped([1, 2, 3], 3, 3), [1, 2, 3]))
    for number in range(3):
        state.logs["orders", number] = PartitionLog(10, 400)
    for each in range(300):
        group = Group(f"console-{each:03}", protocol_type="consumer", written=True)
        group.offsets |= {("orders", number): Committed(0, at=0.0) for number in range(3)}
        state.groups[group.id] = group
    if ill:
        add_group(cluster, "alive", ["orders"], ["alive-1"], 0)
        state.groups["alive"].offsets = {("orders", number): Committed(0, at=0.0) for number in range(3)}


# -- delegation tokens -------------------------------------------------------------------------------------------------

ALICE = "User:alice"
_WITH_LOGINS = ClusterSpec(sasl=SaslSpec(plain={"alice": PASSWORD}), super_users=frozenset({ALICE}))
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000


def _tokens(cluster: EmbeddedCluster, *tokens: tuple[int, int, int], renewers: tuple[str, ...] = ()) -> None:
    """Add delegation tokens of alice. tokens: for each, the milliseconds since it was issued, until it expires, and
    until its maximum lifetime ends.
    """
    now = int(cluster.clock.time() * 1000)
    for number, (age, left, at_most) in enumerate(tokens):
        id_ = f"token-{number}"
        made = Token(id_, ALICE, ALICE, renewers, now - age, now + left, now + at_most)
        cluster.state.tokens[id_] = made


def _renewed_token(cluster: EmbeddedCluster, ill: bool) -> None:
    """Add a delegation token that is six days old and is renewed every twelve hours. If `ill` is true, it expires in
    ten minutes.
    """
    _tokens(cluster, (6 * _DAY_MS, _HOUR_MS // 6 if ill else 10 * _HOUR_MS, _DAY_MS), renewers=("User:flink",))


def _replaced_token(cluster: EmbeddedCluster, ill: bool) -> None:
    ending, next_ = (_DAY_MS - _HOUR_MS, _HOUR_MS, 6 * _DAY_MS), (_HOUR_MS, 23 * _HOUR_MS, 7 * _DAY_MS)
    _tokens(cluster, *((ending,) if ill else (ending, next_)))


def _token_of_a_shift(cluster: EmbeddedCluster, ill: bool) -> None:
    left = _HOUR_MS if ill else 3 * _HOUR_MS
    _tokens(cluster, (8 * _HOUR_MS - left, left, left))


NEIGHBOURS = (
    Neighbour(
        name="a long transaction",
        fault="hanging transaction",
        how="a job writes for an hour in one transaction, and a reader with read_committed waits for it",
        decides="no coordinator knows the transaction",
        ill=cause("transaction-hanging", topic="orders", partition=0),
        told=frozenset({"transaction-open"}),
        polls=modelled(_committed_reader, ticks=30, facts=_long_transaction),
    ),
    Neighbour(
        name="an idle transactional topic",
        fault="hanging transaction",
        how="a group stands before the marker of the last transaction: lag 1, for ever",
        decides="the transaction has no marker",
        ill=cause("transaction-hanging", topic="orders", partition=0),
        polls=embedded(_idle_transactional, polls=12),
    ),
    Neighbour(
        name="a client that reads as much as it may",
        fault="client above its quota",
        how="a client's reads are near its quota, and are all that is written",
        decides="more is written than it may read",
        ill=cause("quota-exceeded", group="billing"),
        polls=modelled(_at_its_limit, ticks=14, facts=_hundred_records),
    ),
    Neighbour(
        name="a burst that was throttled",
        fault="client above its quota, by request logs",
        how="two of 50 requests of a client, and six of 120 of another, were throttled within a minute",
        decides="forty of fifty are",
        ill=cause("quota-exceeded"),
        polls=modelled(lambda snapshot, _tick, _ill: snapshot, facts=_throttled),
    ),
    Neighbour(
        name="a principal that may describe, and nothing else",
        fault="few rights",
        how="the console's principal may describe all that triage reads, and do nothing",
        decides="it may not describe the cluster",
        ill=cause("access-denied", entity="this console: cluster"),
        polls=embedded(
            _few_rights,
            spec=ClusterSpec(sasl=SaslSpec(plain={"alice": PASSWORD}), super_users=frozenset({"User:admin"})),
            settings=_as_alice,
            polls=2,
        ),
    ),
    Neighbour(
        name="a right that nobody used",
        fault="access-changed",
        how="a right is taken on one topic at the moment at which a job is done with another",
        decides="it is the right to write to the topic that falls silent",
        ill=cause("access-changed", topic="orders"),
        polls=modelled(
            _denied, ticks=14, facts=_written_until_then, before=lambda: replace(healthy(), groups={}, lags={})
        ),
    ),
    Neighbour(
        name="coordinators that move",
        fault="coordinator leaderless",
        how="another broker leads the offsets' topic at each look",
        decides="none does",
        ill=cause("coordinator-unavailable", topic="__consumer_offsets"),
        polls=modelled(_coordinators_move),
    ),
    Neighbour(
        name="a cluster without groups",
        fault="coordinator leaderless",
        how="one broker, on which no group was used yet",
        decides="its file wants three replicas of the offsets' topic",
        ill=cause("coordinator-unavailable", topic="__consumer_offsets"),
        polls=embedded(_no_group_yet, spec=_one_broker, polls=2),
    ),
    Neighbour(
        name="hundreds of dead groups",
        fault="offsets out of range",
        how="300 groups without members, whose records retention deleted long ago",
        decides="one more has a member there",
        ill=cause("offsets-out-of-range", group="alive"),
        told=frozenset({"groups-without-members"}),
        polls=embedded(_hundreds_of_dead_groups, polls=3),
    ),
    Neighbour(
        name="a token that is renewed",
        fault="token-expiring",
        how="a token of six days was renewed two hours ago, as every twelve hours, and ends in ten",
        decides="it ends in ten minutes, and was not renewed",
        ill=cause("token-expiring", entity=ALICE),
        polls=embedded(_renewed_token, spec=_WITH_LOGINS, settings=_as_alice, polls=2),
    ),
    Neighbour(
        name="a token that was replaced",
        fault="token-expiring",
        how="a program makes a new token each day and lets the last one end, which it does in an hour",
        decides="there is no new one",
        ill=cause("token-expiring", entity=ALICE),
        polls=embedded(_replaced_token, spec=_WITH_LOGINS, settings=_as_alice, polls=2),
    ),
    Neighbour(
        name="a token of a shift",
        fault="token-expiring",
        how="a token is made for eight hours, and can't be renewed beyond; three are left",
        decides="one is left",
        ill=cause("token-expiring", entity=ALICE),
        polls=embedded(_token_of_a_shift, spec=_WITH_LOGINS, settings=_as_alice, polls=2),
    ),
)
