"""Redrive dead letters (records that a consumer could not process): send each of them once to its target topic. This
module surveys the letters, and does the work of the operation.

A consumer group stands for the selection of letters. In each partition of the dead-letter topic, its committed offset
shows how far the letters were examined, and the offset's metadata has the counts. Each transaction has some letters and
the offsets after them, so the offsets show after any crash which letters were sent. The journal records the same facts
in addition.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.contexts.context import Context
from console.journal.file import JournalFile
from console.journal.operations import Over, operations
from console.language.snapshot_parts import Needs
from console.language.verbs.produce import needs_of
from console.model import dead_letters
from console.model.cluster import CommittedOffset
from console.model.dead_letters import Letter, Position, Redrive, Stays, Survey
from console.model.failure import Failure, sentences
from console.model.new_records import BYTES_OF_BATCH, NewRecord, partition_of
from console.model.numbers import first_few
from console.model.record_filter import RecordFilter
from console.model.records import FromOffsets, Record, Search
from console.model.snapshot import Snapshot
from console.operations.operation import Letters, Operation, Progress, SentLetters, State
from console.plan.edits import Edit, WriteRecords
from console.plan.plan import Plan, StageReport
from console.plan.risk_rules import SENT_BEFORE, Risk, RiskFacts
from console.plan.risks import effects, risks
from console.plan.staged import Staged
from console.present.dead_letters import others_line
from console.session.journal_access import in_journal
from console.session.operation_work import OperationWork, Pace
from console.session.plan_facts import read_for_risks
from console.session.reading import read_needs
from console.session.record_reading import RecordReader
from console.session.record_writing import refuse_to_write
from console.session.snapshot_reader import Client, Clock, Refused

if TYPE_CHECKING:
    from console.admin.exactly_once import Exactly
    from console.session.session import Session

Place = tuple[str, int]

LETTERS, BYTES = 500, 4 << 20
"""Maximum number of letters in one transaction, and about how many bytes of them."""
LOOKED_AT = 5_000
"""Number of letters that were examined but not sent after which the offset is committed nevertheless."""
LOOKS_BACK_EVERY, ASKS_EVERY, NOTES_EVERY = 5.0, 1.0, 3.0
"""Seconds between two looks for letters that came back; between two reads of an operator's requests; and between two
lines of the journal while nothing but the counts changes."""
OTHERS = 50
"""Maximum number of other selections from the topic for which the number of sent letters is read."""
READ_GROUPS = 2_000
"""Maximum number of groups whose offsets in the topic of the first letter are read."""
PASSING = frozenset(
    {
        *("LEADER_NOT_AVAILABLE", "NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"),
        *("REPLICA_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE", "KAFKA_STORAGE_ERROR", "REQUEST_TIMED_OUT"),
        *("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "NOT_ENOUGH_REPLICAS"),
    }
)
"""Errors of brokers that may be temporary: the redrive waits and tries again."""
TOO_LARGE, LEAST_BATCH = ("MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"), 512
"""Errors of a topic with a low max.message.bytes; and the size in bytes below which a batch is not halved after
them."""
GIVES_UP_SECONDS = 5.0
"""Maximum seconds to end the open transaction when this process stops its work."""
NAMED = 3


class Desk(NamedTuple):
    """The parts of a session that a redrive needs.

    Attributes:
        read: reads what statements need, and returns the snapshot.
        stage: stages edits into the session's plan.
        plan: returns the session's plan.
        discard: drops all edits from the plan.
        facts: reads the facts for warnings about edits.
        journal: returns this host's journal of the cluster.
    """

    client: Client
    context: Context
    reader: RecordReader
    clock: Clock
    read: Callable[[Needs], Awaitable[Snapshot]]
    stage: Callable[[Sequence[Edit]], StageReport]
    plan: Callable[[], Plan]
    discard: Callable[[], int]
    facts: Callable[[Sequence[Staged]], Awaitable[RiskFacts]]
    journal: Callable[[], Awaitable[JournalFile]]


def desk_of(session: Session) -> Desk:
    """Return the parts of a session that a redrive needs. The session's plan must be empty, because `judged` stages
    edits into it and then discards the whole plan.
    """
    return Desk(
        session.client,
        session.context,
        session.records,
        session.clock,
        partial(read_needs, session),
        session.stage,
        lambda: session.plan,
        session.discard,
        partial(read_for_risks, session),
        session.journal,
    )


class Stopped(Exception):
    """The redrive can't continue without the operator. The exception's text says why."""


class Unread(Stopped):
    """The letters can't be read at present."""


