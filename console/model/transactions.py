"""Transactions (KIP-98, KIP-664): the producers of partitions, the transactions of coordinators, and whether an open
transaction hangs. Pure.

The rule is that of `kafka-transactions find-hanging` (TransactionsCommand.FindHangingTransactionsCommand), made strict:
a transaction that is called hanging here is surely hanging, whatever the state of clocks, ACLs and coordinators was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from console.model.failure import Failure
from console.model.numbers import first_few

# Their first characters differ, as an ACL on a prefix may allow some of them.
NO_ONES = tuple(f"{first}kac-asks-for-no-one" for first in "~^|!+=%")
"""Transactional ids that no client has. kac requests them to find out whether the principal may describe every id."""
DEFAULT_MAX_TIMEOUT_MS = 900_000
"""Kafka's default of transaction.max.timeout.ms: 15 minutes."""

UNFINISHED = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""The states in which a coordinator has yet to write markers (TransactionState)."""
DECIDED: Mapping[str, str] = {"PrepareCommit": "committed", "PrepareAbort": "aborted", "PrepareEpochFence": "aborted"}
"""State in which the end of a transaction is decided, but markers have yet to be written -> that end."""
MARKERS_MS = 60_000
"""Maximum milliseconds from a transaction's timeout until its end is decided and its markers are written:
coordinators check for timeouts every ten seconds, and write markers immediately.
"""
ABORT_MS = 15_000
"""Maximum milliseconds from a transaction's timeout until its coordinator aborts it: coordinators look for such
transactions every ten seconds (transaction.abort.timed.out.transaction.cleanup.interval.ms), and write markers then.
"""
NAMED_PLACES = 3

Place = tuple[str, int]
"""A topic and a partition number."""


class Producer(Struct, frozen=True):
    """A producer of a partition, as the partition's leader describes it (DescribeProducers)."""

    id: int
    epoch: int
    last_sequence: int = -1
    last_timestamp: int = -1
    """The timestamp of its last record, ms since 1970, set by the producer's or the broker's clock; -1 if unknown."""
    coordinator_epoch: int = -1
    """The epoch of the coordinator that wrote the last marker; -1 before the first marker."""
    start_offset: int = -1
    """The first offset of its open transaction; -1 if it has none."""


class ProducerListing(Struct, frozen=True):
    """(topic, partition) -> its producers, for the partitions that were read; and (topic, partition) -> the failure,
    for the others.
    """

    producers: Mapping[Place, tuple[Producer, ...]]
    failures: Mapping[Place, Failure] = field(default_factory=dict)


class Transaction(Struct, frozen=True):
    """A transactional id, as its coordinator lists or describes it. Only a description sets all fields: until then
    `partitions` is None.
    """

    id: str
    producer_id: int
    state: str
    """The state as Kafka names it, such as ``Ongoing``."""
    coordinator: int = -1
    epoch: int = -1
    timeout_ms: int = -1
    start_ms: int = -1
    """The start of the running transaction, ms since 1970; -1 if none runs."""
    partitions: frozenset[Place] | None = None
    """The partitions to which the coordinator has yet to write a marker; None until it was described."""


class TransactionListing(Struct, frozen=True):
    """Transactional id -> its transaction.

    Brokers leave out, without an error, the ids that the principal may not describe.
    """

    transactions: Mapping[str, Transaction]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """Transactional id, or ``broker N`` -> the failure to read it."""


class StableOffsets(NamedTuple):
    """The last stable offset of a partition, and its high watermark."""

    stable: int
    """The last stable offset, at which consumers with read_committed stop."""
    end: int
    """The high watermark."""

    @property
    def waiting(self) -> int:
        """The number of offsets from the last stable offset to the high watermark: records that read_committed does not
        return yet.
        """
        return max(0, self.end - self.stable)


class OpenTransaction(NamedTuple):
    """An open transaction of one producer in one partition."""

    topic: str
    partition: int
    producer: Producer
    confirmed: bool = False
    """Whether the leader described the same transaction before and after kac asked the coordinators."""

    @property
    def place(self) -> Place:
        """The topic and the partition number of the transaction."""
        return self.topic, self.partition


