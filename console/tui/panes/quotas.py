"""The pane of quotas: a tree of users with their client ids, of client ids and of addresses, with the effective quota
of the entity under the cursor below it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from textual.app import ComposeResult
from textual.timer import Timer

from console.language.quoting import quote
from console.language.statements import subject_text
from console.model import quota
from console.model.parts import Part
from console.plan.diff import diff
from console.plan.edits import UnsetQuota
from console.plan.effective_values import DiffLine
from console.present import quotas as present_quotas
from console.present.names import plural, quota_entity
from console.present.text import Line, clean
from console.session.snapshot_reader import MANY
from console.tui import keymap
from console.tui.panes.details import DETAILED, arranged
from console.tui.panes.view import View
from console.tui.reading import start
from console.tui.text_lines import TextLines, clipped, rule, wrap_all
from console.tui.tools import Tools
from console.tui.watch import ShownCluster
from widgets.lazy_tree import LazyTree, Node
from widgets.row_table import TextSearch, parse_query

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.model.snapshot import Snapshot
    from console.present.changed import Changed

POLL_AFTER = 0.25
"""Seconds for which the cursor has to stay on a user before the quotas of the user's client ids are read."""
SURVEY_EVERY = timedelta(seconds=50)
WRAPPED = 22
"""Number of blanks before continuation lines, so that they align with the quota in the first line."""


class _Kept(NamedTuple):
    """The entities that match a filter. A root is an entity on the top level of the tree.

    Attributes:
        edge: the roots to show: those that match, and the users of matching client ids.
        whole: the roots that match by their own text and have children; all of these children are shown.
        clients: the matching entities below a user; below a root outside of `whole`, only these are shown.
    """

    edge: Sequence[quota.QuotaEntity]
    whole: frozenset[quota.QuotaEntity]
    clients: frozenset[quota.QuotaEntity]


class _Branch:
    """The nodes of one level of the tree; a node is created when it is drawn."""

    def __init__(self, source: _Source, entities: Sequence[quota.QuotaEntity], child: bool) -> None:
        self._source = source
        self._entities = entities
        self._child = child

    def __len__(self) -> int:
        return len(self._entities)

    def key(self, index: int) -> Hashable:
        return self._entities[index]

    def node(self, index: int) -> Node:
        return self._source.node(self._entities[index], self._child)

    def index_of(self, key: Hashable) -> int | None:
        return present_quotas.index_in(self._entities, key) if isinstance(key, quota.QuotaEntity) else None


class _Source:
    """The tree for one state of the quotas, reduced to the matches of a filter."""

    def __init__(self, listed: ListedQuotas, changed: Changed, kept: _Kept | None) -> None:
        self._listed, self._tree, self._lines = listed, listed.tree, listed.lines
        self._changed = changed
        self._kept = kept

    def roots(self) -> _Branch:
        """Return the top level: users, client ids and addresses."""
        return _Branch(self, self._tree.roots if self._kept is None else self._kept.edge, child=False)

    def children(self, key: Hashable) -> _Branch | None:
        """Return the client ids of a user; None if they have not been read."""
        if not isinstance(key, quota.QuotaEntity) or not self._listed.is_whole(key):
            return None
        below, kept = self._tree.children(key), self._kept
        if kept is not None and key not in kept.whole:
            below = [entity for entity in below if entity in kept.clients]
        return _Branch(self, below, child=True)

    def node(self, entity: quota.QuotaEntity, child: bool) -> Node:
        """Return the node of an entity, as it is drawn. child: whether it is below a user."""
        lines = self._lines.get(entity, {})
        values: quota.QuotaValues = self._tree.quotas.get(entity, {})
        failed, changed = self._listed.failed(lines), self._changed.when(entity) is not None
        letter, label, *cells = present_quotas.QUOTAS.cells(
            present_quotas.QuotaRow(entity, values, lines, failed, changed, child)
        )
        openable = bool(self._tree.children(entity)) or not self._listed.is_whole(entity)
        return Node(label, cells, openable=openable, state=letter)


class _Search:
    """Finds the entities whose text matches a filter. The texts are built once, and searched at each key press."""

    def __init__(self, tree: present_quotas.QuotaTree) -> None:
        self.tree = tree
        self._edge = tree.roots
        self._below = [(index, child) for index, user in enumerate(self._edge) for child in tree.children(user)]
        self._texts = TextSearch(
            map(present_quotas.search_text, chain(self._edge, (child for _, child in self._below)))
        )

    def kept(self, text: str) -> _Kept:
        """Return the entities that match a filter, and the users of matching client ids."""
        hits, edge = self._texts.hits(text), self._edge
        end = bisect_left(hits, len(edge))
        below = [self._below[hit - len(edge)] for hit in hits[end:]]
        indexes = sorted({*hits[:end], *(index for index, _ in below)}) if below else hits[:end]
        whole = frozenset(edge[hit] for hit in hits[:end] if self.tree.children(edge[hit]))
        return _Kept([edge[index] for index in indexes], whole, frozenset(child for _, child in below))


