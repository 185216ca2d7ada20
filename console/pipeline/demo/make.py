"""Makes the demo's lake, as far as it is not built: three clusters' logs, journals and polls."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.admin.topics import topic_id_text
from console.answers.data_forms import yaml_text
from console.contexts import Context
from console.embedded.brokers import EmbeddedCluster
from console.embedded.context import RequestContext
from console.embedded.spec import ClusterSpec, clusters_of
from console.journal.file import journal_path
from console.journal.records import Answered, Ended, Entry, Intent, intent_line, note_line
from console.model.changes import ChangeRequest, Status
from console.model.config import ConfigEntry, own_source
from console.model.failure import Failure
from console.model.journal_lines import Origin, Sending, Who
from console.model.journal_lines import Request as JournalRequest
from console.pipeline.collect import PollResult, Progress, poll_context, write_down
from console.pipeline.demo.logs import MetadataLog, RequestLogs, request_of
from console.pipeline.demo.story import CLIENTS, HOSTS, HOURS, NOT_POLLED, POLL_EVERY, STORY, StoryChange
from console.pipeline.files import LakeError
from console.pipeline.lake import Lake, NoLake
from console.pipeline.poll import LastStates
from console.pipeline.requests.alters import ALTER_APIS
from console.pipeline.sources import FILE as SOURCES
from console.plan.compile import compile_plan
from console.plan.edits import AppendConfig, Edit, SetConfig, SetQuota, UnsetConfig
from console.plan.plan import Plan
from console.plan.requests import Facts
from console.plan.staged import Staged, Was
from console.wire.schemas import Messages

# -- one cluster's day: an embedded cluster that is changed as the story says, with the logs, journal and polls of that.
# It takes seconds; the records have the times of the story.

HOST = "ops-1"
"""The host of the journal."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The records of a cluster.

    taken: its polls. metadata_log: the log's folder; None where it is not read. request_logs: by broker.
    """

    name: str
    cluster_id: str
    taken: tuple[PollResult, ...]
    metadata_log: Path | None
    request_logs: Mapping[int, Path]


async def record(name: str, spec: ClusterSpec, end: datetime, folder: Path, passed: Callable[[str], None]) -> Recorded:
    """Run the day of one of the story's clusters, and write its logs into a folder. passed: called for each poll.

    The final state is kept where the specification says. Raises OSError.
    """
    story = [(end - deed.ago, deed) for deed in STORY if deed.cluster == name]
    polls = [end - POLL_EVERY * hours for hours in range(HOURS, -1, -1)]
    if unseen := NOT_POLLED.get(name):
        polls = [at for at in polls if not end - unseen[0] < at < end - unseen[1]]
    async with EmbeddedCluster(spec) as cluster:
        context = Context(name, "kac lake demo", ConnectionSettings(tuple(cluster.addresses.values())))
        day = _Day(cluster, polls[0] - timedelta(minutes=1), MetadataLog() if name not in NOT_POLLED else None)
        taken = []
        for at in sorted({*polls, *(at for at, _ in story)}):
            for _, deed in (each for each in story if each[0] == at):
                await day.do(deed, at)
            if at in polls:
                polled = await poll_context(context)
                seen = polled.seen if isinstance(polled.seen, Failure) else replace(polled.seen, at=at)
                taken.append(replace(polled, at=at, seen=seen))
                passed(f"{name}: {at:%H:%M}")
        for client in (each for each in CLIENTS if each.cluster == name):
            topic = cluster.state.topics[client.topic]
            day.requests.traffic(client, end - timedelta(hours=HOURS), end, topic_id_text(topic.id))
        cluster_id = cluster.state.cluster_id
    log = day.metadata.save(folder / name, cluster_id) if day.metadata is not None else None
    files = day.requests.save(folder / name)
    if day.journal:
        path = journal_path(folder, cluster_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(day.journal))
    return Recorded(name, cluster_id, tuple(taken), log, files)


class _Day:
    """The records of a day."""

    def __init__(self, cluster: EmbeddedCluster, begin: datetime, metadata: MetadataLog | None) -> None:
        self.cluster = cluster
        brokers = sorted(cluster.addresses)
        self.requests = RequestLogs(brokers, brokers[-1] if len(brokers) > 1 else None)
        self.metadata = metadata
        self.journal: list[bytes] = []
        self._changes = 0
        self._now = begin
        self._who = ""
        cluster.pipeline.record = self.add
        if self.metadata is not None:
            self.metadata.begin(cluster.state, begin)
            log = self.metadata
            cluster.state.subscribe(lambda change: log.add(change, self._now))

    async def do(self, deed: StoryChange, at: datetime) -> None:
        """Make a change, as at a time: in the journal, and by requests to the cluster, which are logged."""
        self._now, self._who = at, deed.who
        staged = tuple(Staged(edit, self._was(edit)) for edit in deed.edits)
        addresses = tuple(self.cluster.addresses.values())
        client_id = "kac" if deed.with_kac else f"adminclient-{deed.who}"
        steps = compile_plan(Plan(staged), Facts())
        await _send(ConnectionSettings(addresses, client_id=client_id), (step.request for step in steps))
        if deed.with_kac:
            self._write_down(deed, staged, at)

    def add(self, context: RequestContext, messages: Messages, frame: bytes, answer: bytes | None) -> None:
        """Log a request that changes something (`embedded.request_pipeline.Recorder`)."""
        if messages.api.upper() in ALTER_APIS and answer is not None:
            request = request_of(messages, frame, answer)
            self.requests.change(context.broker_id, self._who, context.client_id, self._now, request)

    def _write_down(self, deed: StoryChange, staged: tuple[Staged, ...], at: datetime) -> None:
        self._changes += 1
        number, places = self._changes, tuple(range(len(staged)))
        intent = Intent(
            at - timedelta(milliseconds=40),
            deed.cluster,
            Who(deed.who, deed.who, ssh_client=HOSTS[deed.who]),
            Origin(HOST, "console", 4000 + number),
            tuple(map(Entry, staged)),
            (JournalRequest("INCREMENTAL_ALTER_CONFIGS", None, places),),
        )
        ended = dict.fromkeys(places, Ended(Status.APPLIED))
        self.journal += [
            intent_line(number, intent),
            note_line(Sending(number, 0, at - timedelta(milliseconds=20))),
            note_line(Answered(number, 0, at + timedelta(milliseconds=30), ended)),
        ]

    def _was(self, edit: Edit) -> Was:
        state = self.cluster.state
        match edit:
            case SetConfig() | UnsetConfig() | AppendConfig():
                value = state.configs.get(edit.resource, {}).get(edit.key)
                return None if value is None else ConfigEntry(edit.key, value, own_source(edit.resource))
            case SetQuota():
                return state.quotas.get(edit.entity, {}).get(edit.key)
            case _:
                return None


async def _send(settings: ConnectionSettings, changes: Iterable[ChangeRequest]) -> None:
    """Send changes in their order. Raises AdminError for the first one that fails."""
    client = AdminClient(settings)
    client.start()
    try:
        for change in changes:
            for outcome in await client.run(send, change, validate_only=False):
                if outcome.failure is not None:
                    raise AdminError(outcome.failure)
    finally:
        await asyncio.to_thread(client.close)


# -- the demo's lake -------------------------------------------------------------------------------------------------

FOLDER = "demo"
"""In the lake: the clusters' logs, their state, the journals."""
STATE = "clusters.json"
_MARK = "made-by-kac-lake-demo"


