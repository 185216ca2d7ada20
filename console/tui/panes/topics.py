"""The pane of topics, and the view of the partitions of one topic."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import cached_property
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from console.language.quoting import quote
from console.model.cluster import Topic
from console.model.config import ConfigResource, min_isr, topic_resource
from console.model.derived import Derived
from console.model.name_order import in_order
from console.model.parts import Part
from console.model.patterns import literal_pattern
from console.model.rates import NOT_POLLED, Rate
from console.model.system_topics import is_spared
from console.model.topic_readers import TopicLags
from console.plan.edits import CancelMove, DeleteTopic
from console.plan.plan import EMPTY
from console.present import topics as present_topics
from console.present.names import plural
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import FEW, DetailsView
from console.tui.panes.view import View
from console.tui.places import records_in
from console.tui.reading import start
from console.tui.tools import Tools

if TYPE_CHECKING:
    from textual.app import App

    from console.model.half_hour import Kind
    from console.model.snapshot import ReadFailure
    from console.tui.panes.rates import ShownRates


NO_RATES: Mapping[str, Rate] = {}


def show_readers(app: App[Any], tools: Tools, topic: str) -> None:
    """Show the groups that read a topic on a screen above the panes, as the command ``list groups topic=…`` does."""
    from console.language.statements import FieldFilter
    from console.language.verbs.listing import List

    readers = List("groups", fields=(FieldFilter("topic", literal_pattern(topic)),))

    async def show() -> None:
        await tools.execute([readers])

    start(app, show, group="command", name="command")


def show_whose(app: App[Any], tools: Tools, topic: str) -> None:
    """Show the clients that read and write a topic on a screen above the panes, as the command ``whose topic`` does."""
    from console.language.statements import Name
    from console.language.verbs.whose import Whose

    async def show() -> None:
        await tools.execute([Whose(Name(topic))])

    start(app, show, group="command", name="command")


class ListedTopics:
    """The topics that the pane lists, with related data; each kind of data is computed again only if its inputs
    changed.

    Attributes:
        internal: whether internal topics are listed.
        hidden: the number of internal topics that are not listed.
        unread: the number of topics whose overrides have not been read.
    """

    def __init__(self, view: View) -> None:
        """Create the list for a view."""
        self._view, self._cluster = view, view.cluster
        self.internal = False
        self.hidden = 0
        self.unread = 0
        self._marks = present_topics.topic_marks(EMPTY)
        self._topics: Derived[list[Topic]] = Derived([])
        self._lags = TopicLags()

    @cached_property
    def _rates(self) -> ShownRates:
        """The rates of writes by topic, created on first use."""
        from console.tui.panes.rates import ShownRates

        return ShownRates(self._view)

    def rates(self) -> Mapping[str, Rate]:
        """Return topic -> rate of writes; topics whose rate is unknown are missing."""
        known = self._cluster.session.snapshot
        return self._rates.by_topic() if known.rates is not NOT_POLLED else NO_RATES

    def lags(self) -> TopicLags:
        """Return the lags of the groups by the topics that they read."""
        self._lags = self._lags.after(self._cluster.session.snapshot)
        return self._lags

    def topics(self) -> list[Topic]:
        """Return the topics in order of name, including those that staged edits create; internal ones only if
        `internal` is set.
        """
        known, plan = self._cluster.session.snapshot, self._cluster.session.plan
        self.unread = present_topics.unread_count(known)
        return self._topics.of((known.topics, plan.staged, self.internal), self._make_topics)

    def _make_topics(self) -> list[Topic]:
        known, plan = self._cluster.session.snapshot, self._cluster.session.plan
        self._marks = present_topics.topic_marks(plan)
        topics = [known.topics[name] for name in in_order(known.topics)]
        listed = topics if self.internal else [topic for topic in topics if not topic.internal]
        self.hidden = len(topics) - len(listed)
        created = [
            present_topics.created_topic(name, parts)
            for name, parts in self._marks.created.items()
            if name not in known.topics
        ]
        return sorted([*listed, *created], key=attrgetter("name")) if created else listed

    def facts(self) -> present_topics.TopicFacts:
        """Return the related data of all topics: numbers of overrides, sizes, marks of changes, rates, marks of staged
        edits, and lags.
        """
        known, when = self._cluster.session.snapshot, self._cluster.changed.when
        return present_topics.TopicFacts(
            lambda name: present_topics.override_count(known, name),
            lambda name: present_topics.size_on_disk(known.log_dirs, name),
            lambda name: when(topic_resource(name)),
            self.rates(),
            self._marks,
            self.lags(),
        )


class TopicsView(DetailsView[Topic]):
    """One row for each topic; Enter opens it."""

    NAME = keymap.TOPICS
    PARTS = frozenset({Part.TOPICS, Part.LOG_DIRS, Part.CONFIGS})
    NEEDS = Part.TOPICS
    TROUBLED = "topics"
    ENTER = "open"
    NOUN = present_topics.TOPICS
    EMPTY = "no topics: `n` makes one, `i` shows internal ones"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._listed = ListedTopics(self)

    def concerns(self, failure: ReadFailure) -> bool:
        """Return whether a read failure is about topics. The view shows no configs of brokers and loggers."""
        return failure.part != Part.CONFIGS or failure.entity.startswith("topic ")

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the topics, their configs, sizes, rates and lags, and the
        staged edits.
        """
        known = self.snapshot
        return (
            known.topics,
            known.configs,
            known.log_dirs,
            self._listed.rates(),
            self._listed.lags().topics,
            self.plan.staged,
            self.cluster.changed.version,
            known.analyses,
            self.own_samples(),
        )

    def subject(self) -> tuple[Kind, str] | None:
        """Return the topic under the cursor as kind and name, for the graphs; None without rows."""
        topic = self.row()
        return ("topic", topic.name) if topic is not None else None

    async def read(self) -> None:
        """Read all topics if that is due, else those on the screen; then the configs of the topics on the screen. A
        worker reads the rates meanwhile.

        Raises:
            AdminError: no broker answered.
        """
        from console.tui.panes.rates import read_rates

        session = self.session
        read_rates(self, self.visible_rows())
        if not await self.cluster.reading.whole(Part.TOPICS):
            await session.read_topics([topic.name for topic in self.visible_rows()])
        await session.read_configs([topic_resource(name) for name in self._seen()])

    def _seen(self) -> list[str]:
        """Return the names of the topics on the screen; before the first draw, of those that will be on it."""
        if visible := self.visible_rows():
            return [topic.name for topic in visible]
        topics = self.snapshot.topics
        listed = (name for name in in_order(topics) if not topics[name].internal)
        return [*islice(listed, self.app.size.height)]

    def rows(self) -> list[Topic]:
        """Return the listed topics."""
        return self._listed.topics()

    def key(self, row: Topic) -> Hashable:
        """Return the row's key: the topic's name."""
        return row.name

    def shown(self) -> Callable[[Topic], present_topics.TopicRow]:
        """Return the function that adds related data, such as size and lag, to a topic."""
        facts = self._listed.facts()
        return lambda topic: present_topics.TopicRow(topic, facts)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of topics shown, and of internal topics not listed."""
        reading = self.configs_age()
        unread, internal = self._listed.unread, self._listed.hidden
        if self.known() and unread > 0:
            reading = [(f"overrides of {plural(unread, 'topic')} still to be read  ", "muted")]
        hidden: Line = [(f"{plural(internal, 'internal topic')} hidden  ", "muted")] if internal else []
        return [*reading, *hidden, *super().status()]

    def note(self) -> Line:
        """Return the text for the message line: the problems of the topic under the cursor, else the usual note."""
        topic = self.row()
        wrong = present_topics.trouble(topic, min_isr(self.snapshot.configs, topic.name)) if topic else []
        return wrong or super().note()

    def details(self, row: Topic) -> list[Line]:
        """Return the topic as title, then its problems, its overrides and the groups that read it."""
        # Import only here: this loads the kinds of edits, which a screen too narrow for details does not need.
        from console.present.configs import set_lines, staged_lines

        target = topic_resource(row.name)
        staged = staged_lines(target, self.plan, self.snapshot)
        wrong = present_topics.trouble(row, min_isr(self.snapshot.configs, row.name))
        shown = present_topics.TopicRow(row, self._listed.facts())
        return [
            [(clean(row.name), "")],
            *present_topics.topic_lines(shown, wrong, set_lines(target, self.snapshot, staged)),
            *self._contents(row.name),
        ]

    def _contents(self, topic: str) -> list[Line]:
        """Return a heading and a line with the result of the topic's last analysis; empty if there was none."""
        facts = self.snapshot.analyses.get(topic)
        if facts is None:
            return []
        from console.present.topic_analysis import analysis_line

        return [[], [("Contents", "header")], [(analysis_line(facts), "")]]

    def target_of(self, row: Topic) -> ConfigResource:
        """Return the config resource of the topic."""
        return topic_resource(row.name)

    def copied_of(self, row: Topic) -> str:
        """Return the text that `y` copies: the topic's name."""
        return row.name

    async def enter(self, row: Topic) -> None:
        """Show a section of the topic, such as partitions or configs: the one that was visible last for any topic."""
        self._navigator.open_resource(topic_resource(row.name))

    def do_internal(self) -> None:
        """Switch whether internal topics are listed."""
        self._listed.internal = not self._listed.internal
        self.redraw()

    def do_readers(self) -> None:
        """Show the groups that read the topic."""
        topic = self.row()
        if topic is not None:
            show_readers(self.app, self._tools, topic.name)

    def do_whose(self) -> None:
        """Show the clients that read and write the topic."""
        topic = self.row()
        if topic is not None:
            show_whose(self.app, self._tools, topic.name)

    def do_grow(self) -> None:
        """Open the command bar with the command that adds partitions to the topic."""

        self.begin_command(lambda row: f"grow topic {quote(row.name)} partitions=")

    def do_delete(self) -> None:
        """Stage the deletion of the marked topics, except internal ones, if several rows are marked. For a single
        topic, open the command bar with ``delete topic`` instead, so that the operator types the name.
        """

        topics, hidden = self.rows_meant(), self.left_out()
        if len(topics) > 1 or hidden:
            spared = [clean(each.name, 120) for each in topics if is_spared(each.name, internal=each.internal)]
            meant = [each for each in topics if not is_spared(each.name, internal=each.internal)]
            self._editing.stage([DeleteTopic(each.name) for each in meant], left_out=hidden, spared=spared)
        else:
            self._editing.begin("delete topic ")

    async def do_records(self) -> None:
        """Show the newest records of the topic."""
        from console.language.verbs.records import Records

        topic = self.row()
        if topic is not None:
            await self._navigator.goto(records_in(self.place, Records((topic.name,))))

    async def do_analyze(self) -> None:
        """Show the last analysis of the topic's records; if there was none, open the command bar with the command that
        begins one.
        """
        from console.tui.panes.analysis import show_analysis

        topic = self.row()
        if topic is not None:
            await show_analysis(self._tools, self.place, topic.name)

    def do_elect(self) -> None:
        """Stage the elections of preferred leaders in the marked topics, or in the topic under the cursor."""
        from console.tui.electing import elect_in

        elect_in(self._editing, {topic.name: topic for topic in self.rows_meant()}, self.left_out())

    def do_create(self) -> None:
        """Open the command bar with the command that creates a topic."""
        self._editing.begin("create topic ")