class ListedQuotas:
    """The quotas with staged edits as a tree, the filter over it, and the users whose client ids have all been read.

    Attributes:
        tree: the latest tree.
        lines: entity -> quota key -> the staged edit.
    """

    def __init__(self, cluster: ShownCluster) -> None:
        self._session = cluster.session
        self.tree = present_quotas.QuotaTree({})
        self.lines: Mapping[quota.QuotaEntity, Mapping[str, DiffLine]] = {}
        self._whole: set[quota.QuotaEntity] = set()
        self._search: _Search | None = None

    def take(self) -> bool:
        """Build the tree from the current quotas and plan.

        Returns:
            Whether the tree was built. It is not if so many entities are new or gone that sorting them would block
            keys; the caller then calls `take_many`.
        """
        snapshot = self._session.snapshot
        self.lines = present_quotas.quota_lines(diff(self._session.plan, snapshot))
        if abs(len(snapshot.quotas) - len(self.tree.quotas)) > MANY:
            return False
        self.tree = self.tree.after(snapshot.quotas, self.lines)
        return True

    async def take_many(self) -> None:
        """Build the tree from the current quotas in another thread."""
        quotas, lines = self._session.snapshot.quotas, self.lines
        self.tree = await asyncio.to_thread(self.tree.after, quotas, lines)

    def kept(self, text: str, only_refused: bool) -> _Kept | None:
        """Return the entities to show; None to show all.

        Args:
            text: the filter; ``""`` matches all entities.
            only_refused: whether to keep only entities with an edit that brokers refused.
        """
        kept: _Kept | None = None
        if text:
            if self._search is None or self._search.tree is not self.tree:
                self._search = _Search(self.tree)
            kept = self._search.kept(text)
        if not only_refused:
            return kept
        refused = frozenset(entity for entity, lines in self.lines.items() if self.failed(lines))
        edges = {_edge(entity) for entity in refused}
        edge = self.tree.roots if kept is None else kept.edge
        return _Kept([entity for entity in edge if entity in edges], frozenset(), refused)

    def failed(self, lines: Mapping[str, DiffLine]) -> bool:
        """Return whether brokers refused one of these staged edits."""
        outcomes = (self._session.plan.outcome(line.staged.edit) for line in lines.values())
        return any(outcome is not None and not outcome.ok for outcome in outcomes)

    def add_whole(self, roots: Iterable[quota.QuotaEntity]) -> bool:
        """Record that all quotas of these roots, including users' client ids, were read. Return whether one of them is
        new.
        """
        new = set(roots) - self._whole
        self._whole |= new
        return bool(new)

    def is_whole(self, entity: quota.QuotaEntity) -> bool:
        """Return whether all quotas of an entity have been read, for a user including those of the user's client
        ids.
        """
        sparse = self._session.snapshot.quotas_sparse
        return not sparse or not entity.has(quota.USER) or entity.is_combined or entity in self._whole


