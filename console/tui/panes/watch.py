"""The pane of the topics, groups, brokers, connectors and schemas that the operator watches, in one table, the worst
first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime

from console.admin.partitions import newest_records
from console.language.verbs.watch import subject_text, subjects_text
from console.model import watched
from console.model.codes import CONNECTOR
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.grouping import grouped
from console.model.half_hour import Kind
from console.model.parts import Part
from console.model.rates import NOT_POLLED
from console.model.topic_readers import TopicLags
from console.present import watched as present_watched
from console.present.names import plural
from console.present.text import Line, clean
from console.session.connector_reads import sink_groups
from console.tui import keymap
from console.tui.panes.details import GAP, DetailsView
from console.tui.panes.rates import ShownRates, read_rates
from console.tui.places import Place, pane_named, view_place
from console.tui.tools import Tools
from widgets.row_table import RowTable

MOST_PLACES = 500
"""Maximum number of partitions whose newest record is read in one `read_more`."""


class WatchTable(RowTable):
    """A table whose rows have graphs of the last half hour. Details are next to the table only if it keeps its long
    graphs.
    """

    KEEPS_COLUMNS = True

    def hides_columns(self, width: int) -> bool:
        """Return whether, in a view of this width in cells, the graphs are in their short form, or columns do not
        fit.
        """
        return width < present_watched.WIDE or super().hides_columns(width)


class WatchView(DetailsView[present_watched.WatchRow]):
    """One row for each entity that a watched subject (a name or a pattern) matches; Enter shows the entity in its own
    pane.
    """

    NAME = keymap.WATCH
    PARTS = frozenset({Part.TOPICS, Part.GROUPS, Part.LAGS, Part.CLUSTER, Part.CONNECT, Part.SCHEMAS})
    ENTER = "open"
    NOUN = present_watched.WATCHED
    EMPTY = (
        "nothing is watched: `:watch topic NAME, group NAME`, or `f` on a row of Topics, Groups, Brokers, Connectors"
    )
    CALM = "nothing that is watched is in trouble"
    MORE_EVERY = 1
    ROW_TABLE = WatchTable

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.table.folds = False  # `note` has the whole state of the row under the cursor
        self._watching = self.cluster.watching()
        self._rates = ShownRates(self)
        self._lags = TopicLags()
        self._newest: Mapping[str, datetime] = {}
        self._was_read: tuple[watched.Watched, ...] = ()

    @property
    def _is_wide(self) -> bool:
        """Whether the table is wide enough for the long form of the graphs."""
        return self.size.width - (self.room[0] + GAP if self.has_class("wide") else 0) >= present_watched.WIDE

    def subject(self) -> tuple[Kind, str] | None:
        """Return the topic, group or broker under the cursor as kind and name; None for any other entity, and for a
        subject that matches none.
        """
        row = self.row()
        of = present_watched.LINES.get(row.subject.kind) if row is not None and row.is_found else None
        return (of[0], row.name) if row is not None and of is not None else None

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the watched subjects, parts of the snapshot, the samples of
        the graphs, and the width.
        """
        known = self.snapshot
        self._lags = self._lags.after(known)
        return (
            self._watching.subjects,
            self._was_read,
            *(known.topics, known.configs, known.groups, known.lags, known.lag_trends),
            *(known.cluster, known.log_dirs, known.connect, known.schemas),
            *(self._lags.topics, self._rates.by_topic(), self._newest, self.own_samples()),
            self._is_wide,
        )

    async def read(self) -> None:
        """Read the parts of the snapshot that the watched subjects need. Raises AdminError."""
        session, reading = self.session, self.cluster.reading
        subjects = self._watching.subjects
        kinds = {each.kind for each in subjects}
        reads = [session.read_cluster()]
        if kinds & {watched.TOPIC, watched.BROKER}:
            reads.append(self._read_topics())
        reads += [session.read_whole(Part.GROUPS)] if watched.GROUP in kinds else []
        if watched.CONNECTOR in kinds and session.context.settings.connect:
            reads.append(session.read_whole(Part.CONNECT))
        if watched.SCHEMA in kinds and session.context.schemas is not None:
            reads.append(session.read_whole(Part.SCHEMAS))
        await asyncio.gather(*reads)
        read_rates(self, [known for each in self._shown(watched.TOPIC) if (known := self.snapshot.topics.get(each))])
        self._was_read = subjects
        if not reading.at_controllers:  # controllers report no rates and no lags
            self.cluster.half_hour.begin()
        self.update()

    async def _read_topics(self) -> None:
        if not await self.cluster.reading.whole(Part.TOPICS):
            await self.session.read_topics(self._shown(watched.TOPIC))
        await self.session.read_configs([topic_resource(name) for name in self._shown(watched.TOPIC)])

    def _shown(self, kind: str) -> list[str]:
        """Return the names of the entities of a kind whose rows are on the screen."""
        return [row.name for row in self.visible_rows() if row.is_found and row.subject.kind == kind]

    async def read_more(self) -> None:
        """Read the lag of the groups on the screen, and the times of the newest records; if connectors are watched,
        also the lag of the sinks' groups; if brokers are watched, also their disks.
        """
        session, kinds = self.session, {each.kind for each in self._watching.subjects}
        groups = self._shown(watched.GROUP)
        if watched.CONNECTOR in kinds and session.context.settings.connect:
            groups += sink_groups(self.snapshot)
        await session.poll_groups(list(dict.fromkeys(groups)))
        if watched.BROKER in kinds:
            await session.read_log_dirs()
        await self._read_newest()

    async def _read_newest(self) -> None:
        known, silent = self.snapshot.topics, self.cluster.contact.silent
        places = [
            (name, each) for name in self._shown(watched.TOPIC) if name in known for each in known[name].partitions
        ]
        led = grouped(
            (each.leader, (name, each.number))
            for name, each in places[:MOST_PLACES]
            if each.leader >= 0 and each.leader not in silent
        )
        # In a replay, don't send this request: the record has the answer only if its console showed the same rows.
        if not led or self.session.front_end == "replay":
            return
        newest: dict[str, int] = {}
        for (name, _), record in (await self.session.client.run(newest_records, led)).items():
            newest[name] = max(record.timestamp, newest.get(name, record.timestamp))
        found = {name: datetime.fromtimestamp(at / 1000, UTC) for name, at in newest.items() if 0 <= at < MOST_TIME}
        if found != self._newest:
            self._newest = found
            self.update()

    def rows(self) -> Sequence[present_watched.WatchRow]:
        """Return the rows of the watched subjects, the worst first; a subject that matches no entity has one row."""
        context, known = self.session.context, self.snapshot
        has = {Part.CONNECT: bool(context.settings.connect), Part.SCHEMAS: context.schemas is not None}
        absent = {part: why for part, why in present_watched.NOT_NAMED.items() if not has[part]}
        moment = self.cluster.half_hour.moment
        is_wide = self._is_wide
        beside = present_watched.Beside(
            self._rates.by_topic() if known.rates is not NOT_POLLED else {},
            self._lags,
            self._newest,
            self.own_samples() if not self.cluster.half_hour.in_words else (),
            present_watched.LINE_CELLS if is_wide else present_watched.SHORT_CELLS,
            moment.at if moment is not None else None,
            self.trouble.found,
            self.cluster.contact.silent,
            self._was_read is self._watching.subjects,
            absent,
        )
        return present_watched.watch_rows(self._watching.subjects, known, beside)

    def key(self, row: present_watched.WatchRow) -> Hashable:
        """Return the row's key: the kind and the name."""
        return row.key

    def key_text(self, key: Hashable) -> str:
        """Return a row's key as text for messages: the kind and the name."""
        return clean(" ".join(key) if isinstance(key, tuple) else str(key), 120)

    def words(self, row: present_watched.WatchRow) -> str:
        """Return the text that the filter searches: the kind, the name and the state."""
        return f"{row.subject.kind} {row.name} {row.state}"

    def in_trouble(self, row: present_watched.WatchRow) -> bool:
        """Return whether the state of the entity is bad."""
        return row.meaning in (present_watched.DANGER, present_watched.FAILED)

    def empty_text(self) -> str:
        """Return the text of a table without rows: why the wanted set can't be watched, else the usual text."""
        return self._watching.problem or super().empty_text()

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the title, and the name of the watched set."""
        named = self._watching.set
        return [("watch", "strong"), *([(f"  {clean(named, 60)}", "")] if named else [])]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of rows in trouble, and of all."""
        bad = sum(map(self.in_trouble, self._all.source.rows))
        return [*([(f"{bad:,} in trouble  ", "failed")] if bad else []), *super().status()]

    def note(self) -> Line:
        """Return the text for the message line: the whole state and values of the row under the cursor, which the
        columns may cut.
        """
        row = self.row()
        if row is None:
            return super().note()
        state = (clean(row.state, 300), row.meaning)
        return [(f"{row.subject.kind} {clean(row.name, 120)}: ", ""), state, (f"  {clean(row.value, 300)}", "muted")]

    def target_of(self, row: present_watched.WatchRow) -> ConfigResource | None:
        """Return the config resource of a topic or a broker; None for any other row."""
        if not row.is_found or row.subject.kind not in (watched.TOPIC, watched.BROKER):
            return None
        return topic_resource(row.name) if row.subject.kind == watched.TOPIC else broker_resource(int(row.name))

    def copied(self) -> str:
        """Return the text that `y` copies: the statement that watches the same subjects."""
        return f"watch {subjects_text(self._watching.subjects)}" if self._watching.subjects else ""

    async def enter(self, row: present_watched.WatchRow) -> None:
        """Show the entity in its own pane; for a subject that matches none, only show a message."""
        if not row.is_found:
            self._message.say(f"{subject_text(row.subject)}: {clean(row.state, 300)}", "muted")
            return
        place, at = place_of(row)
        await self._navigator.goto(place, row=at)

    def do_take_off(self) -> None:
        """Stop watching the subjects of the marked rows, or of the row under the cursor. All rows that a pattern
        matches disappear together.
        """
        subjects = list(dict.fromkeys(row.subject for row in self.rows_meant()))
        self._watching.take_off(subjects)
        self.table.set_marks(())
        self.redraw()
        said = subject_text(subjects[0]) if len(subjects) == 1 else plural(len(subjects), "subject")
        self._message.say(f"not watched any more: {clean(said, 200)}", "muted")


MOST_TIME = 253_402_300_800_000
"""Milliseconds since 1970 at which the year 10,000 begins."""


def place_of(row: present_watched.WatchRow) -> tuple[Place, Hashable | None]:
    """Return the place that shows an entity.

    Returns:
        The place, and the key of the entity's row there; None as key if no single row is about it.
    """
    match row.subject.kind:
        case watched.TOPIC:
            return view_place(keymap.TOPIC)._replace(about=topic_resource(row.name)), None
        case watched.GROUP:
            return view_place(keymap.GROUP)._replace(about=row.name), None
        case watched.BROKER:
            return pane_named(keymap.BROKERS), row.name
        case watched.CONNECTOR:
            return view_place(keymap.CONNECTOR)._replace(about=ConfigResource(CONNECTOR, row.name)), None
        case _:
            return view_place(keymap.SCHEMAS), row.name