class Transactions(Struct, frozen=True, dict=True):
    """The result of one poll of the leaders of partitions, and of coordinators."""

    offsets: Mapping[Place, StableOffsets] = field(default_factory=dict)
    """(topic, partition) -> its offsets, for the partitions that were read."""
    open: tuple[OpenTransaction, ...] = ()
    """The open transactions in the partitions that were read."""
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    """Transactional id -> the transaction as its coordinator describes it."""
    failures: Mapping[Place, Failure] = field(default_factory=dict)
    """(topic, partition) -> the failure to read it."""
    gaps: tuple[Failure, ...] = ()
    """The reasons why a coordinator may have a transaction that `transactions` lacks; empty if all transactions are
    visible.
    """
    max_timeout_ms: int = DEFAULT_MAX_TIMEOUT_MS
    """The highest transaction.max.timeout.ms of the brokers; Kafka's default if it was not read."""
    at_ms: int = 0
    """The time at which the poll ended, ms since 1970; 0 if there was no poll."""

    @cached_property
    def by_producer(self) -> Mapping[int, Transaction]:
        """Producer id -> the transaction of the transactional id that has this producer id."""
        return {each.producer_id: each for each in self.transactions.values()}

    def age_ms(self, producer: Producer) -> int:
        """Return the milliseconds from a producer's last record to the end of the poll, negative if the record has a
        later time; -1 if its time is unknown.
        """
        return self.at_ms - producer.last_timestamp if producer.last_timestamp >= 0 else -1

    def at(self, topic: str, partition: int) -> Iterator[OpenTransaction]:
        """Yield the open transactions of a partition."""
        return (each for each in self.open if each.place == (topic, partition))

    def found(self, topic: str, partition: int, producer_id: int) -> OpenTransaction | None:
        """Return the open transaction of a producer in a partition, None if it has none."""
        return next((each for each in self.at(topic, partition) if each.producer.id == producer_id), None)


NOTHING_SEEN = Transactions()


class Standing(StrEnum):
    """The class of an open transaction, by whether it will end."""

    HANGS = "hangs"
    """No coordinator will ever end the transaction."""
    UNDELIVERED = "undelivered"
    """The coordinator has decided the end of the transaction, but its markers do not arrive. An abort by kac could undo
    a part of a commit.
    """
    POSSIBLE = "possible"
    """The transaction appears to hang, but kac can't prove it."""
    YOUNG = "young"
    """No coordinator shows the transaction, but it is younger than the longest allowed timeout."""
    SLOW = "slow"
    """The transaction is older than its timeout by more than `ABORT_MS`, and its coordinator will abort it."""
    HEALTHY = "healthy"
    """The transaction is within its timeout, or was a moment ago, or it ends: its coordinator will end it."""


class Verdict(NamedTuple):
    """The class of an open transaction, with the reason and a remedy."""

    standing: Standing
    why: str
    remedy: str = ""
    transactional_id: str = ""
    """The transactional id; ``""`` if unknown."""
    was_committed: bool = False
    """Whether the coordinator told the producer that the transaction is committed, although this partition has no
    marker and will get none.
    """


def verdict(transaction: OpenTransaction, seen: Transactions) -> Verdict:
    """Return whether and how an open transaction will end, with the reason.

    Args:
        transaction: one of `seen`.
        seen: the poll that found it, so that leaders and coordinators were asked at the same time.
    """
    producer = transaction.producer
    known = seen.by_producer.get(producer.id)
    if known is not None and known.partitions is not None:
        if known.state in DECIDED:
            late = known.start_ms >= 0 and seen.at_ms - known.start_ms > _limit(known, seen) + MARKERS_MS
            return decided(known, seen, late=late)
        # A coordinator writes markers only to the partitions that its log has for the transaction (KIP-98).
        if transaction.place in known.partitions:
            return _kept(known, seen)
    # From here on, no coordinator is known that will write a marker. Each check below excludes a reason why this view
    # may be wrong; the verdict is "hangs" only if all pass, because an abort can't be undone.
    id_ = known.id if known is not None else ""
    age = seen.at_ms - producer.last_timestamp
    limit = minutes(seen.max_timeout_ms)
    if producer.last_timestamp >= 0 and age <= seen.max_timeout_ms:
        # With CreateTime, the producer's clock gives a record's time: a clock that is ahead hides the age.
        if age < 0:
            text = f"its last record's time is {minutes(-age)} ahead of this host's clock, so its age is unknown"
            return Verdict(Standing.POSSIBLE, text, "Correct the clocks, or wait until that time has passed.", id_)
        return Verdict(
            Standing.YOUNG,
            f"its last record is {minutes(age)} old, and a transaction may last {limit}",
            f"Look again once it is older than {limit}.",
            id_,
        )
    if known is not None and known.partitions is None:
        text = f"transactional id {known.id} has this producer, and its coordinator did not describe it"
        return Verdict(Standing.POSSIBLE, text, "Refresh; grant DESCRIBE on the transactional id.", id_)
    if known is None and seen.gaps:
        return Verdict(Standing.POSSIBLE, f"no coordinator shows it, but {seen.gaps[0].message}", seen.gaps[0].remedy)
    if not transaction.confirmed:
        return Verdict(Standing.POSSIBLE, "it began while the coordinators were asked", "Refresh.", id_)
    # The next transaction reuses the producer id, before KIP-890 with the same epoch: a coordinator that has the id
    # does not necessarily have this transaction.
    if known is not None and was_committed(producer, known):
        text = f"{known.id} is {known.state}, as its producer was told, and no marker came here or will come"
        return Verdict(Standing.HANGS, text, f"{KEPT_FIRST.capitalize()}.", id_, was_committed=True)
    if known is not None:
        text = f"the transaction of {known.id} is {known.state} without this partition: no marker will come"
    else:
        text = "no coordinator knows a transaction of this producer: no marker will come"
    return Verdict(Standing.HANGS, text, "Abort it.", id_)


