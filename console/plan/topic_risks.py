"""Warnings about what topics keep and take: replicas in sync, unclean elections, retention, the size of a batch. Pure.

An edit of a topic concerns that topic; an edit of a broker's key concerns the topics that inherit it. A warning is
about a change for the worse: what raises a limit, or has no effect on a topic, has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from console.model.broker_keys import TOPIC_SYNONYMS
from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource, is_override, topic_resource
from console.model.inheritance import in_terms_of
from console.model.numbers import long_number
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, CreateTopic, Edit, SetConfig
from console.plan.retention import BY_SIZE, BY_TIME, FOREVER, POLICY, Kept, kept
from console.plan.risk_rules import NOTHING, READ_TOPICS, Judged, RiskNeeds

ISR = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"
MESSAGE_SIZE = "max.message.bytes"
LOCAL = ("local.retention.ms", "local.retention.bytes")
KEEPING = (BY_TIME, BY_SIZE, POLICY)

TINY_MS = 300_000
"""A retention below it is over before a broker looks again (log.retention.check.interval.ms, five minutes)."""
TINY_BYTES = 1_048_576
"""Less than the smallest segment (segment.bytes, 1 MiB since 4.0)."""

_TOPIC_KEYS = {broker_key.name: key for key, names in TOPIC_SYNONYMS.items() for broker_key in names}


class TopicChange(NamedTuple):
    """What a key of a topic becomes. old, new: None if unknown; read: whether the topic's configs were read."""

    topic: str
    old: str | None
    new: str | None
    read: bool = True


# -- which topics an edit concerns -------------------------------------------------------------------------------------


def topic_key(edit: Edit) -> str:
    """The topic's key that a config edit of a topic or a broker changes, ``""`` for any other edit."""
    if not isinstance(edit, ConfigEdit):
        return ""
    if edit.resource.type == TOPIC:
        return edit.key
    return _TOPIC_KEYS.get(edit.key, "") if edit.resource.type == BROKER else ""


def changes(edit: Edit, judged: Judged) -> list[TopicChange]:
    """The topics that a config edit changes: one, or all that inherit a broker's key."""
    assert isinstance(edit, ConfigEdit)
    key = topic_key(edit)
    if edit.resource.type == TOPIC:
        resource = edit.resource
        return [TopicChange(resource.name, judged.own(resource, key), _set_to(edit) or judged.then(resource, key))]
    wanted = in_terms_of(key, edit.key, _set_to(edit))
    seen: dict[tuple[int, int], TopicChange | None] = {}
    found = []
    for name in _on(edit.resource, judged.after):
        resource = topic_resource(name)
        known, then = judged.before.configs.get(resource), judged.after.configs.get(resource)
        if known is None or then is None:
            found.append(TopicChange(name, None, wanted, read=False))
            continue
        both = id(known), id(then)  # equal sets are one object, so that each is looked at once
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


def may_inherit(edit: Edit, snapshot: Snapshot) -> list[str]:
    """The topics whose configs say whether a broker's key concerns them: those on which it could do harm, the most
    endangered first."""
    if not isinstance(edit, ConfigEdit) or edit.resource.type != BROKER:
        return []
    names = _on(edit.resource, snapshot)
    wanted = long_number(_set_to(edit))
    if topic_key(edit) == ISR and wanted is not None:
        few = [name for name in names if 0 < snapshot.topics[name].replication <= wanted]
        return sorted(few, key=lambda name: snapshot.topics[name].replication, reverse=True)
    if topic_key(edit) == UNCLEAN:
        return [name for name in names if snapshot.topics[name].replication != 1]
    return list(names)


def _on(resource: ConfigResource, snapshot: Snapshot) -> list[str]:
    """The topics that a broker has replicas of; all for the default of all brokers."""
    if resource.is_cluster_default or not resource.name.isdecimal():
        return list(snapshot.topics)
    broker = int(resource.name)
    return [
        name for name, topic in snapshot.topics.items() if any(broker in part.replicas for part in topic.partitions)
    ]


def _set_to(edit: ConfigEdit) -> str | None:
    return edit.value if isinstance(edit, SetConfig) and isinstance(edit.value, str) else None


def _replication(name: str, judged: Judged) -> int:
    """How many replicas a topic has, 0 if unknown."""
    topic = judged.before.topics.get(name)
    return topic.replication if topic is not None else 0


