"""Polls for triage: they read brokers, quorum and partitions each time, and other parts at longer intervals."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.errors import AdminError, AuthenticationFailed, RequestTimedOut
from console.model import snapshot as refresh
from console.model.cluster import Silence
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.name_order import in_order, next_names
from console.model.parts import PACES, SHORT_SECONDS, Paces, Part
from console.model.snapshot import Snapshot
from console.session.former_changes import any_journal
from console.session.journal_access import in_journal
from console.session.own_throttles import OwnThrottles
from console.session.parts import is_had
from console.session.scheduler import Pace, Scheduled, Scheduler, happens, read_ago
from console.session.slow_polls import SlowPolls
from console.session.snapshot_reader import Refused, read_log_starts
from console.triage.connectors import is_of_records, trace_of
from console.triage.dependencies import configs_of
from console.triage.observations import Observations
from console.triage.readers import is_below
from console.triage.symptoms import Key, Own, Poll, Symptom

if TYPE_CHECKING:
    from console.admin.errors import AdminError
    from console.session.session import Session

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds from the start of one poll to the start of the next."""
POLL_SECONDS, NOTICED_SECONDS = 1.0, 0.1
"""Maximum seconds that a poll waits for its parts; the shorter one applies after brokers fell silent, because
requests to them stay unanswered."""
ANSWER_SECONDS, FIRST_ANSWER_SECONDS = 1.2, 5.0
"""Lower and upper limit of the seconds within which a broker has to answer ApiVersions on a new connection; the upper
limit applies until the duration of a round is known."""
ASK_REST, LONGEST_ASK_REST = 5.0, 0.6
"""A round of probes to all brokers that took t seconds is followed by ASK_REST times t without one, at most
LONGEST_ASK_REST seconds. With the time to answer this is less than two seconds if logins are quick."""
USUAL_TIMES = 3
"""A round of probes may take this many times as long as the last one, because over a slow network a login takes
long.
"""
FEW_CONFIGS, MANY_SECONDS = 2_000, 60.0
"""Number of resources above which configs are read less often: this many seconds after the last read."""
CONFIGS_OF_SYMPTOMS = 200
"""Maximum number of new symptoms, and of resources on which they depend, for which configs are read between two reads
of all configs.
"""
CONFIGS_AT_ONCE = 10_000
"""Number of topics whose configs are read and entered into the snapshot together. Entering those of 100,000 topics at
once would delay key presses.
"""
THROTTLED_WITHIN = 10.0
"""Seconds over which the throttle time of this process is averaged."""
MOST_GROUPS = 500
"""Number of groups whose offsets are read in one round; the next round reads others."""


