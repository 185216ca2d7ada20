"""The watched topics, groups, brokers, connectors and schemas as rows of one table, the worst first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from math import ceil, log2
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model import half_hour, watched
from console.model.cluster import Group, Topic
from console.model.config import min_isr
from console.model.name_order import in_order
from console.model.numbers import Data
from console.model.parts import Part
from console.model.rates import UNKNOWN, Rate
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicLags
from console.model.watched import Watched
from console.plan.amounts import size
from console.plan.plan import EMPTY
from console.present import brokers, columns, connectors, groups, schemas
from console.present.graphs import BLOCKS, MOMENT
from console.present.names import plural
from console.present.text import Cell, clean, plain

if TYPE_CHECKING:
    from console.triage.trouble import Troubles

DANGER, FAILED, UNREAD, CHANGES, FINE = "danger", "failed", "pending", "changed", ""
_RANKS = {DANGER: 0, FAILED: 1, UNREAD: 2, CHANGES: 3, FINE: 4, "muted": 5}
"""Meaning of a state's colour -> its rank; the worst has rank 0."""
LINES: Mapping[str, tuple[half_hour.Kind, tuple[str, ...]]] = {
    watched.TOPIC: ("topic", ("bytes in",)),
    watched.GROUP: ("group", ("behind", "lag")),
    watched.BROKER: ("broker", ("written", "leaders")),
}
"""Kind of a subject -> its kind in the samples of the half hour, and the names of sampled values. The graph of a row
shows the first of these values that is known.
"""
NOT_NAMED = {Part.CONNECT: "no Connect cluster is named", Part.SCHEMAS: "no registry is named"}
"""Part of the snapshot -> the reason why it may not be readable: the context does not name the service."""
WIDE, LINE_CELLS, SHORT_CELLS = 150, 45, 15
"""Number of cells of a screen from which on a row's graph has `LINE_CELLS` columns; below it has `SHORT_CELLS`."""


class Beside(NamedTuple):
    """The data that the rows of the pane need besides the snapshot."""

    rates: Mapping[str, Rate] = MappingProxyType({})
    """Topic -> the rate of writes to it; topics whose rate is unknown are missing."""
    lags: TopicLags = TopicLags()
    """The lags of the groups that read the topics."""
    newest: Mapping[str, datetime] = MappingProxyType({})
    """Topic -> the time of its newest record, UTC."""
    samples: Sequence[half_hour.OwnSample] = ()
    """The samples of the half hour, the earliest first."""
    columns: int = LINE_CELLS
    """The number of columns of each row's graph."""
    moment: int | None = None
    """A time in the marked column of the graphs, Unix seconds; None if no column is marked."""
    troubles: Troubles | None = None
    """Everything in the cluster that is in trouble; None if unknown."""
    silent: Collection[int] = frozenset()
    is_read: bool = True
    """Whether the data of the watched entities were read at least once."""
    absent: Mapping[Part, str] = MappingProxyType({})
    """Part of the snapshot -> the reason why it can't be read in this context."""


class WatchRow(NamedTuple):
    """An entity that is watched, or a watched subject (a name or a pattern) that matches no entity."""

    subject: Watched
    """The subject that matches the entity."""
    name: str
    state: str
    """The state of the entity, untrusted text."""
    meaning: str = FINE
    value: str = ""
    """The main values of the entity, untrusted text."""
    line: str = ""
    data: Mapping[str, Data] = MappingProxyType({})
    """Further fields of the row's object in JSON."""
    is_found: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """The row's key: the kind and the name of the entity. If several subjects match an entity, it has a single
        row: that of the first subject.
        """
        return self.subject.kind, self.name


class _State(NamedTuple):
    state: str
    meaning: str = FINE
    value: str = ""
    data: Mapping[str, Data] = MappingProxyType({})


def watch_rows(subjects: Iterable[Watched], snapshot: Snapshot, beside: Beside) -> list[WatchRow]:
    """Return a row for each entity that is watched, and for each subject that matches no entity. The worst come first;
    equally bad ones in the order of the subjects.
    """
    made = _Rows(snapshot, beside)
    rows: dict[tuple[str, str], WatchRow] = {}
    for subject in subjects:
        for row in made.of(subject):
            rows.setdefault(row.key, row)
    return worst_first(rows.values())


def worst_first(rows: Iterable[WatchRow]) -> list[WatchRow]:
    """Return the rows with the worst state first; equally bad ones keep their order."""
    return sorted(rows, key=lambda row: _RANKS[row.meaning])


