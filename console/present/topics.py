"""Topics and their partitions: the columns of both, marks of staged edits, and texts about trouble of a topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model import cluster
from console.model.changes import TopicTarget
from console.model.codes import TOPIC
from console.model.config import topic_resource
from console.model.inheritance import Inheritance
from console.model.numbers import commas, known_number
from console.model.observers import not_in_sync
from console.model.rates import UNKNOWN, Rate, Rates
from console.model.snapshot import Snapshot
from console.model.time_lag import UNSEEN, Behind
from console.model.topic_readers import TopicLags
from console.plan.amounts import Unit, size
from console.plan.plan import Plan
from console.present import columns
from console.present.names import NOTHING, plural
from console.present.text import Cell, Line, clean, in_columns, plain

if TYPE_CHECKING:
    from console.model.topic_use import TopicUse


class TopicMarks(NamedTuple):
    """The effect of staged edits on topics: the names of those that they create or delete, those that get more
    partitions (with the new number), and those whose configs they change.
    """

    created: Mapping[str, int]
    deleted: frozenset[str]
    grown: Mapping[str, int]
    edited: frozenset[str]


MOST_OUT = 12
"""Maximum number of partitions in trouble that the details of a topic list; the others are counted."""
NO_MARKS = TopicMarks({}, frozenset(), {}, frozenset())


def topic_marks(plan: Plan) -> TopicMarks:
    """Return the effect of the plan's edits on topics."""
    if not plan.staged:
        return NO_MARKS
    # Import the kinds of edits late, only once an edit is staged.
    from console.plan.diff import after
    from console.plan.kinds.registry import kind_of

    unread = Inheritance(Snapshot())
    counts: dict[str, dict[str, int]] = {"create": {}, "grow": {}, "delete": {}}
    edited: set[str] = set()
    for staged in plan.staged:
        target, verb = staged.edit.target, kind_of(staged.edit).verb
        if isinstance(target, TopicTarget) and verb in counts:
            count = after(staged.edit, None, unread).value
            counts[verb][target.name] = count if isinstance(count, int) else -1
        elif staged.edit.on_topic is not None:
            edited.add(staged.edit.on_topic)
    return TopicMarks(counts["create"], frozenset(counts["delete"]), counts["grow"], frozenset(edited))


def _unread(_name: str) -> None:
    """Return None: the data about the topic were not read."""


class TopicFacts(NamedTuple):
    """Data about topics that a `Topic` does not have, by the topic's name. They are looked up only for rows that are
    shown or sorted.
    """

    overrides: Callable[[str], int | None] = _unread
    """Returns the number of configs that a topic overrides; None if they were not read."""
    size: Callable[[str], int | None] = _unread
    """Returns the size of all replicas of a topic on disk, bytes; None if unknown."""
    changed: Callable[[str], datetime | None] = _unread
    """Returns the time at which kac last saw a change of a topic; None if it saw none."""
    rates: Mapping[str, Rate] = MappingProxyType({})
    """Topic -> the rate of writes to it; topics whose rate is unknown are missing."""
    marks: TopicMarks = NO_MARKS
    """The effect of staged edits on topics."""
    lags: TopicLags = TopicLags()
    """The lags of the groups that read the topics."""


NO_FACTS = TopicFacts()


def override_count(snapshot: Snapshot, name: str) -> int | None:
    """Return the number of configs that a topic overrides; None if they were not read."""
    # A plain tuple equals the resource and takes half the time to create: sorting needs 100,000.
    entries = snapshot.configs.get((TOPIC, name))  # type: ignore[call-overload]
    return None if entries is None else entries.count_overrides(_ANY_TOPIC)


_ANY_TOPIC = topic_resource("")


def unread_count(snapshot: Snapshot) -> int:
    """Return the number of topics whose configs were not read."""
    return max(0, len(snapshot.topics) - sum(resource.type == TOPIC for resource in snapshot.configs))