class Looked(NamedTuple):
    """Some letters in the order of their offsets, each with the decision whether it is sent."""

    letters: Sequence[tuple[Record, Letter | Stays]]
    reached: Mapping[int, int]
    """Partition -> the offset after the last of these letters."""


class _Targets(Struct):
    """Topic -> its number of partitions, for topics to which letters are sent: 0 if the topic does not exist, `UNSEEN`
    if the principal may not describe it.
    """

    counts: dict[str, int] = field(default_factory=dict)

    async def learn(self, client: Client, names: set[str]) -> None:
        """Read the number of partitions of those topics that are not known yet. Raises AdminError."""
        from console.admin.topics import describe_topics

        new = sorted(names - self.counts.keys())
        if new:
            found = await client.run(describe_topics, new)
            for name in new:
                if name in found.topics:
                    self.counts[name] = len(found.topics[name].partitions)
                else:
                    is_denied = found.failures[name].name == "TOPIC_AUTHORIZATION_FAILED"
                    self.counts[name] = dead_letters.UNSEEN if is_denied else 0

    @property
    def existing(self) -> Mapping[str, int]:
        """Topic -> its number of partitions, without topics that do not exist or may not be described."""
        return {name: count for name, count in self.counts.items() if count}


async def looked_through(
    desk: Desk, goal: Redrive, targets: _Targets, since: Mapping[int, int]
) -> AsyncGenerator[Looked, None]:
    """Yield the letters from the offsets in `since` to the end offsets in the goal, in the order of offsets within each
    partition.

    Args:
        since: partition -> the offset at which to begin.

    Raises:
        Stopped: letters can't be decoded; the subclass Unread: their brokers do not answer.
        Refused: the context or a broker refuses the read.
        AdminError: the connection to the cluster is lost.
    """
    ends = dict(goal.ends)
    begins = {(goal.topic, number): offset for number, offset in since.items() if offset < ends.get(number, 0)}
    if not begins:
        return
    only = RecordFilter(where=goal.where)
    reached: dict[int, int] = {}
    async with aclosing(desk.reader.search(Search((goal.topic,), start=FromOffsets(begins)))) as portions:
        async for portion in portions:
            for gap in portion.undecodable:
                if gap.first < ends[gap.partition]:
                    raise Stopped(f"{gap}")
            for problem in portion.problems:
                raise Unread(f"{goal.topic} can't be read to its end: {problem}")
            records = [each for each in portion.records if each.offset < ends[each.partition]]
            if records:
                if goal.where and (why := await desk.reader.learn_all(records)):
                    raise Unread(f"the condition can't be applied to letters of {goal.topic}: {why}")
                shown = await desk.reader.shown(records) if goal.where else records
                chosen = {
                    (each.partition, each.offset)
                    for each, seen in zip(records, shown, strict=True)
                    if only.matches(seen)
                }
                names = {goal.to} if goal.to else set()
                if not goal.to:
                    origins = (dead_letters.origin_of(each) for each in records)
                    names = {each.topic for each in origins if each is not None}
                await targets.learn(desk.client, names)
                found = [
                    (
                        each,
                        dead_letters.addressed(
                            each, goal, targets.existing, is_chosen=(each.partition, each.offset) in chosen
                        ),
                    )
                    for each in records
                ]
                reached |= {each.partition: each.offset + 1 for each in records}
                yield Looked(found, dict(reached))
            last = portion.progress
    for each in last.scanned:
        reached[each.partition] = max(reached.get(each.partition, 0), min(each.next, ends[each.partition]))
    yield Looked((), reached)


async def with_ends(desk: Desk, goal: Redrive) -> Redrive:
    """Return the goal with the present end offsets of the dead-letter topic, where the redrive will end.

    Raises:
        Refused: there is no such topic, it is the target of its own letters, the context forbids reading or writing
            records, or an end offset can't be read.
        AdminError: the connection to the cluster is lost.
    """
    from console.admin.partitions import LATEST, offsets_of
    from console.admin.topics import describe_topics

    refuse_to_write(desk.context)
    if goal.to == goal.topic:
        raise Refused(Failure("SAME_TOPIC", "letters are not sent to their own dead-letter topic", "Name another one."))
    listing = await desk.client.run(describe_topics, [goal.topic])
    if goal.topic not in listing.topics:
        raise Refused(listing.failures[goal.topic])
    topic = listing.topics[goal.topic]
    numbers = [each.number for each in topic.partitions]
    found = await desk.client.run(offsets_of, {(goal.topic, number): LATEST for number in numbers})
    ends = []
    for (_, number), end in sorted(found.items()):
        if isinstance(end, Failure):
            raise Refused(end)
        ends.append((number, end))
    whole = replace(goal, ends=tuple(ends), topic_id=topic.topic_id or "")
    return await _behind_former(desk, whole)