class _Rows:
    """Makes the rows of subjects. Data that several subjects need are computed once."""

    def __init__(self, snapshot: Snapshot, beside: Beside) -> None:
        self._snapshot, self._beside = snapshot, beside
        self._brokers: Mapping[str, brokers.BrokerRow] | None = None
        self._connectors: Mapping[str, connectors.ConnectorRow] | None = None
        self._schemas: Mapping[str, schemas.SchemaRow] | None = None

    def of(self, subject: Watched) -> Iterator[WatchRow]:
        """Yield the rows of the entities that a subject matches; one row if it matches none."""
        # Make the rows of a kind once for all subjects: a pattern may match 10,000 topics.
        names, state, part = self._kind(subject.kind)
        found = subject.among(names)
        for name in found:
            yield WatchRow(subject, name, *state(name)[:3], line=self._line(subject.kind, name), data=state(name).data)
        if not found:
            yield WatchRow(subject, subject.name, *self._missing(subject, part), is_found=False)

    def _kind(self, kind: str) -> tuple[Sequence[str], Callable[[str], _State], Part]:
        """Return for a kind of entity: the names of all entities, the function that returns the state of one by name,
        and the part of the snapshot.
        """
        known = self._snapshot
        match kind:
            case watched.TOPIC:
                return in_order(known.topics), lambda name: self._topic(known.topics[name]), Part.TOPICS
            case watched.GROUP:
                return in_order(known.groups), lambda name: self._group(known.groups[name]), Part.GROUPS
            case watched.BROKER:
                if self._brokers is None:
                    loads = brokers.broker_loads(known)
                    rows = brokers.broker_rows(known, EMPTY, loads)
                    self._brokers = {row.key: row for row in rows if row.broker is not None}
                mine = self._brokers
                return [*mine], lambda name: self._broker(mine[name]), Part.CLUSTER
            case watched.CONNECTOR:
                if self._connectors is None:
                    self._connectors = {row.name: row for row in connectors.connector_rows(known)}
                rows_of = self._connectors
                return [*rows_of], lambda name: _connector(rows_of[name]), Part.CONNECT
            case _:
                if self._schemas is None:
                    self._schemas = {row.name: row for row in schemas.schema_rows(known)}
                subjects = self._schemas
                return [*subjects], lambda name: _schema(subjects[name]), Part.SCHEMAS

    def _missing(self, subject: Watched, part: Part) -> tuple[str, str]:
        """Return why a subject matches no entity, and the meaning of the text's colour."""
        # A part that this front end never reads would stay "reading" forever.
        if (why := self._beside.absent.get(part)) is not None:
            return f"not read: {why}", UNREAD
        failures = [each for each in self._snapshot.failures if each.part == part]
        failed = next((each for each in failures if each.entity in ("", subject.name)), None)
        # Any failure may be the reason: that of a Connect cluster, for example, names the cluster, not its connectors.
        if failed is None and (subject.is_pattern or part in (Part.CONNECT, Part.SCHEMAS)):
            failed = next(iter(failures), None)
        if failed is not None:
            return f"not read: {failed.failure}", UNREAD
        if not self._beside.is_read:
            return "reading", "muted"
        return f"no {subject.kind} matches" if subject.is_pattern else f"no such {subject.kind}", FAILED

    def _line(self, kind: str, name: str) -> str:
        if kind not in LINES or not self._beside.samples:
            return ""
        of, wanted = LINES[kind]
        values = half_hour.own_values(self._beside.samples, of, name)
        what = next((each for each in wanted if each in values), None)
        if what is None:
            return ""
        newest, columns = self._beside.samples[-1].slot, self._beside.columns
        return marked(line_of(values[what], newest, columns), newest, self._beside.moment)

    def _topic(self, topic: Topic) -> _State:
        rate = self._beside.rates.get(topic.name, UNKNOWN)
        # Brokers count the bytes that are written, not those that are read: commits are the only evidence of reading.
        out = _read_rate(self._snapshot, [name for name, _ in self._beside.lags.readers(topic.name)], topic.name)
        newest = self._beside.newest.get(topic.name)
        told = [
            f"in {size(round(rate.bytes))}/s" if rate.bytes is not None else "",
            f"{plain(columns.records_cell(rate.records))} rec/s" if rate.records is not None else "",
            f"out {plain(columns.records_cell(out))} rec/s" if out is not None else "",
            f"newest {columns.clock(newest)}" if newest is not None else "",
        ]
        data: dict[str, Data] = {
            "under_replicated": topic.under_replicated,
            "offline": topic.offline,
            "bytes_per_second": columns.rate_value(rate.bytes),
            "records_per_second": columns.rate_value(rate.records),
            "read_per_second": columns.rate_value(out),
            "newest": newest.isoformat() if newest is not None else None,
        }
        state, meaning = self._topic_state(topic)
        return _State(state, meaning, "  ".join(filter(None, told)), data)

    def _topic_state(self, topic: Topic) -> tuple[str, str]:
        least = min_isr(self._snapshot.configs, topic.name)
        below = sum(least is not None and len(each.isr) < least for each in topic.partitions)
        if topic.offline:
            return f"{topic.offline:,} of {len(topic.partitions):,} offline", DANGER
        if below:
            return f"{below:,} below min ISR", DANGER
        if topic.under_replicated:
            return f"URP {topic.under_replicated:,} of {len(topic.partitions):,}", FAILED
        troubles = self._beside.troubles
        return ("in trouble", FAILED) if troubles is not None and topic.name in troubles.topics else ("ok", FINE)

    def _group(self, group: Group) -> _State:
        snapshot, troubles = self._snapshot, self._beside.troubles
        row = groups.GroupRow(group, snapshot.lags.get(group.name), snapshot.lag_trends.get(group.name))
        lag, behind = row.lag, row.behind
        rate = columns.rate_value(row.rate)
        told = [
            f"lag {groups.lag_total(lag)}" if lag is not None else "",
            columns.behind_text(behind) if behind.seconds is not None else "",
            f"{groups.rate_text(row.rate)}/s" if rate else "",
            f"{row.stuck:,} stuck" if row.stuck else "",
        ]
        is_bad = bool(row.stuck) or (troubles is not None and group.name in troubles.groups)
        meaning = FAILED if is_bad else groups.state_meaning(group.state)
        data: dict[str, Data] = {
            "lag": lag.known_total if lag is not None else None,
            "lag_seconds": round(behind.seconds) if behind.seconds is not None else None,
            "lag_seconds_is_part": behind.least,
            "rate": rate,
            "stuck": row.stuck,
        }
        return _State(group.state, meaning, "  ".join(filter(None, told)), data)

    def _broker(self, row: brokers.BrokerRow) -> _State:
        assert row.broker is not None
        troubles, load = self._beside.troubles, row.load
        state, meaning = "up", FINE
        if row.broker.port < 0:
            state, meaning = "down", DANGER
        elif row.broker.fenced:
            state, meaning = "fenced", DANGER
        elif row.broker.id in self._beside.silent:
            state, meaning = "does not answer", DANGER
        elif load.out_of_sync:
            state, meaning = f"{load.out_of_sync:,} out of sync", FAILED
        elif troubles is not None and row.broker.id in troubles.brokers:
            state, meaning = "in trouble", FAILED
        disk = brokers.disk(row.dirs)
        told = [f"leads {load.leaders:,}", f"disk {plain(disk)}" if disk else ""]
        data: dict[str, Data] = {
            "leaders": load.leaders,
            "out_of_sync": load.out_of_sync,
            "size": sum(each.size for each in row.dirs) if row.dirs is not None else None,
        }
        return _State(state, meaning, "  ".join(filter(None, told)), data)