def size_on_disk(log_dirs: Mapping[int, tuple[cluster.LogDir, ...]], name: str) -> int | None:
    """Return the size of all replicas of a topic on disk, bytes; None if no size is known."""
    # A directory that did not answer has no sizes; a sum of 0 would look like an empty topic.
    held = [size for dirs in log_dirs.values() for each in dirs if (size := each.sizes.get(name)) is not None]
    return sum(held) if held else None


def state_letter(topic: cluster.Topic) -> Cell:
    """Return ``!`` for a topic with partitions that are offline or under-replicated; blank for any other."""
    return ("!", "failed") if topic.offline or topic.under_replicated else ""


def plan_letter(name: str, marks: TopicMarks) -> Cell:
    """Return the letter for the effect of staged edits on a topic: ``+`` creates it, ``-`` deletes it, ``*`` changes
    it; blank for no effect.
    """
    if name in marks.deleted:
        return ("-", "danger")
    if name in marks.created:
        return ("+", "pending")
    return ("*", "pending") if name in marks.edited or name in marks.grown else ""


class TopicRow(NamedTuple):
    """A topic, and the data about topics."""

    topic: cluster.Topic
    facts: TopicFacts = NO_FACTS


def _partitions_cell(row: TopicRow) -> Cell:
    parts, grown = str(len(row.topic.partitions)), row.facts.marks.grown.get(row.topic.name)
    return (f"{parts}→{grown}", "pending") if grown else parts


def _bytes_on_disk(row: TopicRow) -> int | None:
    return row.facts.size(row.topic.name)


def _topic_rate(row: TopicRow) -> Rate:
    return row.facts.rates.get(row.topic.name, UNKNOWN)


def _reading_groups(row: TopicRow) -> int | None:
    lag = row.facts.lags.of(row.topic.name)
    return None if lag is None else lag.groups


def _behind(row: TopicRow) -> Behind:
    lag = row.facts.lags.of(row.topic.name)
    return UNSEEN if lag is None else lag.behind


def _failed_count(count: int) -> Cell:
    return (str(count), "failed") if count else ""


