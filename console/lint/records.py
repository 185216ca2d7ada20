"""Rules on how topics keep their records: retention, compaction, segments and sizes. Each rule checks sets of configs,
since many topics share one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import le, lt

from console.lint import rule as lint_rule
from console.lint.places import Place, places
from console.lint.rule import Found, Seen, rule
from console.model import config
from console.model.broker_keys import TOPIC_SYNONYMS, UpdateMode, update_mode
from console.model.cluster import Topic
from console.model.codes import BROKER, TOPIC
from console.model.numbers import LONG_MAX, long_number, plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.system_topics import COMPACT, REMOTE_LOG_METADATA, SystemTopic, may_be_of_application, system_topic
from console.model.topic_analysis import TopicAnalysis
from console.plan import topic_risks
from console.plan.amounts import byte_count, duration
from console.plan.edits import Edit, SetConfig, UnsetConfig
from console.plan.values import items_of

SEGMENT_MS, SEGMENT_BYTES = "segment.ms", "segment.bytes"
DIRTY, MIN_LAG = "min.cleanable.dirty.ratio", "min.compaction.lag.ms"
LEAST_SEGMENT_MS = 60_000
"""Minimum milliseconds for segment.ms: a log that begins segments more often than once a minute soon has more files
than a broker may open.
"""
_MADE_COMPACT = ("-KSTREAM-AGGREGATE-", "-KSTREAM-REDUCE-", "-KTABLE-")
"""Parts of the names that Kafka Streams makes for changelogs that it always compacts. It sets the changelogs of stores
that keep duplicates, such as the stores of joins, to ``delete`` itself, and a user may give such a store any name.
"""
REQUEST = "socket.request.max.bytes"
CHECKS, _TIERED = "log.retention.check.interval.ms", "remote.storage.enable"
_RAISE = "set it higher where it is set"
_CONFIGS = (Part.CLUSTER, Part.TOPICS, TOPIC)


def _policy(configs: config.ConfigSet) -> frozenset[str]:
    """Return the items of cleanup.policy; empty if the policy is unknown or empty."""
    entry = configs.get(topic_risks.POLICY)
    return frozenset(items_of(entry.value)) if entry is not None and entry.value else frozenset()


def _of_users(topics: list[Topic]) -> list[Topic]:
    """Return the topics that are not internal, whose configs users choose."""
    return [topic for topic in topics if not topic.internal]


def _where(
    seen: Seen,
    key: str,
    is_wrong: Callable[[config.ConfigSet], bool],
    of: Callable[[config.ConfigSet], Callable[[Topic], bool]] = lambda _configs: lambda _topic: True,
) -> Iterator[Place]:
    """Yield the entities whose values of a key apply to topics with wrong configs.

    Args:
        key: the key of a topic.
        is_wrong: a function from a set of configs to whether it is wrong.
        of: a function from a wrong set of configs to a function that selects the topics with a problem, of those with
            the set. Internal topics are never selected.
    """
    wrong = ((configs, topics) for configs, topics in seen.sets if is_wrong(configs))
    yield from places(seen, key, ((c, [*filter(of(c), _of_users(topics))]) for c, topics in wrong))


def _settable(place: Place) -> bool:
    """Return whether clients can set the value on the entity of a place: always for topics; for a broker's key, if
    brokers let clients alter it for the whole cluster.
    """
    return place.is_topic or update_mode(BROKER, place.key) is UpdateMode.CLUSTER_WIDE


def _back(seen: Seen, place: Place, key: str, is_fine: Callable[[int], bool]) -> tuple[Edit, ...]:
    """Return an edit that replaces a wrong value. If the topic itself sets it and the inherited value is right, the
    edit removes the topic's value; otherwise it sets Kafka's own default, if that is right and clients can set it.
    Empty if neither is possible.

    Args:
        place: the entity that has the wrong value.
        key: the key of topics.
        is_fine: a function from a number to whether it is a right value.
    """
    topic = config.topic_resource(place.topics[0].name)
    inherited = long_number(seen.inheritance.without_override(topic, key).value)
    if place.is_topic and inherited is not None and is_fine(inherited):
        return (UnsetConfig(topic, key),)
    default = long_number(seen.inheritance.default(topic, key))
    return (place.set_to(str(default)),) if default is not None and is_fine(default) and _settable(place) else ()


# -- retention ---------------------------------------------------------------------------------------------------------


@rule(
    name="retention-behind-segment",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a retention time shorter than a segment's time, on a topic that does not fill its segments",
    why="Records stay longer than the topic's retention says, on disks and perhaps against a promise",
    needs=(*_CONFIGS, Part.LOG_DIRS),
    source="topicconfigs_segment.ms",
)
def _late_by_time(seen: Seen) -> Iterator[Found]:
    def is_late(configs: config.ConfigSet) -> bool:
        limit, segment = topic_risks.kept(configs), config.number_in(configs, SEGMENT_MS)
        return limit.deletes and segment is not None and topic_risks.TINY_MS <= limit.ms < segment

    def fills_no_segment(configs: config.ConfigSet) -> Callable[[Topic], bool]:
        # A log that reaches segment.bytes begins new segments by size, so each is deleted in time.
        segment, largest = config.number_in(configs, SEGMENT_BYTES) or 0, seen.largest
        return lambda topic: 0 < largest.get(topic.name, 0) < segment

    for place in _where(seen, topic_risks.BY_TIME, is_late, fills_no_segment):
        configs = seen.snapshot.configs[config.topic_resource(place.topics[0].name)]
        limit, segment = topic_risks.kept(configs).ms, config.number_in(configs, SEGMENT_MS) or 0
        # Several topics may share one retention, but have their own segment.ms: no single edit mends these.
        alike = place.is_topic or _inherit(seen, place.topics, SEGMENT_MS)
        key = SEGMENT_MS if place.is_topic else TOPIC_SYNONYMS[SEGMENT_MS][0].name
        edits = (SetConfig(place.resource, key, str(limit)),) if alike else ()
        what = (
            f"records stay for up to {duration(limit + segment)}, not {duration(limit)} ({topic_risks.BY_TIME}): the "
            f"segment that is written to is not deleted, and ends after {duration(segment)} ({SEGMENT_MS}) "
            "or when it is full"
        )
        yield Found(place.resource, what + place.origin, key, edits)


def _inherit(seen: Seen, topics: Iterable[Topic], key: str) -> bool:
    """Return whether all these topics inherit a key; False if the configs of one lack the key."""
    names = {topic.name for topic in topics}
    entries = [configs.get(key) for configs, mine in seen.sets if any(topic.name in names for topic in mine)]
    return all(entry is not None and not config.is_override(entry, config.topic_resource("")) for entry in entries)


@rule(
    name="retention-below-segment",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a retention size that is smaller than a segment",
    why="Brokers delete only whole segments, so a partition grows beyond its limit",
    needs=_CONFIGS,
    source="topicconfigs_segment.bytes",
)
def _late_by_size(seen: Seen) -> Iterator[Found]:
    def is_late(configs: config.ConfigSet) -> bool:
        limit, segment = topic_risks.kept(configs), config.number_in(configs, SEGMENT_BYTES)
        return limit.deletes and segment is not None and 0 < limit.size < segment

    for place in _where(seen, topic_risks.BY_SIZE, is_late):
        configs = seen.snapshot.configs[config.topic_resource(place.topics[0].name)]
        limit, segment = topic_risks.kept(configs).size, config.number_in(configs, SEGMENT_BYTES) or 0
        alike = place.is_topic or _inherit(seen, place.topics, SEGMENT_BYTES)
        key = SEGMENT_BYTES if place.is_topic else TOPIC_SYNONYMS[SEGMENT_BYTES][0].name
        # Brokers refuse segments of less than 1 MiB since Kafka 4.0, and batches that are larger than a segment.
        least = max(topic_risks.TINY_BYTES, _largest_batch(seen, place.topics))
        edits = (SetConfig(place.resource, key, str(limit)),) if alike and limit >= least else ()
        what = (
            f"a partition keeps up to {byte_count(limit + segment)}, not {byte_count(limit)} ({topic_risks.BY_SIZE}): "
            f"only whole segments are deleted, and one has {byte_count(segment)} ({SEGMENT_BYTES})"
        )
        yield Found(place.resource, what + place.origin, key, edits)


def _largest_batch(seen: Seen, topics: Iterable[Topic]) -> int:
    """Return the bytes of the largest batch that these topics take."""
    names = {topic.name for topic in topics}
    sets = (configs for configs, mine in seen.sets if any(topic.name in names for topic in mine))
    return max((topic_risks.config_number(each, topic_risks.MESSAGE_SIZE, 0) for each in sets), default=0)


@rule(
    name="retention-tiny",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a retention that ends before a broker's next look, which operators set to empty a topic",
    why="A reader that restarts loses records; often the value was temporary, and was never changed back",
    needs=(*_CONFIGS, BROKER),
    source="brokerconfigs_log.retention.check.interval.ms",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _tiny(seen: Seen) -> Iterator[Found]:
    looks = (number for configs in seen.of_brokers.values() if (number := config.number_in(configs, CHECKS)))
    least = min((topic_risks.TINY_MS, *looks))  # with more frequent looks, a short retention is rather meant

    def is_tiny(configs: config.ConfigSet) -> bool:
        limit = topic_risks.kept(configs)
        return limit.deletes and limit.ms < least

    for place in _where(seen, topic_risks.BY_TIME, is_tiny):
        limit = topic_risks.kept(seen.snapshot.configs[config.topic_resource(place.topics[0].name)]).ms
        what = f"records are deleted after {duration(limit)} ({topic_risks.BY_TIME}), at each look of the brokers"
        edits = _back(seen, place, topic_risks.BY_TIME, lambda ms: ms < 0 or ms >= topic_risks.TINY_MS)
        yield Found(place.resource, what + place.origin, place.key, edits, advice=_RAISE)


@rule(
    name="retention-in-seconds",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a retention that is a usual number of days in seconds, while its unit is a millisecond",
    why="Records are deleted a thousand times sooner than their owner expects",
    needs=_CONFIGS,
    source="topicconfigs_retention.ms",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _in_seconds(seen: Seen) -> Iterator[Found]:
    def is_in_seconds(configs: config.ConfigSet) -> bool:
        limit = topic_risks.kept(configs)
        return limit.deletes and topic_risks.days_in_seconds(limit.ms) > 0

    for place in _where(seen, topic_risks.BY_TIME, is_in_seconds):
        limit = topic_risks.kept(seen.snapshot.configs[config.topic_resource(place.topics[0].name)]).ms
        what = f"{topic_risks.BY_TIME} seems to be in seconds: {topic_risks.seconds_text(limit)}"
        edits = (place.set_to(str(1000 * limit)),) if _settable(place) else ()
        yield Found(place.resource, what + place.origin, place.key, edits, advice=_RAISE)


@rule(
    name="retention-without-delete",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a retention of a topic that is only compacted, so that it deletes nothing",
    why="Compaction keeps the newest record of each key for ever, however old it is",
    needs=_CONFIGS,
    source="topicconfigs_cleanup.policy",
    stands_after=lint_rule.SETTLED,
)
def _no_effect(seen: Seen) -> Iterator[Found]:
    for key in (topic_risks.BY_TIME, topic_risks.BY_SIZE):
        for place in _where(seen, key, lambda configs: _policy(configs) == {COMPACT}):
            value = long_number(place.value)
            if place.is_topic and value is not None and value >= 0 and system_topic(place.topics[0].name) is None:
                what = f"{key}={value} deletes nothing: {topic_risks.POLICY} is {COMPACT}, without delete"
                advice = f"set {topic_risks.POLICY}=compact,delete if old keys are to go, else remove {key}"
                yield Found(place.resource, what, key, advice=advice)


# -- compaction --------------------------------------------------------------------------------------------------------


@rule(
    name="compaction-never",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a compacted topic whose dirty ratio no log exceeds",
    why="It keeps every version of each key, and grows for ever",
    needs=_CONFIGS,
    source="topicconfigs_min.cleanable.dirty.ratio",
    stands_after=lint_rule.AT_WORK,
    is_lasting=True,
)
def _never_compacted(seen: Seen) -> Iterator[Found]:
    def never(configs: config.ConfigSet) -> bool:
        entry = configs.get(DIRTY)
        try:
            ratio = float(entry.value) if entry is not None and entry.value is not None else 0.0
        except ValueError:
            return False
        unlimited = config.number_in(configs, "max.compaction.lag.ms")
        return COMPACT in _policy(configs) and ratio >= 1 and (unlimited is None or unlimited >= LONG_MAX)

    for place in _where(seen, DIRTY, never):
        what = f"it is never compacted: no log has a larger dirty part than {DIRTY}={place.value}"
        edits = (place.set_to("0.5"),) if _settable(place) else ()
        yield Found(place.resource, what + place.origin, place.key, edits)


@rule(
    name="compaction-after-retention",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="a topic that deletes its records before it may compact them",
    why="The latest value of a key is lost when it is old, although the topic is compacted",
    needs=_CONFIGS,
    source="topicconfigs_min.compaction.lag.ms",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _compacted_too_late(seen: Seen) -> Iterator[Found]:
    def too_late(configs: config.ConfigSet) -> bool:
        limit, lag = topic_risks.kept(configs), config.number_in(configs, MIN_LAG)
        return limit.deletes and COMPACT in _policy(configs) and lag is not None and 0 < limit.ms <= lag

    for place in _where(seen, MIN_LAG, too_late):
        limit = topic_risks.kept(seen.snapshot.configs[config.topic_resource(place.topics[0].name)]).ms
        lag = long_number(place.value) or 0
        what = (
            f"records are deleted after {duration(limit)} ({topic_risks.BY_TIME}), before they may be compacted "
            f"({MIN_LAG}={lag})"
        )
        edits = (place.set_to("0"),) if _settable(place) else ()
        yield Found(place.resource, what + place.origin, place.key, edits)


# -- segments, flushes and sizes ---------------------------------------------------------------------------------------


@rule(
    name="segments-tiny",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="segments of less than 1 MiB, or of less than a minute",
    why="A broker keeps the files of each segment open and reads them when it starts",
    needs=_CONFIGS,
    source="topicconfigs_segment.bytes",
)
def _tiny_segments(seen: Seen) -> Iterator[Found]:
    for key, least in ((SEGMENT_BYTES, topic_risks.TINY_BYTES), (SEGMENT_MS, LEAST_SEGMENT_MS)):

        def is_tiny(configs: config.ConfigSet, key: str = key, least: int = least) -> bool:
            return 0 < topic_risks.config_number(configs, key, least) < least

        for place in _where(seen, key, is_tiny):
            size = long_number(place.value) or 0
            amount = byte_count(size) if key == SEGMENT_BYTES else duration(size)
            what = f"a new segment, of three files or more, begins after {amount} ({key})"
            edits = _back(seen, place, key, partial(le, least))
            yield Found(place.resource, what + place.origin, place.key, edits, advice=_RAISE)


@rule(
    name="flush-each-batch",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a topic that waits for the disk after each batch",
    why="Writes are many times slower; Kafka relies on replicas and advises against it",
    needs=_CONFIGS,
    source="topicconfigs_flush.messages",
)
def _flushes(seen: Seen) -> Iterator[Found]:
    key = "flush.messages"
    for place in _where(seen, key, lambda configs: topic_risks.config_number(configs, key, 2) == 1):
        what = f"the disk is waited for after each batch ({key}=1)"
        edits = _back(seen, place, key, partial(lt, 1))
        yield Found(place.resource, what + place.origin, place.key, edits, advice=_RAISE)


@rule(
    name="batch-above-request",
    severity=Severity.WARNING,
    certainty=Certainty.CERTAIN,
    title="batches that may be larger than the largest request",
    why="A producer with such a batch loses its connection again and again, and can't show a reason",
    needs=(*_CONFIGS, BROKER),
    source="brokerconfigs_socket.request.max.bytes",
)
def _above_request(seen: Seen) -> Iterator[Found]:
    limits = [n for configs in seen.of_brokers.values() if (n := config.number_in(configs, REQUEST)) is not None]
    if not limits:
        return
    most = min(limits)
    for place in _where(
        seen,
        topic_risks.MESSAGE_SIZE,
        lambda configs: topic_risks.config_number(configs, topic_risks.MESSAGE_SIZE, 0) >= most,
    ):
        what = (
            f"batches of up to {byte_count(long_number(place.value) or 0)} are allowed ({topic_risks.MESSAGE_SIZE}), "
            f"and brokers close the connection at a request of more than {byte_count(most)} ({REQUEST})"
        )
        edits = (place.set_to(str(most // 2)),) if _settable(place) else ()
        yield Found(place.resource, what + place.origin, place.key, edits)


@rule(
    name="remote-without-storage",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a tiered topic on brokers without remote storage",
    why="Brokers copy nothing, and no client can read the records in remote storage",
    needs=(*_CONFIGS, BROKER),
    since="3.6",
    source="brokerconfigs_remote.log.storage.system.enable",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _not_remote(seen: Seen) -> Iterator[Found]:
    key, of_broker = _TIERED, "remote.log.storage.system.enable"
    off = [
        broker for broker, configs in seen.of_brokers.items() if config.text_in(configs, of_broker).lower() == "false"
    ]
    if not off:
        return
    for configs, topics in seen.sets:
        if config.text_in(configs, key).lower() == "true":
            for topic in topics:
                what = f"{key} is true, and brokers {', '.join(map(str, off[:3]))} have no remote storage ({of_broker})"
                yield Found(
                    config.topic_resource(topic.name), what, key, advice=f"set {of_broker} in the brokers' files"
                )


# -- findings of an analysis in this session ---------------------------------------------------------------------------


def _analyses(seen: Seen) -> Iterator[tuple[Topic, TopicAnalysis, str]]:
    """Yield the topics that were analyzed in this session, each with its analysis and a text with the number of
    records.
    """
    for name, facts in seen.snapshot.analyses.items():
        topic = seen.topics.get(name)
        if topic is not None and facts.records:
            of = "" if facts.is_whole else " that were read"
            yield topic, facts, f"{plural(facts.records, 'record')}{of}"


@rule(
    name="hot-key",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a key that overfills its partition, in a topic that this session analyzed",
    why="All records of a key are in one partition, so one broker and one consumer carry the load",
    needs=(Part.TOPICS,),
    source="producerconfigs_partitioner.class",
)
def _hot_key(seen: Seen) -> Iterator[Found]:
    for topic, facts, records in _analyses(seen):
        if (hot := facts.hot) is not None:
            share = f"{100 * facts.share(hot.seen.value):.0f} %"
            place = f"partition {hot.partition}" if hot.partition >= 0 else "its partition"
            what = f"one key has {share} of the {records}: {place} gets them all, and one consumer of each group"
            advice = "give such records a finer key if their order need not be kept; analyze names the key"
            yield Found(config.topic_resource(topic.name), what, advice=advice)


@rule(
    name="keyless-under-compaction",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="records without a key in a compacted topic that this session analyzed",
    why="Brokers refuse such records in a compacted topic, and the cleaner deletes the existing ones",
    needs=_CONFIGS,
    source="design_compactionbasics",
)
def _keyless(seen: Seen) -> Iterator[Found]:
    for topic, facts, records in _analyses(seen):
        configs = seen.snapshot.configs.get(config.topic_resource(topic.name))
        if facts.keyless and configs is not None and COMPACT in _policy(configs):
            has = "has" if facts.keyless == 1 else "have"
            what = f"{facts.keyless:,} of the {records} {has} no key: compaction deletes them"
            advice = f"let the producer set a key, or set {topic_risks.POLICY}=delete"
            yield Found(config.topic_resource(topic.name), what, topic_risks.POLICY, advice=advice)


@rule(
    name="times-ahead",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="records whose times are in the future, in a topic that this session analyzed",
    why="Retention counts from the newest time in a segment, so the segment stays until that time has passed",
    needs=_CONFIGS,
    source="topicconfigs_retention.ms",
)
def _ahead(seen: Seen) -> Iterator[Found]:
    for topic, facts, records in _analyses(seen):
        configs = seen.snapshot.configs.get(config.topic_resource(topic.name))
        if not facts.times.ahead or configs is None or not topic_risks.ages_by_producers(configs):
            continue
        by = duration(facts.times.furthest_ms // 1000 * 1000).removeprefix("≈ ")
        stays = "stays" if facts.times.ahead == 1 else "stay"
        what = f"{facts.times.ahead:,} of the {records} {stays} up to {by} longer: their times are in the future"
        advice = "mend the producer's clock; message.timestamp.after.max.ms refuses such records"
        yield Found(config.topic_resource(topic.name), what, topic_risks.BY_TIME, advice=advice)


# -- topics of other software ------------------------------------------------------------------------------------------


def _longest_remote(seen: Seen) -> int:
    """Return the longest retention of a tiered topic in ms, `topic_risks.FOREVER` for an unlimited one; -1 without such
    a topic.
    """
    tiered = (configs for configs, _ in seen.sets if config.text_in(configs, _TIERED).lower() == "true")
    return max((topic_risks.kept(configs).ms for configs in tiered), default=-1)


def _is_made_compact(topic: str) -> bool:
    """Return whether a topic has a name that Kafka Streams makes for a changelog that it always compacts."""
    store, _, number = topic.removesuffix("-changelog").rpartition("-STATE-STORE-")
    is_made = number.isdecimal() and topic.endswith("-changelog")
    return is_made and any(part in f"{store}-" for part in _MADE_COMPACT)


def _of_owner(
    topic: Topic,
    owner: SystemTopic,
    policy: frozenset[str],
    *,
    limits: tuple[int, int],
    outlives: int,
) -> Iterator[Found]:
    """Yield the findings on a topic whose configs delete data that the owner of the topic, such as Connect, needs.

    Args:
        limits: its retention in ms and in bytes.
        outlives: retention in ms; if the topic's is longer, it keeps all that the owner needs.
    """
    resource = config.topic_resource(topic.name)
    # Changelogs of windowed stores also delete records that are older than their windows, as Kafka Streams sets them
    # up.
    may_delete = may_be_of_application(topic.name)
    if may_delete and owner.policy == COMPACT and not _is_made_compact(topic.name):
        return
    if owner.policy == COMPACT and (COMPACT not in policy if may_delete else policy != {COMPACT}):
        now = ",".join(sorted(policy))
        what = f"{topic_risks.POLICY} is {now}, and it belongs to {owner.owner}, which needs {COMPACT}: {owner.lost}"
        yield Found(resource, what, topic_risks.POLICY, (SetConfig(resource, topic_risks.POLICY, COMPACT),))
    elif owner.keeps and "delete" in policy:
        for key, limit in zip((topic_risks.BY_TIME, topic_risks.BY_SIZE), limits, strict=True):
            if limit <= LONG_MAX and not (key == topic_risks.BY_TIME and limit > outlives):
                what = f"{key} is {limit}, and it belongs to {owner.owner}: what is older goes, and {owner.lost}"
                yield Found(resource, what, key, (SetConfig(resource, key, "-1"),))


@rule(
    name="system-topic-policy",
    severity=Severity.HIGH,
    certainty=Certainty.CERTAIN,
    title="a topic of coordinators, Connect, Debezium, Streams or a registry that deletes data which its owner needs",
    why="Offsets, transactions, connectors or schemas vanish after the retention",
    needs=_CONFIGS,
    source="GroupCoordinatorService.groupMetadataTopicConfigs",
    stands_after=lint_rule.AFTER_ITS_CHANGE,
    is_lasting=True,
)
def _owned_wrongly(seen: Seen) -> Iterator[Found]:
    for configs, topics in seen.sets:
        policy, limit = _policy(configs), topic_risks.kept(configs)
        if not policy:
            continue
        text = ",".join(sorted(policy))
        for topic in topics:
            owner = system_topic(topic.name, len(topic.partitions), text)
            if owner is not None:
                # Its records describe segments of tiered topics, which go first.
                outlives = _longest_remote(seen) if topic.name == REMOTE_LOG_METADATA else LONG_MAX
                yield from _of_owner(topic, owner, policy, limits=(limit.ms, limit.size), outlives=outlives)
