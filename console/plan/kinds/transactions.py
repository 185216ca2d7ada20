"""Transactions: ending one that hangs. Only what `model.transactions.verdict` calls hanging may be staged, and only
that is sent: a transaction that its coordinator will end is never ended from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from console.model.changes import AbortTransaction, Status, Target
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.model.transactions import SeenTransaction, Standing, Transactions, minutes, seen_transaction
from console.plan.edit_kind import Batch, EditKind, Json, is_absent, leaves_nothing, no_way_back
from console.plan.edits import EndTransaction
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, option
from console.plan.requests import Facts, Step
from console.plan.risk_rules import TRANSACTION_ABORTED, Judged, RiskRule
from console.plan.staged import UNREAD, Described, Draft, Dropped, Refused, Staged, Verdict, Was

# -- what may be staged ------------------------------------------------------------------------------------------------


def _judge(edit: EndTransaction, draft: Draft) -> Verdict:
    target = edit.target
    where = f"{target.topic}/{target.number}"
    poll = _poll(edit, draft.snapshot)
    if poll is None:
        return Refused(edit, f"the transactions of {where} were not read", "Refresh, and check topic and partition.")
    problem = poll.failures.get((target.topic, target.number))
    if problem is not None:
        return Refused(edit, f"whether a transaction hangs in {where} can't be known: {problem}", problem.remedy)
    was = _current(edit, draft)
    if was is None:
        return Dropped(edit, f"producer {target.producer_id} has no open transaction in {where}")
    if not isinstance(was, SeenTransaction):
        return Refused(edit, f"the transactions of {where} could not be read", "Refresh.")
    # An abort marker in a transaction that its coordinator still knows would let it commit half of its records.
    if was.standing is not Standing.HANGS:
        return Refused(edit, f"{_STANDS[was.standing]}: {was.why}", was.remedy or "It will end by itself.")
    return Staged(edit, was)


_STANDS = {
    Standing.POSSIBLE: "it can't be known to hang",
    Standing.YOUNG: "it is too young to be called hanging",
    Standing.UNDELIVERED: "its end is decided, and an abort would undo a part of it",
    Standing.SLOW: "it is slow, and does not hang",
    Standing.HEALTHY: "it does not hang",
}


# -- what is there -----------------------------------------------------------------------------------------------------


def _poll(edit: EndTransaction, snapshot: Snapshot) -> Transactions | None:
    return snapshot.transactions.get((edit.topic, edit.number))


def _current(edit: EndTransaction, seen: Described) -> Was:
    """Return the open transaction; None where the producer has none in the partition."""
    poll = _poll(edit, seen.snapshot)
    place = edit.topic, edit.number
    if poll is None or place in poll.failures or place not in poll.offsets:
        return UNREAD
    return seen_transaction(*place, edit.producer_id, poll)


def _moved(_edit: EndTransaction, was: SeenTransaction | None, now: SeenTransaction | None) -> bool:
    """Return whether it is another transaction, or no longer hangs."""
    if was is None or now is None:
        return was is not now
    return (was.epoch, was.start_offset, was.standing) != (now.epoch, now.start_offset, now.standing)


def _settled(_edit: EndTransaction, was: Was, now: Was, _changed: bool) -> Status | None:
    """Return NOT_APPLIED while the same transaction is open; if the producer has another one open, the former has
    ended.
    """
    if isinstance(was, SeenTransaction) and isinstance(now, SeenTransaction):
        return Status.NOT_APPLIED if was.start_offset == now.start_offset else Status.APPLIED
    return None


def _before(_edit: EndTransaction, there: SeenTransaction | None, _inheritance: Inheritance) -> EffectiveValue:
    return NOTHING if there is None else EffectiveValue(f"open since offset {there.start_offset}")


def _effects(edit: EndTransaction, seen: Described) -> tuple[str, ...]:
    """Return how far the last stable offset moves, and which groups wait for it."""
    was = _current(edit, seen)
    poll = _poll(edit, seen.snapshot)
    if poll is None or not isinstance(was, SeenTransaction):
        return ()
    offsets = poll.offsets[edit.topic, edit.number]
    others = [each.producer.start_offset for each in poll.at(edit.topic, edit.number)]
    others = sorted(offset for offset in others if offset != was.start_offset)
    lines = [f"it hangs: {was.why}"]
    if others and others[0] < was.start_offset:
        lines.append(f"the last stable offset stays at {others[0]}: another open transaction begins there")
    else:
        end = others[0] if others else offsets.end
        count = max(0, end - offsets.stable)
        again = f"{count:,} offset{'' if count == 1 else 's'} can be read again"
        lines.append(f"the last stable offset moves from {offsets.stable} to {end}: {again}")
    groups = _waiting(edit, seen.snapshot, offsets.stable)
    if groups:
        more = f" and {len(groups) - 3} more" if len(groups) > 3 else ""
        lines.append(f"groups that stand at it: {', '.join(groups[:3])}{more}")
    if was.transactional_id:
        lines.append(f"its transactional id is {was.transactional_id}")
    return tuple(lines)


def _waiting(edit: EndTransaction, snapshot: Snapshot, stable: int) -> list[str]:
    """Return the groups whose committed offset is the last stable one, of those whose lag was read."""
    return sorted(
        name
        for name, lag in snapshot.lags.items()
        for each in lag.partitions
        if (each.topic, each.partition, each.committed) == (edit.topic, edit.number, stable) and each.lag > 0
    )


def _aborted(edit: EndTransaction, judged: Judged) -> Iterator[str]:
    was = judged.was(edit)
    if isinstance(was, SeenTransaction):
        age = f", the last one {minutes(was.age_ms)} ago" if was.age_ms >= 0 else ""
        yield (
            f"what producer {edit.producer_id} wrote from offset {was.start_offset} on{age}, is lost to consumers with "
            "read_committed; nothing brings it back"
            f"{', and its producer was told that it is committed' if was.was_committed else ''}"
        )


# -- presentation ------------------------------------------------------------------------------------------------------


def _phrase(_line: DiffLine, old: str, _new: str) -> str:
    return f"abort the transaction ({old})"


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json(edit: EndTransaction, _hide: bool) -> Json:
    return {"transaction": edit.topic, "number": edit.number, "producer": edit.producer_id}


def _state_json(was: SeenTransaction) -> Json:
    return {
        "epoch": was.epoch,
        "coordinator_epoch": was.coordinator_epoch,
        "start": was.start_offset,
        "standing": was.standing.value,
        "why": was.why,
        "remedy": was.remedy,
        "id": was.transactional_id,
        "age": was.age_ms,
    }


def _state_of(data: Json) -> SeenTransaction:
    return SeenTransaction(
        int(data["epoch"]),
        int(data["coordinator_epoch"]),
        int(data["start"]),
        Standing(data["standing"]),
        data["why"],
        data["remedy"],
        data["id"],
        int(data["age"]),
    )


# -- sending -----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[Staged], _facts: Facts) -> list[Step]:
    """Return one request for each transaction, so that each is checked right before it is sent."""
    return [Step(_request(each), (each,)) for each in staged]


def _request(staged: Staged) -> AbortTransaction:
    assert isinstance(staged.edit, EndTransaction)
    was = staged.was
    if not isinstance(was, SeenTransaction):  # it has ended since: the client finds that, and sends nothing
        return AbortTransaction(staged.edit.target, -1, -1, -1)
    return AbortTransaction(staged.edit.target, was.epoch, was.coordinator_epoch, was.start_offset)


def _predict(snapshot: Snapshot, edits: Sequence[EndTransaction]) -> Snapshot:
    polls = dict(snapshot.transactions)
    for edit in edits:
        poll = polls.get((edit.topic, edit.number))
        if poll is not None:
            left = tuple(
                each
                for each in poll.open
                if (*each.place, each.producer.id) != (edit.topic, edit.number, edit.producer_id)
            )
            polls[edit.topic, edit.number] = replace(poll, open=left)
    return replace(snapshot, transactions=polls)


def _commands(_target: Target, lines: Sequence[DiffLine]) -> Iterator[Command]:
    """Yield kafka-transactions abort, which looks up the epochs by the start offset."""
    for line in lines:
        edit, was = line.edit, line.staged.was
        if isinstance(edit, EndTransaction) and isinstance(was, SeenTransaction):
            where = (*option("--topic", edit.topic), "--partition", str(edit.number))
            words = ("kafka-transactions", "abort", *where, "--start-offset", str(was.start_offset))
            yield Command(words, connection_at=1)


# -- records -----------------------------------------------------------------------------------------------------------

ABORTS = Batch(steps=_steps, predict=_predict, commands=_commands)

KINDS = (
    EditKind(
        edit=EndTransaction,
        verb="abort",
        form="transaction",
        to_json=_json,
        from_json=lambda data: EndTransaction(data["transaction"], int(data["number"]), int(data["producer"])),
        state_json=_state_json,
        state_of=_state_of,
        judge=_judge,
        current=_current,
        moved=_moved,
        wanted=is_absent,
        settled=_settled,
        before=_before,
        after=leaves_nothing,
        phrase=_phrase,
        effects=_effects,
        risks=(RiskRule(TRANSACTION_ABORTED, _aborted, subject=lambda edit, _: f"{edit.topic}/{edit.number}"),),
        reversal=no_way_back("an aborted transaction can't be brought back"),
        batch=ABORTS,
    ),
)