class Poller(Scheduler):
    """A poller of a session's cluster. Use it as an asynchronous context manager."""

    def __init__(self, session: Session, request_logs: Sequence[Path] = (), slow: SlowPolls | None = None) -> None:
        """Create a poller; `poll` reads the cluster.

        Args:
            request_logs: the paths of brokers' request logs on this host.
            slow: the reads whose results are not in the snapshot, which differ in a replay; None for those of the
                session.
        """
        self._session = session
        self.asked = session.context.settings.asked
        """The polled nodes as a word: brokers or controllers."""
        self._next_group = ""
        self._silence = Silence()
        self._limit = FIRST_ANSWER_SECONDS
        self._answered_at = float("-inf")
        self._lost: AdminError | None = None
        self._refused: AdminError | Refused | None = None
        self._noticed = asyncio.Event()
        self._began = float("-inf")
        self._asking: asyncio.TimerHandle | None = None
        self._slow = slow or SlowPolls(session, request_logs)
        self._own = OwnThrottles(session.context.throttles)
        self._symptoms: Mapping[Key, Symptom] = {}
        self._concerned: Sequence[ConfigResource] = ()
        self._all_configs_due = float("-inf")
        self._throttled: deque[tuple[float, int]] = deque()
        self._suffers = Own()
        super().__init__(self._scheduled(), age=lambda name: read_ago(session.snapshot, name))

    def _scheduled(self) -> Iterator[Scheduled]:
        settings = self._session.context.settings
        at_controllers = settings.controllers
        own: Mapping[Part, Callable[[], Awaitable[object]]] = {
            Part.SILENCE: self._ask_brokers,
            Part.VERSIONS: self._read_versions,
            Part.LAGS: self._read_offsets,
            Part.REASSIGNMENTS: self._read_reassignments,
            Part.CONFIGS: self._read_roles if at_controllers else self._read_configs,
            **self._slow.reads,
        }
        for part, paces in PACES.items():
            if paces.triage is None or not is_had(part, settings):
                continue
            after = paces.after
            if at_controllers and not all(each.about.at_controllers for each in after):
                after = (Part.CLUSTER,)
            if part in own or part is not Part.REQUEST_LOGS:
                read = own.get(part) or partial(self._session.read_whole, part)
                shared = part not in own and not part.about.by_members
                yield Scheduled(part, _pace(paces), read, after, paces.within, is_shared=shared)

    async def __aenter__(self) -> Poller:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel the reads in progress."""
        if self._asking is not None:
            self._asking.cancel()
        await self.close()

    async def poll(self, *, whole: bool = False) -> Poll:
        """Read the parts that are due, and return all that is known.

        Args:
            whole: whether to wait until every part is read, instead of at most POLL_SECONDS.

        Raises:
            Refused: the cluster is not the one that the context expects; the next poll tries again.
            AdminError: no broker answers; the next poll tries again.
        """
        limit = NOTICED_SECONDS if self._noticed.is_set() else POLL_SECONDS
        self._noticed.clear()
        self._began = time.monotonic()
        self.step()
        if not self.was_read(Part.CLUSTER):  # nothing can be reported before the cluster was described
            await asyncio.wait({self._tasks[Part.CLUSTER]})
        await self._wait(None if whole else limit)
        await self._look_at_throttles()
        return self._seen(datetime.now(UTC))

    async def _look_at_throttles(self) -> None:
        """Compute how long brokers have throttled this process, in milliseconds per second, over the last
        `THROTTLED_WITHIN` (10) seconds.
        """
        from console.admin import cluster

        now, context = time.monotonic(), self._session.context
        self._throttled.append((now, await self._session.client.run(cluster.throttled_ms)))
        while self._throttled[0][0] < now - THROTTLED_WITHIN and len(self._throttled) > 2:
            self._throttled.popleft()
        (since, before), (_, total) = self._throttled[0], self._throttled[-1]
        seconds = max(1.0, now - since)
        # Each broker delays its own connection: the sum over brokers may exceed the time.
        each_second = min(1000, round((total - before) / seconds))
        user = context.kafka_principal.removeprefix("User:")
        self._suffers = Own(each_second, user, context.settings.client_id)

    def _ask_on(self) -> None:
        """Probe the brokers between polls, too, as long as polls follow one another."""
        if time.monotonic() - self._began < EVERY + POLL_SECONDS:
            self.step((Part.SILENCE,))

    def _seen(self, at: datetime) -> Poll:
        """Return all that is known, as a poll at this time. Raises as `poll` does."""
        if (why := self._refused or self._lost) is not None:
            raise why
        silent, refusing, closing, denying, took = self._silence
        unread = tuple(part.name for part in self.parts if not self.was_read(part.name))
        snapshot = self._with_failures(self._session.snapshot)
        facts, accepted = self._slow.facts, self._session.context.lint
        held, late, own = self._own.held, self.late(), self._suffers
        return Poll(at, snapshot, silent, refusing, unread, facts, held, closing, late, denying, own, accepted, took)

    async def rest(self) -> None:
        """Wait until the next poll is due: at once if a broker has stopped answering, or answers again."""
        await happens(self._noticed, self._began + EVERY - time.monotonic())

    async def _wait(self, seconds: float | None) -> None:
        """Wait until all parts are read, until the set of brokers that don't answer changes, or until the time is over.
        seconds: the maximum time; None for no limit.
        """
        read = asyncio.ensure_future(self._at_rest())
        noticed = asyncio.ensure_future(self._noticed.wait())
        until = {read} if seconds is None else {read, noticed}
        try:
            await asyncio.wait(until, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            read.cancel()
            noticed.cancel()

    async def _at_rest(self) -> None:
        """Wait until no part is being read, and no part waits for another one."""
        while running := [each for each in self._tasks.values() if not each.done()]:
            await asyncio.wait(running)

    async def _failed(self, part: Scheduled, error: Exception) -> Failure:
        """Return the failure of a part's read. If no broker answers at all, note this as well."""
        if isinstance(error, AdminError | Refused):
            # A wrong password fails on every connection: show it at once, and not as a broken cluster.
            if isinstance(error, AuthenticationFailed | Refused):
                self._refused = error
            elif part.name == Part.CLUSTER and not self.was_read(part.name):
                self._lost = error
            return error.failure
        text = f"{part.name} was not answered within {SHORT_SECONDS:g} s"
        remedy = f"Look at the {self.asked}s' load."
        if part.name == Part.QUORUM and not self._session.context.settings.controllers:
            from console.admin.link_errors import WAITS_FOR_CONTROLLER

            remedy = WAITS_FOR_CONTROLLER
        failure = self.problems[part.name] = Failure("TIMED_OUT", text, remedy)
        if part.name == Part.CLUSTER:
            from console.admin import cluster

            if not self.was_read(part.name):
                self._lost = RequestTimedOut(self._no_brokers())
            # Requests on a connection queue behind earlier ones; a new connection avoids that wait.
            await self._session.client.run(cluster.reconnect)
        return failure

    def _succeeded(self, part: Scheduled) -> None:
        super()._succeeded(part)
        if part.name == Part.CLUSTER:
            self._answered_at, self._lost, self._refused = time.monotonic(), None, None

    def _no_brokers(self) -> Failure:
        from console.admin.settings import show_address

        asked = ", ".join(map(show_address, self._session.context.settings.bootstrap[:3]))
        text = f"which {self.asked}s there are was not answered within {SHORT_SECONDS:g} s, asked at {asked}"
        return Failure("TIMED_OUT", text, f"Name more of the {self.asked}s, or look at those: they may hang.")

    async def _ask_brokers(self) -> None:
        """Find the brokers that do not answer. Reads in progress may wait for a broker that has just stopped answering:
        cancel them, and send their requests to other brokers. Raises AdminError if no broker answers.
        """
        began = time.monotonic()
        try:
            silence = await self._silence_within()
        except AdminError as error:
            # A cluster that answered the request for another part meanwhile is not lost.
            if self._answered_at < began:
                if self._lost is None:
                    self._noticed.set()
                self._lost = error
            raise
        took = time.monotonic() - began
        rest = min(LONGEST_ASK_REST, ASK_REST * took) if not silence.brokers else 0.0
        self._ask_again(max(began + (PACES[Part.SILENCE].triage or 0.0), began + took + rest))
        if not silence.brokers:
            self._limit = min(FIRST_ANSWER_SECONDS, max(ANSWER_SECONDS, USUAL_TIMES * took))
        was_lost, self._lost = self._lost is not None, None
        if back := self._silence.brokers - silence.brokers:
            self._slow.forget_certificates(back)
            await self._session.read_cluster()  # a broker answers again, or was fenced and is no longer probed
        fell_silent = silence.brokers - self._silence.brokers
        if was_lost or fell_silent or silence[:-1] != self._silence[:-1]:
            self._noticed.set()
        self._silence = silence
        # Cancel the reads under way: they may wait for a silent broker until a timeout; new ones go to brokers that
        # answer.
        if fell_silent or was_lost:
            for name, task in self._tasks.items():
                # Don't read the configs of many resources again because of a broker: `follow` reads those of its
                # symptoms.
                is_rare = name == Part.CONFIGS and task.done() and time.monotonic() < self._all_configs_due
                if name != Part.SILENCE and not is_rare:
                    task.cancel()
                    self.hurry(name)

    async def _silence_within(self) -> Silence:
        """Return the brokers that do not answer in time. If all of them are late, this host may be the slow one: ask
        once more, with `FIRST_ANSWER_SECONDS` (5 s) in total. Raises AdminError if no broker answers.
        """
        from console.admin import cluster

        client = self._session.client
        try:
            return await client.run(cluster.silence, self._limit)
        except RequestTimedOut:
            if self._limit > FIRST_ANSWER_SECONDS / 2:
                raise
            return await client.run(cluster.silence, FIRST_ANSWER_SECONDS - self._limit)

    def _ask_again(self, at: float) -> None:
        """Schedule the next round of probes. at: its time, in seconds of the monotonic clock."""
        self._turns[Part.SILENCE] = self._turns[Part.SILENCE]._replace(due=at)
        if self._asking is not None:
            self._asking.cancel()
        self._asking = asyncio.get_running_loop().call_later(max(0.0, at - time.monotonic()) + 0.001, self._ask_on)

    async def _read_offsets(self) -> None:
        """Read the lag of the next groups (if there are many, some in turn), and the log start offsets of the
        partitions with a lag.
        """
        chosen = next_names(in_order(self._session.snapshot.groups), self._next_group, MOST_GROUPS)
        self._next_group = chosen[-1] if chosen else ""
        await self._session.poll_groups(chosen)
        if ends := _behind(self._session.snapshot, chosen):
            starts = await read_log_starts(self._session.client, ends)
            # A group whose commit lies below the start of a log may have moved on since: commit and start were read at
            # different times, and retention continues. Count it only if a commit that was read after that start is
            # still below.
            below = _newly_below(
                self._session.snapshot, starts(self._session.snapshot, self._session.clock.now()), chosen
            )
            began = self._session.clock.now().timestamp()
            if below:
                await self._session.poll_groups(below)
            trends = self._session.snapshot.lag_trends
            if all(name not in trends or trends[name].last.at >= began for name in below):
                self._session.learn(starts)

    async def _read_versions(self) -> None:
        """Read the brokers' API versions and the levels of features. Do nothing if a broker does not answer, because
        the read would wait for it. The header of the screen reads them more often.
        """
        age = read_ago(self._session.snapshot, Part.VERSIONS)
        if not self._silence.brokers and (age is None or age >= (PACES[Part.VERSIONS].triage or 0.0)):
            await self._session.read_whole(Part.VERSIONS)

    async def _read_reassignments(self) -> None:
        """Read the reassignments, then the operations in the journal that may have started them."""
        await self._session.read_whole(Part.REASSIGNMENTS)
        await self._read_operations()

    def follow(self, observations: Observations) -> None:
        """Begin to read at once what a new symptom depends on: schemas, and configs if all configs are read only
        seldom. observations: the observations after the last poll.
        """
        known, self._symptoms = self._symptoms, observations.seen
        if observations.seen is known:
            return
        new = [each for key, each in observations.seen.items() if key not in known]
        if any(_is_of_records(each, observations) for each in new):
            self.hurry(Part.SCHEMAS)
        if time.monotonic() >= self._all_configs_due:
            return
        wanted = configs_of(new[:CONFIGS_OF_SYMPTOMS], observations.last.snapshot)
        brokers = {broker_resource(each) for each in self._silence.brokers}
        self._concerned = tuple(each for each in wanted if each not in brokers)[:CONFIGS_OF_SYMPTOMS]
        if self._concerned:
            self.hurry(Part.CONFIGS)

    async def _read_configs(self) -> None:
        """Read the configs of all topics, and of the brokers that answer and are not fenced; if these are not due, read
        only configs on which a new symptom depends. Afterwards, read the operations in the journal: an operation is
        recorded before it sets its throttles and ends after it removes them, so a throttle in the configs is never
        mistaken for a leftover.
        """
        concerned, self._concerned = self._concerned, ()
        if concerned and time.monotonic() < self._all_configs_due:
            await self._session.read_configs([*concerned], at_once=True)
            self._turns[Part.CONFIGS] = self._turns[Part.CONFIGS]._replace(due=self._all_configs_due)
            return
        over = self._own.over
        snapshot = self._session.snapshot
        silent = self._silence.brokers
        brokers = [each.id for each in snapshot.cluster.brokers if not each.fenced and each.id not in silent]
        await self._session.read_configs([*map(broker_resource, brokers), CLUSTER_DEFAULT], at_once=True)
        names = [*snapshot.topics]
        for start in range(0, len(names), CONFIGS_AT_ONCE):
            some = names[start : start + CONFIGS_AT_ONCE]
            await self._session.read_configs([*map(topic_resource, some)], at_once=True)
        await self._slow.read_share_groups()
        if len(brokers) + len(names) >= FEW_CONFIGS:
            turn = self._turns[Part.CONFIGS]
            self._all_configs_due = max(turn.due, time.monotonic() + MANY_SECONDS)
            self._turns[Part.CONFIGS] = turn._replace(due=self._all_configs_due)
        await self._read_operations()
        self._own.forget(over)

    async def _read_roles(self) -> None:
        """Read the configs of the controllers that answer, which say whether their processes are brokers, too."""
        asked = [each.id for each in self._session.snapshot.cluster.controllers if each.id not in self._silence.brokers]
        await self._session.read_configs([*map(broker_resource, asked)], at_once=True)

    async def _read_operations(self) -> None:
        """Read the open operations from the journal. If it can't be read, keep the known ones. Raises AdminError."""
        session = self._session
        if session.front_end == "replay" or not session.context.journal or not any_journal(os.environ):
            return
        from console.journal.file import JournalFile
        from console.model.journal_lines import OperationLine

        try:
            contents = await in_journal(await session.journal(), JournalFile.open)
        except Refused as error:
            log.warning("operations are not known: %s", error.failure)
            return
        lines = [each for each in contents.records if isinstance(each, OperationLine)]
        if lines:  # this import of the plan's kinds takes a megabyte, and most journals have no operations
            from console.journal.operations import operations

            self._own.take(each for each in operations(lines).values() if each.ended is None)
        else:
            self._own.take(())

    def _with_failures(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the failures of parts that could not be read. Failures of parts that only a pane of
        the console reads are removed, since they may be old. The session's own snapshot does not get these failures,
        because no other reader would remove them.
        """
        if any(each.part in _NOT_POLLED for each in snapshot.failures):
            kept = tuple(each for each in snapshot.failures if each.part not in _NOT_POLLED)
            snapshot = replace(snapshot, failures=kept)
        for name, why in self.problems.items():
            known = [(each.entity, each.failure) for each in snapshot.failures if each.part == name]
            if why not in [failure for _, failure in known]:
                snapshot = refresh.with_failures(snapshot, name, [*known, ("", why)])
        return snapshot


def _is_of_records(symptom: Symptom, observations: Observations) -> bool:
    """Return whether the symptom is a connector that failed because of its records, whose schema may have changed."""
    subject = symptom.subject
    clusters = observations.last.snapshot.connect
    return subject.connector is not None and is_of_records(trace_of(clusters, subject.connector, subject.task))


_NOT_POLLED = frozenset(part for part in Part if part not in PACES or PACES[part].triage is None) - {Part.LOG_RANGES}
"""The parts that triage does not read. LOG_RANGES is not among them, since triage reads the start offsets of logs with
the lags.
"""


def _newly_below(before: Snapshot, after: Snapshot, groups: Iterable[str]) -> list[str]:
    """Return the groups that have a committed offset below its log's start offset in `after`, but not in `before`."""
    ranges, known = after.log_ranges, before.log_ranges
    return [
        name
        for name in groups
        if (lag := before.lags.get(name)) is not None
        and any(is_below(each, ranges) and not is_below(each, known) for each in lag.partitions)
    ]


def _behind(snapshot: Snapshot, groups: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return (topic, partition) -> end offset, for the partitions in which a group has a lag. Only there can the start
    of the log be above a committed offset.
    """
    ends = {
        (each.topic, each.partition): each.end
        for name in groups
        if (lag := snapshot.lags.get(name)) is not None
        for each in lag.partitions
        if each.lag > 0
    }
    return dict(sorted(ends.items()))


def _pace(paces: Paces) -> Pace:
    """Return the schedule of a part's reads. After two reads in a row that took t seconds, a part pauses for 20 t, at
    most a minute. A part with a time limit (`within`) does not pause.
    """
    return Pace(paces.triage or 0.0, rest=0.0 if paces.within else 20.0, longest_rest=60.0, from_begin=True, first=0.0)