TOPICS: columns.Columns[TopicRow] = columns.Columns(
    columns.letter_column("state", lambda row: state_letter(row.topic)),
    columns.letter_column("staged", lambda row: plan_letter(row.topic.name, row.facts.marks)),
    columns.Column(
        "name",
        get=lambda row: row.topic.name,
        title="Topic",
        cell=lambda row: (clean(row.topic.name), "danger" if row.topic.name in row.facts.marks.deleted else ""),
        layout=columns.on_screen((20, 90), flex=1, sort_key="N"),
    ),
    columns.Column(
        "partitions",
        get=lambda row: len(row.topic.partitions),
        type="number",
        key="partition_count",
        title="Partitions",
        cell=_partitions_cell,
        order=lambda row: (-len(row.topic.partitions), row.topic.name),
        layout=columns.on_screen((5, 11), "Part", priority=80, sort_key="P"),
    ),
    columns.Column(
        "replication",
        get=lambda row: row.topic.replication,
        type="number",
        key="replication_factor",
        title="Replication",
        order=lambda row: (-row.topic.replication, row.topic.name),
        layout=columns.on_screen(3, "RF", priority=60, sort_key="F"),
    ),
    columns.Column(
        "under_replicated",
        get=lambda row: row.topic.under_replicated,
        type="number",
        title="Under-replicated",
        cell=lambda row: _failed_count(row.topic.under_replicated),
        order=lambda row: (-row.topic.under_replicated, row.topic.name),
        layout=columns.on_screen(4, "URP", priority=90, sort_key="R"),
    ),
    columns.Column(
        "offline",
        get=lambda row: row.topic.offline,
        type="number",
        title="Offline",
        cell=lambda row: _failed_count(row.topic.offline),
        order=lambda row: (-row.topic.offline, row.topic.name),
        layout=columns.on_screen(4, "Off", priority=85, sort_key="L"),
    ),
    columns.Column(
        "internal",
        columns.LISTED | columns.DETAIL,
        lambda row: row.topic.internal,
        "boolean",
        text=lambda row: "internal" if row.topic.internal else "",
    ),
    columns.overrides_column(lambda row: row.facts.overrides(row.topic.name), 70),
    columns.Column(
        "size",
        get=_bytes_on_disk,
        type="number",
        unit=Unit.BYTES,
        unknown=True,
        cell=lambda row: "" if (held := _bytes_on_disk(row)) is None else size(held),
        layout=columns.on_screen(8, priority=40, sort_key="Z"),
    ),
    *columns.rate_columns(_topic_rate, bytes_priority=28, records_priority=20),
    columns.Column(
        "groups",
        columns.OVER_POLLS,
        _reading_groups,
        "number",
        unknown=True,
        cell=lambda row: "·" if (count := _reading_groups(row)) is None else str(count or ""),
        layout=columns.on_screen(4, "Grps", priority=16),
    ),
    columns.Column(
        "lag_seconds",
        columns.OVER_POLLS,
        lambda row: None if (seconds := _behind(row).seconds) is None else round(seconds),
        "number",
        Unit.SECONDS,
        part=lambda row: _behind(row).least,
        unknown=True,
        cell=lambda row: columns.behind_text(_behind(row)) if _reading_groups(row) else "",
        order=lambda row: columns.highest_first(_behind(row).seconds),
        layout=columns.on_screen(9, "Behind", priority=18, sort_key="T"),
    ),
    columns.changed_column(lambda row: row.facts.changed(row.topic.name)),
    orders={"list": ("name", "size")},
)
"""The columns of topics. size: bytes of all replicas on disk. groups: the number of groups that read the topic.
lag_seconds: the longest time for which a record has waited for one of these groups. Groups that were not read are
not counted.
"""


def created_topic(name: str, partitions: int) -> cluster.Topic:
    """Return a topic that a staged edit creates, as if it existed; its partitions have no replicas."""
    return cluster.Topic(name, tuple(cluster.Partition(number, -1, (), ()) for number in range(max(partitions, 0))))


def trouble(topic: cluster.Topic, min_isr: int | None) -> Line:
    """Return a line about the worst trouble of a topic; empty if it has none.

    Args:
        min_isr: the effective ``min.insync.replicas`` of the topic; None if it is unknown.
    """
    if topic.offline:
        return [
            (f"{clean(topic.name)}: {topic.offline} of {len(topic.partitions)} partitions have no leader", "failed")
        ]
    # Below min.insync.replicas, writes with acks=all fail: that is worse than a replica that lags.
    below = [p for p in topic.partitions if min_isr is not None and len(p.isr) < min_isr]
    if below:
        leaders = sorted({p.leader for p in below})
        return [
            (f"{clean(topic.name)}: ISR below min.insync.replicas ({min_isr}) on {_partitions(len(below))}", "failed"),
            (f"; leaders on {_ids(leaders)}", ""),
        ]
    if topic.under_replicated:
        missing = sorted({r for p in topic.partitions for r in not_in_sync(p)})
        return [
            (f"{clean(topic.name)}: {_partitions(topic.under_replicated)} under-replicated", "failed"),
            (f"; missing from the ISR: {_ids(missing)}", ""),
        ]
    return []


