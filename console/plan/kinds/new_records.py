"""New records: writing a batch to a partition, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from console.model import schemas
from console.model.changes import ProduceRecords, Target
from console.model.cluster import LogRange, partition_in
from console.model.config import topic_resource
from console.model.dead_letters import GROUP_PREFIX
from console.model.numbers import first_few, plural
from console.model.snapshot import Snapshot
from console.model.system_topics import COMPACT, is_kafkas_own
from console.model.topic_use import READS, topic_uses
from console.plan import risk_rules
from console.plan import staged as plan_staged
from console.plan.amounts import byte_count
from console.plan.edit_kind import Batch, EditKind, Stage
from console.plan.edits import GrowTopic, Slot, WriteRecords
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import Facts, Step
from console.plan.risk_rules import Judged, RiskNeeds, RiskRule
from console.plan.topic_risks import POLICY, owner_of
from console.plan.values import items_of

MOST = 1_000
"""Number of records in a plan above which there is a warning."""
NAMED = 3
"""Maximum number of groups and partitions that a line names."""
LARGEST_REQUEST = 16 << 20
"""Maximum size in bytes of all batches in one step."""
MESSAGE_BYTES = "max.message.bytes"


def _of_topic(topic: str, staged: Sequence[plan_staged.Staged]) -> list[WriteRecords]:
    return [each.edit for each in staged if isinstance(each.edit, WriteRecords) and each.edit.topic == topic]


def _is_first(edit: WriteRecords, staged: Sequence[plan_staged.Staged]) -> bool:
    """Return whether an edit is the plan's first batch for its topic. Lines about all batches of a topic are shown
    with the first one only.
    """
    return next(iter(_of_topic(edit.topic, staged)), None) is edit


def _count(edits: Sequence[WriteRecords]) -> int:
    return sum(len(each.sizes) for each in edits)


def _is_compacted(policy: str | None) -> bool:
    return policy is not None and COMPACT in items_of(policy)


# -- warnings ----------------------------------------------------------------------------------------------------------


def _owned(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    owner = owner_of(edit.topic, judged) if _is_first(edit, judged.staged) else None
    if owner is not None:
        yield f"{edit.topic} belongs to {owner.owner}, which reads each record as its own; a wrong one: {owner.lost}"


def _nulls(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    if not _is_first(edit, judged.staged):
        return
    nulls = sum(each.nulls for each in _of_topic(edit.topic, judged.staged))
    policy = judged.then(topic_resource(edit.topic), POLICY)
    if nulls and policy is not None and not _is_compacted(policy):
        yield (
            f"{plural(nulls, 'record')} without a value, and cleanup.policy of {edit.topic} is {policy or 'empty'}: "
            "nothing is deleted by them, and readers get them as they are"
        )


def _other_schema(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    """Yield a line with the number of values, and one with the number of keys, of a topic's new records that refer
    to no schema of the topic's subject; nothing if there are none, or the topic has no such subject.
    """
    if not _is_first(edit, judged.staged):
        return
    records = [each for mine in _of_topic(edit.topic, judged.staged) for each in mine.records.reveal()]
    for part, header in (("value", schemas.VALUE_HEADER), ("key", schemas.KEY_HEADER)):
        subject = judged.before.schemas.get(f"{edit.topic}-{part}")
        if subject is None or subject.is_deleted:
            continue
        ids = {each.id for each in subject.versions if not each.is_deleted}
        without = 0
        for record in records:
            data = record.value if part == "value" else record.key
            named = schemas.framed(data, record.headers, header)
            without += data is not None and (named is None or named.key.of != "" or named.key.id not in ids)
        if without:
            yield f"{plural(without, part)} without a schema of subject {subject.name}: readers that decode by it fail"


def _many(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    count = _all_records(edit, judged)
    if count > MOST and next(each.edit for each in judged.staged if isinstance(each.edit, WriteRecords)) is edit:
        yield f"the plan writes {count:,} records: none can be taken back"


def _all_records(_edit: WriteRecords, judged: Judged) -> int:
    return _count([each.edit for each in judged.staged if isinstance(each.edit, WriteRecords)])


def _at_once(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    """Yield a line if groups with members have read a partition to its end, and so get the new records immediately; and
    a line if not all groups were examined.
    """
    readers = judged.facts.readers.get(edit.topic)
    if readers is None or not _is_first(edit, judged.staged):
        return
    ends = {
        number: log.end
        for number in {each.partition for each in _of_topic(edit.topic, judged.staged)}
        if (log := judged.before.log_ranges.get((edit.topic, number))) is not None
    }
    waiting = {
        group
        for (group, partition), committed in readers.committed.items()
        if partition in ends and committed >= ends[partition] and readers.members.get(group)
    }
    if waiting:
        one = len(waiting) == 1
        yield (
            f"{'group' if one else 'groups'} {first_few(sorted(waiting), NAMED)} {'has' if one else 'have'} read all "
            f"before: {'it gets' if one else 'they get'} the new records at once"
        )
    if readers.asked < readers.groups:
        yield f"only {readers.asked:,} of {readers.groups:,} groups were looked at for whether they wait for records"
    if readers.problem:
        yield f"which groups wait for records is not known whole: {readers.problem}"


def _again(edit: WriteRecords, judged: Judged) -> Iterator[str]:
    """Yield a line if dead letters are sent again to their topic although it is also read by groups in which they
    did not fail.
    """
    readers = judged.facts.readers.get(edit.topic)
    if edit.again is None or readers is None or not _is_first(edit, judged.staged):
        return
    mine = _of_topic(edit.topic, judged.staged)
    failed = {group for each in mine for group in each.again or ()}
    others = [name for name in readers.names if name not in failed and not name.startswith(GROUP_PREFIX)]
    if others:
        known = f", besides {first_few(sorted(failed), NAMED)}, in which they failed" if failed else ""
        verb = "is" if _count(mine) == 1 else "are"
        yield (
            f"{plural(_count(mine), 'letter')} of {edit.topic} {verb} read again by every group{known}: "
            f"{first_few(others, NAMED)}"
        )


def _needs(edit: WriteRecords) -> RiskNeeds:
    name = frozenset({edit.topic})
    return RiskNeeds(topics=name, readers_of=name)


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return steps with at most one batch for each partition, and at most `LARGEST_REQUEST` bytes. Each step is sent
    only after the previous one succeeded, so the records of a partition keep their order.
    """
    rounds: list[tuple[list[plan_staged.Staged], int]] = []
    seen: dict[tuple[str, int], int] = {}
    for each in staged:
        assert isinstance(each.edit, WriteRecords)
        place, size = (each.edit.topic, each.edit.partition), sum(each.edit.sizes)
        at = seen.get(place, 0)
        while at < len(rounds) and rounds[at][1] + size > LARGEST_REQUEST:
            at += 1
        if at == len(rounds):
            rounds.append(([], 0))
        members, bytes_ = rounds[at]
        members.append(each)
        rounds[at] = members, bytes_ + size
        seen[place] = at + 1
    return [
        Step(
            _request(members),
            tuple(members),
            f"{number + 1} of {len(rounds)}, so that each partition keeps its order" if len(rounds) > 1 else "",
            (number - 1,) if number else (),
        )
        for number, (members, _) in enumerate(rounds)
    ]