async def _behind_former(desk: Desk, goal: Redrive) -> Redrive:
    """Return the goal so that it begins after the offsets that earlier operations with the same letters and target
    reached, according to the journal. The group's offsets are not enough: brokers delete them
    (offsets.retention.minutes), as may operators. Without a journal or a topic id, return the goal unchanged.
    """
    if not (goal.topic_id and desk.context.journal):
        return goal
    reached: dict[int, int] = {}
    with suppress(Refused):  # without a journal no operation begins
        before = await in_journal(await desk.journal(), lambda file: operations(file.read().records))
        for each in before.values():
            if isinstance(each.goal, Redrive) and (each.goal.group, each.goal.topic_id) == (goal.group, goal.topic_id):
                _raise_to(reached, each)
                sent = sum(count for letters in each.sent for *_, count in letters.written)
                goal = replace(goal, behind=each.number, noted=goal.noted + sent)
    return replace(goal, reached=tuple(sorted(reached.items())))


def _raise_to(found: dict[int, int], operation: Operation) -> None:
    """Raise each offset in `found` (partition -> offset) to the one that the operation has reached according to the
    journal.
    """
    assert isinstance(operation.goal, Redrive)
    for reached in (operation.goal.reached, *(each.reached for each in operation.sent)):
        for number, offset in reached:
            found[number] = max(found.get(number, 0), offset)


async def survey(
    desk: Desk, goal: Redrive, show: Callable[[Survey], None] = lambda _: None
) -> tuple[Survey, Mapping[str, int]]:
    """Examine the letters that a redrive would send, without sending any. Return the survey, and topic -> its number of
    partitions for the letters' targets.

    Args:
        goal: the goal with its end offsets.
        show: function called with the survey so far.

    Raises:
        Refused: as `looked_through`, or letters can't be read.
        AdminError: the connection to the cluster is lost.
    """
    from console.admin.groups import group_position

    committed = (await desk.client.run(group_position, goal.group)).committed
    known = {
        number: dead_letters.position_of(each.offset, each.metadata or "")
        for (topic, number), each in committed.items()
        if topic == goal.topic
    }
    minute = desk.clock.now().replace(second=0, microsecond=0)
    before = sum(each.sent for each in known.values())
    found, targets = Survey(round(minute.timestamp() * 1000), before=before), _Targets()
    since = await _begins(desk.client, goal, known, dict(goal.reached))
    try:
        async with aclosing(
            looked_through(desk, goal, targets, {at: each.offset for at, each in since.items()})
        ) as some:
            async for looked in some:
                for record, what in looked.letters:
                    found.add(record, what, targets.existing)
                show(found)
                await asyncio.sleep(0)
    except Stopped as error:
        raise Refused(Failure("UNREADABLE", str(error), "Look at it with kac records.")) from None
    found.others, found.unread = await _sent_by_others(desk.client, goal)
    return found, targets.existing


async def _sent_by_others(client: Client, goal: Redrive) -> tuple[dict[str, int], int | None]:
    """Return group -> the number of letters that it sent, for the groups of other selections from the same topic; and
    the number of selections that were not read. That number is None if unknown, because a broker's groups could not
    be listed. Selections whose groups may not be described are missing in both.
    """
    from console.admin.errors import BrokerError
    from console.admin.groups import group_positions, list_groups

    try:
        listed = await client.run(list_groups)
    except BrokerError:
        return {}, None
    names = [each for each in listed.groups if dead_letters.is_selection_of(each, goal.topic) and each != goal.group]
    try:
        positions, _ = await client.run(group_positions, names[:OTHERS])
    except BrokerError:
        positions = {}
    sent = {
        name: sum(dead_letters.position_of(at.offset, at.metadata or "").sent for at in each.committed.values())
        for name, each in positions.items()
    }
    return sent, None if listed.failures else len(names) - len(sent)


