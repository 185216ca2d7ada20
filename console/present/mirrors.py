"""The flows of MirrorMaker 2 to this cluster: their heartbeats, their checkpoints for groups, and the offset syncs of
mirrored topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, TypeVar

from console.model import connect, mirror
from console.model.cluster import LogRange
from console.model.numbers import plural
from console.model.parts import Part
from console.model.snapshot import Snapshot, TopicPartition
from console.plan.amounts import Unit, utc_time
from console.present import columns
from console.present.connectors import state_meaning, tasks_text
from console.present.names import some
from console.present.text import Line, clean

R = TypeVar("R")
BEATS, SILENT, UNKNOWN = "beats", "silent", "unknown"
"""The states of a flow as its heartbeats show them."""
_MEANINGS = {BEATS: "ok", SILENT: "failed", UNKNOWN: "muted"}
MOST_NAMED, MOST_LINES = 8, 200
"""Maximum number of topics that the details name individually, and of checkpoints that they show."""


class MirrorRow(NamedTuple):
    """A flow (source cluster → this cluster), as it was at its last read. at: the time of that read, UTC."""

    flow: mirror.Flow
    at: datetime

    @property
    def state(self) -> str:
        """The state of the flow as a word, judged by its heartbeats."""
        return UNKNOWN if self.flow.beat is None else SILENT if mirror.is_silent(self.flow.beat, self.at) else BEATS

    def beat_age(self, beat: mirror.Beat | None) -> float | None:
        """Return the seconds since a heartbeat; None if there is none."""
        return None if beat is None else mirror.age(beat.at_ms, self.at)

    @property
    def checkpoint_age(self) -> float | None:
        """Seconds since the newest checkpoint; None if no checkpoint is known."""
        return mirror.age(mirror.newest(at for _, at in self.flow.checkpoints), self.at)

    @property
    def sync_age(self) -> float | None:
        """Seconds since the newest offset sync; None if no offset sync is known."""
        return mirror.age(mirror.newest(at for _, at in self.flow.syncs), self.at)


def mirror_rows(snapshot: Snapshot) -> Iterator[MirrorRow]:
    """Yield the flows in order of name; nothing before they were read."""
    at = snapshot.read_at.get(Part.MIRRORS)
    if at is not None:
        yield from (MirrorRow(snapshot.mirrors[name], at) for name in sorted(snapshot.mirrors))


def _age_column(
    name: str, title: str, get: Callable[[R], float | None], priority: int, sort_key: str
) -> columns.Column[R]:
    """Return a column of an age: seconds in data, a text with a unit on the screen."""

    def text(row: R) -> str:
        seconds = get(row)
        return "?" if seconds is None else columns.time_text(seconds)

    return columns.Column(
        f"{name}_seconds",
        columns.EVERYWHERE | columns.DETAIL,
        lambda row: None if (seconds := get(row)) is None else round(seconds),
        "number",
        Unit.SECONDS,
        unknown=True,
        cell=text,
        layout=columns.on_screen((9, 12), title, priority=priority, sort_key=sort_key),
        title=title,
    )


def _name_column(get: Callable[[R], str]) -> columns.Column[R]:
    layout = columns.on_screen((14, 50), flex=1, sort_key="N")
    return columns.Column("mirror", get=get, layout=layout)


def _count_column(name: str, title: str, get: Callable[[R], int | None], priority: int, key: str) -> columns.Column[R]:
    def text(row: R) -> str:
        return "?" if (count := get(row)) is None else f"{count:,}"

    return columns.Column(
        name,
        get=get,
        type="number",
        unknown=True,
        cell=text,
        layout=columns.on_screen((7, 16), title, priority=priority, sort_key=key),
    )


def _text_column(name: str, title: str, get: Callable[[R], str], priority: int, key: str) -> columns.Column[R]:
    layout = columns.on_screen((12, 60), title, flex=1, priority=priority, sort_key=key)
    return columns.Column(name, get=get, layout=layout)


MIRRORS: columns.Columns[MirrorRow] = columns.Columns(
    _name_column(lambda row: row.flow.name),
    columns.Column("source", columns.DATA, lambda row: row.flow.source),
    columns.Column("target", columns.DATA, lambda row: row.flow.target or None, unknown=True),
    columns.Column(
        "state",
        type="word",
        cell=lambda row: (row.state, _MEANINGS[row.state]),
        layout=columns.on_screen(7, priority=97, sort_key="S"),
    ),
    _age_column("heartbeat", "Heartbeat", lambda row: row.beat_age(row.flow.beat), 96, "B"),
    _age_column("came_through", "Through", lambda row: row.beat_age(row.flow.copied), 90, "H"),
    _count_column("topics", "Topics", lambda row: len(row.flow.topics), 88, "T"),
    _count_column("groups", "Groups", lambda row: len(row.flow.groups), 80, "G"),
    _age_column("checkpoint", "Checkpoint", lambda row: row.checkpoint_age, 85, "C"),
    _age_column("sync", "Sync", lambda row: row.sync_age, 60, "Y"),
    columns.Column(
        "connectors",
        get=lambda row: [*row.flow.connectors],
        type="names",
        cell=lambda row: clean(", ".join(row.flow.connectors), 200),
        order=lambda row: row.flow.connectors,
        layout=columns.on_screen((12, 60), flex=1, priority=50),
    ),
    tie=lambda row: row.flow.name,
)
"""The columns of flows. heartbeat: age of the newest one that MirrorMaker wrote to this cluster; came_through: age of
the newest one that it copied from the source cluster. checkpoint, sync: age of the newest one.
"""


# -- groups and topics of the flows ------------------------------------------------------------------------------------


class CheckpointRow(NamedTuple):
    """A group's offset that a flow has translated to this cluster."""

    flow: mirror.Flow
    checkpoint: mirror.Checkpoint
    age: float | None
    """The age of the checkpoint in seconds; None if unknown."""
    lag: int | None
    """The number of records in this cluster after the translated offset; None if the partition's end offset is
    unknown.
    """