def _counted(found: list[TopicChange], what: str) -> str:
    """``12 topics that inherit it …``; those whose configs were not read are counted apart."""
    read = sum(change.read for change in found)
    unread = len(found) - read
    words = []
    if read:
        words.append(f"{read:,} {'topic that inherits' if read == 1 else 'topics that inherit'} it {what}")
    if unread:
        more = f"{unread:,} {'more' if read else 'topics' if unread > 1 else 'topic'} may, whose configs were not read"
        words.append(more + (f" (more than {READ_TOPICS:,} are not)" if unread + read > READ_TOPICS else ""))
    return "; ".join(words)


def _needs(edit: Edit, *, sizes: bool = False) -> RiskNeeds:
    if isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC:
        return RiskNeeds(topics=frozenset({edit.resource.name}), sizes=sizes)
    return RiskNeeds(every_topic=True, sizes=sizes, a_broker=True)


# -- replicas in sync --------------------------------------------------------------------------------------------------


def isr_needs(edit: Edit) -> RiskNeeds:
    """One in sync is enough for any topic."""
    if topic_key(edit) != ISR or (isinstance(edit, SetConfig) and edit.value in ("0", "1")):
        return NOTHING
    return _needs(edit)


def isr(edit: Edit, judged: Judged) -> Iterator[str]:
    """More replicas have to be in sync than there are, or all of them."""
    if isinstance(edit, CreateTopic):
        wanted = long_number(str(edit.topic.configs.get(ISR, "")))
        if wanted is not None and (text := isr_text(wanted, _replication_of_new(edit))):
            yield text
        return
    if topic_key(edit) != ISR:
        return
    found = [each for each in changes(edit, judged) if _rises(each) and _isr_of(each, judged)]
    if found and isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC:
        yield _isr_of(found[0], judged)
    elif found:
        yield f"{_counted(found, 'with no more replicas than that')}: with one down acks=all fails"


def _rises(change: TopicChange) -> bool:
    old, new = long_number(change.old), long_number(change.new)
    return new is not None and (old is None or new > old)


def _isr_of(change: TopicChange, judged: Judged) -> str:
    return isr_text(long_number(change.new) or 0, _replication(change.topic, judged))


def _replication_of_new(edit: CreateTopic) -> int:
    return len(edit.topic.assignments[0]) if edit.topic.assignments else edit.topic.replication


def isr_text(wanted: int, replication: int) -> str:
    """Why so many in sync are too many; ``""`` where they are not. One of one is what every topic begins with."""
    if wanted > replication == 1:
        return "it has 1 replica; brokers of 2.8 let nobody write with acks=all then, newer ones take it for 1"
    if wanted > replication > 1:
        return (
            f"it has {replication} replicas; nobody can write with acks=all while one of them is down, and with "
            "brokers of 2.8 not at all"
        )
    if wanted == replication > 1:
        return f"it has {replication} replicas; nobody can write with acks=all while one of them is down"
    return ""


# -- unclean elections -------------------------------------------------------------------------------------------------

_UNCLEAN_TEXT = "a replica that is behind may lead, and what it has not got is lost"


def unclean_needs(edit: Edit) -> RiskNeeds:
    """How many replicas there are: one alone is never behind."""
    if topic_key(edit) != UNCLEAN or (isinstance(edit, SetConfig) and str(edit.value).lower() == "false"):
        return NOTHING
    return _needs(edit)


def unclean(edit: Edit, judged: Judged) -> Iterator[str]:
    """A replica that is not in sync may become leader."""
    if isinstance(edit, CreateTopic):
        if str(edit.topic.configs.get(UNCLEAN, "")).lower() == "true" and _replication_of_new(edit) != 1:
            yield _UNCLEAN_TEXT
        return
    if topic_key(edit) != UNCLEAN:
        return
    found = [
        each
        for each in changes(edit, judged)
        if (each.new or "").lower() == "true"
        and (each.old or "").lower() != "true"
        and _replication(each.topic, judged) != 1
    ]
    if found and isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC:
        yield _UNCLEAN_TEXT
    elif found:
        yield f"{_UNCLEAN_TEXT}: {_counted(found, 'with several replicas')}"


# -- retention ---------------------------------------------------------------------------------------------------------


class _Limit(NamedTuple):
    """A limit that an edit lowers. value: in ms or bytes."""

    key: str
    value: int

    @property
    def tiny(self) -> bool:
        return 0 < self.value < (TINY_MS if self.key == BY_TIME else TINY_BYTES)

    def __str__(self) -> str:
        return f"{self.value:,} ms" if self.key == BY_TIME else f"{self.value:,} bytes a partition"