async def _begins(
    client: Client, goal: Redrive, known: Mapping[int, Position], noted: Mapping[int, int]
) -> dict[int, Position]:
    """Return partition -> the offset at which to continue: the group's committed offset, but not before the one in the
    journal, and not before the start of the log. Raises Refused if a log's start offset can't be read, and
    AdminError.

    Args:
        known: partition -> the group's committed position.
        noted: partition -> the offset in the journal.
    """
    from console.admin.partitions import EARLIEST, offsets_of

    starts = await client.run(offsets_of, {(goal.topic, number): EARLIEST for number, _ in goal.ends})
    found = {}
    for (_, number), start in starts.items():
        if isinstance(start, Failure):
            raise Refused(start)
        position = known.get(number, Position(0))
        found[number] = Position(max(start, position.offset, noted.get(number, 0)), position.sent, position.stayed)
    return found


class Judged(NamedTuple):
    """The facts that an operator has to know before letters are sent.

    Attributes:
        refused: the reasons why some letters can't be written, a line each.
        effects: the effects of the letters on other entities, a line each.
        risks: the warnings.
    """

    refused: tuple[str, ...]
    effects: tuple[str, ...]
    risks: tuple[Risk, ...]


async def judged(desk: Desk, goal: Redrive, found: Survey) -> Judged:
    """Return the effects and the warnings for the letters to send: those of writing records, and a warning if other
    selections may have sent some of the letters already. Raises AdminError.
    """
    edits = edits_of(found)
    snapshot = await desk.read(needs_of({each.topic for each in edits}))
    report = desk.stage(edits)
    try:
        staged = desk.plan().staged
        facts = await desk.facts(staged)
        lines = [line for some in effects(staged, snapshot).values() for line in some]
        refused = (sentences(each.reason, each.remedy) for each in report.refused)
        warnings = [*risks(staged, snapshot, facts)]
        if edits and (line := others_line(found)):
            warnings.append(Risk(edits[0].slot, SENT_BEFORE, line, goal.topic))
        return Judged(tuple(dict.fromkeys(refused)), tuple(lines), tuple(warnings))
    finally:
        desk.discard()


def edits_of(found: Survey) -> list[WriteRecords]:
    """Return edits that stand for writing these letters, but have no contents, for the rules that judge such edits."""
    return [
        WriteRecords(
            topic,
            number,
            0,
            tuple(heap.sizes),
            (),
            len(heap.keys),
            heap.nulls,
            heap.keyless,
            again=tuple(sorted(found.failed.get(topic, ()))),
        )
        for (topic, number), heap in sorted(found.heaps.items())
    ]


# -- the work on letters -----------------------------------------------------------------------------------------------


class _Back(Struct):
    """Counts of the letters that arrived in the dead-letter topic after the redrive began.

    Attributes:
        at: partition -> the next offset to read.
        written: (target topic, partition) -> ranges of letters sent there, each as the first offset and the one after
            the last.
        came_back: the number of letters that were sent and failed again.
        newer: the number of other letters that arrived.
        last: the place of the last letter that failed again. Its exception is content, and not for the journal.
    """

    at: dict[int, int]
    written: dict[Place, list[tuple[int, int]]] = field(default_factory=dict)
    came_back: int = 0
    newer: int = 0
    last: str = ""

    def note(self, sent: SentLetters) -> None:
        """Remember the offsets at which letters were sent."""
        for topic, number, first, count in sent.written:
            if first >= 0:
                self.written.setdefault((topic, number), []).append((first, first + count))

    def count(self, record: Record) -> bool:
        """Count a letter that arrived. Return whether it was sent by this redrive and failed again."""
        self.at[record.partition] = record.offset + 1
        origin = dead_letters.origin_of(record)
        parts = self.written.get((origin.topic, origin.partition), ()) if origin is not None else ()
        if origin is None or not any(first <= origin.offset < end for first, end in parts):
            self.newer += 1
            return False
        self.came_back += 1
        self.last = f"{record.topic}-{record.partition} offset {record.offset}"
        return True


def _hash_of(letters: Sequence[Letter]) -> str:
    """Return a hash of the letters, 16 hexadecimal digits, by which the journal identifies them."""
    return sha256("".join(each.record.hash for each in letters).encode()).hexdigest()[:16]


class _Readers(NamedTuple):
    """The groups that may read the first letter. Its truth value is False if all groups were read and none may read the
    letter.

    Attributes:
        at: group -> its committed offset in the letter's partition.
        behind: groups with members, but without a committed offset in that partition.
        problem: the reason why groups are unknown; ``""`` if all are known.
    """

    at: Mapping[str, int]
    behind: Sequence[str] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.at or self.behind or self.problem)

    def __str__(self) -> str:
        stand = [f"{group} is at {committed:,}" for group, committed in sorted(self.at.items())]
        stand += [f"{group} has no position" for group in self.behind]
        return "; ".join(filter(None, (first_few(stand, NAMED) if stand else "", self.problem)))