class SyncRow(NamedTuple):
    """The last offset sync of a partition of a mirrored topic."""

    flow: mirror.Flow
    topic: str
    """The name of the mirrored topic in this cluster; ``""`` if it does not exist."""
    sync: mirror.OffsetSync
    age: float | None
    since: int | None
    """The number of records that were copied after the sync; None if the partition's end offset is unknown."""


def checkpoint_rows(snapshot: Snapshot) -> Iterator[CheckpointRow]:
    """Yield the checkpoints of all flows, by flow, group, topic and partition."""
    for row in mirror_rows(snapshot):
        for each, at in row.flow.checkpoints:
            lag = _behind(snapshot.log_ranges, (each.topic, each.partition), each.downstream)
            yield CheckpointRow(row.flow, each, mirror.age(at, row.at), lag)


def sync_rows(snapshot: Snapshot) -> Iterator[SyncRow]:
    """Yield the offset syncs of all flows that keep them in a topic of this cluster, by flow, topic and partition."""
    for row in mirror_rows(snapshot):
        for each, at in row.flow.syncs:
            copy = row.flow.copy_of(each.topic)
            since = _behind(snapshot.log_ranges, (copy, each.partition), each.downstream)
            yield SyncRow(row.flow, copy, each, mirror.age(at, row.at), since)


def _behind(ranges: Mapping[TopicPartition, LogRange], place: TopicPartition, offset: int) -> int | None:
    known = ranges.get(place)
    return None if known is None else max(0, known.end - offset)


CHECKPOINTS: columns.Columns[CheckpointRow] = columns.Columns(
    _name_column(lambda row: row.flow.name),
    _text_column("group", "Group", lambda row: row.checkpoint.group, 95, "G"),
    _text_column("topic", "Topic", lambda row: row.checkpoint.topic, 94, "T"),
    _count_column("partition", "Part", lambda row: row.checkpoint.partition, 93, "P"),
    _count_column("upstream", "At source", lambda row: row.checkpoint.upstream, 70, "U"),
    _count_column("downstream", "Here", lambda row: row.checkpoint.downstream, 80, "D"),
    _count_column("lag", "Lag here", lambda row: row.lag, 75, "B"),
    _age_column("age", "Age", lambda row: row.age, 90, "A"),
)
"""The columns of checkpoints. lag: the number of records that the group would have to read if it moved to this cluster
now.
"""
SYNCS: columns.Columns[SyncRow] = columns.Columns(
    _name_column(lambda row: row.flow.name),
    _text_column("topic", "Topic", lambda row: row.topic or row.sync.topic, 95, "T"),
    _count_column("partition", "Part", lambda row: row.sync.partition, 94, "P"),
    _count_column("upstream", "At source", lambda row: row.sync.upstream, 70, "U"),
    _count_column("downstream", "Here", lambda row: row.sync.downstream, 80, "D"),
    _count_column("since", "Since then", lambda row: row.since, 75, "B"),
    _age_column("age", "Age", lambda row: row.age, 90, "A"),
)
"""The columns of offset syncs. since: the number of records that were copied after the sync."""


