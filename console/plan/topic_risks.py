"""Warnings about edits that affect topics: replicas in sync, unclean elections, retention, deletion of a topic, and
topics that other software needs; and lines on the topics that inherit a default.

An edit of a topic affects that topic; an edit of a broker's key affects the topics that inherit it. Only changes for
the worse cause warnings: an edit that raises a limit, or has no effect on a topic, causes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.cluster import BrokerVersion
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource, ConfigSet, broker_resource, is_override, topic_resource
from console.model.coordinators import OFFSETS, TRANSACTIONS, partition_of
from console.model.inheritance import in_terms_of
from console.model.numbers import first_few, long_number
from console.model.releases import release_number
from console.model.snapshot import Snapshot
from console.model.system_topics import COMPACT, INTERNAL, SystemTopic, may_be_of_application, system_topic
from console.model.topic_readers import TopicReaders
from console.plan import edits
from console.plan.amounts import byte_count, duration, measured_time
from console.plan.risk_rules import NOTHING, READ_TOPICS, Judged, RiskNeeds
from console.plan.values import items_of

POLICY, BY_TIME, BY_SIZE = "cleanup.policy", "retention.ms", "retention.bytes"
EMPTY_KEEPS = "An empty list means"
"""A phrase in Kafka's documentation of cleanup.policy, which shows that brokers define the meaning of an empty list
(Kafka 4.2). Brokers without it accept an empty list as well.
"""
ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
MESSAGE_SIZE, SEGMENT = "max.message.bytes", "segment.bytes"
LOCAL = ("local.retention.ms", "local.retention.bytes")
KEEPING = (BY_TIME, BY_SIZE, POLICY)

FOREVER = 2**63
TINY_MS = 300_000
"""A retention of less than these milliseconds is tiny: it ends before a broker's next check
(log.retention.check.interval.ms, five minutes).
"""
TINY_BYTES = 1_048_576
"""A retention of less than these bytes is tiny, because a segment has at least this size (segment.bytes is at least
1 MiB since Kafka 4.0).
"""
_DAYS = frozenset({5, 7, 10, 14, 15, 21, 28, 30, 31, 60, 90, 180, 365})
"""Usual numbers of days of a retention. Their seconds, taken as milliseconds, are no whole number of minutes. Those of
fewer days are a tiny retention.
"""

_TOPIC_KEYS = {broker_key.name: key for key, names in TOPIC_SYNONYMS.items() for broker_key in names}


class TopicChange(NamedTuple):
    """The change of the effective value of a topic's key."""

    topic: str
    old: str | None
    """The effective value before the edit; None if unknown."""
    new: str | None
    """The effective value after the edit; None if unknown."""
    read: bool = True
    """Whether the topic's configs were read."""


# -- topics that an edit concerns --------------------------------------------------------------------------------------


def topic_key(edit: edits.Edit) -> str:
    """Return the topics' key that a config edit of a topic or a broker affects; ``""`` for any other edit."""
    return key_of_topics(edit.resource, edit.key) if isinstance(edit, edits.ConfigEdit) else ""


def key_of_topics(resource: ConfigResource, key: str) -> str:
    """Return the topics' key that a resource's key affects: a topic's key itself, or the one that inherits from a
    broker's key; ``""`` for any other key.
    """
    if resource.type == TOPIC:
        return key
    return _TOPIC_KEYS.get(key, "") if resource.type == BROKER else ""


def changes(edit: edits.ConfigEdit, judged: Judged) -> list[TopicChange]:
    """Return the changes of topics' keys that a config edit causes: one for an edit of a topic; for an edit of a
    broker's key, one for each topic that inherits the key, and one for each topic whose configs were not read.
    """
    key = topic_key(edit)
    if edit.resource.type == TOPIC:
        resource = edit.resource
        # Prefer the value of the edit itself: the prediction lacks topics whose configs were not read.
        return [TopicChange(resource.name, judged.own(resource, key), value_of(edit) or judged.then(resource, key))]
    wanted = in_terms_of(key, edit.key, value_of(edit))
    seen: dict[tuple[int, int], TopicChange | None] = {}
    found = []
    for name in _on(edit.resource, judged.after):
        resource = topic_resource(name)
        known, then = judged.before.configs.get(resource), judged.after.configs.get(resource)
        if known is None or then is None:
            found.append(TopicChange(name, None, wanted, read=False))
            continue
        both = id(known), id(then)  # equal sets of configs are one object, so each pair is compared once
        if both not in seen:
            entry = then.get(key)
            own = entry is not None and is_override(entry, resource)
            old = known.get(key)
            new = wanted if wanted is not None else entry.value if entry is not None else None
            seen[both] = None if own else TopicChange(name, old.value if old is not None else None, new)
        change = seen[both]
        if change is not None:
            found.append(change._replace(topic=name))
    return found


