"""Rules on replicas: their number, the number that has to be in sync, and the brokers and racks on which they are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from console.lint import rule as lint_rule
from console.lint.places import Place, broker_values, on_brokers, places, whose
from console.lint.rule import NAMED, Found, Seen, rule
from console.model.broker_keys import UpdateMode, update_mode
from console.model.cluster import Topic
from console.model.codes import BROKER, DEFAULT_CONFIG, TOPIC, AclResourceType
from console.model.config import ConfigSet, broker_resource, number_in, text_in, topic_resource
from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS
from console.model.numbers import first_few, plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.system_topics import is_kafkas_own
from console.plan import rack_risks
from console.plan.edits import SetConfig
from console.plan.topic_risks import ISR, UNCLEAN, are_all_enough, is_isr_impossible, isr_text

SPREAD = 3
"""The number of replicas with which a partition survives the failure of one replica while another is under maintenance.
"""
FEWEST_LEADERS = 20
"""If brokers lead fewer partitions than this on average, an uneven distribution of leaders may be chance, and causes no
finding.
"""
FEWEST_REPLICAS = 10
"""If the other brokers have fewer replicas than this on average, a broker without replicas may be chance, and causes no
finding.
"""
MOSTLY = 0.8
"""The share of the partitions of other topics with replicas in several racks from which on a topic in one rack is the
exception.
"""
UNEVEN = 1.5
"""The distribution of leaders is uneven if a broker leads this multiple of the average number of partitions."""
_FACTORS = {
    OFFSETS: "offsets.topic.replication.factor",
    TRANSACTIONS: "transaction.state.log.replication.factor",
    SHARES: "share.coordinator.state.topic.replication.factor",
}
_IN_SYNC = {
    TRANSACTIONS: "transaction.state.log.min.isr",
    SHARES: "share.coordinator.state.topic.min.isr",
}
_TRANSACTIONAL_ID = AclResourceType.parse("TRANSACTIONAL_ID")
_PLACED = (Part.CLUSTER, Part.TOPICS, Part.REASSIGNMENTS)
_CONFIGS = (*_PLACED, TOPIC)


# -- the number of replicas --------------------------------------------------------------------------------------------


@rule(
    name="single-replica",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a topic with partitions of one replica, in a cluster of several brokers",
    why="It can't be written or read while its broker restarts, and is lost with its disk",
    needs=_PLACED,
    source="topicconfigs_min.insync.replicas",
)
def _single(seen: Seen) -> Iterator[Found]:
    brokers = len(seen.brokers)
    for name, topic in seen.topics.items():
        alone = _with_one_replica(topic)
        if brokers > 1 and alone and not is_kafkas_own(name):
            count = _replicas_for(topic, brokers)
            what = (
                f"its partitions have one replica each, and there are {brokers} brokers"
                if alone == len(topic.partitions)
                else f"{alone:,} of its {len(topic.partitions):,} partitions {'has' if alone == 1 else 'have'} one "
                f"replica, and there are {brokers} brokers"
            )
            yield Found(topic_resource(name), what, command=("replication", "topic", name, count))


def _with_one_replica(topic: Topic) -> int:
    """Return the number of a topic's partitions that have one replica."""
    return sum(len(each.replicas) == 1 for each in topic.partitions)


def _replicas_for(topic: Topic, brokers: int) -> str:
    """Return the number of replicas that each partition of a topic should have, some of which have one."""
    counts = Counter(len(partition.replicas) for partition in topic.partitions)
    return str(min(SPREAD, brokers) if len(counts) == 1 else _wanted(counts))


def _wanted(counts: Counter[int]) -> int:
    """Return the number of replicas that a topic's partitions should have. counts: number of replicas -> the number of
    partitions with it.
    """
    usual = max(counts, key=lambda each: (counts[each], each))
    # A tool that was stopped leaves the replicas that it added: the others need no more because of these.
    return usual if usual >= SPREAD else max(counts)