class LagRow(NamedTuple):
    """A partition of a mirrored topic, and how far it lags behind its partition in the source cluster."""

    flow: mirror.Flow
    topic: str
    partition: int
    end: int
    """The end offset of the partition in the source cluster."""
    copied: int | None
    """The offset in the source cluster up to which records are copied; None if the partition has no offset sync."""

    @property
    def lag(self) -> int | None:
        """The number of records that are not copied yet; None if unknown."""
        return None if self.copied is None else max(0, self.end - self.copied)


LAGS: columns.Columns[LagRow] = columns.Columns(
    _name_column(lambda row: row.flow.name),
    _text_column("topic", "Topic", lambda row: row.topic, 95, "T"),
    _count_column("partition", "Part", lambda row: row.partition, 94, "P"),
    _count_column("end", "End at source", lambda row: row.end, 70, "E"),
    _count_column("copied", "Copied to", lambda row: row.copied, 80, "D"),
    _count_column("lag", "Lag", lambda row: row.lag, 90, "L"),
)
"""The columns of partitions of mirrored topics that lack records of the source cluster."""


# -- a flow in detail --------------------------------------------------------------------------------------------------


def mirror_lines(row: MirrorRow, snapshot: Snapshot) -> list[Line]:
    """Return lines with the details of a flow: its heartbeats and syncs, its connectors, and the first `MOST_LINES`
    checkpoints.
    """
    flow = row.flow
    told: list[tuple[str, str, str]] = [
        ("heartbeat", _beat_text(row, flow.beat), _MEANINGS[row.state] if row.state == SILENT else ""),
        ("came through", _beat_text(row, flow.copied), "failed" if mirror.is_silent(flow.copied, row.at) else ""),
        ("checkpoints", _age_text(row.checkpoint_age, plural(len(flow.groups), "group")), ""),
        ("offset syncs", _age_text(row.sync_age, "") or "not here: by default they are at the source", ""),
        ("topics", f"{len(flow.topics):,}: {some(flow.topics, MOST_NAMED)}" if flow.topics else "none here", ""),
    ]
    lines: list[Line] = [
        [(f"{name:<14}", "muted"), (clean(value, 400) or "none read", meaning)] for name, value, meaning in told
    ]
    lines += [[("older checkpoints and syncs were not read", "muted")]] if flow.is_part else []
    for name in flow.connectors:
        known = connect.connector_in(snapshot.connect, name)
        if known is not None:
            text = f"{clean(known.state, 30)}, {tasks_text(known.tasks)}"
            lines.append(
                [("connector     ", "muted"), (f"{clean(name, 80)}: ", ""), (text, state_meaning(known.state))]
            )
    mine = [each for each in checkpoint_rows(snapshot) if each.flow.name == flow.name]
    lines += [[]] if mine else []
    lines += [[(clean(_checkpoint_text(each), 300), "")] for each in mine[:MOST_LINES]]
    if len(mine) > MOST_LINES:
        lines.append([(f"and {len(mine) - MOST_LINES:,} more: kac mirrors groups", "muted")])
    return lines


def _checkpoint_text(row: CheckpointRow) -> str:
    of = row.checkpoint
    behind = "" if row.lag is None else f", {plural(row.lag, 'record')} behind it here"
    when = "" if row.age is None else f", {columns.time_text(row.age)} ago"
    return f"{of.group}  {of.topic}-{of.partition}: {of.upstream:,} is {of.downstream:,} here{behind}{when}"


def _beat_text(row: MirrorRow, beat: mirror.Beat | None) -> str:
    return "" if beat is None else f"{columns.time_text(row.beat_age(beat))} ago, at {utc_time(beat.at_ms)}"


def _age_text(seconds: float | None, what: str) -> str:
    if seconds is None:
        return ""
    return f"{f'{what}, the newest one ' if what else ''}{columns.time_text(seconds)} ago"


EMPTY = "no flow of MirrorMaker 2 to this cluster: no topic has its heartbeats or checkpoints"
"""The text if there are no flows."""
NO_CHECKPOINTS = "no checkpoints of MirrorMaker 2 here: they come with the first offset that a group commits there"
NO_SYNCS = "no offset syncs here: by default they are at the source (offset-syncs.topic.location of MirrorMaker)"