class QuotasView(View):
    """The tree of quotas, with the effective quota of the entity under the cursor below it."""

    NAME = keymap.QUOTAS
    NEEDS = Part.QUOTAS
    ENTER = "open"
    COLUMNS = present_quotas.QUOTAS.layout
    CALM = "no edit was refused; brokers do not say what sits at its limit: Usage does, with a lake"

    def __init__(self, tools: Tools) -> None:
        self.entities = LazyTree(self.COLUMNS, empty="reading…")
        super().__init__(tools.cluster, self.entities)
        self._editing, self._message = tools.editing, tools.message
        self.below = TextLines(classes="details")
        self._listed = ListedQuotas(tools.cluster)
        self._surveyed: datetime | None = None
        self._orders: Worker[None] | None = None
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs, the tree, and the widget of the effective quota."""
        yield self.where
        yield self.entities
        yield self.below

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the quotas, the plan, the marks of changes, and the number of
        brokers.
        """
        known = self.snapshot
        return known.quotas, known.quotas_sparse, self.plan, self.cluster.changed.version, len(known.cluster.brokers)

    async def read(self) -> None:
        """Read all quotas. If there are too many, read only those of the entity under the cursor and of open users.

        Raises:
            AdminError: no broker answered.
        """
        session = self.session
        seen = self._seen()
        await session.poll_quotas(
            [quota.filter_for_entity(e) if not e.has(quota.USER) else _user_filter(e) for e in seen]
        )
        if not session.snapshot.quotas_sparse:
            return
        if self._listed.add_whole(seen):
            self.redraw()

    async def read_more(self) -> None:
        """Read the quotas of users, client ids and addresses, if there are too many quotas to read all of them;
        pairs of user and client id are left out. No-op otherwise, and if that was done less than `SURVEY_EVERY`
        ago.
        """
        if self.snapshot.quotas_sparse and not _is_recent(self.snapshot.read_at.get(Part.QUOTAS)):
            at = datetime.now(UTC)
            await self.session.survey_quotas()
            self._surveyed = at
            self.tell_where()

    def _seen(self) -> list[quota.QuotaEntity]:
        """Return the roots whose quotas `read` reads if there are too many: that of the entity under the cursor, and
        the open roots on the screen.
        """
        tree = self.entities
        keys = [tree.cursor_key, *(key for i in tree.visible_range if tree.is_open(key := tree.key_at(i)))]
        return list(dict.fromkeys(_edge(key) for key in keys if isinstance(key, quota.QuotaEntity)))

    def on_lazy_tree_children_wanted(self) -> None:
        """Read the quotas of the client ids of a user that the operator opened."""
        self.cluster.reading.tick()

    def draw(self) -> None:
        """Draw the tree of quotas and staged edits. If many entities have to be sorted, sort them in another thread,
        and draw the tree when that is done.
        """
        if not self._listed.take():
            if self._orders is None or self._orders.is_finished:
                self._orders = start(self, self._take_many, group="quotas", name="quotas")
            return
        self._sift()
        self._show_effective()

    async def _take_many(self) -> None:
        await self._listed.take_many()
        self.redraw()

    def _sift(self) -> None:
        nothing = f"no entity passes /{clean(self.filter_text, 60)}  (Esc shows all)"
        self.entities.empty = nothing if self.filter_text and self.known() else self.nothing_yet()
        if self.only_trouble and self.known():
            self.entities.empty = self.trouble.calm(self.CALM, self.filter_text)
        if self.known():
            kept = self._listed.kept(self.filter_text, self.only_trouble)
            self.entities.set_source(_Source(self._listed, self.cluster.changed, kept))

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of entities, and, if there are several brokers, a
        reminder that each broker enforces the limits separately. Empty before the first read.
        """
        brokers = len(self.snapshot.cluster.brokers)
        each = f"  limits hold per broker, ×{brokers}" if brokers > 1 else ""
        if not self.known():
            return []
        count, sparse = len(self.snapshot.quotas), self.snapshot.quotas_sparse
        # With many entities, the clients of a user are counted only after the user was opened.
        entities = f"{count:,}+ entities" if sparse else plural(count, "entity", "entities")
        return [*self.age("", self._surveyed), (f"{entities}{each}", "muted")]

    # -- the effective quota -------------------------------------------------------------------------------------------

    def on_line_view_highlighted(self) -> None:
        """Show the effective quota of the entity under the cursor. If its quotas are not all read, read them after the
        cursor has stayed on it for `POLL_AFTER` seconds.
        """
        self._show_effective()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        entity = self.target()
        if entity is not None and not self._listed.is_whole(_edge(entity)):
            self._timer = self.set_timer(POLL_AFTER, self.cluster.reading.tick)

    def on_resize(self) -> None:
        """Set the places and sizes of the tree and the effective quota."""
        self._show_effective()

    def _show_effective(self) -> None:
        width, height = arranged(self, self.entities, self.below, DETAILED)
        entity = self.target()
        self.below.display = entity is not None and height > 1
        if entity is None:
            return
        width = max(20, width - 2)
        title: Line = [(" ", ""), *rule(f"effective for {_who(entity)}", width)]
        if not self._listed.is_whole(_edge(entity)):
            self.below.set(title, [(" reading…", "muted")])
            return
        # The effective value of every key matters more than the values that it overrides: shorten lines before leaving
        # out keys. The clients that share a quota come last.
        brief, whole = effective_text(self.snapshot, entity), effective_text(self.snapshot, entity, sharing=True)
        forms = [wrap_all(whole, width, WRAPPED), wrap_all(brief, width, WRAPPED), brief]
        lines = next((form for form in forms if len(form) < height), brief)
        self.below.set(title, *([(" ", ""), *line] for line in clipped(lines, height - 1)))

    # -- actions -------------------------------------------------------------------------------------------------------

    def target(self) -> quota.QuotaEntity | None:
        """Return the entity under the cursor; None on any other line."""
        key = self.entities.cursor_key
        return key if isinstance(key, quota.QuotaEntity) else None

    def copied(self) -> str:
        """Return the text that `y` copies: the entity under the cursor in the syntax of commands; ``""`` on any other
        line.
        """
        entity = self.target()
        return subject_text(entity) if entity else ""

    def take_filter(self, text: str) -> None:
        """Show only entities that match, with their users. Raises BadQuery."""
        parse_query(text.strip())
        self.filter_text = text.strip()
        self._sift()
        self.tell_where()

    def do_edit(self) -> None:
        """Open the command bar with the command that sets a quota of the entity under the cursor."""
        self._editing.begin_set(self.targets(), left_out=self.left_out())

    def do_unset(self) -> None:
        """Discard the staged edits of the entity under the cursor. If it has no staged edits, stage the removal of its
        only quota; if it has several quotas, open the command bar with the command that removes them.
        """
        entity = self.target()
        if entity is None:
            return
        values = self.snapshot.quotas.get(entity, {})
        if self._listed.lines.get(entity):
            count = self.session.discard(entity)
            self._message.say(f"taken out of the plan: {plural(count, 'edit')} of {quota_entity(entity)}")
        elif not values:
            self._message.say(f"{quota_entity(entity)} has no quota to remove", "muted")
        elif len(values) == 1:
            self._editing.stage([UnsetQuota(entity, key) for key in values])
        else:
            keys = " ".join(quote(key) for key in values)
            self._editing.begin(f"unset {subject_text(entity)} {keys}")

    def do_add_quota(self) -> None:
        """Open the command bar with the command that sets a quota of another entity."""
        self._editing.begin("set user ")

    def do_effective(self) -> None:
        """Open the command bar with the command that shows the effective quota of a user and a client id."""
        entity = self.target()
        user, client = (
            present_quotas.whose(entity) if entity is not None else (present_quotas.OTHER, present_quotas.OTHER)
        )
        text = "effective user " + ("" if user == present_quotas.OTHER else f"{quote(user)} client ")
        self._editing.begin(
            text + (quote(client) if user != present_quotas.OTHER and client != present_quotas.OTHER else "")
        )

    def do_details(self) -> None:
        """Show the effective quota on a screen above the panes."""
        entity = self.target()
        if entity is not None:
            self.show_text(
                f"effective for {_who(entity)}",
                lambda width: wrap_all(effective_text(self.snapshot, entity, sharing=True), width, WRAPPED),
            )


def effective_text(snapshot: Snapshot, entity: quota.QuotaEntity, *, sharing: bool = False) -> list[Line]:
    """Return the lines about the quota that applies to an entity, and about the quotas which that quota overrides.

    Args:
        sharing: whether to list the client ids that share this quota.
    """
    quotas, brokers = snapshot.quotas, len(snapshot.cluster.brokers)
    if entity.has(quota.IP):
        return [present_quotas.effective_ip_line(quotas, entity.name_of(quota.IP) or present_quotas.OTHER, brokers)]
    return present_quotas.effective_lines(quotas, *present_quotas.whose(entity), brokers, sharing=sharing)


def _is_recent(surveyed: datetime | None) -> bool:
    """Return whether all quotas were read less than `SURVEY_EVERY` ago, so that opening the pane reads nothing.

    Args:
        surveyed: the time of the last such read, UTC; None if there was none, and the result is then False.
    """
    # Ignore a survey in the future, which a clock that was set back leaves.
    return surveyed is not None and timedelta() <= datetime.now(UTC) - surveyed < SURVEY_EVERY


def _edge(entity: quota.QuotaEntity) -> quota.QuotaEntity:
    """Return the root of an entity in the tree: the user if it has one, else the entity itself."""
    return quota.QuotaEntity.of({quota.USER: entity.name_of(quota.USER)}) if entity.has(quota.USER) else entity


def _user_filter(entity: quota.QuotaEntity) -> quota.QuotaFilter:
    """Return the filter for the quotas of a user and of all pairs of this user and a client id."""
    return quota.filter_for_name(quota.USER, entity.name_of(quota.USER))


def _who(entity: quota.QuotaEntity) -> str:
    """Return as text to whom the effective quota applies: an address, or a user and a client id."""
    if entity.has(quota.IP):
        name = entity.name_of(quota.IP)
        return "any other address" if name is None else f"address {clean(name)}"
    return present_quotas.who_text(*present_quotas.whose(entity))