class Redriving:
    """The work of this process on one redrive."""

    def __init__(
        self,
        desk: Desk,
        work: OperationWork,
        operation: Operation,
        tell: Callable[[str], None],
        pace: Pace,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Prepare the work on a redrive; `run` does it.

        Args:
            desk: the parts of the session.
            work: the lease on the operation, and its journal.
            tell: function called with a line for each event.
            pace: the intervals between polls, and the patience.
            on_progress: function called with the progress.
        """
        goal = operation.goal
        assert isinstance(goal, Redrive)
        self._desk, self._work, self._tell, self._pace, self._on_progress = desk, work, tell, pace, on_progress
        self._goal, self._operation = goal, operation
        self._ends = dict(goal.ends)
        self._targets = _Targets()
        self._mine: Exactly | None = None
        self._positions: dict[int, Position] = {}
        self._canary = operation.progress.letters.canary if operation.progress and operation.progress.letters else ""
        self._batch = BYTES_OF_BATCH
        self._failed_in = ""
        """The group in which the first letter failed, by its headers. Headers are content, which the journal must not
        hold."""
        self._back = _Back(dict(goal.ends))
        for each in operation.sent:
            self._back.note(each)
        now = desk.clock.monotonic()
        self._moved_at = self._asked_at = self._looked_back_at = self._next_at = now
        self._waits: tuple[str, ...] = ()
        self._noted: Progress | None = None
        self._noted_at = now

    async def run(self) -> Operation:
        """Send letters until all are sent, an operator cancels the redrive, or it can't continue. Return the operation.

        Raises:
            Refused: another process works on the operation now, or the journal can't be written.
        """
        from console.admin import errors
        from console.admin.exactly_once import Fenced, Interrupted, take_over

        delay = self._pace.first
        try:
            while await self._is_wanted():
                refuse_to_write(self._desk.context)
                try:
                    self._mine = await self._desk.client.run(take_over, self._goal.group, self._mine)
                    await self._check_topic()
                    await self._read_positions()
                    if await self._send_all():
                        await self._end(State.DONE)
                        break
                    delay = self._pace.first
                except Fenced as error:
                    self._mine = None
                    await self._report(State.STALLED, (sentences(error.failure.message, error.failure.remedy),))
                    raise Refused(error.failure) from error
                except Unread as error:
                    self._waits = (str(error),)
                except (Stopped, errors.BrokerError, Refused) as error:
                    if isinstance(error, Refused) and error.failure.name in ("JOURNAL_FAILED", "LEASE_FAILED", "HELD"):
                        raise
                    if not isinstance(error, Stopped) and self._has_smaller_batches(error.failure):
                        continue
                    self._waits = (str(getattr(error, "failure", error)),)
                    if isinstance(error, Stopped) or error.failure.name not in PASSING:
                        await self._report(State.STALLED, self._waits)
                        return await self._read()
                except Interrupted as error:
                    self._waits = (f"a transaction was not committed, and is sent again: {error.failure}",)
                except errors.AdminError as error:
                    self._waits = (f"the cluster does not answer: {error.failure.message}",)
                is_stalled = self._desk.clock.monotonic() - self._moved_at >= self._pace.patience
                await self._report(State.STALLED if is_stalled else State.WAITING, self._waits)
                if is_stalled and self._pace.leaves:
                    return await self._read()
                await self._pace.sleep(delay)
                await self._work.renew()
                delay = min(delay * 1.5, self._pace.most)
            return await self._read()
        finally:
            await asyncio.shield(self._leave())

    def _has_smaller_batches(self, why: Failure) -> bool:
        """Halve the maximum size of a batch in bytes, if the failure means that a batch is too large for its topic, and
        the size is not below `LEAST_BATCH`. Return whether it was halved, so that a retry may succeed.
        """
        if why.name not in TOO_LARGE or self._batch < LEAST_BATCH:
            return False
        self._batch //= 2
        return True

    async def _leave(self) -> None:
        """End the open transaction within `GIVES_UP_SECONDS`: readers of the target topics would otherwise wait for its
        timeout.
        """
        from console.admin.exactly_once import give_up

        if self._mine is not None and self._mine.began is not None:
            with suppress(TimeoutError, RuntimeError):  # the client is closed already
                async with asyncio.timeout(GIVES_UP_SECONDS):
                    await self._desk.client.run(give_up, self._mine)

    async def _read(self) -> Operation:
        self._operation = await self._work.read(self._operation.number)
        return self._operation

    async def _is_wanted(self) -> bool:
        """Read an operator's requests, and wait while the redrive is paused. Return whether to continue; if not, record
        the end of the operation.
        """
        self._asked_at = self._desk.clock.monotonic()
        operation = await self._read()
        if operation.cancelling:
            await self._end(State.CANCELLED)
        while operation.ended is None and operation.paused and not operation.cancelling:
            await self._report(State.WAITING, (f"paused: operation {operation.number} go-on goes on",))
            await self._pace.sleep(self._pace.first)
            await self._work.renew()
            operation = await self._read()
            if operation.cancelling:
                await self._end(State.CANCELLED)
        return operation.ended is None and not operation.cancelling

    async def _end(self, state: State) -> None:
        from console.admin.errors import AdminError

        with suppress(AdminError, Refused):  # the end of the operation does not depend on these letters
            await self._look_back()
        await self._report(state, ())
        await self._work.note(self._operation.number, Over(state))
        self._tell(f"operation {self._operation.number} ({self._goal}) is {state.value}: {self._letters()}")

    async def _check_topic(self) -> None:
        """Check that the dead-letter topic is still the same. Raises Stopped if another topic has its name now, Unread
        if a partition ends before its end in the goal, Refused if the topic or an end can't be read, and AdminError.
        """
        from console.admin.partitions import LATEST, offsets_of
        from console.admin.topics import describe_topics

        name = self._goal.topic
        listing = await self._desk.client.run(describe_topics, [name])
        if (topic := listing.topics.get(name)) is None:
            raise Refused(listing.failures[name])
        if self._goal.topic_id and topic.topic_id and topic.topic_id != self._goal.topic_id:
            again = f"kac redrive --cancel {self._operation.number}, and begin it again"
            raise Stopped(f"topic {name} was deleted and created again, and has other letters: {again}")
        found = await self._desk.client.run(offsets_of, {(name, number): LATEST for number in self._ends})
        for (_, number), end in sorted(found.items()):
            if isinstance(end, Failure):
                raise Refused(end)
            if end < self._ends[number]:
                was = f"it ended at {self._ends[number]:,} when the operation began"
                raise Unread(f"{name}-{number} ends at {end:,}, and {was}: records were lost, or its leader lags")

    async def _read_positions(self) -> None:
        from console.admin.exactly_once import stable_positions

        found = await self._desk.client.run(stable_positions, self._goal.group, self._goal.topic)
        known = {
            number: dead_letters.position_of(each.offset, each.metadata)
            for number, each in found.items()
            if each is not None
        }
        for number, position in self._positions.items():  # positions committed here outlive the deletion of the group
            if number not in known or known[number].offset < position.offset:
                known[number] = position
        noted: dict[int, int] = {}
        _raise_to(noted, self._operation)
        self._positions = await _begins(self._desk.client, self._goal, known, noted)

    def _left(self) -> int:
        return sum(
            max(0, end - self._positions[number].offset)
            for number, end in self._ends.items()
            if number in self._positions
        )

    # -- sending letters

    async def _send_all(self) -> bool:
        """Send the remaining letters. Return True if all were sent; False if an operator stopped the redrive, or an
        open transaction holds letters back. Raises Stopped at a record that can't be sent.
        """
        self._waits = ()
        self._targets = _Targets()  # topics may have changed since the last attempt
        if not self._canary and self._left() and not await self._watch_canary():
            return False
        letters: list[Letter] = []
        stayed: dict[int, int] = {}
        size = 0
        reached: dict[int, int] = {}
        since = {number: each.offset for number, each in self._positions.items()}
        async with aclosing(looked_through(self._desk, self._goal, self._targets, since)) as some:
            async for looked in some:
                for record, what in looked.letters:
                    if what in dead_letters.IN_THE_WAY:
                        raise Stopped(f"{self._goal.topic}-{record.partition} offset {record.offset} is {what}")
                    reached[record.partition] = record.offset + 1
                    if isinstance(what, Stays):
                        stayed[record.partition] = stayed.get(record.partition, 0) + 1
                    else:
                        letters.append(what)
                        size += what.record.size
                    is_first = not self._canary and bool(letters)
                    if is_first:
                        origin = dead_letters.origin_of(record)
                        self._failed_in = origin.group if origin is not None else ""
                    if is_first or len(letters) >= self._most() or size >= BYTES or sum(stayed.values()) >= LOOKED_AT:
                        await self._send(letters, reached, stayed, is_canary=is_first)
                        letters, stayed, size = [], {}, 0
                        if (is_first and not await self._watch_canary()) or not await self._goes_on():
                            return False
                reached |= looked.reached if not looked.letters else {}
        if letters or any(offset > self._positions[at].offset for at, offset in reached.items()):
            await self._send(letters, reached, stayed, is_canary=False)
        if self._left():
            self._waits = (f"an open transaction in {self._goal.topic} holds back letters",)
        return not self._left()

    def _most(self) -> int:
        """Return the maximum number of letters in one transaction; with a throttle, at most the letters of one
        second.
        """
        return min(LETTERS, self._operation.throttle or LETTERS)

    async def _goes_on(self) -> bool:
        """Read an operator's requests and renew the lease every `ASKS_EVERY` (1 s), and count the letters that failed
        again every `LOOKS_BACK_EVERY` (5 s). Return whether to continue. Raises Refused if another process has the
        lease.
        """
        now = self._desk.clock.monotonic()
        if now - self._looked_back_at >= LOOKS_BACK_EVERY:
            await self._look_back()
        if now - self._asked_at < ASKS_EVERY:
            return True
        await self._work.renew()
        self._asked_at = now
        operation = await self._read()
        return not (operation.cancelling or operation.paused or operation.ended is not None)

    async def _send(
        self, letters: list[Letter], reached: Mapping[int, int], stayed: Mapping[int, int], *, is_canary: bool
    ) -> None:
        """Send letters, and commit the offsets after them, in one transaction.

        Args:
            reached: partition -> the offset after the letters.
            stayed: partition -> the number of letters that were examined and not sent.
            is_canary: whether this is the first letter, which is sent alone.
        """
        from console.admin.exactly_once import commit

        if letters and self._operation.throttle:
            now = self._desk.clock.monotonic()
            await self._pace.sleep(max(0.0, self._next_at - now))
            self._next_at = max(now, self._next_at) + len(letters) / self._operation.throttle
        after = self._positions | dead_letters.moved_on(self._positions, reached, letters, stayed)
        records: dict[Place, list[NewRecord]] = {}
        for each in letters:
            number = partition_of(each.record, self._targets.counts[each.target])
            records.setdefault((each.target, number), []).append(each.record)
        # Commit the positions of all partitions: brokers forget one that is not committed for
        # offsets.retention.minutes.
        positions = {
            (self._goal.topic, number): CommittedOffset(each.offset, -1, each.metadata)
            for number, each in after.items()
        }
        changed = sorted((number, each.offset) for number, each in after.items() if each != self._positions[number])
        assert self._mine is not None
        written = await self._desk.client.run(commit, self._mine, records, self._goal.group, positions, self._batch)
        self._positions = after
        self._moved_at = self._desk.clock.monotonic()
        if letters:
            sent = SentLetters(
                self._work.clock.now(),
                tuple(changed),
                tuple((*place, *part) for place, parts in written.items() for part in parts),
                _hash_of(letters),
                is_canary,
            )
            await self._work.note(self._operation.number, sent)
            self._operation = await self._read() if is_canary else self._operation
            self._back.note(sent)
        await self._report(State.RUNNING, ())

    # -- the canary

    async def _watch_canary(self) -> bool:
        """Wait until a group has read past the first letter (the canary). Return whether to continue; False if an
        operator stops the redrive.

        Raises:
            Stopped: the letter failed again, or no group read past it within the pace's patience.
        """
        canary = next((each for each in reversed(self._operation.sent) if each.is_canary), None)
        if canary is None or canary.written[0][2] < 0:
            return True  # no canary was sent, or its offset is unknown: the next letter will be the canary
        if not self._failed_in:
            self._failed_in = await self._group_of(canary)
        topic, number, offset, _ = canary.written[0]
        where, patience = f"{topic}-{number} offset {offset}", self._pace.patience
        deadline = self._desk.clock.monotonic() + patience
        self._tell(f"the first letter is at {where}: waiting for its group")
        while True:
            readers = await self._readers(topic, number)
            await self._look_back()
            if self._back.came_back:
                again = f"kac redrive --cancel {self._operation.number}, and begin it again: the next letter goes first"
                raise Stopped(
                    f"the first letter ({where}) came back, as {self._back.last}. Mend its group; then {again}"
                )
            passed = sorted(group for group, committed in readers.at.items() if committed > offset)
            if passed:
                self._canary = f"group {passed[0]} passed the first letter ({where})"
                break
            if not readers:
                self._canary = f"no group has a position in {topic}-{number}: whether it takes letters was not seen"
                break
            if self._desk.clock.monotonic() > deadline:
                raise Stopped(f"no group passed the first letter ({where}) in {patience:.0f} s: {readers}")
            if not await self._goes_on():
                return False
            await self._report(State.WAITING, (f"waiting for a group to pass the first letter ({where})",))
            await self._pace.sleep(self._pace.first)
        self._tell(self._canary)
        await self._report(State.RUNNING, ())
        return True

    async def _group_of(self, canary: SentLetters) -> str:
        """Read the first letter from the dead-letter topic, and return the group in which it failed, according to its
        headers. This is needed if another process sent the letter. Return ``""`` if that is unknown. Raises Refused,
        AdminError.
        """
        reached, topic = dict(canary.reached), self._goal.topic
        left = {number for number, offset in reached.items() if offset}
        since = FromOffsets({(topic, number): reached[number] - 1 for number in left})
        async with aclosing(self._desk.reader.search(Search((topic,), start=since))) as portions:
            async for portion in portions:
                for record in portion.records:
                    if record.offset + 1 == reached[record.partition] and (origin := dead_letters.origin_of(record)):
                        exists = {self._goal.to or origin.topic: 1}
                        what = dead_letters.addressed(record, self._goal, exists, is_chosen=True)
                        if isinstance(what, Letter) and _hash_of([what]) == canary.hash:
                            return origin.group
                    left.discard(record.partition)
                if not left:
                    break
        return ""

    async def _readers(self, topic: str, number: int) -> _Readers:
        """Return the groups that may read a letter: only the group in which it failed, if that has a committed offset
        in the letter's partition; otherwise the groups with members and an offset there; if there are none, all
        groups with an offset there. If the group in which it failed can't be read, return no group, with the reason.
        Raises AdminError.

        Args:
            topic: the topic to which the letter was sent.
            number: the number of the partition.
        """
        from console.admin.errors import BrokerError
        from console.admin.groups import group_position, topic_readers

        unread = ""
        if self._failed_in:
            try:
                failed = await self._desk.client.run(group_position, self._failed_in)
                if (found := failed.committed.get((topic, number))) is not None:
                    return _Readers({self._failed_in: found.offset})
                unread = "; ".join(map(str, failed.failures[:1]))
            except BrokerError as error:
                unread = str(error.failure)
        readers = (await self._desk.client.run(topic_readers, {topic}, READ_GROUPS))[topic]
        at = {
            group: committed
            for (group, partition), committed in readers.committed.items()
            if partition == number and not group.startswith(dead_letters.GROUP_PREFIX)
        }
        problem = unread and f"group {self._failed_in}, in which it failed, can't be read: {unread}"
        if not problem and not readers.whole:
            problem = readers.problem or f"{readers.asked:,} of {readers.groups:,} groups were read"
        live = {group: committed for group, committed in at.items() if group in readers.members}
        return _Readers({} if unread else live or at, tuple(sorted(readers.members.keys() - at.keys())), problem)

    # -- letters that came back

    async def _look_back(self) -> None:
        """Read and count the letters that arrived in the dead-letter topic since the last call."""
        self._looked_back_at = self._desk.clock.monotonic()
        since = FromOffsets({(self._goal.topic, number): offset for number, offset in self._back.at.items()})
        async with aclosing(self._desk.reader.search(Search((self._goal.topic,), start=since))) as portions:
            async for portion in portions:
                for record in portion.records:
                    self._back.count(record)
                for each in portion.progress.scanned:
                    if not portion.records:
                        self._back.at[each.partition] = max(self._back.at[each.partition], each.next)

    # -- progress reports

    def _letters(self) -> Letters:
        found = self._positions.values()
        return Letters(
            sum(each.sent for each in found),
            sum(each.stayed for each in found),
            self._left(),
            self._back.came_back,
            self._back.newer,
            self._canary,
        )

    async def _report(self, state: State, waits: tuple[str, ...]) -> None:
        """Show the progress. Record it in the journal if the state or the reasons for waiting changed, otherwise at
        most every `NOTES_EVERY` seconds.
        """
        letters = self._letters()
        progress = Progress(self._work.clock.now(), state, letters.sent + letters.stayed, letters.left, waits, letters)
        self._on_progress(progress)
        before, now = self._noted, self._desk.clock.monotonic()
        if waits and (before is None or waits != before.waits):
            for line in waits:
                self._tell(f"waits: {line}")
        mark = state, waits, self._canary
        if (
            before is None
            or mark != (before.state, before.waits, before.letters and before.letters.canary)
            or now - self._noted_at >= NOTES_EVERY
        ):
            await self._work.note(self._operation.number, progress)
            self._noted, self._noted_at = progress, now