def topic_lines(row: TopicRow, wrong: Line, sets: Sequence[Line]) -> list[Line]:
    """Return the summary of a topic: its trouble and the first partitions in trouble, its overrides, and the groups
    that read it.

    Args:
        row: the topic.
        wrong: the line about its worst trouble (`trouble`); empty if it has none.
        sets: a line for each config key that the topic overrides.
    """
    topic, lags = row.topic, row.facts.lags
    lines: list[Line] = [_without(f"{clean(topic.name)}: ", wrong)] if wrong else []  # the title has the name
    out = [each for each in map(PartitionRow, topic.partitions) if plain(_state(each))]
    lines += in_columns([_where(each) for each in out[:MOST_OUT]], right={0, 1})
    if len(out) > MOST_OUT:
        lines.append([(f"and {plural(len(out) - MOST_OUT, 'more partition')}", "muted")])
    lines += [[], [("Sets", "header")], *sets] if lines else [[("Sets", "header")], *sets]
    lines += [[], [("Read by", "header")]]
    readers = lags.readers(topic.name)
    lines += in_columns([[clean(name), columns.behind_text(behind)] for name, behind in readers], right={1})
    if not readers:
        known = lags.of(topic.name) is not None
        lines.append([("no group that commits" if known else "not known yet: groups are still being read", "muted")])
    return lines


def _without(start: str, line: Line) -> Line:
    (text, meaning), *others = line
    return [(text.removeprefix(start), meaning), *others]


def _state(row: PartitionRow) -> Cell:
    bad = row.partition.leader < 0 or row.partition.under_replicated
    return ("!", "failed") if bad else ""


def _where(row: PartitionRow) -> list[Cell]:
    """Return a partition in trouble as cells: its number, its leader if it has one, and its trouble."""
    leader = row.partition.leader
    led: Cell = (f"leader {leader}", "") if leader >= 0 else ""
    return [f"{row.partition.number}", led, _partition_wrong(row)]


def _partitions(count: int) -> str:
    return f"{count} partition" + ("" if count == 1 else "s")


def _ids(ids: Collection[int]) -> str:
    return ", ".join(str(i) for i in ids) or NOTHING


class PartitionRow(NamedTuple):
    """A partition, its present move, the rate of writes to it, and its offsets in tiered storage."""

    partition: cluster.Partition
    move: cluster.Reassignment | None = None
    rate: Rate = UNKNOWN
    tiered: cluster.TieredOffsets | None = None


def rows_of_partitions(
    topic: cluster.Topic,
    moves: Iterable[cluster.Reassignment],
    rates: Rates,
    tiered: Mapping[tuple[str, int], cluster.TieredOffsets] | None = None,
) -> list[PartitionRow]:
    """Return the rows of a topic's partitions, by number.

    Args:
        topic: the topic.
        moves: the reassignments in progress, of any topics.
        rates: the rates of any partitions.
        tiered: (topic, partition) -> its offsets in tiered storage; None if they were not read.
    """
    by_place = tiered or {}
    moving = {move.partition: move for move in moves if move.topic == topic.name}
    return [
        PartitionRow(
            partition,
            moving.get(partition.number),
            rates.of(topic.name, partition.number),
            by_place.get((topic.name, partition.number)),
        )
        for partition in topic.partitions
    ]


def tiered_text(tiered: cluster.TieredOffsets | None) -> str:
    """Return the ranges of offsets of a partition in tiered storage and on the leader's disk; ``""`` if they are
    unknown.
    """
    if tiered is None:
        return ""
    if tiered.tiered_to is None:
        return f"local from {tiered.local_from:,}"
    return (
        f"tiered to {tiered.tiered_to:,}, local from {tiered.local_from:,}" if tiered.tiered_to >= 0 else "none tiered"
    )


def _partition_wrong(row: PartitionRow) -> Cell:
    partition = row.partition
    if row.move is not None and partition.leader >= 0:
        return (f"moves {commas(cluster.original(row.move))} → {commas(cluster.destination(row.move))}", "pending")
    if partition.error:
        return (clean(partition.error), "failed")
    if partition.leader < 0:
        return ("no leader", "failed")
    if partition.under_replicated:
        return (f"missing {_ids(not_in_sync(partition))}", "failed")
    is_preferred = not partition.replicas or partition.leader == partition.replicas[0]
    if is_preferred and partition.observers:
        return (f"observer{'s' if partition.observers[1:] else ''} {_ids(partition.observers)}", "muted")
    return (tiered_text(row.tiered) if is_preferred else f"preferred {partition.replicas[0]}", "muted")


