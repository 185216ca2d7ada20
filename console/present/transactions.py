"""Transactions by partition and producer: rows, columns, and the details of a transaction."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from console.model import transactions as model_transactions
from console.model.failure import Failure
from console.model.numbers import known_number
from console.model.snapshot import Snapshot
from console.present.columns import LISTED, Column, Columns, on_screen
from console.present.names import NOTHING, plural
from console.present.text import Line, clean

UNKNOWN = "can't be known"
_ORDER = (*model_transactions.Standing,)
_MEANINGS = {
    model_transactions.Standing.HANGS: "danger",
    model_transactions.Standing.UNDELIVERED: "danger",
    model_transactions.Standing.POSSIBLE: "changed",
    model_transactions.Standing.YOUNG: "",
    model_transactions.Standing.SLOW: "changed",
    model_transactions.Standing.HEALTHY: "muted",
}


class TransactionRow(NamedTuple):
    """An open transaction in a partition, or a partition whose transactions can't be read (`failure` has the reason).

    A transaction that only its coordinator reports, because the partition has no record of it yet, has the start_offset
    -1 and no verdict.
    """

    place: model_transactions.Place
    producer_id: int = -1
    start_offset: int = -1
    epoch: int = -1
    age_ms: int = -1
    verdict: model_transactions.Verdict | None = None
    transaction: model_transactions.Transaction | None = None
    offsets: model_transactions.StableOffsets | None = None
    failure: Failure | None = None

    @property
    def hangs(self) -> bool:
        """Whether triage judges that the transaction hangs: no coordinator will end it."""
        return self.verdict is not None and self.verdict.standing is model_transactions.Standing.HANGS

    @property
    def transactional_id(self) -> str:
        """The transactional id; ``""`` if it is unknown."""
        return self.transaction.id if self.transaction is not None else ""

    @property
    def word(self) -> str:
        """The verdict on the transaction as a word, such as ``hangs``."""
        if self.failure is not None:
            return UNKNOWN
        return self.verdict.standing.value if self.verdict is not None else "no record"

    @property
    def order(self) -> tuple[int, int, model_transactions.Place]:
        """The sort key: hanging transactions first, then partitions that can't be read, then all other transactions
        by verdict; within each the oldest first.
        """
        place = len(_ORDER) if self.verdict is None else _ORDER.index(self.verdict.standing)
        return (1 if self.failure is not None else place, -self.age_ms, self.place)


def transaction_rows(snapshot: Snapshot, topic: str | None = None) -> list[TransactionRow]:
    """Return the rows of the open transactions that were found, and of the partitions that could not be read.

    Args:
        topic: the topic whose partitions have rows; None for the partitions of all topics.

    Returns:
        The rows by `TransactionRow.order`.
    """
    # Take each poll once: it covers many partitions, and the snapshot has it for each of them.
    polls: dict[int, model_transactions.Transactions] = {id(poll): poll for poll in snapshot.transactions.values()}
    rows: list[TransactionRow] = []
    for poll in polls.values():
        rows += (
            _row(each, poll)
            for each in poll.open
            if snapshot.transactions.get(each.place) is poll and _is_of(each.place, topic)
        )
        rows += (
            TransactionRow(place, offsets=poll.offsets.get(place), failure=why)
            for place, why in poll.failures.items()
            if snapshot.transactions.get(place) is poll and _is_of(place, topic)
        )
    rows += _without_records(snapshot, topic, {(row.place, row.producer_id) for row in rows})
    return sorted(rows, key=lambda row: row.order)


def _is_of(place: model_transactions.Place, topic: str | None) -> bool:
    return topic is None or place[0] == topic


def _row(each: model_transactions.OpenTransaction, poll: model_transactions.Transactions) -> TransactionRow:
    producer = each.producer
    # Compute ages by the poll's clock: by the present time, all of them would grow while the cluster does not answer.
    return TransactionRow(
        each.place,
        producer.id,
        producer.start_offset,
        producer.epoch,
        poll.age_ms(producer),
        model_transactions.verdict(each, poll),
        poll.by_producer.get(producer.id),
        poll.offsets.get(each.place),
    )


def _without_records(
    snapshot: Snapshot, topic: str | None, known: set[tuple[model_transactions.Place, int]]
) -> Iterator[TransactionRow]:
    """Yield the rows of transactions that coordinators reported in the last poll, in partitions that have no records of
    them.
    """
    # Take the last poll only: older ones cover other partitions, and coordinators may have ended their transactions
    # since.
    poll = max(snapshot.transactions.values(), key=lambda each: each.at_ms, default=None)
    # A partition is added to a transaction before its first record: until then, only the coordinator shows the
    # transaction.
    for each in poll.transactions.values() if poll is not None else ():
        for place in sorted(each.partitions or ()) if each.state in model_transactions.UNFINISHED else ():
            if (place, each.producer_id) not in known and _is_of(place, topic) and poll is not None:
                age = poll.at_ms - each.start_ms if each.start_ms >= 0 else -1
                yield TransactionRow(place, each.producer_id, epoch=each.epoch, age_ms=age, transaction=each)


def _number(value: int) -> str:
    return NOTHING if value < 0 else str(value)


def _word(row: TransactionRow) -> tuple[str, str]:
    """Return the verdict on the transaction as a word, and the meaning of its colour."""
    meaning = "failed" if row.failure is not None else _MEANINGS[row.verdict.standing] if row.verdict else "muted"
    return row.word, meaning


TRANSACTIONS: Columns[TransactionRow] = Columns(
    Column("topic", get=lambda row: row.place[0], layout=on_screen((16, 60), flex=1, sort_key="N")),
    Column(
        "partition",
        get=lambda row: row.place[1],
        type="number",
        title="Partition",
        layout=on_screen(5, "Part", priority=99),
    ),
    Column(
        "producer",
        get=lambda row: known_number(row.producer_id),
        type="number",
        text=lambda row: _number(row.producer_id),
        layout=on_screen((8, 19), priority=95),
    ),
    Column(
        "verdict",
        get=lambda row: row.word,
        type="word",
        cell=_word,
        order=lambda row: row.order,
        layout=on_screen((8, 14), priority=98, sort_key="V"),
    ),
    Column(
        "age_ms",
        get=lambda row: known_number(row.age_ms),
        type="number",
        text=lambda row: NOTHING if row.age_ms < 0 else model_transactions.minutes(row.age_ms),
        layout=on_screen((7, 12), "Age", priority=90, sort_key="A"),
    ),
    Column(
        "waiting",
        get=lambda row: None if row.offsets is None else row.offsets.waiting,
        type="number",
        title="Waiting",
        text=lambda row: NOTHING if row.offsets is None else f"{row.offsets.waiting:,}",
        layout=on_screen((5, 16), "Waits", priority=85, sort_key="W"),
    ),
    Column(
        "start_offset",
        get=lambda row: known_number(row.start_offset),
        type="number",
        text=lambda row: _number(row.start_offset),
        layout=on_screen((9, 19), "Start", priority=60),
    ),
    Column(
        "stable",
        get=lambda row: None if row.offsets is None else row.offsets.stable,
        type="number",
        text=lambda row: NOTHING if row.offsets is None else str(row.offsets.stable),
        layout=on_screen((9, 19), priority=40),
    ),
    Column(
        "transactional_id",
        get=lambda row: row.transactional_id or None,
        layout=on_screen((12, 40), priority=70, sort_key="I"),
    ),
    Column(
        "state",
        get=lambda row: row.transaction.state if row.transaction is not None else None,
        type="word",
        layout=on_screen((7, 17), priority=50),
    ),
    Column(
        "coordinator",
        get=lambda row: known_number(row.transaction.coordinator) if row.transaction is not None else None,
        type="number",
        title="Coordinator",
        text=lambda row: _number(row.transaction.coordinator) if row.transaction is not None else "",
        layout=on_screen(5, "Coord", priority=20),
    ),
    Column(
        "epoch",
        get=lambda row: known_number(row.epoch),
        type="number",
        text=lambda row: _number(row.epoch),
        layout=on_screen(5, priority=10),
    ),
    Column("why", LISTED, lambda row: _explained(row)[0]),
    tie=lambda row: row.place,
)
"""The columns of open transactions; ages in milliseconds, offsets in records."""


class CoordinatedRow(NamedTuple):
    """A transactional id, as its coordinator describes it, and the time at which ages are computed."""

    transaction: model_transactions.Transaction
    now_ms: int = 0
    """The time at which ages are computed, milliseconds since 1970."""


def _timed(row: CoordinatedRow) -> int | None:
    start = row.transaction.start_ms
    return None if start < 0 else row.now_ms - start


COORDINATED: Columns[CoordinatedRow] = Columns(
    Column("transactional_id", LISTED, lambda row: row.transaction.id),
    Column("state", LISTED, lambda row: row.transaction.state, "word"),
    Column("producer", LISTED, lambda row: known_number(row.transaction.producer_id), "number"),
    Column("coordinator", LISTED, lambda row: known_number(row.transaction.coordinator), "number"),
)
"""The columns of transactional ids as coordinators list them (ListTransactions)."""
DESCRIBED: Columns[CoordinatedRow] = Columns(
    *COORDINATED.all,
    Column("epoch", LISTED, lambda row: known_number(row.transaction.epoch), "number"),
    Column("timeout_ms", LISTED, lambda row: known_number(row.transaction.timeout_ms), "number"),
    Column("start_ms", LISTED, lambda row: known_number(row.transaction.start_ms), "number"),
    Column("running_ms", LISTED, _timed, "number"),
    Column(
        "partitions",
        LISTED,
        lambda row: [f"{topic}/{number}" for topic, number in sorted(row.transaction.partitions or ())],
        "object",
        text=lambda row: _places(row.transaction),
    ),
)
"""The columns of transactional ids as coordinators describe them (DescribeTransactions); the start of the transaction
is in milliseconds since 1970.
"""
PRODUCERS: Columns[model_transactions.Producer] = Columns(
    Column("producer", LISTED, lambda row: row.id, "number"),
    Column("epoch", LISTED, type="number"),
    Column("coordinator_epoch", LISTED, lambda row: known_number(row.coordinator_epoch), "number"),
    Column("last_sequence", LISTED, lambda row: known_number(row.last_sequence), "number"),
    Column("last_timestamp", LISTED, lambda row: known_number(row.last_timestamp), "number"),
    Column("start_offset", LISTED, lambda row: known_number(row.start_offset), "number"),
)
"""The columns of a partition's producers, as a replica reports them: the time of the last record is in milliseconds
since 1970; the start offset is that of the open transaction.
"""


def detail_lines(row: TransactionRow, width: int) -> list[Line]:
    """Return the details of a transaction, in lines of at most `width` cells."""
    topic, number = row.place
    lines: list[Line] = [[(f"{clean(topic)}/{number}", "strong"), (f"  producer {_number(row.producer_id)}", "")], []]
    why, remedy = _explained(row)
    for text, meaning in ((f"{row.word}: {why}" if why else row.word, _word(row)[1]), (remedy, "muted")):
        lines += [[(part, meaning)] for part in textwrap.wrap(clean(text, 600), max(20, width - 2))]
    facts = [
        ("Start offset", _number(row.start_offset)),
        ("Producer epoch", _number(row.epoch)),
        ("Last record", f"{model_transactions.minutes(row.age_ms)} ago" if row.age_ms >= 0 else NOTHING),
    ]
    if row.offsets is not None:
        facts += [
            ("Last stable offset", str(row.offsets.stable)),
            ("High watermark", str(row.offsets.end)),
            ("Waiting", f"{plural(row.offsets.waiting, 'offset')} that consumers with read_committed can't read"),
        ]
    if row.transaction is not None:
        of = row.transaction
        at = f", broker {of.coordinator}" if of.coordinator >= 0 else ""
        facts += [
            ("Transactional id", of.id),
            ("State", f"{of.state}, says its coordinator{at}"),
            ("Timeout", model_transactions.minutes(of.timeout_ms) if of.timeout_ms >= 0 else NOTHING),
            ("Partitions", _places(of)),
        ]
    lines.append([])
    for name, value in facts:
        first, *more = textwrap.wrap(clean(value, 2000), max(20, width - 22)) or [""]
        lines.append([(f"{name:<20}", "header"), (first, "")])
        lines += [[(" " * 20 + part, "")] for part in more]
    return lines


def _explained(row: TransactionRow) -> tuple[str, str]:
    if row.failure is not None:
        return str(row.failure), row.failure.remedy
    if row.verdict is not None:
        remedy = "x stages its end; it is typed before it is sent." if row.hangs else row.verdict.remedy
        return row.verdict.why, remedy
    return "its coordinator has the partition in a transaction that has no record there yet", ""


def _places(known: model_transactions.Transaction) -> str:
    if known.partitions is None:
        return "not described"
    shown = [f"{topic}/{number}" for topic, number in sorted(known.partitions)]
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return (", ".join(shown[:20]) + more) or "none that wait for a marker"
