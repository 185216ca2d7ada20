"""The pane of open transactions by partition and producer; hanging ones, which no coordinator will end, come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from console.model.config import ConfigResource, topic_resource
from console.model.coordinators import TRANSACTIONS as STATE_TOPIC
from console.model.parts import Part
from console.model.transactions import Place as Partition
from console.model.transactions import Standing
from console.plan.edits import EndTransaction
from console.present.columns import clock
from console.present.names import plural
from console.present.text import Line, clean, plain
from console.present.transactions import TRANSACTIONS, TransactionRow, detail_lines, transaction_rows
from console.session.scheduler import Pace, Turns
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.tools import Tools

MOST_PARTITIONS = 10_000
"""Maximum number of partitions that are read if the pane shows all topics; for one topic, all of its partitions are
read.
"""
WHOLE_EVERY = 30.0
"""Seconds between two reads of all partitions; reads in between cover only partitions with records that wait for the
end of a transaction.
"""


class TransactionsView(DetailsView[TransactionRow]):
    """One row for each open transaction in a partition. kac reads the transactions only while the view is visible."""

    NAME = keymap.TRANSACTIONS
    PARTS = frozenset({Part.TRANSACTIONS})
    ENTER = "all about it"
    MARKS = False
    NOUN = TRANSACTIONS
    EMPTY = "no open transaction is visible"  # brokers leave out transactions that the principal may not describe

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._whole = Turns(Pace(WHOLE_EVERY))
        self._read_for: tuple[object, ...] = ()
        self._left_out = 0

    def begin(self) -> None:
        """Discard the state of the previous topic."""
        super().begin()
        self._read_for = ()

    def known(self) -> bool:
        """Return whether the partitions of the place's topic, or of all topics, have been read."""
        return self._read_for == (self.session, self.place.topic)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the transactions and the topic."""
        return self.snapshot.transactions, self.place.topic

    async def read(self) -> None:
        """Read the open transactions of all partitions if that is due; else of the partitions with records that wait
        for the end of a transaction.

        Raises:
            AdminError: no broker answered.
        """
        from console.session.snapshot_reader import read_transactions

        session = self.session
        wanted = session, self.place.topic
        if self.place.topic is not None or Part.TOPICS not in self.snapshot.read_at:
            await session.read_topics([self.place.topic] if self.place.topic is not None else None)
        # Poll all leaders only every `WHOLE_EVERY` seconds, as there may be many; in between, only the leaders of
        # partitions with waiting records.
        if self._whole.is_due() or self._read_for != wanted:
            with self._whole:
                await session.keep(read_transactions(session.client, self._partitions()))
            if wanted == (self.session, self.place.topic):
                self._read_for = wanted
                self.redraw()
        elif waiting := self._waiting():
            await session.keep(read_transactions(session.client, waiting))

    def _partitions(self) -> list[Partition]:
        topics = self.snapshot.topics
        names = [self.place.topic] if self.place.topic is not None else sorted(topics.keys() - {STATE_TOPIC})
        partitions = [(name, each.number) for name in names if name in topics for each in topics[name].partitions]
        most = len(partitions) if self.place.topic is not None else MOST_PARTITIONS
        self._left_out = max(0, len(partitions) - most)
        return partitions[:most]

    def _waiting(self) -> list[Partition]:
        topic = self.place.topic
        return [
            place
            for place, poll in self.snapshot.transactions.items()
            if topic in (None, place[0]) and place in poll.offsets and poll.offsets[place].waiting
        ]

    def rows(self) -> list[TransactionRow]:
        """Return the transactions, hanging ones first."""
        return transaction_rows(self.snapshot, self.place.topic)

    def key(self, row: TransactionRow) -> Hashable:
        """Return the row's key: the partition and the producer id."""
        return row.place, row.producer_id

    def words(self, row: TransactionRow) -> str:
        """Return the text that the filter searches: topic, partition, producer id, verdict, transactional id and
        state.
        """
        state = row.transaction.state if row.transaction is not None else ""
        return f"{row.place[0]}/{row.place[1]} {row.producer_id} {row.word} {row.transactional_id} {state}"

    def in_trouble(self, row: TransactionRow) -> bool:
        """Return whether the transaction hangs."""
        return row.hangs

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the title, and the topic if the place is about one."""
        line: Line = [("transactions", "strong")]
        return [*line, (f"  topic {clean(self.place.topic)}", "strong")] if self.place.topic is not None else line

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the numbers of hanging transactions, of partitions that were not
        read and of rows, and the time of the read; empty before the first read.
        """
        if not self.known():
            return []
        counts = Counter(row.word for row in self.rows())
        line: Line = []
        if hang := counts[Standing.HANGS.value]:
            line.append((f"{hang} hang{'s' if hang == 1 else ''}  ", "danger"))
        if self._left_out:
            line.append((f"not looked at: {plural(self._left_out, 'partition')}  ", "changed"))
        at = self.snapshot.read_at.get(Part.TRANSACTIONS)
        return [*line, *super().status(), (f"  at {clock(at)}" if at is not None else "", "muted")]

    def target(self) -> ConfigResource | None:
        """Return the config resource of the row's topic; None without rows."""
        row = self.row()
        return topic_resource(row.place[0]) if row is not None else None

    def copied_of(self, row: TransactionRow) -> str:
        """Return the text that `y` copies: the command that aborts a hanging transaction; for any other,
        ``topic-partition``.
        """
        if row.hangs:
            from console.language.interpret import command_of

            return command_of(EndTransaction(*row.place, row.producer_id))
        return f"{row.place[0]}-{row.place[1]}"

    def do_abort_transaction(self) -> None:
        """Stage the abort of the transaction. If the partition's transactions could not be read, show the reason
        instead.
        """
        row = self.row()
        if row is None:
            return
        if row.producer_id < 0:
            self._message.say(f"whether a transaction hangs here can't be known: {row.failure}", "failed")
            return
        self._editing.stage([EndTransaction(*row.place, row.producer_id)])

    def details(self, row: TransactionRow) -> list[Line]:
        """Return the transaction as title, then all of its details."""
        first, _, *others = detail_lines(row, self.text_width)
        return [[(plain(first), "")], *others]

    async def enter(self, row: TransactionRow) -> None:
        """Show all details of the transaction on a screen above the panes."""
        title = f"{clean(row.place[0])}/{row.place[1]} producer {row.producer_id}"
        self.show_text(title, lambda width: detail_lines(row, width))
