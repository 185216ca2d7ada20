"""Warnings about what producers wrote lately: records without keys that a compacted topic refuses, and batches above a
new limit. Both know it from the newest batches of some partitions; without these the texts say so, or there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.model.codes import TOPIC
from console.model.numbers import long_number
from console.model.system_topics import COMPACT
from console.plan import edits, topic_risks
from console.plan.risk_rules import NOTHING, Judged, RiskNeeds
from console.plan.values import items_of

# -- records without keys ----------------------------------------------------------------------------------------------


def keyless_needs(edit: edits.ConfigEdit) -> RiskNeeds:
    """Return the facts that `keyless` needs: the newest records, if a topic may become compacted."""
    if edit.resource.type != TOPIC or edit.key != topic_risks.POLICY:
        return NOTHING
    if isinstance(edit, edits.SetConfig) and not _compacts(topic_risks.value_of(edit)):
        return NOTHING
    name = frozenset({edit.resource.name})
    return RiskNeeds(topics=name, batches_of=name)


def keyless(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning for a topic that becomes compacted while its producers write records without keys."""
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
    """Return the facts that `message_size` needs: the topics' limits, whether they hold data, and the newest batches of
    a topic.
    """
    if topic_risks.topic_key(edit) != topic_risks.MESSAGE_SIZE:
        return NOTHING
    needs = topic_risks.topic_needs(edit, sizes=True)
    return needs | RiskNeeds(batches_of=frozenset({edit.resource.name})) if edit.resource.type == TOPIC else needs


def message_size(edit: edits.ConfigEdit, judged: Judged) -> Iterator[str]:
    """Yield a warning if brokers will refuse batches that they have accepted so far."""
    if topic_risks.topic_key(edit) != topic_risks.MESSAGE_SIZE:
        return
    found = [each for each in topic_risks.changes(edit, judged) if _falls(each) and judged.may_hold_data(each.topic)]
    if not found:
        return
    first = found[0]
    taken = f", so far {long_number(first.old):,} were taken" if first.old is not None else ""
    text = f"batches of more than {long_number(first.new):,} bytes are refused{taken}"
    if edit.resource.type == TOPIC:
        yield f"{text}; {_largest(first, judged)}"
    else:
        yield f"{text}; how large those of their producers are was not read: {topic_risks.counted(found, 'with data')}"


def _falls(change: topic_risks.TopicChange) -> bool:
    old, new = long_number(change.old), long_number(change.new)
    if new is None:
        return False
    return new < old if old is not None else not change.read


def _largest(change: topic_risks.TopicChange, judged: Judged) -> str:
    newest = judged.facts.batches.get(change.topic)
    if newest is None:
        return "how large those of its producers are was not read"
    if newest.largest > (long_number(change.new) or 0):
        return f"one of its newest has {newest.largest:,}: its producer fails as soon as it is set"
    return f"the largest of its newest has {newest.largest:,}"
