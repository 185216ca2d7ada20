"""What every view is: a line that says where you are, a table or tree, and what the app asks of it."""

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
from console.tui.reading import SWEEP_EVERY, unread_text
from console.tui.text_lines import TextLines
from widgets.cells import cell_width
from widgets.line_view import LineView

if TYPE_CHECKING:
    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.model.snapshot import ReadFailure, Snapshot
    from console.plan.plan import Plan
    from console.session.session import Session
    from console.tui.panes.only_trouble import OnlyTrouble
    from console.tui.reading import Swept
    from console.tui.watch import ShownCluster

SIDE_BY_SIDE = 150
"""Cells of a view from which on details stand beside their table: below it they would be two lines, and both empty."""


def bindings(view: str) -> list[BindingType]:
    """Return Textual's bindings for the keys of a view. All run one action of the app, `action_do`, with the
    key's id.
    """
    return [Binding(key.keys, f"app.do('{key.id}')", key.label, show=False, id=key.id) for key in keys_of(view)]


class View(Widget):
    """A view of the session. Its keys call the method ``do_ID``, for an action's id.

    The app calls `show` when a place is visited, `read` on every tick, `read_more` less often, and `update` whenever
    the snapshot, the plan or the contact changed. Subclasses override `inputs` and `draw`; `update` draws only when one
    of the inputs is another object.
    """

    NAME: ClassVar[str] = ""
    """Its name in places and in the keymap."""
    PARTS: ClassVar[frozenset[str]] = frozenset()
    """The parts of the snapshot whose failures concern it; empty: the one that it needs."""
    NEEDS: ClassVar[str] = ""
    """The part of the snapshot without which it has nothing to show."""
    ENTER: ClassVar[str] = ""
    """What Enter does, for the footer."""
    MORE_EVERY: ClassVar[int] = SWEEP_EVERY
    """Ticks from one `read_more` to the next; where it takes long, more."""
    CALM: ClassVar[str] = "nothing is in trouble here"
    """What is said where `!` leaves nothing."""
    OF_CLUSTER: ClassVar[bool] = True
    """Whether what it shows is old when the cluster does not answer."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Give a view the keys that the keymap has for its name."""
        # Before Textual, which merges the bindings of a class and of those that it is made of.
        if "NAME" in vars(cls):
            cls.BINDINGS = bindings(cls.NAME)
        super().__init_subclass__(**options)

    def __init__(self, cluster: ShownCluster, lines: LineView) -> None:
        """Create it.

        Args:
            lines: the widget that shows its rows, with the cursor, which gets the focus.
        """
        super().__init__(id=f"view-{self.NAME}")
        self.cluster = cluster
        self.lines = lines
        self.place = Place(self.NAME, 0)
        self.receivers: tuple[object, ...] = (self,)
        """What has the methods of its keys."""
        self.where = TextLines(classes="where")
        self.only_trouble = False
        self.filter_text = ""
        """The current filter (`take_filter`)."""
        self._inputs: tuple[object, ...] = ()

    @property
    def session(self) -> Session:
        """The session that is shown."""
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
        """Show a place. If it is about another entity than the last one, the view starts at its top.

        Args:
            place: of this view's name. The cluster need not have been read for it yet.
        """
        moved = place.about != self.place.about
        self.place = place
        if moved:
            self.begin()
        self.update()

    def begin(self) -> None:
        """Discard the state of the entity shown before: its filter, marks, rows kept for painting."""

    async def read(self) -> None:
        """Read from the brokers what this view shows: by default the part that it needs. Called on every tick while the
        view is visible.

        Results go into the session's snapshot, which leads to `update`; nothing is drawn here.

        Raises:
            AdminError: no broker answered, or the request failed.
        """
        if self.NEEDS:
            await self.session.read_whole(part_named(self.NEEDS))

    async def read_more(self) -> None:
        """Read what the view shows but does not wait for, such as the overrides of all topics.

        Called every `MORE_EVERY` ticks while the view is visible, but pauses so that it takes at most a tenth of the
        time.

        Raises:
            AdminError: as `read`; it is only logged.
        """

    def known(self) -> bool:
        """Return whether what the view shows has been read at least once."""
        return not self.NEEDS or self.NEEDS in self.snapshot.read_at

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the view is drawn from.

        Returns:
            The same number of objects each time. They are compared by identity: if all are the same objects, nothing is
            drawn.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the view from what is known. Called by `update` only, and without reads."""
        raise NotImplementedError

    def update(self) -> None:
        """Draw again if one of the inputs is another object, and write the breadcrumbs."""
        # An empty answer changes no data, and yet "reading…" has to go.
        contact = self.cluster.contact
        inputs = (*self.inputs(), self.known(), contact.lost, contact.unread, contact.silent, self.snapshot.failures)
        if not same(inputs, self._inputs):
            self._inputs = inputs
            self.draw()
            self._dim()
        self.tell_where()

    def on_mount(self) -> None:
        """Apply colours and layout, now that the widgets exist."""
        self._dim()
        self.on_resize()

    def on_resize(self) -> None:
        """Put the details beside the table on a wide screen, below it on a narrow one."""
        self.set_class(self.app.size.width >= SIDE_BY_SIDE, "wide")

    def _dim(self) -> None:
        """Take the colours away while the cluster does not answer, and give them back when it does."""
        dimmed = self.OF_CLUSTER and not self.cluster.contact.is_current
        for text in self.query(TextLines):
            text.dim(dimmed)
        for lines in self.query(LineView):
            lines.dim(dimmed)

    def redraw(self) -> None:
        """Draw from the same data with another filter, order or entity."""
        self._inputs = ()
        self.update()

    @cached_property
    def trouble(self) -> OnlyTrouble:
        """What is in trouble, for `do_trouble`. Created when that is first used."""
        from console.tui.panes.only_trouble import OnlyTrouble

        return OnlyTrouble(self, self.cluster, self.redraw)

    def do_trouble(self) -> None:
        """Show only what is in trouble, or all again."""
        self.only_trouble = not self.only_trouble
        self.redraw()

    def nothing_yet(self) -> str:
        """Return the text of a view that has nothing to show yet: that it is being read, or why it can't be."""
        return unread_text(self.cluster.contact, bool(self.note()), self.app.size.width, self.session.front_end)

    def status(self) -> Line:
        """Return the text to the right of the breadcrumbs: counts, ages."""
        return []

    def age(self, what: str, swept: Swept | None) -> Line:
        """Return ``overrides as of 09:41:07`` for a sweep that is old, as `Reading.age` decides; else an empty line.

        Args:
            what: the name of what was swept.
        """
        text = self.cluster.reading.age(swept, each_tick=self.MORE_EVERY == 1)
        return [(f"{what} {text}  ".lstrip(), "muted")] if text else []

    def note(self) -> Line:
        """Return the text of the message line while there is no message: what could not be read."""
        return unread(self.snapshot, self.PARTS or {self.NEEDS}, self.concerns)

    def concerns(self, _failure: ReadFailure) -> bool:
        """Return whether a failure to read one of `PARTS` affects what this view shows."""
        return True

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity that a command without one applies to, None if there is none."""
        return None

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """Return the entities that a command without one applies to: all marked ones, or the one under the cursor."""
        target = self.target()
        return [] if target is None else [target]

    def left_out(self) -> list[str]:
        """Return the names of marked rows that a command does not apply to, because they are hidden."""
        return []

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text on a screen above the panes.

        Args:
            make: returns the lines for a width in cells; called again when the width changes.
        """
        from console.tui.screens import TextScreen

        self.app.push_screen(TextScreen(title, make))

    def on_list_key(self) -> bool:
        """Return whether the config key under the cursor has a list as its value, to which items can be added."""
        return False

    def copied(self) -> str:
        """Return the text that `y` copies, ``""`` for nothing."""
        return ""

    def take_filter(self, text: str) -> None:
        """Show only the rows that match a filter.

        Args:
            text: words that all have to occur, ``/regex``, or either negated by ``!`` (`widgets.row_table`); ``""``
                shows all.

        Raises:
            ValueError: the filter is invalid; the message says where.
        """

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the entity, and the sections between which the tab key goes."""
        line: Line = [(about, "strong")] if (about := title_of(self.place)) else []
        for view, title in parts_of(self.place):
            line += [("  " if line else "", ""), (title, "strong" if view == self.place.view else "muted")]
        return line

    def tell_where(self) -> None:
        """Write the breadcrumbs, and the status flush right."""
        left: Line = [(" ", ""), *self.crumbs()]
        left += [("  /" + clean(self.filter_text, 200), "pending")] if self.filter_text else []
        left += [("  only trouble", "pending")] if self.only_trouble else []
        right = self.status()
        space = self.app.size.width - sum(cell_width(t) for t, _ in (*left, *right)) - 1
        self.where.set([*left, (" " * max(2, space), ""), *right])
