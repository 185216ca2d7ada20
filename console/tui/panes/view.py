"""The base class of all views: breadcrumbs, a table or tree, and the methods that the app calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from console.model.derived import same
from console.model.parts import part_named
from console.present.failures import unread
from console.present.text import Line, clean
from console.tui.keymap import keys_of
from console.tui.places import Place, parts_of
from console.tui.places import title as title_of
from console.tui.reading import SLOW_EVERY, unread_text
from console.tui.text_lines import TextLines
from widgets.cells import cell_width
from widgets.line_view import LineView

if TYPE_CHECKING:
    from datetime import datetime

    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.model.snapshot import ReadFailure, Snapshot
    from console.plan.plan import Plan
    from console.session.session import Session
    from console.tui.panes.only_trouble import OnlyTrouble
    from console.tui.watch import ShownCluster


def bindings(view: str) -> list[BindingType]:
    """Return Textual's bindings for the keys of a view. Each runs the app's `action_do` with the key's id."""
    return [Binding(key.keys, f"app.do('{key.id}')", key.label, show=False, id=key.id) for key in keys_of(view)]


class View(Widget):
    """The base class of all views. A key whose id is ID calls the method ``do_ID``.

    The app calls `show` when the operator goes to a place, `read` on every tick, `read_more` less often, and `update`
    whenever the snapshot, the plan or the contact with the cluster changed. Subclasses override `inputs` and `draw`;
    `update` draws only if one of the inputs is another object.
    """

    NAME: ClassVar[str] = ""
    """The name of the view in places and in the keymap."""
    PARTS: ClassVar[frozenset[str]] = frozenset()
    """The parts of the snapshot whose read failures the view reports; if it is empty, only those of `NEEDS`."""
    NEEDS: ClassVar[str] = ""
    """The part of the snapshot without which the view can't be drawn; ``""`` if it needs no part."""
    ENTER: ClassVar[str] = ""
    """The label of Enter in the footer."""
    MORE_EVERY: ClassVar[int] = SLOW_EVERY
    """Number of ticks from one `read_more` to the next; there are more ticks if the read takes long."""
    CALM: ClassVar[str] = "nothing is in trouble here"
    """The text of a table without rows while `!` (only trouble) is on."""
    TITLE: ClassVar[str] = ""
    """The beginning of the breadcrumbs; ``""`` for the name of the place's entity."""
    OF_CLUSTER: ClassVar[bool] = True
    """Whether the view's data come from the cluster, and so are stale while it does not answer."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Add the bindings of the view's keys to the class."""
        # Set the bindings before calling Textual's `__init_subclass__`, which merges those of a class and its bases.
        if "NAME" in vars(cls):
            cls.BINDINGS = bindings(cls.NAME)
        super().__init_subclass__(**options)

    def __init__(self, cluster: ShownCluster, lines: LineView) -> None:
        """Create the view.

        Args:
            cluster: the visible session and its reads.
            lines: the widget that shows the rows and the cursor; it gets the focus.
        """
        super().__init__(id=f"view-{self.NAME}")
        self.cluster = cluster
        self.lines = lines
        self.place = Place(self.NAME, 0)
        self.receivers: tuple[object, ...] = (self,)
        """The objects that have the methods of its keys."""
        self.where = TextLines(classes="where")
        self.only_trouble = False
        self.filter_text = ""
        """The current filter (`take_filter`)."""
        self._inputs: tuple[object, ...] = ()

    @property
    def session(self) -> Session:
        """The visible session."""
        return self.cluster.session

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the cluster."""
        return self.session.snapshot

    @property
    def plan(self) -> Plan:
        """The plan of staged edits."""
        return self.session.plan

    def show(self, place: Place) -> None:
        """Show a place. If its entity is not that of the place before, the view starts with its first row.

        Args:
            place: a place of this view. The snapshot may not have its data yet.
        """
        moved = place.about != self.place.about
        self.place = place
        if moved:
            self.begin()
        self.update()

    def begin(self) -> None:
        """Discard the state about the previous entity: filter, marks and cached rows. Called when another entity is
        shown.
        """

    async def read(self) -> None:
        """Read the parts of the snapshot that this view shows; by default `NEEDS`. Called on every tick while the view
        is visible.

        The results go into the session's snapshot, after which the app calls `update`; `read` itself draws nothing.

        Raises:
            AdminError: no broker answered, or the request failed.
        """
        if self.NEEDS:
            await self.session.read_whole(part_named(self.NEEDS))

    async def read_more(self) -> None:
        """Read further data, for which the first draw does not wait, such as the lag of all groups. No-op by default.

        Called every `MORE_EVERY` ticks while the view is visible, less often if it takes long, so that it takes at most
        a tenth of the time.

        Raises:
            AdminError: as for `read`; the caller only logs it.
        """

    def known(self) -> bool:
        """Return whether `NEEDS` has been read at least once; True if the view needs nothing."""
        return not self.NEEDS or self.NEEDS in self.snapshot.read_at

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the view is drawn from.

        Returns:
            The same number of objects each time. `update` compares them by identity, and draws nothing if all are the
            same.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the view from the snapshot. Called by `update` only; sends no requests."""
        raise NotImplementedError

    def update(self) -> None:
        """Draw if one of the inputs is another object than at the last draw; write the breadcrumbs in any case."""
        # Include the state of reading: an empty response changes no data, but has to remove "reading…".
        contact, moment = self.cluster.contact, self.cluster.half_hour.moment
        state = self.known(), contact.lost, contact.unread, contact.silent, self.snapshot.failures, moment
        inputs = (*self.inputs(), *state)
        if not same(inputs, self._inputs):
            self._inputs = inputs
            self.draw()
            self._dim()
        self.tell_where()

    def on_mount(self) -> None:
        """Draw the new widgets without colours if the cluster does not answer, else with them."""
        self._dim()

    def _dim(self) -> None:
        """Draw the rows without colours while the cluster does not answer, and with them once it answers again."""
        dimmed = self.OF_CLUSTER and not self.cluster.contact.is_current
        for text in self.query(TextLines):
            text.dim(dimmed)
        for lines in self.query(LineView):
            lines.dim(dimmed)

    def redraw(self) -> None:
        """Draw even if the inputs are the same, because the filter, the order or the entity changed."""
        self._inputs = ()
        self.update()

    @cached_property
    def trouble(self) -> OnlyTrouble:
        """The entities in trouble, for the filter `!` (only trouble); created on first use."""
        from console.tui.panes.only_trouble import OnlyTrouble

        return OnlyTrouble(self, self.cluster, self.redraw)

    def do_trouble(self) -> None:
        """Switch between all rows and only those in trouble."""
        self.only_trouble = not self.only_trouble
        self.redraw()

    def nothing_yet(self) -> str:
        """Return the text of a view whose data are not read yet: that kac is reading them, or why they can't be
        read.
        """
        return unread_text(self.cluster.contact, bool(self.note()), self.app.size.width, self.session.front_end)

    def status(self) -> Line:
        """Return the text to the right of the breadcrumbs, such as counts and ages; empty by default."""
        return []

    def age(self, what: str, at: datetime | None) -> Line:
        """Return ``overrides as of 09:41:07`` if the next read of the data is overdue or reads are paused; else an
        empty line.

        Args:
            what: the name of the data.
            at: time of the read, UTC; None if the data have not been read, for which the result is an empty line.
        """
        text = self.cluster.reading.age(at, self.MORE_EVERY)
        return [(f"{what} {text}  ".lstrip(), "muted")] if text else []

    def configs_age(self) -> Line:
        """Return the time at which the overrides were read, as `age` does."""
        return self.age("overrides", self.cluster.reading.reads.configs_since)

    def note(self) -> Line:
        """Return the text that the message line shows while it has no message: by default the read failures of
        `PARTS`.
        """
        # A pane that shows "not read" gives the reason for that part first, whatever else could not be read.
        why = [] if self.known() else unread(self.snapshot, {self.NEEDS}, self.concerns)
        return why or unread(self.snapshot, self.PARTS or {self.NEEDS}, self.concerns)

    def concerns(self, _failure: ReadFailure) -> bool:
        """Return whether a failure to read one of `PARTS` affects the data of this view; True by default."""
        return True

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity for a command that names no entity; None if there is none."""
        return None

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """Return the entities for a command that names no entity. By default it is the entity of `target`; in a
        table with marked rows, the entities of these rows.
        """
        target = self.target()
        return [] if target is None else [target]

    def left_out(self) -> list[str]:
        """Return the names of marked rows that a command skips because they are hidden; empty by default."""
        return []

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text on a screen above the panes.

        Args:
            make: returns the lines for a width in cells; called again when the width changes.
        """
        from console.tui.screens import TextScreen

        self.app.push_screen(TextScreen(title, make))

    def on_list_key(self) -> bool:
        """Return whether the config under the cursor has a list as value, to which items can be appended; False by
        default.
        """
        return False

    def copied(self) -> str:
        """Return the text that `y` copies; ``""`` to copy nothing."""
        return ""

    def take_filter(self, text: str) -> None:
        """Show only the rows that match a filter.

        Args:
            text: words that must all occur, ``/regex``, or either negated by ``!`` (`widgets.row_table`); ``""`` shows
                all.

        Raises:
            ValueError: the filter is invalid; the message says where.
        """

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the title or the entity, and the sections through which the Tab key cycles."""
        line: Line = [(about, "strong")] if (about := self.TITLE or title_of(self.place)) else []
        for view, title in parts_of(self.place):
            line += [("  " if line else "", ""), (title, "strong" if view == self.place.view else "muted")]
        return line

    def tell_where(self) -> None:
        """Write the breadcrumbs, and the text of `status` at the right edge."""
        left: Line = [(" ", ""), *self.crumbs()]
        left += [("  /" + clean(self.filter_text, 200), "pending")] if self.filter_text else []
        left += [("  only trouble", "pending")] if self.only_trouble else []
        right = self.status()
        space = self.app.size.width - sum(cell_width(t) for t, _ in (*left, *right)) - 1
        self.where.set([*left, (" " * max(2, space), ""), *right])