def may_inherit(edit: edits.Edit, snapshot: Snapshot) -> list[str]:
    """Return the topics whose configs have to be read to see whether they inherit a broker's key, without those that
    the edit can't harm; empty if the edit changes no default of topics. For a new minimum of in-sync replicas, the
    topics with the most replicas come first, because at most `READ_TOPICS` are read.
    """
    if not isinstance(edit, edits.ConfigEdit) or edit.resource.type != BROKER or not topic_key(edit):
        return []
    names = _on(edit.resource, snapshot)
    wanted = long_number(value_of(edit))
    if topic_key(edit) == ISR and wanted is not None:
        # A topic with more replicas than the minimum is safe with any value, and is not read.
        few = [name for name in names if 0 < snapshot.topics[name].replication <= wanted]
        return sorted(few, key=lambda name: snapshot.topics[name].replication, reverse=True)
    if topic_key(edit) == UNCLEAN:
        return [name for name in names if snapshot.topics[name].replication != 1]
    return list(names)


def _on(resource: ConfigResource, snapshot: Snapshot) -> list[str]:
    """Return the topics that have replicas on a broker; for the cluster default all topics."""
    if resource.is_cluster_default or not resource.name.isdecimal():
        return list(snapshot.topics)
    broker = int(resource.name)
    return [
        name for name, topic in snapshot.topics.items() if any(broker in part.replicas for part in topic.partitions)
    ]


def value_of(edit: edits.ConfigEdit) -> str | None:
    """Return the value that an edit sets, as text; None if the edit removes the key or sets a secret."""
    return edit.value if isinstance(edit, edits.SetConfig) and isinstance(edit.value, str) else None


def _replication(name: str, judged: Judged) -> int:
    """Return a topic's replication factor; 0 if unknown."""
    topic = judged.before.topics.get(name)
    return topic.replication if topic is not None else 0


def counted(changes: list[TopicChange], what: str) -> str:
    """Return the affected topics as text: ``12 topics that inherit it …``; topics whose configs were not read are
    counted separately.
    """
    read = sum(change.read for change in changes)
    unread = len(changes) - read
    words = []
    if read:
        words.append(f"{read:,} {'topic that inherits' if read == 1 else 'topics that inherit'} it {what}")
    if unread:
        more = f"{unread:,} {'more' if read else 'topics' if unread > 1 else 'topic'} may, whose configs were not read"
        words.append(more + (f" (more than {READ_TOPICS:,} are not)" if unread + read > READ_TOPICS else ""))
    return "; ".join(words)


def topic_needs(edit: edits.ConfigEdit, *, sizes: bool = False) -> RiskNeeds:
    """Return the facts that show which topics a config edit affects. sizes: whether also their bytes are needed."""
    if edit.resource.type == TOPIC:
        return RiskNeeds(topics=frozenset({edit.resource.name}), sizes=sizes)
    return RiskNeeds(every_topic=True, sizes=sizes, a_broker=True)


# -- brokers and topics that inherit a default -------------------------------------------------------------------------