KEPT_FIRST = "copy its records first: its producer takes them as written, and an abort hides them"


def was_committed(producer: Producer, known: Transaction) -> bool:
    """Return whether a producer's open transaction in a partition is the transaction that its coordinator has as
    committed. This occurs because a coordinator skips the marker of a partition that has no leader at that time
    (TransactionMarkerChannelManager).

    The producer's last record may have a timestamp that is at most `MARKERS_MS` before the transaction's start, since
    clocks differ.
    """
    return known.state == "CompleteCommit" and 0 <= known.start_ms <= producer.last_timestamp + MARKERS_MS


class SeenTransaction(Struct, frozen=True):
    """An open transaction in the form that a plan stores: the fields that a marker needs, and the verdict."""

    epoch: int
    coordinator_epoch: int
    start_offset: int
    standing: Standing
    why: str = ""
    remedy: str = ""
    transactional_id: str = ""
    age_ms: int = -1
    """The age of its last record in milliseconds, by this host's clock; -1 if unknown."""
    was_committed: bool = False


def seen_transaction(topic: str, partition: int, producer_id: int, seen: Transactions) -> SeenTransaction | None:
    """Return the open transaction of a producer in a partition, with its verdict; None if the producer has none
    there.
    """
    found = seen.found(topic, partition, producer_id)
    if found is None:
        return None
    producer, judged = found.producer, verdict(found, seen)
    return SeenTransaction(
        producer.epoch,
        producer.coordinator_epoch,
        producer.start_offset,
        judged.standing,
        judged.why,
        judged.remedy,
        judged.transactional_id,
        max(-1, seen.age_ms(producer)),
        judged.was_committed,
    )


def _kept(known: Transaction, seen: Transactions) -> Verdict:
    """Return the verdict on a transaction for which the coordinator still lists the partition, so that the
    coordinator will end the transaction there with a marker.
    """
    lasted = seen.at_ms - known.start_ms
    limit = _limit(known, seen)
    if known.state == "Ongoing" and known.start_ms >= 0 and lasted > limit + ABORT_MS:
        return Verdict(
            Standing.SLOW,
            f"{known.id} has had it open for {minutes(lasted)}, its timeout is {minutes(limit)}; the coordinator"
            f"{f' (broker {known.coordinator})' if known.coordinator >= 0 else ''} aborts it",
            "Look at that broker if it stays, and at the producer.",
            known.id,
        )
    return Verdict(Standing.HEALTHY, f"{known.id} is {known.state}: the coordinator will end it", "", known.id)


def _limit(known: Transaction, seen: Transactions) -> int:
    return known.timeout_ms if known.timeout_ms > 0 else seen.max_timeout_ms


def decided(known: Transaction, seen: Transactions, *, late: bool) -> Verdict:
    """Return the verdict on a transaction whose state is one of `DECIDED`, so that only its markers have to be written.
    late: whether the markers should have been written by now.
    """
    if not late:
        text = f"{known.id} is {known.state}: the coordinator is writing its markers"
        return Verdict(Standing.HEALTHY, text, "Look again in a minute: markers take moments.", known.id)
    open_for = f", open for {minutes(seen.at_ms - known.start_ms)}" if known.start_ms >= 0 else ""
    places = sorted(known.partitions or ())
    some = first_few([f"{topic}/{number}" for topic, number in places], NAMED_PLACES)
    return Verdict(
        Standing.UNDELIVERED,
        f"{known.id} is {known.state}{open_for}: that it is {DECIDED[known.state]} is decided, and its markers do not "
        f"arrive{' in ' if some else ''}{some}",
        f"Never abort it from outside. Look at the leaders of these partitions, and at broker {known.coordinator}, its "
        "coordinator: the next coordinator sends the markers again.",
        known.id,
    )


def minutes(milliseconds: int) -> str:
    """Return milliseconds as text: ``42 s``, ``17 min`` or ``3 h 5 min``."""
    seconds = max(0, milliseconds) // 1000
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    hours, rest = divmod(seconds // 60, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
