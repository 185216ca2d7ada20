"""Leaders of partitions: electing the preferred replica, and electing one that is out of sync (KIP-183, KIP-460).

A leader can be elected at any time and any number of times, so an election has no reversal. Records that an unclean
election loses are not restored by another election.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from console.model import elections as model_elections
from console.model.changes import ElectLeaders, MoveTarget, PartitionTarget, Status
from console.model.cluster import Partition, ReplicaLogs, Topic, partition_in
from console.model.numbers import commas, json_text
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition
from console.plan import edits as plan_edits
from console.plan import staged as plan_staged
from console.plan.amounts import byte_count
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import STDIN, Command, option
from console.plan.requests import RECORD_LIMIT, Facts, Step, singly, steps_of
from console.plan.risk_rules import UNCLEAN_LOSS, Judged, RiskRule


def preferred_elections(
    topics: Mapping[str, Topic], broker: int | None = None, *, needed: bool = True
) -> tuple[plan_edits.ElectPreferred, ...]:
    """Return an election for each partition that its preferred replica does not lead, in the order of topics' names.

    Args:
        topics: name -> topic.
        broker: the preferred leader of the partitions to return elections for; None for any.
        needed: False to return elections for those partitions only that their preferred replica leads already.
    """
    return tuple(
        plan_edits.ElectPreferred(name, partition.number)
        for name in sorted(topics)
        for partition in topics[name].partitions
        if model_elections.needs_preferred(partition) is needed
        and broker in (None, model_elections.preferred(partition))
    )


def preferred_brokers(topics: Iterable[Topic]) -> frozenset[int]:
    """Return the brokers that have the preferred replica of at least one partition."""
    found = {model_elections.preferred(each) for topic in topics for each in topic.partitions}
    return frozenset(found - {model_elections.NOBODY})


# -- checks before staging ---------------------------------------------------------------------------------------------


def _partition(edit: plan_edits.Election, draft: plan_staged.Draft) -> Partition | None:
    """Return the partition of an edit; None if topics were not read. Raise Refused if the partition does not exist,
    or if the plan creates or deletes its topic, or moves the partition or cancels its move.
    """
    draft.refuse_created(edit.topic)
    draft.refuse_deleted(edit.topic)
    # Refuse an election and a move in one plan, as the result would depend on their order: a move changes the first
    # broker of the list, which is the preferred replica.
    if draft.at(plan_edits.Slot(MoveTarget(edit.topic, edit.partition), "")) is not None:
        raise plan_staged.Refused(
            "the plan cancels its move, which changes its preferred replica", "Apply that first, then elect."
        )
    topic = draft.topic(edit.topic)
    if topic is None:
        return None
    found = partition_in(topic, edit.partition)
    if found is None:
        last = len(topic.partitions) - 1
        raise plan_staged.Refused(f"topic {edit.topic} has no partition {edit.partition}", f"It has 0 to {last}.")
    return found


# -- the present state -------------------------------------------------------------------------------------------------


def _would(edit: plan_edits.ElectUnclean, seen: plan_staged.Described) -> model_elections.UncleanElection | None:
    """Return the effect of an unclean election now; None if the partition does not exist."""
    place = edit.topic, edit.partition
    partition = partition_in(seen.snapshot.topics.get(edit.topic), edit.partition)
    if partition is None:
        return None
    ends = seen.once("seen ends", lambda: _seen_ends(seen.snapshot))
    return model_elections.unclean_election(partition, seen.snapshot.replica_logs.get(place), ends.get(place, -1))


def _seen_ends(snapshot: Snapshot) -> Mapping[tuple[str, int], int]:
    """Return (topic, partition) -> the highest offset that a group committed or that the leader reported as the end."""
    # While the former leader is down, the offsets that others have seen are the best evidence of the loss.
    ends = {place: known.end for place, known in snapshot.log_ranges.items()}
    for lag in snapshot.lags.values():
        for each in lag.partitions:
            place = each.topic, each.partition
            ends[place] = max(ends.get(place, -1), each.committed, each.end)
    return ends


# -- effects -----------------------------------------------------------------------------------------------------------

_MOST_BROKERS = 12
"""Maximum number of brokers that a line lists with their numbers of led partitions before and after."""


_NO_WAY_BACK = "no way back is needed: leaders can be elected again at any time"


def _leaders_line(seen: plan_staged.Draft) -> tuple[plan_edits.Edit | None, str]:
    """Return the plan's first election of a preferred leader, None if there is none; and a line with the number of
    partitions that each broker leads before and after all elections of preferred leaders.
    """
    before = model_elections.leaders_by_broker(seen.snapshot.topics.values())
    delta: Counter[int] = Counter()
    elections = [each.edit for each in seen.staged if isinstance(each.edit, plan_edits.ElectPreferred)]
    for edit in elections:
        partition = partition_in(seen.snapshot.topics.get(edit.topic), edit.partition)
        if partition is not None and partition.leader != model_elections.preferred(partition):
            delta[partition.leader] -= 1
            delta[model_elections.preferred(partition)] += 1
    changed = sorted(broker for broker, by in delta.items() if by and broker != model_elections.NOBODY)
    shown = [f"{each}: {before[each]:,} → {before[each] + delta[each]:,}" for each in changed[:_MOST_BROKERS]]
    more = f" and {len(changed) - _MOST_BROKERS} brokers more" if len(changed) > _MOST_BROKERS else ""
    return (elections[0] if elections else None), f"leaders by broker: {', '.join(shown) or 'as before'}{more}"


def _replica(broker: int, partition: Partition, logs: ReplicaLogs) -> str:
    facts = ["in the ISR"] if broker in partition.isr else []
    if broker in partition.offline:
        return f"broker {broker}: {', '.join(['down', *facts])}"
    end, size = logs.ends.get(broker), logs.sizes.get(broker)
    facts.append("the end of its log is unknown" if end is None else f"its log ends at {end:,}")
    return f"broker {broker}: {', '.join(facts)}" + (f", {byte_count(size)}" if size is not None else "")


def _loss(would: model_elections.UncleanElection) -> str:
    """Return a text on the lost records: ``records from offset 1,200 on are lost: at least 300``."""
    if would.clean:
        return "no committed record is lost"
    if would.first < 0:
        return "how many records are lost is unknown"
    if would.most == 0:
        return "no record is lost"
    if would.most is not None:
        count = f"{would.least:,} of them"
    else:
        count = f"at least {would.least:,}" if would.least else "how many is unknown"
    return f"records from offset {would.first:,} on are lost: {count}"


def _loses(edit: plan_edits.ElectUnclean, judged: Judged) -> Iterator[str]:
    would = _would(edit, plan_staged.Described(judged.before))
    if would is None or would.leader >= 0:
        return
    partition = partition_in(judged.before.topics.get(edit.topic), edit.partition)
    assert partition is not None
    logs = judged.before.replica_logs.get((edit.topic, edit.partition))
    silent = [
        each for each in model_elections.may_have_more(partition, logs) if each not in (logs or ReplicaLogs()).ends
    ]
    unknown = f"; broker {' or '.join(map(str, silent))} may have more, and does not answer"
    yield _loss(would) + (unknown if would.most is None and silent else "")


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return the requests, with preferred and unclean elections apart, because a request has one election type
    (ElectLeadersRequest).
    """
    steps = []
    for kind, unclean in ((plan_edits.ElectPreferred, False), (plan_edits.ElectUnclean, True)):
        some = [each for each in staged if isinstance(each.edit, kind)]
        steps += steps_of(singly(some), RECORD_LIMIT, partial(_request, unclean))
    return steps