def inheriting(resource: ConfigResource, key: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Return lines with the number of resources that inherit a broker's key and the number that override it. An edit
    of the cluster default has a line on brokers. A key from which topics inherit has a line on topics. Resources
    whose configs were not read are not counted.
    """
    lines = []
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    read = {broker: configs for broker in brokers if (configs := snapshot.configs.get(broker)) is not None}
    if resource.is_cluster_default and read:
        shadowing = sum(_sets_itself(configs, broker, key) for broker, configs in read.items())
        lines.append(_inherit("brokers", "broker", len(read) - shadowing, shadowing, len(read) < len(brokers)))
    topic_key = _TOPIC_KEYS.get(key)
    if topic_key is not None:
        lines += _inheriting_topics(topic_key, snapshot)
    return tuple(lines)


def _sets_itself(configs: ConfigSet, resource: ConfigResource, key: str) -> bool:
    entry = configs.get(key)
    return entry is not None and is_override(entry, resource)


def _inheriting_topics(key: str, snapshot: Snapshot) -> list[str]:
    """Return a line on the topics that inherit a key; empty if no topic's configs were read."""
    known: dict[int, bool] = {}
    shadow = read = 0
    for name in snapshot.topics:
        resource = topic_resource(name)
        configs = snapshot.configs.get(resource)
        if configs is None:
            continue
        read += 1
        if id(configs) not in known:
            known[id(configs)] = _sets_itself(configs, resource, key)
        shadow += known[id(configs)]
    if not read:
        return []
    return [_inherit("topics", "topic", read - shadow, shadow, read < len(snapshot.topics))]


def _inherit(many: str, one: str, inheriting: int, shadowing: int, partly: bool) -> str:
    least = "at least " if partly else ""
    word = one if inheriting == 1 else many
    verb = "inherits it" if inheriting == 1 else "inherit it"
    return f"{least}{inheriting:,} {word} {verb}, {least}{shadowing:,} {'shadows' if shadowing == 1 else 'shadow'} it"


# -- replicas in sync --------------------------------------------------------------------------------------------------


def isr_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `isr` needs; empty for another key, and for a minimum of 0 or 1, which any topic can
    fulfil.
    """
    if topic_key(edit) != ISR or (isinstance(edit, edits.SetConfig) and edit.value in ("0", "1")):
        return NOTHING
    return topic_needs(edit)


def isr_of_new(edit: edits.CreateTopic, _judged: Judged) -> Iterator[str]:
    """Yield a warning if a new topic's min.insync.replicas is not below its replication factor."""
    wanted = long_number(str(edit.topic.configs.get(ISR, "")))
    if wanted is not None and (text := isr_text(wanted, _replication_of_new(edit))):
        yield text


def isr(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if an edit raises min.insync.replicas to a topic's replication factor or above it."""
    if topic_key(edit) != ISR:
        return
    found = [each for each in changes(edit, judged) if _rises(each) and _isr_of(each, judged)]
    if found and edit.resource.type == TOPIC:
        yield _isr_of(found[0], judged)
    elif found:
        yield f"{counted(found, 'with no more replicas than that')}: with one down acks=all fails"


def _rises(change: TopicChange) -> bool:
    old, new = long_number(change.old), long_number(change.new)
    return new is not None and (old is None or new > old)


def _isr_of(change: TopicChange, judged: Judged) -> str:
    return isr_text(long_number(change.new) or 0, _replication(change.topic, judged))


def _replication_of_new(edit: edits.CreateTopic) -> int:
    return len(edit.topic.assignments[0]) if edit.topic.assignments else edit.topic.replication


_ALL_ARE_ENOUGH = (3, 7)
"""The first release of Kafka that never requires more replicas in sync than a partition has
(`Partition.effectiveMinIsr`, KAFKA-15583).
"""


def are_all_enough(versions: Iterable[BrokerVersion]) -> bool:
    """Return whether all brokers accept a write with acks=all if all replicas of the partition are in sync, even if
    there are fewer of them than min.insync.replicas. A broker whose release is unknown counts as one that does.
    """
    return all(release_number(each.release) >= _ALL_ARE_ENOUGH for each in versions if each.release)


def is_isr_impossible(wanted: int, replication: int, *, are_all_enough: bool = True) -> bool:
    """Return whether min.insync.replicas (`wanted`) is above the replication factor, so that writes with acks=all fail
    or depend on every replica. For a topic with one replica the result is True only if `are_all_enough` is False.
    """
    return wanted > replication and (replication > 1 or not are_all_enough)


def isr_text(wanted: int, replication: int) -> str:
    """Return the reason why min.insync.replicas (`wanted`) is too high; ``""`` if it is not, and for Kafka's defaults,
    1 with one replica.
    """
    if wanted > replication == 1:
        return "it has 1 replica; brokers before 3.7 refuse every write with acks=all then, newer ones take it for 1"
    if is_isr_impossible(wanted, replication):
        return (
            f"it has {replication} replicas; no client can write with acks=all while one of them is down, and with "
            "brokers before 3.7 not at all"
        )
    if wanted == replication > 1:
        return f"it has {replication} replicas; no client can write with acks=all while one of them is down"
    return ""


# -- unclean elections -------------------------------------------------------------------------------------------------

_UNCLEAN_TEXT = "a replica that is behind may lead, and what it has not got is lost"


def unclean_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `unclean` needs: the numbers of replicas, because a single replica is never out of sync.
    Empty for another key, and for the value false.
    """
    if topic_key(edit) != UNCLEAN or (isinstance(edit, edits.SetConfig) and str(edit.value).lower() == "false"):
        return NOTHING
    return topic_needs(edit)


def unclean_of_new(edit: edits.CreateTopic, _judged: Judged) -> Iterator[str]:
    """Yield a warning if unclean elections are allowed for a new topic."""
    if str(edit.topic.configs.get(UNCLEAN, "")).lower() == "true" and _replication_of_new(edit) != 1:
        yield _UNCLEAN_TEXT


def unclean(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for topics with several replicas for which unclean elections are allowed after the edit, but not
    before.
    """
    if topic_key(edit) != UNCLEAN:
        return
    found = [
        each
        for each in changes(edit, judged)
        if (each.new or "").lower() == "true"
        and (each.old or "").lower() != "true"
        and _replication(each.topic, judged) != 1
    ]
    if found and edit.resource.type == TOPIC:
        yield _UNCLEAN_TEXT
    elif found:
        yield f"{_UNCLEAN_TEXT}: {counted(found, 'with several replicas')}"


# -- retention ---------------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """The retention of a topic: whether it deletes records, and the two limits."""

    deletes: bool
    """Whether the topic deletes records (cleanup.policy); if not, the limits have no effect."""
    ms: int
    """The limit of age in milliseconds; `FOREVER` for unlimited."""
    size: int
    """The limit of a partition's size in bytes; `FOREVER` for unlimited."""


def kept(configs: ConfigSet) -> Kept:
    """Return the retention that a topic's configs define."""
    entry = configs.get(POLICY)
    policy = entry.value if entry is not None and entry.value is not None else "delete"
    limits = (config_number(configs, key, -1) for key in (BY_TIME, BY_SIZE))
    return Kept("delete" in items_of(policy), *(FOREVER if limit < 0 else limit for limit in limits))


def ages_by_producers(configs: ConfigSet) -> bool:
    """Return whether a topic deletes records by age, and the age counts from timestamps that producers set."""
    limit, times = kept(configs), configs.get("message.timestamp.type")
    return limit.deletes and limit.ms < FOREVER and (times is None or times.value != "LogAppendTime")


def keeps_all(policy: str) -> str:
    """Return a text on the meaning of an empty cleanup.policy; ``""`` for any other policy."""
    if any(items_of(policy)):
        return ""
    return f"without a {POLICY} nothing is deleted or compacted: records are kept for ever, whatever {BY_TIME} says"


def config_number(configs: ConfigSet, key: str, otherwise: int) -> int:
    """Return the value of a key as a number; `otherwise` if the key has none, or its value is no number that fits a
    Java long.
    """
    entry = configs.get(key)
    number = long_number(entry.value) if entry is not None else None
    return otherwise if number is None else number


class _Limit(NamedTuple):
    """A limit of retention that an edit lowers."""

    key: str
    value: int
    """The new limit in milliseconds or bytes."""

    @property
    def tiny(self) -> bool:
        return 0 < self.value < (TINY_MS if self.key == BY_TIME else TINY_BYTES)

    @property
    def in_seconds(self) -> bool:
        return self.key == BY_TIME and days_in_seconds(self.value) > 0

    def __str__(self) -> str:
        return f"{self.value:,} ms" if self.key == BY_TIME else f"{self.value:,} bytes a partition"


def days_in_seconds(milliseconds: int) -> int:
    """Return the usual number of days that a retention in milliseconds is in seconds; 0 if there is none."""
    days, rest = divmod(milliseconds, 86_400)
    return days if rest == 0 and days in _DAYS else 0


def seconds_text(milliseconds: int) -> str:
    """Return a text on a retention that is a usual number of days in seconds."""
    days = days_in_seconds(milliseconds)
    return f"{milliseconds:,} ms are {duration(milliseconds)}, and {milliseconds:,} s are {days} days"


def retention_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that warnings about retention need: policy, limits and sizes of topics. Empty for another key,
    and for a limit that is neither zero nor tiny, and not in seconds.
    """
    key = topic_key(edit)
    if key not in KEEPING + LOCAL:
        return NOTHING
    value = long_number(in_terms_of(key, edit.key, value_of(edit)))
    # Skip the sizes for a limit that is always harmless: reading those of all topics takes seconds.
    if key in (BY_TIME, BY_SIZE) and value is not None and not _is_odd(_Limit(key, value)):
        return NOTHING
    return topic_needs(edit, sizes=True)


def retention_zero_of_new(edit: edits.CreateTopic, _judged: Judged) -> Iterator[str]:
    """Yield a warning if a new topic has a retention of zero."""
    configs = edit.topic.configs
    if any(configs.get(key) == "0" for key in (BY_TIME, BY_SIZE)) and "delete" in str(configs.get(POLICY, "delete")):
        yield "all records that come are deleted within minutes, but for what is being written"


def retention_zero(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield warnings for topics whose retention is zero after the edit, and for tiered topics whose local retention
    is zero.
    """
    yield from _kept_less(
        edit,
        judged,
        lambda limit: limit.value == 0,
        lambda _: "all records that are there are deleted within minutes, but for what is being written",
    )
    if isinstance(edit, edits.SetConfig) and topic_key(edit) in LOCAL and edit.value == "0":
        remote = [c for c in changes(edit, judged) if _is_remote(c.topic, judged) and judged.may_hold_data(c.topic)]
        if remote:
            yield "segments leave the brokers' disks as soon as they are in remote storage; reading them is slower then"


def _is_odd(limit: _Limit) -> bool:
    return limit.tiny or limit.value == 0 or limit.in_seconds


def retention_in_seconds(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for topics whose retention is a usual number of days in seconds after the edit; topics without
    records are left out.
    """
    yield from _kept_less(
        edit,
        judged,
        lambda limit: limit.in_seconds,
        lambda limit: f"the retention seems to be in seconds: {seconds_text(limit.value)}",
    )


def retention_tiny(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for topics whose retention is tiny after the edit; topics without records are left out."""
    yield from _kept_less(
        edit,
        judged,
        lambda limit: limit.tiny,
        lambda limit: f"only {limit} are kept, less than brokers look at in one go: nearly all records there go",
    )


def _kept_less(
    edit: edits.ConfigEdit, judged: Judged, bad: Callable[[_Limit], bool], text: Callable[[_Limit], str]
) -> Iterator[str]:
    if topic_key(edit) not in KEEPING:
        return
    found = []
    first: _Limit | None = None
    for change in changes(edit, judged):
        limit = next((each for each in _lowered(change, topic_key(edit), judged) if bad(each)), None)
        if limit is not None and judged.may_hold_data(change.topic):
            found.append(change)
            first = first or limit
    if first is None:
        return
    if edit.resource.type == TOPIC:
        unknown = "" if found[0].topic in judged.facts.sizes else " (how much it holds could not be read)"
        yield text(first) + unknown
    else:
        yield f"{text(first)}: {counted(found, 'with data')}"


def _lowered(change: TopicChange, key: str, judged: Judged) -> list[_Limit]:
    """Return the limits of a topic's retention that a change lowers; empty if the topic does not delete records
    after the change.
    """
    resource = topic_resource(change.topic)
    known, then = judged.before.configs.get(resource), judged.after.configs.get(resource)
    before = kept(known) if known is not None else Kept(True, FOREVER, FOREVER)
    after = kept(then) if then is not None else Kept(True, FOREVER, FOREVER)
    if key == POLICY and change.new is not None:
        after = after._replace(deletes="delete" in items_of(change.new))
    value = long_number(change.new)
    if value is not None and key in (BY_TIME, BY_SIZE):
        limit = FOREVER if value < 0 else value
        after = after._replace(ms=limit) if key == BY_TIME else after._replace(size=limit)
    if not after.deletes:
        return []
    # A topic that was only compacted kept all keys: any limit, even unlimited, is lower than that.
    old = (before.ms, before.size) if before.deletes else (FOREVER + 1, FOREVER + 1)
    return [
        _Limit(name, new)
        for name, was, new in zip((BY_TIME, BY_SIZE), old, (after.ms, after.size), strict=True)
        if new < was
    ]


def _is_remote(topic: str, judged: Judged) -> bool:
    return judged.then(topic_resource(topic), "remote.storage.enable") == "true"


# -- deleting a topic --------------------------------------------------------------------------------------------------

NAMED = 3
"""Maximum number of groups that a line names, and of topics whose names an operator types one by one to accept their
deletion. For more topics the operator types their number.
"""
_SKEW_SECONDS = 60
"""Maximum seconds by which the clocks of hosts are expected to differ."""


def deleted_needs(edit: edits.DeleteTopic) -> RiskNeeds:
    """Return the facts that `deleted` needs: the topic's size, the age of its records, and its readers."""
    name = frozenset({edit.name})
    return RiskNeeds(topics=name, sizes=True, readers_of=name, newest_of=name)


def deleted(edit: edits.DeleteTopic, judged: Judged) -> Iterator[str]:
    """Yield a warning for the deletion of a topic with records or readers, and of one that other software needs."""
    name, owner = edit.name, owner_of(edit.name, judged)
    readers = judged.facts.readers.get(name)
    who = _who_reads(readers)
    if owner is None and not who and not judged.may_hold_data(name):
        return
    yield f"{_held(name, judged)}; {who or 'no group reads it'}"
    if owner is not None:
        yield f"it belongs to {owner.owner}: {owner.lost}"


def deleted_subject(edit: edits.DeleteTopic, judged: Judged) -> str:
    """Return the text that the operator has to type to accept a topic's deletion: the topic's name; or the number of
    topics, if the plan deletes many topics that no other software needs.
    """
    if owner_of(edit.name, judged) is not None:
        return edit.name
    names = [each.edit.name for each in judged.staged if isinstance(each.edit, edits.DeleteTopic)]
    many = sum(owner_of(name, judged) is None for name in names)
    return str(many) if many > NAMED else edit.name


def _held(name: str, judged: Judged) -> str:
    size, age = judged.facts.sizes.get(name), judged.facts.ages.get(name)
    if size is None:
        return "how much it holds could not be read"
    if not size:
        return "it holds no records"
    if age is None:
        newest = ""
    elif age < -_SKEW_SECONDS:
        newest = ", the newest record's time lies in the future"
    else:
        newest = f", the newest record is {measured_time(age)} old"
    return f"{byte_count(size)} go for good{newest}"


def _who_reads(readers: TopicReaders | None) -> str:
    """Return a text on the groups that read a topic, and the reasons why further readers may be unknown; ``""`` if all
    groups were read and none reads it.
    """
    if readers is None:
        return "who reads it was not read"
    names = readers.names
    shown = first_few([_reader(name, readers.members.get(name, 0)) for name in names], NAMED)
    found = [f"read by {'groups' if len(names) > 1 else 'group'} {shown}"] if names else []
    if readers.asked < readers.groups:
        found.append(f"only {readers.asked:,} of {readers.groups:,} groups were looked at")
    if readers.problem:
        found.append(f"who reads it is not known whole: {readers.problem}")
    return "; ".join(found)


def _reader(name: str, members: int) -> str:
    return f"{name} ({members:,} {'member' if members == 1 else 'members'})" if members else name


# -- topics of other machinery -----------------------------------------------------------------------------------------


def owner_of(name: str, judged: Judged) -> SystemTopic | None:
    """Return the description of a topic that other software needs (`SystemTopic`); None for an ordinary topic."""
    topic = judged.before.topics.get(name)
    readers = judged.facts.readers.get(name)
    groups = readers.listed if readers is not None else judged.before.groups
    partitions = len(topic.partitions) if topic is not None else None
    found = system_topic(name, partitions, judged.own(topic_resource(name), POLICY), groups)
    return found or (INTERNAL if topic is not None and topic.internal else None)


def system_growth_needs(edit: edits.GrowTopic) -> RiskNeeds:
    """Return the facts that `system_growth` needs; empty if the topic's name shows that it is an ordinary topic."""
    return _to_know_owner(edit.name)


def _to_know_owner(name: str) -> RiskNeeds:
    """Return the facts that show which software owns a topic; empty if the name shows that it is an ordinary topic."""
    named = frozenset({name})
    if may_be_of_application(name):
        return RiskNeeds(topics=named, readers_of=named)
    return RiskNeeds(topics=named) if system_topic(name) is not None else NOTHING


def system_growth(edit: edits.GrowTopic, judged: Judged) -> Iterator[str]:
    """Yield a warning for adding partitions to a topic whose owner needs the present number of partitions."""
    owner = owner_of(edit.name, judged)
    if owner is not None and owner.grown:
        yield f"it belongs to {owner.owner}: with more partitions {owner.grown}{_moving_groups(edit, judged)}"


def keys_split_needs(edit: edits.GrowTopic) -> RiskNeeds:
    """Return the facts that `keys_split` needs."""
    return RiskNeeds(topics=frozenset({edit.name}))


def keys_split(edit: edits.GrowTopic, judged: Judged) -> Iterator[str]:
    """Yield a warning for more partitions of a topic whose cleanup.policy is compact alone, if the topic may have
    records. Topics whose owner needs the present number of partitions have a warning of their own instead.
    """
    owner = owner_of(edit.name, judged)
    policy = items_of(judged.own(topic_resource(edit.name), POLICY) or "")
    if [*policy] == [COMPACT] and judged.may_hold_data(edit.name) and not (owner is not None and owner.grown):
        yield (
            "it is compacted: the next record of a key may go to another partition, and the key's former value stays "
            "where it was, so that readers find two latest values"
        )


def _moving_groups(edit: edits.GrowTopic, judged: Judged) -> str:
    """Return a text on the known groups whose commits belong to another partition of the offsets topic after the edit;
    ``""`` for an edit of another topic, and if there are no such groups.
    """
    topic, groups = judged.before.topics.get(edit.name), judged.before.groups
    if edit.name != OFFSETS or topic is None or not groups:
        return ""
    moving = moved_groups(groups, len(topic.partitions), edit.partitions)
    named = f", {first_few(moving, NAMED)}" if moving else ""
    return f": {len(moving):,} of {len(groups):,} groups{named}"


def moved_groups(groups: Iterable[str], was: int, became: int) -> list[str]:
    """Return the groups that belong to another partition of the offsets topic after its number of partitions changed,
    sorted. Their coordinators then look for their commits in a partition that does not have them.
    """
    return sorted(name for name in groups if partition_of(name, was) != partition_of(name, became))


_SEGMENT_DEFAULT = 104_857_600
"""The default in bytes of offsets.topic.segment.bytes and transaction.state.log.segment.bytes."""


def _longer_load(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for larger segments of a topic that coordinators read completely at their start. Larger ones
    take longer to read, because the newest segment is never compacted.
    """
    old = long_number(judged.own(edit.resource, SEGMENT)) or _SEGMENT_DEFAULT
    new = long_number(value_of(edit) or judged.then(edit.resource, SEGMENT))
    if new is not None and new > max(old, _SEGMENT_DEFAULT):
        yield (
            "its newest segment is never compacted: a broker that begins to lead a partition reads up to "
            f"{byte_count(new)} of it before it answers for a group or a transaction of it"
        )


def system_config_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `system_config` needs; empty for keys that it does not check."""
    is_judged = edit.resource.type == TOPIC and edit.key in (*KEEPING, SEGMENT)
    return _to_know_owner(edit.resource.name) if is_judged else NOTHING


def system_config(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for a cleanup.policy, a retention or a segment size that harms the software which owns a
    topic.
    """
    if edit.resource.type == TOPIC and edit.key == SEGMENT and edit.resource.name in (OFFSETS, TRANSACTIONS):
        yield from _longer_load(edit, judged)
        return
    owner = owner_of(edit.resource.name, judged) if edit.resource.type == TOPIC and edit.key in KEEPING else None
    if owner is None:
        return
    policies = judged.own(edit.resource, POLICY), judged.then(edit.resource, POLICY)
    before, after = (None if each is None else frozenset(items_of(each)) for each in policies)
    if edit.key == POLICY:
        value = value_of(edit)
        after = frozenset(items_of(value)) if value is not None else after
        if owner.policy and after not in (before, {owner.policy}):
            yield f"it belongs to {owner.owner}, which needs {POLICY}={owner.policy}: {owner.lost}"
        return
    limits = judged.own(edit.resource, edit.key), value_of(edit) or judged.then(edit.resource, edit.key)
    old, new = (FOREVER if limit is None or limit < 0 else limit for limit in map(long_number, limits))
    deletes = after is None or "delete" in after
    if deletes and (owner.keeps or owner.policy == COMPACT) and new < old:
        yield f"it belongs to {owner.owner}: what is older than its retention goes, and {owner.lost}"
