"""Transactions: ending one that hangs. Only a transaction that `model.transactions.verdict` calls hanging can be staged
and sent, so kac never ends a transaction that its coordinator will end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from console.model.changes import AbortTransaction, Status, Target
from console.model.numbers import first_few
from console.model.snapshot import Snapshot
from console.model.transactions import SeenTransaction, Standing, Transactions, minutes, seen_transaction
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, Removal, Stage
from console.plan.edits import EndTransaction
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, option
from console.plan.requests import Facts, Step
from console.plan.risk_rules import TRANSACTION_ABORTED, Judged, RiskRule

# -- checks before staging ---------------------------------------------------------------------------------------------


_STANDS = {
    Standing.POSSIBLE: "it can't be known to hang",
    Standing.YOUNG: "it is too young to be called hanging",
    Standing.UNDELIVERED: "its end is decided, and an abort would undo a part of it",
    Standing.SLOW: "it is slow, and does not hang",
    Standing.HEALTHY: "it does not hang",
}


# -- the present state -------------------------------------------------------------------------------------------------


def _poll(edit: EndTransaction, snapshot: Snapshot) -> Transactions | None:
    return snapshot.transactions.get((edit.topic, edit.number))


def _waiting(edit: EndTransaction, snapshot: Snapshot, stable: int) -> list[str]:
    """Return the groups whose committed offset is the last stable offset and which still have lag, so that they wait
    for the transaction; groups whose lag was not read are left out.
    """
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


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    return [Step(_request(each), (each,)) for each in staged]


def _request(staged: plan_staged.Staged) -> AbortTransaction:
    assert isinstance(staged.edit, EndTransaction)
    was = staged.was
    if not isinstance(was, SeenTransaction):  # the transaction has ended; the client notices that and sends nothing
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
    """Yield kafka-transactions abort with the start offset, by which the tool looks up the epochs."""
    for line in lines:
        edit, was = line.edit, line.staged.was
        if isinstance(edit, EndTransaction) and isinstance(was, SeenTransaction):
            where = (*option("--topic", edit.topic), "--partition", str(edit.number))
            words = ("kafka-transactions", "abort", *where, "--start-offset", str(was.start_offset))
            yield Command(words, connection_at=1)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

# Make one request for each transaction: each is checked right before it is sent.
ABORTS = Batch(stage=Stage.TRANSACTIONS, steps=_steps, predict=_predict, commands=_commands)


class _EndTransactionKind(Removal):
    edit = EndTransaction
    verb = "abort"
    words = "abort the transaction ({old})"
    state = SeenTransaction
    batch = ABORTS
    risks = (RiskRule(TRANSACTION_ABORTED, _aborted, subject=lambda edit, _: f"{edit.topic}/{edit.number}"),)
    no_way_back = "an aborted transaction can't be brought back"

    def judge(self, edit: EndTransaction, draft: plan_staged.Draft) -> plan_staged.Verdict:
        target = edit.target
        where = f"{target.topic}/{target.number}"
        poll = _poll(edit, draft.snapshot)
        if poll is None:
            raise plan_staged.Refused(
                f"the transactions of {where} were not read", "Refresh, and check topic and partition."
            )
        problem = poll.failures.get((target.topic, target.number))
        if problem is not None:
            raise plan_staged.Refused(
                f"whether a transaction hangs in {where} can't be known: {problem}", problem.remedy
            )
        was = self.current(edit, draft)
        if was is None:
            return plan_staged.Dropped(edit, f"producer {target.producer_id} has no open transaction in {where}")
        if not isinstance(was, SeenTransaction):
            raise plan_staged.Refused(f"the transactions of {where} could not be read", "Refresh.")
        # An abort marker in a transaction that its coordinator still has could let half of its records commit.
        if was.standing is not Standing.HANGS:
            raise plan_staged.Refused(f"{_STANDS[was.standing]}: {was.why}", was.remedy or "It will end by itself.")
        return plan_staged.Staged(edit, was)

    def current(self, edit: EndTransaction, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the open transaction; None if the producer has none in the partition; UNREAD if the partition was not
        read.
        """
        poll = _poll(edit, seen.snapshot)
        place = edit.topic, edit.number
        if poll is None or place in poll.failures or place not in poll.offsets:
            return plan_staged.UNREAD
        return seen_transaction(*place, edit.producer_id, poll)

    def moved(self, _edit: object, was: SeenTransaction | None, now: SeenTransaction | None) -> bool:
        """Return whether the transaction changed, ended, or no longer hangs."""
        if was is None or now is None:
            return was is not now
        return (was.epoch, was.start_offset, was.standing) != (now.epoch, now.start_offset, now.standing)

    def settled(self, _edit: object, was: plan_staged.Was, now: plan_staged.Was, _changed: object) -> Status | None:
        """Return NOT_APPLIED if the same transaction is still open, and APPLIED if the producer has another open
        one. Return None, so that `wanted` decides, if the producer has no open transaction.
        """
        if isinstance(was, SeenTransaction) and isinstance(now, SeenTransaction):
            return Status.NOT_APPLIED if was.start_offset == now.start_offset else Status.APPLIED
        return None

    def before(self, _edit: object, there: SeenTransaction | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(f"open since offset {there.start_offset}")

    def effects(self, edit: EndTransaction, seen: plan_staged.Described) -> tuple[str, ...]:
        """Return lines on why the transaction hangs, on the last stable offset afterwards, on the groups that wait for
        it, and on the transactional id; empty if the transaction was not read.
        """
        was = self.current(edit, seen)
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
            lines.append(f"groups that stand at it: {first_few(groups)}")
        if was.transactional_id:
            lines.append(f"its transactional id is {was.transactional_id}")
        return tuple(lines)


KINDS = (_EndTransactionKind(),)