def _request(some: Sequence[plan_staged.Staged]) -> ProduceRecords:
    edits = [each.edit for each in some if isinstance(each.edit, WriteRecords)]
    return ProduceRecords({each.target: each.records for each in edits})


def _predict(snapshot: Snapshot, edits: Sequence[WriteRecords]) -> Snapshot:
    ranges = dict(snapshot.log_ranges)
    for edit in edits:
        place = edit.topic, edit.partition
        if place in ranges:
            ranges[place] = ranges[place]._replace(end=ranges[place].end + len(edit.sizes))
    return replace(snapshot, log_ranges=ranges)


def _commands(_target: Target, lines: Sequence[DiffLine]) -> tuple[Command, ...]:
    """Return a note for each batch in place of a command, because no file has the records."""
    return tuple(
        Command((), note=f"{line.edit.target.title}: the records are in no file; kac produce writes them")
        for line in lines
        if isinstance(line.edit, WriteRecords)
    )


WRITES = Batch(stage=Stage.RECORDS, steps=_steps, predict=_predict, commands=_commands)


# -- the kind of edit --------------------------------------------------------------------------------------------------


class _WriteRecordsKind(EditKind):
    edit = WriteRecords
    verb = "write"
    words = "write {new} (the log ends at {old})"
    state = LogRange
    batch = WRITES
    risks = (
        RiskRule(risk_rules.SYSTEM_TOPIC, _owned, _needs, lambda edit, _: edit.topic),
        RiskRule(risk_rules.NULL_NOT_COMPACTED, _nulls),
        RiskRule(risk_rules.OTHER_SCHEMA, _other_schema),
        RiskRule(risk_rules.WRITES_MANY, _many, subject=lambda edit, judged: str(_all_records(edit, judged))),
        RiskRule(risk_rules.READ_AT_ONCE, _at_once, _needs),
        RiskRule(risk_rules.READ_AGAIN, _again, _needs, lambda edit, _: edit.topic),
    )
    no_way_back = "written records stay: kac can only delete all records before an offset"
    left = plan_staged.UNREAD

    def judge(self, edit: WriteRecords, draft: plan_staged.Draft) -> plan_staged.Verdict:
        name, where = edit.topic, f"{edit.topic}/{edit.partition}"
        draft.refuse_created(name)
        draft.refuse_deleted(name)
        topic = draft.topic(name)
        if topic is not None and partition_in(topic, edit.partition) is None:
            has = f"it has {len(topic.partitions)}, from 0 on; leave the partition out for that of the key"
            raise plan_staged.Refused(f"topic {name} has no partition {edit.partition}", f"Check the number: {has}.")
        if is_kafkas_own(name) or (topic is not None and topic.internal):
            raise plan_staged.Refused(f"brokers take no records for {name} from clients", "Leave it to them.")
        resource = topic_resource(name)
        policy = draft.entry(resource, POLICY)
        is_certain = policy is not None and draft.at(Slot(resource, POLICY)) is None
        if edit.keyless and is_certain and policy is not None and _is_compacted(policy.value):
            raise plan_staged.Refused(
                f"{plural(edit.keyless, 'record')} for {where} without a key: brokers refuse it, {name} is compacted",
                "Give each record a key.",
            )
        limit = draft.entry(resource, MESSAGE_BYTES)
        value = limit.value or "" if limit is not None else ""
        most = int(value) if value.isdigit() else None
        if most is not None and draft.at(Slot(resource, MESSAGE_BYTES)) is None and max(edit.sizes) > most:
            raise plan_staged.Refused(
                f"a record for {where} has {max(edit.sizes):,} bytes, and {MESSAGE_BYTES} of {name} is {most:,}",
                f"Write smaller records, or stage `set topic {name} {MESSAGE_BYTES}=…` first.",
            )
        return plan_staged.Staged(edit, self.current(edit, draft))

    def current(self, edit: WriteRecords, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the first offset and the end offset of the partition's log; UNREAD if its leader did not answer."""
        return seen.snapshot.log_ranges.get((edit.topic, edit.partition), plan_staged.UNREAD)

    def moved(self, _edit: object, _was: object, _now: object) -> bool:
        """Return False: the edit never conflicts, because other producers may write at any time."""
        return False

    def wanted(self, _edit: object, _now: object) -> bool | None:
        return None  # unknown here: the sender searches the log for this batch

    def before(self, _edit: object, there: LogRange | None, _inheritance: object) -> EffectiveValue:
        """Return the end offset of the log as text."""
        return EffectiveValue(None if there is None else there.end, known=there is not None)

    def after(self, edit: WriteRecords, _there: object, _inheritance: object) -> EffectiveValue:
        """Return the number of records that are written, and their bytes, as text."""
        return EffectiveValue(f"{plural(len(edit.sizes), 'record')}, {byte_count(sum(edit.sizes))}")

    def effects(self, edit: WriteRecords, draft: plan_staged.Draft) -> tuple[str, ...]:
        mine = draft.once(("new records", edit.topic), lambda: _of_topic(edit.topic, draft.staged))
        return tuple(_forecast(mine, draft)) if mine[0] is edit else ()


def _forecast(edits: Sequence[WriteRecords], draft: plan_staged.Draft) -> Iterator[str]:
    """Yield lines on the effects of all new records for one topic."""
    topic = edits[0].topic
    partitions = sorted({each.partition for each in edits})
    where = first_few([str(each) for each in partitions], NAMED)
    size = sum(sum(each.sizes) for each in edits)
    word = "partition" if len(partitions) == 1 else "partitions"
    yield f"{plural(_count(edits), 'record')}, {byte_count(size)}, in {word} {where}"
    if places := dict.fromkeys(place for each in edits for place in each.first_for):
        yield f"before {first_few([str(each) for each in places], NAMED)}, which is not sent unless all are written"
    if used := dict.fromkeys(each.schemas for each in edits if each.schemas):
        yield f"encoded by {', '.join(used)}"
    if strays := sum(each.strays for each in edits):
        yield (
            f"{plural(strays, 'record')} not in the partition of the key: no order holds between these and others of "
            "their keys"
        )
    if isinstance(draft.topic_edit(topic), GrowTopic):
        yield "the plan adds partitions: later records of these keys may go to others, and their order is lost"
    policy = draft.entry(topic_resource(topic), POLICY)
    keys, nulls = sum(each.keys for each in edits), sum(each.nulls for each in edits)
    if policy is not None and _is_compacted(policy.value) and keys:
        yield f"compaction removes older records of up to {plural(keys, 'key')}" + (
            f"; {plural(nulls, 'record')} without a value {'deletes its key' if nulls == 1 else 'delete their keys'}"
            if nulls
            else ""
        )
    readers = [use.who for use in topic_uses(draft.snapshot, topic) if use.what == READS]
    if readers:
        yield f"read by {first_few(readers, NAMED)}"


KINDS = (_WriteRecordsKind(),)