def _connector(row: connectors.ConnectorRow) -> _State:
    tasks = row.connector.tasks
    meaning = FAILED if row.in_trouble else connectors.state_meaning(row.state)
    told = [f"tasks {connectors.tasks_text(tasks)}" if row.unanswered is None else "", row.cause]
    state = row.state if row.unanswered is None else f"not read: {row.unanswered}"
    data: dict[str, Data] = {
        "tasks": len(tasks),
        "tasks_failed": len(row.connector.tasks_in("FAILED")),
        "cause": row.cause or None,
    }
    return _State(state, meaning if row.unanswered is None else UNREAD, "  ".join(filter(None, told)), data)


def _schema(row: schemas.SchemaRow) -> _State:
    level = row.value("compatibility") or ""
    told = [plural(len(row.subject.versions), "version"), f"used by {plural(len(row.topics), 'topic')}"]
    state = "deleted" if row.subject.is_deleted else level or "ok"
    data: dict[str, Data] = {"compatibility": level or None, "versions": len(row.subject.versions)}
    return _State(state, CHANGES if row.nothing_checked else FINE, "  ".join(told), data)


def _read_rate(snapshot: Snapshot, readers: Iterable[str], topic: str) -> float | None:
    """Return the total growth of the offsets that groups commit in a topic, records/s; None until two polls show it for
    at least one group.
    """
    total: float | None = None
    for name in readers:
        trend = snapshot.lag_trends.get(name)
        # A single poll, or two at the same time, show no speed.
        if trend is None or trend.last is trend.base or trend.last.at <= trend.base.at:
            continue
        # Ignore a reset, which moves an offset back, and a first commit, which has nothing before it: neither is
        # reading.
        before = {each.partition: each.committed for each in trend.base.lag.partitions if each.topic == topic}
        moved = sum(
            each.committed - before[each.partition]
            for each in trend.last.lag.partitions
            if each.topic == topic and 0 <= before.get(each.partition, -1) <= each.committed
        )
        total = (total or 0.0) + moved / (trend.last.at - trend.base.at)
    return total