def retention_needs(edit: Edit) -> RiskNeeds:
    """Policy, limits and sizes of the topics; nothing where a limit is set that is far from zero."""
    key = topic_key(edit)
    if key not in KEEPING + LOCAL:
        return NOTHING
    value = long_number(in_terms_of(key, edit.key, _set_to(edit))) if isinstance(edit, ConfigEdit) else None
    if key in (BY_TIME, BY_SIZE) and value is not None and not _Limit(key, value).tiny and value != 0:
        return NOTHING
    return _needs(edit, sizes=True)


def retention_zero(edit: Edit, judged: Judged) -> Iterator[str]:
    """Nothing is kept."""
    if isinstance(edit, CreateTopic):
        configs = edit.topic.configs
        if any(configs.get(key) == "0" for key in (BY_TIME, BY_SIZE)) and "delete" in str(
            configs.get(POLICY, "delete")
        ):
            yield "all records that come are deleted within minutes, but for what is being written"
        return
    yield from _kept_less(
        edit,
        judged,
        lambda limit: limit.value == 0,
        lambda _: "all records that are there are deleted within minutes, but for what is being written",
    )
    if isinstance(edit, SetConfig) and topic_key(edit) in LOCAL and edit.value == "0":
        remote = [c for c in changes(edit, judged) if _is_remote(c.topic, judged) and judged.may_hold_data(c.topic)]
        if remote:
            yield "segments leave the brokers' disks as soon as they are in remote storage; reading them is slower then"


def retention_tiny(edit: Edit, judged: Judged) -> Iterator[str]:
    """Next to nothing is kept; an empty topic loses nothing."""
    yield from _kept_less(
        edit,
        judged,
        lambda limit: limit.tiny,
        lambda limit: f"only {limit} are kept, less than brokers look at in one go: nearly all records there go",
    )


def _kept_less(
    edit: Edit, judged: Judged, bad: Callable[[_Limit], bool], text: Callable[[_Limit], str]
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
    if isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC:
        unknown = "" if found[0].topic in judged.facts.sizes else " (how much it holds could not be read)"
        yield text(first) + unknown
    else:
        yield f"{text(first)}: {_counted(found, 'with data')}"


def _lowered(change: TopicChange, key: str, judged: Judged) -> list[_Limit]:
    """The limits of what a topic keeps that a change lowers."""
    resource = topic_resource(change.topic)
    known, then = judged.before.configs.get(resource), judged.after.configs.get(resource)
    before = kept(known) if known is not None else Kept(True, FOREVER, FOREVER)
    after = kept(then) if then is not None else Kept(True, FOREVER, FOREVER)
    if key == POLICY and change.new is not None:
        after = after._replace(deletes="delete" in change.new.split(","))
    value = long_number(change.new)
    if value is not None and key in (BY_TIME, BY_SIZE):
        limit = FOREVER if value < 0 else value
        after = after._replace(ms=limit) if key == BY_TIME else after._replace(size=limit)
    if not after.deletes:
        return []
    old = (before.ms, before.size) if before.deletes else (FOREVER + 1, FOREVER + 1)
    return [
        _Limit(name, new)
        for name, was, new in zip((BY_TIME, BY_SIZE), old, (after.ms, after.size), strict=True)
        if new < was
    ]


def _is_remote(topic: str, judged: Judged) -> bool:
    return judged.then(topic_resource(topic), "remote.storage.enable") == "true"


# -- the size of a batch -----------------------------------------------------------------------------------------------


def message_size_needs(edit: Edit) -> RiskNeeds:
    """What topics take now, and whether anything is in them."""
    return _needs(edit, sizes=True) if topic_key(edit) == MESSAGE_SIZE else NOTHING


def message_size(edit: Edit, judged: Judged) -> Iterator[str]:
    """Batches that were taken are refused. How large those of today's producers are is nowhere to be read."""
    if topic_key(edit) != MESSAGE_SIZE:
        return
    found = [each for each in changes(edit, judged) if _falls(each) and judged.may_hold_data(each.topic)]
    if not found:
        return
    first = found[0]
    taken = f", so far {long_number(first.old):,} were taken" if first.old is not None else ""
    text = (
        f"batches of more than {long_number(first.new):,} bytes are refused{taken}; how large the batches of its "
        "producers are can't be read from brokers"
    )
    if isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC:
        yield text
    else:
        yield f"{text}: {_counted(found, 'with data')}"


def _falls(change: TopicChange) -> bool:
    old, new = long_number(change.old), long_number(change.new)
    if new is None:
        return False
    return new < old if old is not None else not change.read
