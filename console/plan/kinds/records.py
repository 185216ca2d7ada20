"""Records of partitions: deleting those before an offset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from console.model.changes import DeleteRecords
from console.model.cluster import LogRange, partition_in
from console.model.config import topic_resource
from console.model.numbers import first_few, json_text
from console.model.snapshot import Snapshot
from console.model.system_topics import is_kafkas_own, system_topic
from console.model.topic_readers import TopicReaders
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, EditKind, Stage
from console.plan.edits import Slot, TrimLog
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.kafka_tools import STDIN, Command
from console.plan.requests import together
from console.plan.risk_rules import RECORDS_DELETED, Judged, RiskNeeds, RiskRule
from console.plan.topic_risks import EMPTY_KEEPS, POLICY, owner_of
from console.plan.values import items_of

NAMED = 3
"""Maximum number of groups and partitions that a line names."""


# -- checks before staging ---------------------------------------------------------------------------------------------


def _by_request(policy: str, documentation: str | None) -> bool:
    """Return whether brokers delete records on request if a topic has this cleanup.policy. For an empty policy they do
    so since Kafka 4.2, which the key's documentation shows.

    Args:
        documentation: Kafka's documentation of the key; None if it was not read. The result for an empty policy is then
            True, so that the brokers decide.
    """
    if items := set(items_of(policy)) - {""}:
        return "delete" in items
    return documentation is None or EMPTY_KEEPS in documentation


# -- warnings ----------------------------------------------------------------------------------------------------------


def _deleted(edit: TrimLog, judged: Judged) -> Iterator[str]:
    """Yield warnings about the records that the plan deletes in all partitions of a topic, and about the groups that
    have not read them; nothing except for the first such edit of the topic.
    """
    mine = [s.edit for s in judged.staged if isinstance(s.edit, TrimLog) and s.edit.topic == edit.topic]
    # Warn once for all partitions: the user accepts a warning by typing the topic's name, and would have to type it for
    # each.
    if edit != mine[0]:
        return
    ranges = judged.before.log_ranges
    known = [(each, ranges[each.topic, each.partition]) for each in mine if (each.topic, each.partition) in ranges]
    records = sum(max(0, each.before - log.start) for each, log in known)
    of = f"{len(mine)} partitions" if len(mine) > 1 else f"partition {edit.partition}"
    unread = "" if len(known) == len(mine) else f", without those of {len(mine) - len(known)} that could not be read"
    yield f"up to {records:,} records of {edit.topic} are deleted for good, in {of}{unread}"
    if (owner := owner_of(edit.topic, judged)) is not None:
        yield f"it belongs to {owner.owner}: {owner.lost}"
    readers = judged.facts.readers.get(edit.topic)
    if readers is not None:
        yield from _unread_lines(readers, known)


def _unread_lines(readers: TopicReaders, known: Sequence[tuple[TrimLog, LogRange]]) -> Iterator[str]:
    behind: dict[str, int] = {}
    for each, log in known:
        for (group, partition), committed in readers.committed.items():
            if partition == each.partition and committed < each.before:
                missed = each.before - max(committed, log.start)
                behind[group] = behind.get(group, 0) + max(0, missed)
    missing = sorted(((count, group) for group, count in behind.items() if count), key=lambda each: (-each[0], each[1]))
    if missing:
        shown = first_few([f"{group} ({count:,})" for count, group in missing], NAMED)
        yield f"not read yet by {'group' if len(missing) == 1 else 'groups'} {shown}"
    if readers.asked < readers.groups:
        yield f"only {readers.asked:,} of {readers.groups:,} groups were looked at for what they have read"
    if readers.problem:
        yield f"which groups have read them is not known whole: {readers.problem}"


def _risk_needs(edit: TrimLog) -> RiskNeeds:
    return RiskNeeds(readers_of=frozenset({edit.topic}))


# -- requests ----------------------------------------------------------------------------------------------------------


def _request(some: list[plan_staged.Staged]) -> DeleteRecords:
    return DeleteRecords({s.edit.target: s.edit.before for s in some if isinstance(s.edit, TrimLog)})


def _predict(snapshot: Snapshot, edits: Sequence[TrimLog]) -> Snapshot:
    ranges = dict(snapshot.log_ranges)
    for edit in edits:
        place = edit.topic, edit.partition
        if place in ranges:
            ranges[place] = LogRange(max(ranges[place].start, edit.before), ranges[place].end)
    return replace(snapshot, log_ranges=ranges)


# -- kafka-delete-records ----------------------------------------------------------------------------------------------


def _commands(lines: Sequence[DiffLine]) -> Iterable[Command]:
    """Yield one command, because kafka-delete-records reads any number of partitions from a JSON file."""
    partitions = [
        json_text({"topic": line.edit.topic, "partition": line.edit.partition, "offset": line.edit.before})
        for line in lines
        if isinstance(line.edit, TrimLog)
    ]
    content = ",\n".join(partitions)
    yield Command(
        ("kafka-delete-records", "--offset-json-file", STDIN), f'{{"version": 1, "partitions": [\n{content}\n]}}\n'
    )


# -- the kinds of edits ------------------------------------------------------------------------------------------------

TRIMS = Batch(
    stage=Stage.RECORDS_GONE, steps=together(_request, "partitions"), predict=_predict, all_commands=_commands
)


class _TrimLogKind(EditKind):
    edit = TrimLog
    verb = "delete"
    words = "delete the records before offset {new} (they begin at {old})"
    state = LogRange
    batch = TRIMS
    risks = (RiskRule(RECORDS_DELETED, _deleted, _risk_needs, lambda edit, _: edit.topic),)
    no_way_back = "deleted records don't come back"
    left = plan_staged.UNREAD

    def judge(self, edit: TrimLog, draft: plan_staged.Draft) -> plan_staged.Verdict:
        name, where = edit.topic, f"{edit.topic}/{edit.partition}"
        draft.refuse_created(name, "It has no records yet.")
        draft.refuse_deleted(name)
        topic = draft.topic(name)
        if topic is not None and partition_in(topic, edit.partition) is None:
            raise plan_staged.Refused(
                f"topic {name} has no partition {edit.partition}", "Check the number, or refresh."
            )
        if is_kafkas_own(name) or (topic is not None and topic.internal):
            raise plan_staged.Refused(
                f"brokers keep their own records in {name} and delete none of them by request", "Leave them."
            )
        resource = topic_resource(name)
        policy = draft.entry(resource, POLICY)
        # Skip the check if the plan changes the policy: configs are sent before records are deleted, so the broker then
        # checks the new one.
        value = policy.value if policy is not None and draft.at(Slot(resource, POLICY)) is None else None
        if policy is not None and value is not None and not _by_request(value, policy.documentation):
            owner = system_topic(name, policy=value, groups=draft.snapshot.groups)
            advice = f"Stage `append topic {name} cleanup.policy=delete` too, or write tombstones for the keys."
            raise plan_staged.Refused(
                f"cleanup.policy of {name} is {value or 'empty'}: "
                "brokers delete records by request only where it has delete in it",
                advice if owner is None else f"Leave them: they belong to {owner.owner}.",
            )
        log = draft.snapshot.log_ranges.get((name, edit.partition))
        if log is None:
            return plan_staged.Staged(edit, plan_staged.UNREAD)
        if edit.before > log.end or edit.before < 0:
            raise plan_staged.Refused(
                f"offset {edit.before:,} is outside of the log of {where}, which has {log.start:,} to {log.end:,}",
                "Give an offset within it, a time, or latest.",
            )
        if edit.before <= log.start:
            return plan_staged.Dropped(edit, f"{where} begins at offset {log.start:,} already")
        return plan_staged.Staged(edit, log)

    def current(self, edit: TrimLog, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the first offset and the end offset of the partition's log; UNREAD if its leader did not answer."""
        return seen.snapshot.log_ranges.get((edit.topic, edit.partition), plan_staged.UNREAD)

    def moved(self, edit: TrimLog, was: LogRange | None, now: LogRange | None) -> bool:
        """Return whether the log has changed so that the edit conflicts: since `was`, others deleted all the records
        before the edit's offset; or the log ends before that offset now; or a range is None. It is no conflict if
        retention deleted only some of these records, or if producers wrote more.
        """
        return was is None or now is None or now.end < edit.before or (was.start < edit.before <= now.start)

    def wanted(self, edit: TrimLog, now: LogRange | None) -> bool:
        return now is not None and now.start >= edit.before

    def before(self, _edit: object, there: LogRange | None, _inheritance: object) -> EffectiveValue:
        """Return the first offset of the log as text."""
        return EffectiveValue(None if there is None else there.start, known=there is not None)

    def after(self, edit: TrimLog, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(edit.before)

    def effects(self, edit: TrimLog, seen: plan_staged.Described) -> tuple[str, ...]:
        log = seen.snapshot.log_ranges.get((edit.topic, edit.partition))
        if log is None or log.start >= edit.before:
            return ()
        return (
            f"offsets {log.start:,} to {edit.before - 1:,} go, {edit.before - log.start:,} of {log.end - log.start:,}",
        )


KINDS = (_TrimLogKind(),)