def line_of(values: Mapping[int, float], newest: int, columns: int) -> str:
    """Return values over the last half hour as a line of block characters; a blank for an unknown value.

    Args:
        values: number of a sample's slot -> its value.
        newest: the slot at the right edge.
        columns: number of characters, a divisor of the number of samples in half an hour; each shows the highest of its
            values.
    """
    slots = half_hour.OWN_SLOTS // columns
    # Take a power of two: a new highest value then seldom draws the whole line again.
    highest = max(values.values(), default=0.0)
    top = 2.0 ** ceil(log2(highest)) if highest > 0 else 1.0
    line = []
    for column in range(newest // slots - columns + 1, newest // slots + 1):
        known = [values[slot] for slot in range(column * slots, (column + 1) * slots) if slot in values]
        line.append(_block(max(known), top) if known else " ")
    return "".join(line)


def marked(line: str, newest: int, moment: int | None) -> str:
    """Return a line of `line_of` with the sign of the marked column; unchanged if the line does not cover its time.

    Args:
        newest: the slot at the line's right edge.
        moment: a time in the marked column, Unix seconds; None if no column is marked.
    """
    slots = half_hour.OWN_SLOTS // len(line)
    place = -1 if moment is None else moment // half_hour.OWN_EVERY // slots - newest // slots + len(line) - 1
    return f"{line[:place]}{MOMENT}{line[place + 1 :]}" if 0 <= place < len(line) else line


def _block(value: float, top: float) -> str:
    """Return the block character for a value. The first one is only for 0, so that a higher value never looks like
    0.
    """
    return BLOCKS[0] if value <= 0 else BLOCKS[min(len(BLOCKS) - 1, ceil((len(BLOCKS) - 1) * value / top))]


def _state_cell(row: WatchRow) -> Cell:
    sign = "! " if row.meaning in (DANGER, FAILED) else "  "
    return (f"{sign}{clean(row.state, 200)}", row.meaning)


WATCHED: columns.Columns[WatchRow] = columns.Columns(
    columns.Column("kind", columns.LISTED, lambda row: row.subject.kind, "word"),
    columns.Column(
        "name",
        cell=lambda row: [(f"{row.subject.kind} ", "muted"), (clean(row.name, 200), "")],
        text=lambda row: row.name,
        layout=columns.on_screen((18, 60), "What", flex=1, priority=97, sort_key="N"),
    ),
    columns.Column(
        "state",
        cell=_state_cell,
        text=lambda row: row.state,
        order=lambda row: _RANKS[row.meaning],
        layout=columns.on_screen((12, 30), "  State", priority=98, sort_key="S"),
    ),
    columns.Column("troubled", columns.OBJECT, lambda row: row.meaning in (DANGER, FAILED), "boolean"),
    columns.Column("exists", columns.OBJECT, lambda row: row.is_found, "boolean"),
    columns.Column(
        "value", cell=lambda row: clean(row.value, 300), layout=columns.on_screen((18, 80), "Now", flex=2, priority=95)
    ),
    columns.Column("values", columns.OBJECT, lambda row: dict(row.data), "object"),
    columns.Column(
        "line",
        columns.SCREEN,
        cell=lambda row: (row.line, row.meaning or "muted"),
        layout=columns.on_screen((SHORT_CELLS, LINE_CELLS), "Last 30 min", priority=99),
    ),
)
"""The columns of the watched subjects. values: an object whose keys depend on the kind: rates, lag, leaders, tasks or
versions.
"""
