"""The pane of replica moves in progress, and of the operations that make them: progress, rate, and causes of delay."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from console.language.quoting import quote
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.parts import Part
from console.model.snapshot import dir_copies
from console.operations.goals import within_a_broker
from console.plan.amounts import byte_rate
from console.plan.edits import CancelMove, MoveReplicaDir
from console.plan.stale_throttles import LOG_DIRS_RATE, RATES
from console.present import moves as present_moves
from console.present.text import Line
from console.triage.moves import ENOUGH, Copy, copies_after, dir_copies_after, raised_throttle
from console.tui import keymap
from console.tui.electing import elect_everywhere
from console.tui.panes.details import DETAILED, DetailsView
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.snapshot import Snapshot, TopicPartition
    from console.operations.operation import Operation
    from console.session.operating import Operations

NONE: Mapping[present_moves.Replica, Copy] = {}


class MovesView(DetailsView[present_moves.MoveRow]):
    """One row for each open operation, for each moving partition, and for each replica that a broker copies to another
    of its directories.
    """

    NAME = keymap.MOVES
    PARTS = frozenset({Part.REASSIGNMENTS, Part.LOG_DIRS})
    NEEDS = Part.REASSIGNMENTS
    MARKS = False
    TAKES = DETAILED
    DETAILS_AFTER = 0.0
    NOUN = present_moves.MOVES
    EMPTY = "no partition moves: n begins a drain, a replacement, a balance"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._operating = tools.operating()
        self._copies: Mapping[present_moves.Replica, Copy] = NONE
        self._within: Mapping[present_moves.Replica, Copy] = NONE
        self._polled: Snapshot | None = None
        self._operations: Operations | None = None
        self._asked: int | None = None
        self._was_read = False

    def known(self) -> bool:
        """Return whether both moves and operations have been read. Rows of operations come first, so they must not be
        added later above the cursor.
        """
        return self._was_read and super().known()

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the moves, their progress, the operations, the configs and the
        topics.
        """
        snapshot = self.snapshot
        moves = snapshot.reassignments, self._copies, self._within
        return *moves, self._operations, snapshot.configs, snapshot.topics

    async def read(self) -> None:
        """Read the journal and the moves; while replicas move, also the sizes of the copies, and the throttles. Raises
        AdminError.
        """

        session = self.session
        before = self._polled if self._polled is not None else self.snapshot
        await self._read_operations()
        await session.read_whole(Part.REASSIGNMENTS)
        moves = self.snapshot.reassignments
        # Read sizes of replicas only while some move, because the pane shows no others.
        if moves or self._copies_within():
            await session.read_log_dirs()
            copying = {broker for _, _, broker in dir_copies(self.snapshot.log_dirs)}
            brokers = sorted(copying.union(*(move.adding for move in moves)) & set(self.cluster.answering()))
            await session.read_configs([broker_resource(broker) for broker in brokers])
        now = session.clock.now()
        self._copies = copies_after(self._copies, before, self.snapshot, now)
        self._within = dir_copies_after(self._within, before, self.snapshot, now)
        self._polled = self.snapshot
        self._was_read = True
        self.update()

    def _copies_within(self) -> bool:
        """Return whether some broker may be copying a replica between its directories; only then is DescribeLogDirs
        sent, which is costly in a large cluster.
        """
        known = self._operations
        mine = known is not None and any(within_a_broker(each.goal) for each in known.open)
        return mine or not self._was_read or bool(dir_copies(self.snapshot.log_dirs))

    async def _read_operations(self) -> None:
        from console.session.former_changes import any_journal
        from console.session.operating import read_operations
        from console.session.snapshot_reader import Refused

        session = self.session
        if session.front_end == "replay" or not session.context.journal or not any_journal(os.environ):
            return
        try:
            operations = await read_operations(session)
        except Refused as error:
            self._message.say(str(error.failure), "failed")
            return
        if operations != self._operations:
            self._operations = operations
            self.redraw()

    def rows(self) -> Sequence[present_moves.MoveRow]:
        """Return the operations, then the stuck moves, then the other moves; empty before the first read."""
        if not self._was_read:
            return ()
        known = self._operations
        worker = ""
        if self._operating.at_work:
            worker = "this console"
        elif known is not None and known.holder is not None:
            worker = f"process {known.holder.by.pid} on {known.holder.by.host}"
        open_ = known.open if known is not None else ()
        return present_moves.move_rows(self.snapshot, self._copies, self._within, open_, worker)

    def key(self, row: present_moves.MoveRow) -> Hashable:
        """Return the row's key: the partition or the operation."""
        return row.name

    def words(self, row: present_moves.MoveRow) -> str:
        """Return the text that the filter searches: the name, the brokers, the directories and the goal."""
        goal = str(row.operation.goal) if row.operation is not None else ""
        within = f"{row.within[1]} {row.within[2]}" if row.within is not None else ""
        return f"{row.name} {row.before} {row.after} {within} {goal} {'stuck' if row.stuck else ''}"

    def in_trouble(self, row: present_moves.MoveRow) -> bool:
        """Return whether the move is stuck."""
        return row.stuck

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the number of moves."""
        return present_moves.summary(self.rows()) if self.known() else [("moves", "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the throttles of the moves."""
        return [(present_moves.limit_text(self.rows()), "muted")] if self.known() else []

    def details(self, row: present_moves.MoveRow) -> list[Line]:
        """Return the row as title, then why a move makes no progress, and the effect of the keys."""
        return present_moves.detail_lines(row, self.snapshot)

    def target(self) -> ConfigResource | None:
        """Return the topic of the partition under the cursor; None for an operation, and without rows."""
        row = self.row()
        return topic_resource(row.place[0]) if row is not None and row.place is not None else None

    def copied_of(self, row: present_moves.MoveRow) -> str:
        """Return the text that `y` copies: ``topic-partition``, or the command that continues the operation."""
        return f"{row.place[0]}-{row.place[1]}" if row.place is not None else "kac moves --continue"

    def do_cancel_move(self) -> None:
        """Stage the cancellation of the move under the cursor; for an operation, cancel it on the second press of the
        key.
        """
        row = self.row()
        if row is None:
            return
        if row.place is not None:
            self._stage_cancel(row.place, row)
        elif row.operation is not None:
            self._cancel(row.operation.number)

    def _stage_cancel(self, place: TopicPartition, row: present_moves.MoveRow) -> None:
        """Stage the cancellation of a move. For a copy between two directories of a broker, stage a move to the old
        directory.
        """
        if row.within is None:
            self._editing.stage([CancelMove(*place)])
        else:
            broker, before, _ = row.within
            self._editing.stage([MoveReplicaDir(*place, broker, before)])

    def _cancel(self, number: int) -> None:
        if self._asked != number:
            self._asked = number
            self._message.say(f"x once more cancels operation {number}: what it moves now goes back", "pending")
        else:
            self._asked = None
            self._operating.do_ask(number, cancel=True)

    def do_throttle(self) -> None:
        """Open the command bar with the command that sets another throttle of the operation."""
        if (operation := self._operation()) is not None:
            self._editing.begin(f"operation {operation.number} throttle {_rate_word(operation.throttle or 0)}")

    def do_give_up(self) -> None:
        """Open the command bar with the command that ends the operation although the brokers that keep its throttles do
        not answer.
        """
        if (operation := self._operation()) is not None:
            self._editing.begin(f"operation {operation.number} give-up")

    def _operation(self) -> Operation | None:
        """Return the operation under the cursor. If the row is no operation, show a message and return None."""
        row = self.row()
        operation = row.operation if row is not None else None
        if operation is None:
            self._message.say("no operation of this host's journal is under the cursor", "muted")
        return operation

    def do_fix(self) -> None:
        """Fix a stuck move: stage its cancellation if its target is dead or nothing limits it, else open the command
        bar with the command that raises its throttle. If the move is not stuck, only show a message.
        """
        row = self.row()
        if row is None or row.place is None or not row.stuck:
            self._message.say("it is not stuck", "muted")
        elif row.dead or not row.limits:
            self._stage_cancel(row.place, row)
        elif row.operation is not None:
            rate = max(ENOUGH, 2 * min(rate for _, rate in row.limits))
            self._editing.begin(f"operation {row.operation.number} throttle {_rate_word(rate)}")
        else:
            key = LOG_DIRS_RATE if row.within is not None else RATES[1]
            self._editing.begin(raised_throttle(*min(row.limits, key=lambda limit: limit[1]), key))

    def do_move(self) -> None:
        """Open the command bar with the command that moves the partition."""
        row = self.row()
        place = row.place if row is not None else None
        self._editing.begin(f"move topic {quote(place[0])} partition {place[1]} to " if place else "move topic ")

    def do_begin(self) -> None:
        """Open the command bar with the command that moves all replicas off a broker."""
        self._editing.begin("drain broker ")

    def do_elect(self) -> None:
        """Stage the elections of preferred leaders in all topics."""
        elect_everywhere(self._editing, self.snapshot)


def _rate_word(rate: int) -> str:
    """Return a rate, given in bytes per second, in the syntax of commands: ``50MB/s``."""
    text = byte_rate(rate)
    return str(rate) if text.startswith("≈") else text.replace(" ", "")