@dataclass(frozen=True, slots=True)
class Demo:
    """The result. state: the option ``--state`` of ``kac demo`` that restores the clusters."""

    lake: Lake
    clusters: tuple[Recorded, ...]
    state: Path


def make(where: str, end: datetime, passed: Progress = lambda *_: None) -> Demo:
    """Make a new lake with a day that ends at `end`; replaces a former demo.

    passed: gets the cluster and the time of each poll. LakeError: another lake is there. OSError: the disk is full, no
    permission.
    """
    lake = new_lake(where)
    folder = Path(lake.where) / FOLDER
    state = folder / STATE
    folder.mkdir()
    (folder / _MARK).touch()
    clusters = asyncio.run(_record_all(folder, state, end, passed))
    listed = []
    for cluster in clusters:
        log = {"metadata-log": str(cluster.metadata_log)} if cluster.metadata_log is not None else {}
        requests = [{"broker": broker, "files": str(file)} for broker, file in sorted(cluster.request_logs.items())]
        listed.append({"id": cluster.cluster_id, **log, "request-logs": requests})
    sources = yaml_text({"version": 1, "clusters": listed, "journals": str(folder / "journal")})
    (Path(lake.where) / SOURCES).write_text(f"# Written by kac lake demo.\n{sources}", encoding="utf-8")
    report = write_down([taken for cluster in clusters for taken in cluster.taken], LastStates(lake))
    if not report.complete:
        raise LakeError(f"the demo's own clusters could not be read: {report.message}")
    return Demo(lake, clusters, state)


def new_lake(where: str) -> Lake:
    """Make an empty lake; deletes a former demo. LakeError: another lake is there, or a demo with more than demo
    clusters.
    """
    with suppress(NoLake):
        former = Lake.open(where)
        if not (Path(former.where) / FOLDER / _MARK).exists():
            raise LakeError(
                f"There is a lake at {former.where} already: choose another folder for the demo with --lake."
            )
        owners = LastStates(former).owners()
        demos = {*clusters_of("fleet", ClusterSpec()), "recorded"}  # the last: of demos that had a real broker
        if own := {owner.context for owner in owners.values()} - demos:
            raise LakeError(
                f"The demo at {former.where} also has polls of {', '.join(sorted(own))}, and would delete "
                "it: choose another folder for the demo with --lake."
            )
        shutil.rmtree(former.where)
    return Lake.create(where)


async def _record_all(folder: Path, state: Path, end: datetime, passed: Progress) -> tuple[Recorded, ...]:
    specs = clusters_of("fleet", ClusterSpec(state_file=state))
    total = (HOURS + 1) * len(specs) - sum((since - until) // POLL_EVERY for since, until in NOT_POLLED.values())
    done = count(1)
    recorded = []
    for name, spec in specs.items():
        named = replace(spec, cluster_id=f"{FOLDER}-{name}")
        recorded.append(await record(name, named, end, folder, lambda said: passed(said, next(done), total)))
    return tuple(recorded)