def partition_columns(rows: Iterable[PartitionRow]) -> columns.Columns[PartitionRow]:
    """Return the columns of a topic's partitions; those of tiered storage only if a partition has offsets there."""
    tiered = {"local_from", "tiered_to", "pending_from"}
    return PARTITIONS if any(row.tiered is not None for row in rows) else PARTITIONS.without(tiered)


def _tiered_column(
    name: str, title: str, of: Callable[[cluster.TieredOffsets], int | None]
) -> columns.Column[PartitionRow]:
    """Return the column of an offset in tiered storage; a negative offset means that there is no record."""

    def offset(row: PartitionRow) -> int | None:
        return None if row.tiered is None else of(row.tiered)

    def text(row: PartitionRow) -> str:
        found = offset(row)
        return "" if found is None else "none" if found < 0 else str(found)

    def value(row: PartitionRow) -> int | None:
        found = offset(row)
        return None if found is None else known_number(found)

    return columns.Column(name, columns.LISTED, value, "number", title=title or None, text=text)


def _partition_rate(row: PartitionRow) -> Rate:
    return row.rate


PARTITIONS: columns.Columns[PartitionRow] = columns.Columns(
    columns.Column("state", columns.SHOWN, title="", cell=_state, layout=columns.on_screen(2, gutter=True)),
    columns.Column("partition", get=lambda row: row.partition.number, type="number", layout=columns.on_screen(9)),
    columns.Column(
        "leader",
        get=lambda row: known_number(row.partition.leader),
        type="number",
        cell=lambda row: (NOTHING, "failed") if row.partition.leader < 0 else str(row.partition.leader),
        layout=columns.on_screen(6, priority=95),
    ),
    columns.Column(
        "replicas",
        get=lambda row: list(row.partition.replicas),
        type="object",
        text=lambda row: commas(row.partition.replicas),
        layout=columns.on_screen((8, 30), priority=90),
    ),
    columns.Column(
        "isr",
        get=lambda row: list(row.partition.isr),
        type="object",
        cell=lambda row: (commas(row.partition.isr), "failed" if row.partition.under_replicated else ""),
        layout=columns.on_screen((5, 30), "ISR", priority=92),
    ),
    columns.Column(
        "offline",
        get=lambda row: list(row.partition.offline),
        type="object",
        text=lambda row: commas(row.partition.offline),
        layout=columns.on_screen((7, 20), priority=40),
    ),
    columns.Column(
        "moves_from",
        columns.DATA,
        lambda row: list(cluster.original(row.move)) if row.move is not None else columns.ABSENT,
        "object",
    ),
    columns.Column(
        "moves_to",
        columns.DATA,
        lambda row: list(cluster.destination(row.move)) if row.move is not None else columns.ABSENT,
        "object",
    ),
    *columns.rate_columns(_partition_rate, bytes_priority=45, records_priority=35),
    columns.Column("local_from", columns.LISTED, lambda row: row.tiered and row.tiered.local_from, "number"),
    _tiered_column("tiered_to", "", lambda tiered: tiered.tiered_to),
    _tiered_column("pending_from", "To copy from", lambda tiered: tiered.pending_from),
    columns.Column(
        "note",
        columns.SHOWN,
        title="",
        cell=_partition_wrong,
        layout=columns.on_screen((20, None), columns.BLANK, flex=1, priority=60),
    ),
)
"""The columns of one topic's partitions."""


USES: columns.Columns[TopicUse] = columns.Columns(
    columns.Column("what", columns.TOLD, type="word", title="Does"),
    columns.Column("who", columns.TOLD),
    columns.Column("sure", columns.TOLD, type="word", title="How sure"),
    columns.Column("why", columns.TOLD),
)
"""The columns of the uses of a topic by clients; the most certain ones come first."""