@rule(
    name="coordinator-single-replica",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="offsets, transactions or shares with one replica, in a cluster of several brokers",
    why="While its broker is away, no group and no transaction of a partition works; a lost disk loses them",
    needs=_PLACED,
    source="brokerconfigs_offsets.topic.replication.factor",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _single_coordinators(seen: Seen) -> Iterator[Found]:
    brokers = len(seen.brokers)
    for name in _FACTORS:
        topic = seen.topics.get(name)
        alone = _with_one_replica(topic) if topic is not None else 0
        if topic is not None and brokers > 1 and alone:
            count = _replicas_for(topic, brokers)
            have = plural(len(topic.partitions), "partition has", "partitions have")
            what = (
                f"its {have} one replica each, on {brokers} brokers"
                if alone == len(topic.partitions)
                else f"{alone:,} of its {len(topic.partitions):,} partitions {'has' if alone == 1 else 'have'} one "
                f"replica, on {brokers} brokers"
            )
            yield Found(topic_resource(name), what, command=("replication", "topic", name, count))


@rule(
    name="single-replica-default",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="three or more brokers that create topics with one replica",
    why="Topics that clients create, and coordinators' topics that don't exist yet, get one replica",
    needs=(Part.CLUSTER, Part.TOPICS, BROKER),
    source="brokerconfigs_default.replication.factor",
)
def _single_by_default(seen: Seen) -> Iterator[Found]:
    if len(seen.brokers) < SPREAD:
        return
    # Report only defaults for topics that are created later: existing topics keep their replication.
    keys = ["default.replication.factor", *(key for topic, key in _FACTORS.items() if topic not in seen.topics)]
    for key in keys:
        for value, brokers, _entry in broker_values(seen, key):
            if value == "1":
                what = f"{key}=1 on {on_brokers(seen, brokers)}: what is created without a number has one replica"
                yield Found(whose(seen, brokers), what, key, advice=f"set {key}={SPREAD} in the brokers' files")


@rule(
    name="coordinator-unavailable",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a coordinators' topic that brokers can't create, or will create with too few replicas",
    why="Brokers create it when the first client needs it: until they can, the client waits without an error",
    needs=(Part.CLUSTER, Part.TOPICS, BROKER, Part.LOG_DIRS),
    also=(Part.ACLS, Part.GROUPS),
    source="brokerconfigs_transaction.state.log.replication.factor",
    stands_after=lint_rule.SETTLED,
)
def _not_made(seen: Seen) -> Iterator[Found]:
    """Yield findings for coordinators' topics that brokers can't create, and for those that they will create with too
    few replicas for min.insync.replicas. Brokers create such a topic at its first use, with exactly the configured
    number of replicas.
    """
    alive = [broker.id for broker in seen.brokers if not broker.fenced]
    for name, key in _FACTORS.items():
        if name in seen.snapshot.topics or may_be_held(seen.snapshot, name):
            continue
        factor, least = _least(seen, alive, key), _least(seen, alive, _IN_SYNC[name]) if name in _IN_SYNC else 0
        whom, severity = _needed(seen, name, key)
        if factor > len(alive) and whom:
            what = (
                f"it can't be made: {key} is {factor}, and {plural(len(alive), 'broker')} can take replicas: no {whom}"
            )
            advice = (
                f"set {key}={min(SPREAD, len(alive))} in the brokers' files, and restart them in turn; or start "
                f"{plural(factor - len(alive), 'more broker')}"
            )
            yield Found(topic_resource(name), what, advice=advice, severity=severity)
        elif is_isr_impossible(least, factor):
            what = f"it will be made with {_IN_SYNC[name]}={least}: {isr_text(least, factor)}"
            advice = f"set {_IN_SYNC[name]}={factor - 1} in the brokers' files before it is made"
            yield Found(topic_resource(name), what, advice=advice, severity=Severity.WARNING)


def may_be_held(snapshot: Snapshot, topic: str) -> bool:
    """Return whether a broker has, or may have, replicas of a topic: Metadata omits topics that the client may not
    describe, and log directories do not.
    """
    answered = [log_dir for dirs in snapshot.log_dirs.values() for log_dir in dirs if log_dir.failure is None]
    return not answered or any(topic in log_dir.sizes for log_dir in answered)


def _least(seen: Seen, brokers: Iterable[int], key: str) -> int:
    """Return the smallest value of a key on these brokers, since each broker creates topics by its own value. A value
    that is hidden counts as 0, since it may be too low.
    """
    configs = map(seen.of_brokers.get, brokers)
    return min(((number_in(each, key) if each is not None else None) or 0 for each in configs), default=0)


def _needed(seen: Seen, name: str, key: str) -> tuple[str, Severity]:
    """Return a text on the clients that can't work without a coordinators' topic, ``""`` if there are none, and the
    severity.
    """
    snapshot = seen.snapshot
    if name == SHARES:
        return "share group can read" if any(e.type == "share" for e in snapshot.groups.values()) else "", Severity.HIGH
    if name == OFFSETS:
        return "group can work", Severity.HIGH
    # No API lists the clients that wait for a coordinator.
    if any(acl.resource_type == _TRANSACTIONAL_ID and acl.permission.name == "ALLOW" for acl in snapshot.acls):
        return "transaction can begin, and ACLs let some", Severity.HIGH
    entries = (entry for configs in seen.of_brokers.values() if (entry := configs.get(key)) is not None)
    is_set = any(entry.source != DEFAULT_CONFIG for entry in entries)
    return "transaction can begin", Severity.WARNING if is_set else Severity.INFO


@rule(
    name="replicas-unequal",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a topic whose partitions have different numbers of replicas",
    why="Some records survive fewer failures than others, and tools show only the first partition's number",
    needs=_PLACED,
    source="basic_ops_increase_replication_factor",
)
def _unequal(seen: Seen) -> Iterator[Found]:
    for name, topic in seen.topics.items():
        found = [len(partition.replicas) for partition in topic.partitions]
        if len(set(found)) > 1:
            counts = Counter(found)
            least, most = min(counts), max(counts)
            few = plural(counts[least], "partition has", "partitions have")
            what = f"{few} {least} replicas, others {most}"
            yield Found(topic_resource(name), what, command=("replication", "topic", name, str(_wanted(counts))))


# -- replicas in sync --------------------------------------------------------------------------------------------------


@rule(
    name="min-isr-impossible",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a min ISR above the number of replicas",
    why="Brokers refuse writes with acks=all, either always or after one replica is away",
    needs=_CONFIGS,
    source="topicconfigs_min.insync.replicas",
)
def _above_factor(seen: Seen) -> Iterator[Found]:
    enough = are_all_enough(seen.snapshot.versions.values())
    for topic in seen.topics.values():
        wanted = seen.min_isr.get(topic.name, 0)
        if is_isr_impossible(wanted, topic.replication, are_all_enough=enough):
            yield _fewer(topic, wanted)


@rule(
    name="min-isr-equals-factor",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a min ISR equal to the number of replicas",
    why="Each restart of a broker stops producers with acks=all",
    needs=_CONFIGS,
    source="topicconfigs_min.insync.replicas",
)
def _equal_factor(seen: Seen) -> Iterator[Found]:
    for topic in seen.topics.values():
        wanted = seen.min_isr.get(topic.name, 0)
        if wanted == topic.replication > 1:
            yield _fewer(topic, wanted)


def _fewer(topic: Topic, wanted: int) -> Found:
    resource = topic_resource(topic.name)
    text = f"{ISR} is {wanted}: {isr_text(wanted, topic.replication)}"
    return Found(resource, text, ISR, (SetConfig(resource, ISR, str(max(1, topic.replication - 1))),))


@rule(
    name="min-isr-one",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="topics of three replicas that accept a write on one replica alone",
    why="While replicas are behind, acks=all then promises no more than acks=1",
    needs=_CONFIGS,
    source="topicconfigs_min.insync.replicas",
)
def _one_of_three(seen: Seen) -> Iterator[Found]:
    def has_spread(topic: Topic) -> bool:
        return topic.replication >= SPREAD and not topic.internal

    loose = ((c, [*filter(has_spread, t)]) for c, t in seen.sets if text_in(c, ISR) == "1")
    for place in places(seen, ISR, loose):
        what = f"a write with acks=all may be on one replica alone when it is acknowledged ({ISR}=1)"
        edits = (place.set_to("2"),) if place.is_topic or _is_safe_default(seen, place) else ()
        yield Found(place.resource, what + place.origin, place.key, edits, advice=f"set {ISR}=2 for these topics")


def _is_safe_default(seen: Seen, place: Place) -> bool:
    """Return whether 2 is a safe default of min.insync.replicas: brokers accept the key for the whole cluster, and no
    topic that inherits it has two replicas (writes would stop when one broker is down) or, if brokers are older than
    3.7, one replica (writes with acks=all would always fail).
    """
    enough = are_all_enough(seen.snapshot.versions.values())
    inheriting = (topic for configs, topics in seen.sets if _inherits_isr(configs) for topic in topics)
    alterable = update_mode(BROKER, place.key) is UpdateMode.CLUSTER_WIDE
    return alterable and not any(
        topic.replication == 2 or is_isr_impossible(2, topic.replication, are_all_enough=enough) for topic in inheriting
    )


def _inherits_isr(configs: ConfigSet) -> bool:
    entry = configs.get(ISR)
    return entry is not None and entry.source.name != "DYNAMIC_TOPIC_CONFIG"


@rule(
    name="unclean-election",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="topics on which a replica that is behind may become the leader",
    why="Acknowledged records are lost, without an error in any client",
    needs=_CONFIGS,
    source="topicconfigs_unclean.leader.election.enable",
)
def _unclean(seen: Seen) -> Iterator[Found]:
    def has_several(topic: Topic) -> bool:
        return topic.replication != 1

    on = ((c, [*filter(has_several, t)]) for c, t in seen.sets if text_in(c, UNCLEAN).lower() == "true")
    for place in places(seen, UNCLEAN, on):
        what = f"a replica that is behind may lead, and what it has not got is lost ({UNCLEAN}=true)"
        yield Found(place.resource, what + place.origin, place.key, (place.set_to("false"),))


# -- placement of replicas ---------------------------------------------------------------------------------------------


@rule(
    name="replica-without-broker",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="replicas on brokers that are not registered",
    why="They never get in sync: the topic has fewer replicas than it seems to have",
    needs=_PLACED,
    since="4.0",
    source="KIP-1073",
)
def _unknown_brokers(seen: Seen) -> Iterator[Found]:
    if not seen.snapshot.cluster.shows_fenced:
        return  # without fenced brokers, a broker that is down looks like one that does not exist
    known = {broker.id for broker in seen.brokers}
    for name, topic in seen.topics.items():
        gone = {replica for partition in topic.partitions for replica in partition.replicas} - known
        if gone:
            what = f"it has replicas on brokers that do not exist: {first_few([*map(str, sorted(gone))], NAMED)}"
            advice = "register these brokers again, or give the partitions other replicas: move topic NAME to BROKERS"
            yield Found(topic_resource(name), what, advice=advice)


@rule(
    name="one-rack",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="partitions whose replicas are all in one of several racks",
    why="If that rack fails, these partitions fail",
    needs=_PLACED,
    source="basic_ops_racks",
    stands_after=lint_rule.OLD_ONLY,
    is_lasting=True,
)
def _one_rack(seen: Seen) -> Iterator[Found]:
    of = rack_risks.racks(seen.brokers)
    if len(of) < len(seen.brokers):
        return  # a broker without a rack may be anywhere
    known: dict[tuple[int, ...], str | None] = {}  # a cache, as many partitions have the same brokers

    def one_rack(replicas: tuple[int, ...]) -> str | None:
        if replicas not in known:
            known[replicas] = rack_risks.one_rack(replicas, of)
        return known[replicas]

    found: dict[str, list[tuple[int, str]]] = {}
    placed, spread = Counter[str](), 0
    for name, topic in seen.topics.items():
        together = [
            (partition.number, rack)
            for partition in topic.partitions
            if (rack := one_rack(partition.replicas)) is not None
        ]
        placed[name] = sum(len(each.replicas) > 1 for each in topic.partitions)
        spread += not together and placed[name] > 0 and not topic.internal
        if together:
            found[name] = together
    several, apart = placed.total(), placed.total() - sum(map(len, found.values()))
    for name, together in found.items():
        shown = first_few([f"{number} in {rack}" for number, rack in together], NAMED)
        what = f"all replicas of {plural(len(together), 'partition')} are in one rack: {shown}"
        # If nearly all partitions of other topics are in several racks, a topic in one rack is an accident.
        is_odd = len(together) == placed[name] and spread > 0 and apart >= MOSTLY * (several - placed[name])
        yield Found(topic_resource(name), what, command=("balance",), hurts=is_odd)


@rule(
    name="rack-missing",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="brokers without a rack, while others have one",
    why="Brokers place replicas as if these brokers were a separate rack, wherever they are",
    needs=(Part.CLUSTER,),
    source="brokerconfigs_broker.rack",
)
def _some_racks(seen: Seen) -> Iterator[Found]:
    without = [broker.id for broker in seen.brokers if broker.rack is None]
    if not without or len(without) == len(seen.brokers):
        return
    for broker in without:
        yield Found(
            broker_resource(broker),
            "it has no rack, and other brokers have one",
            "broker.rack",
            advice="set broker.rack in its file",
        )


@rule(
    name="broker-empty",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a broker without any replica, as after you added it",
    why="Kafka moves nothing by itself: the broker takes no load of existing topics",
    needs=_PLACED,
    source="basic_ops_cluster_expansion",
    stands_after=lint_rule.SETTLED,
)
def _empty_brokers(seen: Seen) -> Iterator[Found]:
    holding: set[int] = set()
    partitions = replicas = 0
    for topic in seen.topics.values():
        partitions += len(topic.partitions)
        for partition in topic.partitions:
            replicas += len(partition.replicas)
            holding.update(partition.replicas)
    # A replica that is being moved away is still listed, so also count the brokers that have replicas after the moves.
    for move in seen.snapshot.reassignments:
        holding.update(move.replicas)
    # If there are few replicas, a broker may have none by chance.
    if not holding or replicas < FEWEST_REPLICAS * len(holding) or partitions < len(seen.brokers):
        return
    for broker in seen.brokers:
        if broker.id not in holding and not broker.fenced and not is_cordoned(seen.snapshot, broker.id):
            what = f"it has no replica of the {partitions:,} partitions, and gets only new ones"
            yield Found(broker_resource(broker.id), what, command=("balance",))


def is_cordoned(snapshot: Snapshot, broker: int) -> bool:
    """Return whether a broker gets no new replicas, because all its log directories are cordoned (KIP-1066)."""
    dirs = snapshot.log_dirs.get(broker, ())
    return bool(dirs) and all(each.cordoned for each in dirs)


@rule(
    name="cordons-refuse-topics",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="cordoned brokers that leave too few others for new topics",
    why="The controller refuses new topics with that many replicas: INVALID_REPLICATION_FACTOR",
    needs=(Part.CLUSTER, Part.TOPICS, BROKER, Part.LOG_DIRS),
    since="4.3",
    source="KIP-1066",
    stands_after=lint_rule.OLD_ONLY,
    is_lasting=True,
)
def _cordons(seen: Seen) -> Iterator[Found]:
    cordoned = [broker.id for broker in seen.brokers if is_cordoned(seen.snapshot, broker.id)]
    if not cordoned or not seen.snapshot.cluster.shows_fenced:
        return
    # The controller also places replicas on fenced brokers. A factor above the number of all brokers fails anyway.
    registered = len(seen.brokers)
    usual = {topic.replication for name, topic in seen.topics.items() if not is_kafkas_own(name)}
    usual.update(number_in(each, "default.replication.factor") or 0 for each in seen.of_brokers.values())
    most = max((factor for factor in usual if factor <= registered), default=0)
    if registered - len(cordoned) >= most:
        return
    for broker in cordoned:
        what = f"all its log directories are cordoned, so that no new topic can get {most} replicas"
        advice = "if the cordon is not needed any more, take its directories out of cordoned.log.dirs"
        yield Found(broker_resource(broker), what, "cordoned.log.dirs", advice=advice)


@rule(
    name="leaders-uneven",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a broker that leads many more partitions than the others",
    why="It serves most writes and reads, and all its leaders move at once when it fails",
    needs=_PLACED,
    source="basic_ops_leader_balancing",
)
def _uneven_leaders(seen: Seen) -> Iterator[Found]:
    leads: dict[int, int] = defaultdict(int)
    preferred: dict[int, int] = defaultdict(int)
    for topic in seen.topics.values():
        for partition in topic.partitions:
            leads[partition.leader] += 1
            if partition.replicas:
                preferred[partition.replicas[0]] += 1
    alive = [broker.id for broker in seen.brokers if not broker.fenced]
    total = sum(leads[broker] for broker in alive)
    if len(alive) < 2 or total < FEWEST_LEADERS * len(alive):
        return
    mean = total / len(alive)
    for broker in alive:
        if leads[broker] > UNEVEN * mean:
            what = f"it leads {leads[broker]:,} partitions, and brokers lead {mean:,.0f} on average"
            # An election helps if the preferred leaders are spread well; otherwise replicas have to move.
            command = ("elect", "preferred", "all") if preferred[broker] <= UNEVEN * mean else ("balance",)
            yield Found(broker_resource(broker), what, command=command)