def _request(unclean: bool, some: list[plan_staged.Staged]) -> ElectLeaders:
    targets = (each.edit.target for each in some)
    return ElectLeaders(tuple(target for target in targets if isinstance(target, PartitionTarget)), unclean)


def _with_leaders(snapshot: Snapshot, edits: Sequence[plan_edits.Election]) -> Snapshot:
    """Return the snapshot with the leaders that the possible elections produce. A leader from outside the ISR is alone
    in the ISR afterwards.
    """
    seen = plan_staged.Described(snapshot)
    changed: dict[TopicPartition, Partition] = {}
    for edit in edits:
        partition = partition_in(snapshot.topics.get(edit.topic), edit.partition)
        if partition is None:
            continue
        if isinstance(edit, plan_edits.ElectUnclean):
            would = _would(edit, seen)
            if would is None or would.elected == model_elections.NOBODY or partition.leader >= 0:
                continue
            isr = partition.isr if would.elected in partition.isr else (would.elected,)
            partition = partition._replace(leader=would.elected, isr=isr)
        # The controller elects no preferred replica that is down or out of sync.
        elif not model_elections.why_not_preferred(partition):
            partition = partition._replace(leader=model_elections.preferred(partition))
        changed[edit.topic, edit.partition] = partition
    return with_partitions(snapshot, changed)


