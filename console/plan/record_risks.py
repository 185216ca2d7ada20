"""Warnings about records that brokers will refuse from producers: records without keys in a compacted topic, batches
above a new limit, and records whose timestamps exceed a limit. The first two warnings use the newest batches of
some partitions; if no batches were read, the text says so, or there is no warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from console.model.codes import TOPIC
from console.model.config import topic_resource
from console.model.numbers import long_number
from console.model.system_topics import COMPACT
from console.plan import edits, topic_risks
from console.plan.amounts import duration
from console.plan.risk_rules import NOTHING, Judged, RiskNeeds
from console.plan.values import items_of

# -- records without keys ----------------------------------------------------------------------------------------------


def keyless_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `keyless` needs: the newest batches of a topic that may become compacted; empty for any
    other edit.
    """
    if edit.resource.type != TOPIC or edit.key != topic_risks.POLICY:
        return NOTHING
    if isinstance(edit, edits.SetConfig) and not _compacts(topic_risks.value_of(edit)):
        return NOTHING
    name = frozenset({edit.resource.name})
    return RiskNeeds(topics=name, batches_of=name)


def keyless(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if a topic becomes compacted although producers write records without keys to it."""
    if (
        edit.resource.type != TOPIC
        or edit.key != topic_risks.POLICY
        or _compacts(judged.own(edit.resource, topic_risks.POLICY))
    ):
        return
    newest = judged.facts.batches.get(edit.resource.name)
    value = (
        topic_risks.value_of(edit)
        if isinstance(edit, edits.SetConfig)
        else judged.then(edit.resource, topic_risks.POLICY)
    )
    if newest is None or not newest.keyless or not _compacts(value):
        return
    yield (
        f"{newest.keyless:,} of its {newest.records:,} newest records have no key: brokers refuse such a record then, "
        "so that its producer fails, and compaction removes those that are there"
    )


def _compacts(policy: str | None) -> bool:
    return policy is not None and COMPACT in items_of(policy)


# -- the size of a batch -----------------------------------------------------------------------------------------------


def message_size_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `message_size` needs: the topics' limits, whether the topics have records, and for an edit
    of one topic its newest batches; empty for another key.
    """
    if topic_risks.topic_key(edit) != topic_risks.MESSAGE_SIZE:
        return NOTHING
    needs = topic_risks.topic_needs(edit, sizes=True)
    return needs | RiskNeeds(batches_of=frozenset({edit.resource.name})) if edit.resource.type == TOPIC else needs


def message_size(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if brokers will refuse batches of a size that they have accepted so far."""
    if topic_risks.topic_key(edit) != topic_risks.MESSAGE_SIZE:
        return
    found = [
        each
        for each in topic_risks.changes(edit, judged)
        if falls(each.old, each.new, is_known=each.read) and judged.may_hold_data(each.topic)
    ]
    if not found:
        return
    first = found[0]
    taken = f", so far {long_number(first.old):,} were taken" if first.old is not None else ""
    text = f"batches of more than {long_number(first.new):,} bytes are refused{taken}"
    if edit.resource.type == TOPIC:
        yield f"{text}; {_largest(first, judged)}"
    else:
        yield f"{text}; how large those of their producers are was not read: {topic_risks.counted(found, 'with data')}"


def falls(old: str | None, new: str | None, *, is_known: bool) -> bool:
    """Return whether a limit becomes lower.

    Args:
        old, new: the values; None if unknown. If `new` is unknown, return False. If only `old` is unknown, return True
            if the topic's configs were not read, else False.
        is_known: whether the configs of the topic were read.
    """
    was, becomes = long_number(old), long_number(new)
    if becomes is None:
        return False
    return becomes < was if was is not None else not is_known


def _largest(change: topic_risks.TopicChange, judged: Judged) -> str:
    newest = judged.facts.batches.get(change.topic)
    if newest is None:
        return "how large those of its producers are was not read"
    if newest.largest > (long_number(change.new) or 0):
        return f"one of its newest has {newest.largest:,}: its producer fails as soon as it is set"
    return f"the largest of its newest has {newest.largest:,}"


# -- the times of records ----------------------------------------------------------------------------------------------

TIMES, BY_BROKERS = "message.timestamp.type", "LogAppendTime"
"""The config that decides whether producers or brokers set the timestamps of records, and its value for brokers."""
TIME_LIMITS: Mapping[str, str] = {
    "message.timestamp.before.max.ms": "before",
    "message.timestamp.after.max.ms": "after",
    "message.timestamp.difference.max.ms": "before or after",
}
"""Key of a topic -> the timestamps that it limits, as text: those before or after the broker's time."""
_SHORT_MS = 3_600_000
"""Limits below these milliseconds cause a warning: they refuse records that producers send late, and may have been
meant as seconds.
"""
_HOUR_SECONDS = 3_600


def refused_times(key: str, limit_ms: int) -> str:
    """Return a text on the records that brokers refuse because of a limit. key: one of `TIME_LIMITS`."""
    return f"records whose time is more than {duration(limit_ms)} {TIME_LIMITS[key]} the broker's"


def short_times_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `short_times` needs: the topics' limits, and whether producers set their records'
    timestamps; empty for another key, and for a limit that is not short.
    """
    is_limit = topic_risks.topic_key(edit) in TIME_LIMITS
    may_be_short = isinstance(edit, edits.UnsetConfig) or _is_short(topic_risks.value_of(edit))
    return topic_risks.topic_needs(edit) if is_limit and may_be_short else NOTHING


def short_times(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if an edit lowers a limit of timestamps to less than an hour (`_SHORT_MS`)."""
    key = topic_risks.topic_key(edit)
    if key not in TIME_LIMITS:
        return
    found = [
        each
        for each in topic_risks.changes(edit, judged)
        if _is_short(each.new)
        and falls(each.old, each.new, is_known=False)
        and judged.then(topic_resource(each.topic), TIMES) != BY_BROKERS
    ]
    if found:
        text = _short_times(key, found[0].new)
        counted = topic_risks.counted(found, "and take the producers' times")
        yield text if edit.resource.type == TOPIC else f"{text}: {counted}"


def short_times_of_new(edit: edits.CreateTopic, _judged: Judged) -> Iterator[str]:
    """Yield a warning if a new topic has a limit of timestamps of less than an hour (`_SHORT_MS`)."""
    configs = edit.topic.configs
    for key in TIME_LIMITS:
        value = configs.get(key)
        if isinstance(value, str) and _is_short(value) and configs.get(TIMES) != BY_BROKERS:
            yield _short_times(key, value)


def _is_short(value: str | None) -> bool:
    limit = long_number(value)
    return limit is not None and 0 <= limit < _SHORT_MS


def _short_times(key: str, value: str | None) -> str:
    limit = long_number(value) or 0
    text = f"{refused_times(key, limit)} are refused, so that their producers fail"
    if limit and limit % _HOUR_SECONDS == 0:  # the number is a multiple of an hour in seconds
        text += f"; it is in milliseconds, {duration(1_000 * limit)} would be {1_000 * limit}"
    return text