class PartitionsView(DetailsView[present_topics.PartitionRow]):
    """One row for each partition of a topic: leader, replicas, in-sync replicas."""

    NAME = keymap.TOPIC
    MARKS = False
    PARTS = frozenset({Part.TOPICS, Part.TIERED})
    MORE_EVERY = 1
    ROWS_ARE_PARTS = True
    NOUN = present_topics.PARTITIONS
    TAKES = FEW
    DETAILS_AFTER = 0.0
    EMPTY = "no such topic any more"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._tools = tools
        self._readers: tuple[str | None, int, Collection[str]] = (None, -1, ())

    @property
    def topic(self) -> Topic | None:
        """The topic; None if it does not exist or has not been read."""
        return self.snapshot.topics.get(self.place.topic or "")

    def concerns(self, failure: ReadFailure) -> bool:
        """Return whether a read failure affects this topic: it is about the topic, or about all topics."""
        return failure.entity in ("", self.place.topic)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the topic, its moves, the rates, the sizes in tiered storage,
        and the samples of its graphs.
        """
        known = self.snapshot
        return self.topic, known.reassignments, known.rates, known.tiered, self.own_samples()

    def subject(self) -> tuple[Kind, str] | None:
        """Return the topic as kind and name, for the graphs; None if there is no such topic."""
        return ("topic", self.place.topic) if self.place.topic is not None else None

    def readers(self) -> Collection[str]:
        """Return the names of the groups that read the topic; searched again only when the graphs have a new column."""
        samples = self.own_samples()
        # Search once for each column of the graphs, as this walks over the lags of all groups.
        if self._readers[:2] != (self.place.topic, samples[-1].slot):
            trends = self.snapshot.lag_trends.items()
            read = [n for n, trend in trends if any(p.topic == self.place.topic for p in trend.last.lag.partitions)]
            self._readers = (self.place.topic, samples[-1].slot, read)
        return self._readers[2]

    async def read(self) -> None:
        """Read the topic. Raises AdminError."""
        if self.place.topic is not None:
            await self.session.read_topics([self.place.topic])

    async def read_more(self) -> None:
        """Read moves of replicas, rates, and the state of tiered storage."""
        from console.tui.panes.rates import read_rates

        if self.topic is not None:
            read_rates(self, [self.topic])
            await self.session.read_tiered(self.topic.name)
        await self.session.read_whole(Part.REASSIGNMENTS)

    def rows(self) -> list[present_topics.PartitionRow]:
        """Return the partitions in order of number; empty if there is no such topic."""
        known, topic = self.snapshot, self.topic
        if topic is None:
            return []
        return present_topics.rows_of_partitions(topic, known.reassignments, known.rates, known.tiered)

    def key(self, row: present_topics.PartitionRow) -> Hashable:
        """Return the row's key: the partition's number."""
        return row.partition.number

    def words(self, row: present_topics.PartitionRow) -> str:
        """Return the text that the filter searches: the partition's number, leader and replicas."""
        partition = row.partition
        moves = " moves" if row.move is not None else ""
        return f"{partition.number} leader={partition.leader} {' '.join(map(str, partition.replicas))}{moves}"

    def in_trouble(self, row: present_topics.PartitionRow) -> bool:
        """Return whether triage finds a symptom of the partition."""
        return self.trouble.found.has_partition(self.place.topic or "", row.partition.number)

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of partitions and the replication factor."""
        topic = self.topic
        return [(f"{plural(len(topic.partitions), 'partition')} × {topic.replication}", "muted")] if topic else []

    def note(self) -> Line:
        """Return the text for the message line: the topic's problems, else the usual note."""
        topic = self.topic
        return (
            present_topics.trouble(topic, min_isr(self.snapshot.configs, topic.name)) if topic else []
        ) or super().note()

    def target(self) -> ConfigResource | None:
        """Return the topic's config resource; None if the place is about no topic."""
        about = self.place.about
        return about if isinstance(about, ConfigResource) else None

    async def do_records(self) -> None:
        """Show the newest records of the partition."""
        from console.language.verbs.records import Records

        row = self.row()
        if row is not None:
            wanted = Records((self.place.topic or "",), row.partition.number)
            await self._navigator.goto(records_in(self.place, wanted))

    async def do_analyze(self) -> None:
        """Show the last analysis of the topic's records; if there was none, open the command bar with the command that
        begins one.
        """
        from console.tui.panes.analysis import show_analysis

        if self.place.topic is not None:
            await show_analysis(self._tools, self.place, self.place.topic)

    def do_readers(self) -> None:
        """Show the groups that read the topic."""
        if self.place.topic is not None:
            show_readers(self.app, self._tools, self.place.topic)

    def do_whose(self) -> None:
        """Show the clients that read and write the topic."""
        if self.place.topic is not None:
            show_whose(self.app, self._tools, self.place.topic)

    def copied_of(self, row: present_topics.PartitionRow) -> str:
        """Return the text that `y` copies: ``topic-partition``."""
        return f"{self.place.topic}-{row.partition.number}"

    def do_elect(self) -> None:
        """Stage the election of the partition's preferred leader, or open the command bar with an unclean election
        (`elect_one`).
        """
        from console.tui.electing import elect_one

        row, topic = self.row(), self.topic
        if row is not None and topic is not None:
            elect_one(self._editing, topic, row.partition)

    def do_cancel_move(self) -> None:
        """Stage the cancellation of the partition's move; if it does not move, only show a message."""
        row = self.row()
        if row is None or self.place.topic is None:
            return
        if row.move is None:
            self._message.say(f"partition {row.partition.number} does not move", "muted")
            return

        self._editing.stage([CancelMove(self.place.topic, row.partition.number)])

    def do_move(self) -> None:
        """Open the command bar with the command that moves the partition to other brokers."""
        self.begin_command(
            lambda row: f"move topic {quote(self.place.topic or '')} partition {row.partition.number} to "
        )

    def do_grow(self) -> None:
        """Open the command bar with the command that adds partitions to the topic."""
        self._editing.begin(f"grow topic {quote(self.place.topic or '')} partitions=")

    def do_delete_records(self) -> None:
        """Open the command bar with the command that deletes the partition's records before an offset."""
        self.begin_command(
            lambda row: f"delete records topic {quote(self.place.topic or '')} partition {row.partition.number} before "
        )