def with_partitions(snapshot: Snapshot, changed: Mapping[TopicPartition, Partition]) -> Snapshot:
    """Return the snapshot with some partitions replaced. changed: (topic, partition) -> the new value."""
    topics = dict(snapshot.topics)
    for name in {name for name, _ in changed}:
        partitions = tuple(changed.get((name, each.number), each) for each in topics[name].partitions)
        topics[name] = replace(topics[name], partitions=partitions)
    return replace(snapshot, topics=topics) if changed else snapshot


def _all_commands(lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield kafka-leader-election commands, one for each type of election: the tool takes one partition, or a file with
    several.
    """
    for kind, name in ((plan_edits.ElectPreferred, "preferred"), (plan_edits.ElectUnclean, "unclean")):
        edits = [line.edit for line in lines if isinstance(line.edit, kind)]
        words = ("kafka-leader-election", "--election-type", name)
        if len(edits) == 1:
            place = (*option("--topic", edits[0].topic), "--partition", str(edits[0].partition))
            yield Command((*words, *place), config_option=ADMIN_CONFIG)
        elif edits:
            wanted = {"partitions": [{"topic": each.topic, "partition": each.partition} for each in edits]}
            content = json_text(wanted) + "\n"
            yield Command((*words, "--path-to-json-file", STDIN), content, config_option=ADMIN_CONFIG)


ADMIN_CONFIG = "--admin.config"
"""The option of kafka-leader-election for the settings of the connection. The tool has --command-config only since
Kafka 4.2.
"""

# -- the kinds of edits ------------------------------------------------------------------------------------------------

ELECTIONS = Batch(stage=Stage.ELECTIONS, steps=_steps, predict=_with_leaders, all_commands=_all_commands)


class _ElectionKind(EditKind):
    verb = "elect"
    batch = ELECTIONS


class _ElectPreferredKind(_ElectionKind):
    edit = plan_edits.ElectPreferred
    is_loss = False
    state = Partition

    def judge(self, edit: plan_edits.ElectPreferred, draft: plan_staged.Draft) -> plan_staged.Verdict:
        found = _partition(edit, draft)
        if found is None:
            return plan_staged.Staged(edit, plan_staged.UNREAD)
        first = model_elections.preferred(found)
        if not model_elections.needs_preferred(found):
            return plan_staged.Dropped(edit, f"broker {first}, its preferred replica, leads already")
        if why := model_elections.why_not_preferred(found):
            stays = "it stays without a leader" if found.leader < 0 else f"broker {found.leader} goes on leading"
            return plan_staged.Dropped(edit, f"{stays}: broker {first}, its preferred replica, {why}")
        return plan_staged.Staged(edit, found)

    def current(self, edit: plan_edits.ElectPreferred, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(partition_in(seen.snapshot.topics.get(edit.topic), edit.partition), Part.TOPICS)

    def moved(self, _edit: object, was: Partition | None, now: Partition | None) -> bool:
        """Return whether the partition was created or deleted, or its preferred replica changed; its leader is not
        compared.
        """
        if was is None or now is None:
            return was is not now
        return model_elections.preferred(was) != model_elections.preferred(now)

    def wanted(self, _edit: object, now: Partition | None) -> bool:
        return now is not None and not model_elections.needs_preferred(now)

    def settled(self, _edit: object, was: plan_staged.Was, now: plan_staged.Was, _changed: object) -> Status | None:
        if not isinstance(was, Partition) or not isinstance(now, Partition):
            return None
        if not model_elections.needs_preferred(now):
            return Status.APPLIED
        # With a later epoch, the replica may have been elected and lost the lead again.
        return (
            Status.NOT_APPLIED if (was.leader, was.leader_epoch) == (now.leader, now.leader_epoch) else Status.UNKNOWN
        )

    def before(self, _edit: object, there: Partition | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None or there.leader < 0 else EffectiveValue(there.leader)

    def after(self, _edit: object, there: Partition | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(model_elections.preferred(there))

    def phrase(self, _edit: object, line: DiffLine, old: str, new: str) -> str:
        now = "now it has no leader" if line.old.value is None else f"now {old} leads"
        return f"elect broker {new}, its preferred replica; {now}"

    def effects(self, edit: plan_edits.ElectPreferred, seen: plan_staged.Draft) -> tuple[str, ...]:
        """Return, for the plan's first election of a preferred leader, two lines about all elections of preferred
        leaders: the number of partitions that each broker leads before and after them, and that no reversal is
        needed. Empty for the later ones.
        """
        first, line = seen.once("leaders by broker", lambda: _leaders_line(seen))
        return (line, _NO_WAY_BACK) if first == edit else ()

    def reversal(self, _edit: object, was: Partition | None, _recorded: object) -> Reversal:
        return Reversal((), was, _NO_WAY_BACK)


class _ElectUncleanKind(_ElectionKind):
    edit = plan_edits.ElectUnclean
    words = "elect broker {new} though it is out of sync"
    state = model_elections.UncleanElection
    risks = (RiskRule(UNCLEAN_LOSS, _loses, subject=lambda edit, _: f"{edit.topic}/{edit.partition}"),)

    def judge(self, edit: plan_edits.ElectUnclean, draft: plan_staged.Draft) -> plan_staged.Verdict:
        found = _partition(edit, draft)
        if found is None:
            return plan_staged.Staged(edit, plan_staged.UNREAD)
        if found.leader >= 0:
            raise plan_staged.Refused(
                f"broker {found.leader} leads it: an unclean election is for a partition without a leader",
                f"For another leader write elect preferred topic {edit.topic} partition {edit.partition}.",
            )
        would = _would(edit, draft)
        assert would is not None
        if would.elected == model_elections.NOBODY:
            raise plan_staged.Refused(
                "no replica of it is alive", f"Bring one of the brokers {commas(found.replicas)} back first."
            )
        return plan_staged.Staged(edit, would)

    def current(self, edit: plan_edits.ElectUnclean, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(_would(edit, seen), Part.TOPICS)

    def wanted(self, _edit: object, now: model_elections.UncleanElection | None) -> bool:
        return now is not None and now.leader >= 0

    def settled(self, _edit: object, was: plan_staged.Was, now: plan_staged.Was, _changed: object) -> Status | None:
        if not isinstance(was, model_elections.UncleanElection) or not isinstance(now, model_elections.UncleanElection):
            return None
        if now.leader < 0:
            return Status.NOT_APPLIED
        return Status.APPLIED if now.leader == was.elected else Status.UNKNOWN

    def before(
        self, _edit: object, there: model_elections.UncleanElection | None, _inheritance: object
    ) -> EffectiveValue:
        if there is None:
            return NOTHING
        if there.leader >= 0:
            return EffectiveValue(there.leader)
        return EffectiveValue(f"no leader, broker {there.elected} would be elected: {_loss(there)}")

    def after(
        self, _edit: object, there: model_elections.UncleanElection | None, _inheritance: object
    ) -> EffectiveValue:
        return NOTHING if there is None or there.elected == model_elections.NOBODY else EffectiveValue(there.elected)

    def effects(self, edit: plan_edits.ElectUnclean, seen: plan_staged.Described) -> tuple[str, ...]:
        """Return lines on the broker that will lead, on the log of each replica, and on the brokers whose return would
        bring back all records; empty if no replica can be elected.
        """
        place = edit.topic, edit.partition
        partition = partition_in(seen.snapshot.topics.get(edit.topic), edit.partition)
        would = _would(edit, seen)
        if partition is None or would is None or would.elected == model_elections.NOBODY:
            return ()
        logs = seen.snapshot.replica_logs.get(place) or ReplicaLogs()
        order = commas(partition.replicas)
        lines = [f"broker {would.elected} leads then: of the replicas {order} the first that is alive"]
        lines += [_replica(each, partition, logs) for each in partition.replicas]
        if logs.eligible or logs.last_known:
            lines.append(
                f"eligible leader replicas: {commas(logs.eligible or ()) or 'none'}; "
                f"last known: {commas(logs.last_known or ()) or 'none'}"
            )
        back = partition.isr or logs.eligible or ()
        if back and not would.clean:
            brokers = " or ".join(map(str, back))
            lines.append(f"no committed record is lost if broker {brokers} comes back instead: it leads at once")
        return tuple(lines)

    def reversal(self, _edit: object, was: model_elections.UncleanElection | None, _recorded: object) -> Reversal:
        return Reversal((), was, "the records that the new leader does not have are gone")


KINDS = (_ElectPreferredKind(), _ElectUncleanKind())
