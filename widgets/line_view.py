"""The base class of table, tree and diff view, and its messages, whose handlers are named `on_line_view_…` for all
three.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar, TypeAlias

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.widget import Widget

from widgets.cells import clean, fit
from widgets.cursor_anchor import CursorAnchor, find_again, hold
from widgets.line_painting import Line, LinePainter, Painted
from widgets.row_source import Span


class LineMessage(Message, namespace="line_view"):
    """A message of a view about one of its lines; `key` is the line's key, None if the view has no lines."""

    def __init__(self, view: LineView, key: Hashable | None, index: int) -> None:
        self.view = view
        self.key = key
        self.index = index
        super().__init__()

    @property
    def control(self) -> LineView:
        """The view that sent this."""
        return self.view


class Highlighted(LineMessage, namespace="line_view"):
    """The cursor is now on another key."""

    def can_replace(self, message: Message) -> bool:
        """Return whether this message replaces an unhandled earlier one: True for a move of the same view's cursor."""
        return isinstance(message, Highlighted) and message.view is self.view


class Selected(LineMessage, namespace="line_view"):
    """The user pressed Enter or double-clicked on a line."""


class MarksChanged(Message, namespace="line_view"):
    """The user marked or unmarked lines; `marks` are the keys of all lines that are marked now."""

    def __init__(self, view: LineView, marks: frozenset[Hashable]) -> None:
        self.view = view
        self.marks = marks
        super().__init__()

    @property
    def control(self) -> LineView:
        """The view that sent this."""
        return self.view


# The base class of table, tree and diff view: lines by index, drawn on demand, with a cursor that stays on its key.
#
# Only visible lines are computed, and only lines with changed content are painted again.

STYLE_NAMES = (
    "override",
    "default",
    "sensitive",
    "read-only",
    "pending",
    "failed",
    "changed",
    "danger",
    "ok",
    "graph",
    "muted",
    "strong",
    "header",
    "mark",
)
"""The names of the styles that spans may have; each is a component class `line--NAME`."""


MOST_FOLDED = 100
"""Maximum number of lines for which `lines_wanted` computes the folded lines; no screen shows more."""


class LineView(Painted, ScrollView, can_focus=True, inherit_bindings=False):
    """A scrolling list of lines. A subclass provides the lines; this class moves the cursor, marks and paints.

    A subclass implements `line_count`, `key_at`, `index_of` and `spans`; `spans` is called for visible lines only. When
    its lines change it calls `_hold` before and `_restore` after, which keep the cursor on its key.
    """

    HEADER_LINES: ClassVar[int] = 0
    CURSOR_MARK: ClassVar[str] = "▸"
    MARKED: ClassVar[str] = "+"
    CURSOR_ON_MARKED: ClassVar[str] = "»"

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"line--{name}" for name in STYLE_NAMES),
        "line--cursor",
        "line--marked",
        "line--empty",
    }

    DEFAULT_CSS = """
    LineView {
        width: 1fr;
        height: 1fr;
        overflow: hidden hidden;
        background: $background;
        color: $foreground;
        & > .line--override { color: $override; }
        & > .line--default { color: $default; text-style: $default-text-style; }
        & > .line--sensitive { color: $sensitive; }
        & > .line--read-only { color: $read-only; text-style: $read-only-text-style; }
        & > .line--pending { color: $pending; text-style: bold; }
        & > .line--failed { color: $failed; text-style: $failed-text-style; }
        & > .line--changed { color: $changed; text-style: $changed-text-style; }
        & > .line--danger { color: $danger; text-style: $danger-text-style; }
        & > .line--ok { color: $ok; }
        & > .line--graph { color: $graph; }
        & > .line--muted { color: $muted; text-style: $muted-text-style; }
        & > .line--strong { text-style: bold; }
        & > .line--header { color: $heading; text-style: $heading-text-style; }
        & > .line--mark { color: $marked; text-style: bold; }
        & > .line--marked { text-style: bold; }
        & > .line--empty { color: $muted; }
        & > .line--cursor {
            color: $cursor-blurred-foreground;
            background: $cursor-blurred-background;
            text-style: $cursor-blurred-text-style;
        }
        &:focus > .line--cursor {
            color: $cursor-foreground;
            background: $cursor-background;
            text-style: $cursor-text-style;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="line.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="line.down"),
        Binding("pageup,ctrl+up", "page(-1)", "Page up", show=False, id="line.page-up"),
        Binding("pagedown,ctrl+down", "page(1)", "Page down", show=False, id="line.page-down"),
        Binding("ctrl+u", "half_page(-1)", "Half a page up", show=False, id="line.half-page-up"),
        Binding("ctrl+d", "half_page(1)", "Half a page down", show=False, id="line.half-page-down"),
        Binding("home,g", "first", "First", show=False, id="line.first"),
        Binding("end,G", "last", "Last", show=False, id="line.last"),
        Binding("left,h", "pan(-1)", "Left", show=False, id="line.left"),
        Binding("right,l", "pan(1)", "Right", show=False, id="line.right"),
        Binding("space", "mark", "Mark", show=False, id="line.mark"),
        Binding("asterisk", "mark(True)", "Mark all that is shown, or none", show=False, id="line.mark-all"),
        Binding("enter", "select", "Open", show=False, id="line.select"),
    ]

    Highlighted: TypeAlias = Highlighted
    Selected: TypeAlias = Selected
    MarksChanged: TypeAlias = MarksChanged

    def __init__(self, *, empty: str = "", markable: bool = True) -> None:
        """Create a view. empty: the text of a view without lines. markable: whether the user can mark lines."""
        super().__init__()
        self._empty = empty
        self._markable = markable
        self._cursor = 0
        self._wanted_key: Hashable | None = None
        self._starts_over = False
        self._told_key: Hashable | None = None
        self._marks: frozenset[Hashable] = frozenset()
        self._folded: tuple[Size, tuple[tuple[int, int], ...]] | None = None
        self._painter = LinePainter(self, self._line_at, "line", covering="cursor")

    # -- methods for subclasses -----------------------------------------------------------------------------------

    def line_count(self) -> int:
        """Return the number of lines."""
        raise NotImplementedError

    def key_at(self, index: int) -> Hashable:
        """Return the key of a line."""
        raise NotImplementedError

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of the line with a key; None if no line has it."""
        raise NotImplementedError

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return a line's content.

        Args:
            width: maximum cells of the spans.

        Returns:
            Texts without control characters, each with a name of `STYLE_NAMES` or ``""``.
        """
        raise NotImplementedError

    def pieces(self, index: int, width: int, most: int) -> Sequence[Sequence[Span]]:  # noqa: ARG002
        """Return a line's content as screen lines, one below the other. The view calls this only if not all of its
        screen lines are taken.

        Args:
            width: the width of a piece, in cells.
            most: maximum number of pieces.
        """
        return (self.spans(index, width),)

    def is_cut(self, width: int) -> bool:  # noqa: ARG002
        """Return whether at least one line has more content than `width` cells, so that `pieces` would fold it."""
        return False

    def header(self, width: int) -> Sequence[Span] | None:  # noqa: ARG002
        """Return the spans of the line that stays on top, for a class with HEADER_LINES; None for no such line."""
        return None

    def can_rest(self, index: int) -> bool:  # noqa: ARG002
        """Return whether the cursor may be on this line."""
        return True

    def lines_below(self, index: int) -> int:  # noqa: ARG002
        """Return the number of lines directly below this one that belong to it; the view scrolls them into view with
        it.
        """
        return 0

    def is_gone(self, key: Hashable) -> bool:  # noqa: ARG002
        """Return whether no line has this key, not even a line that a filter hides. The cursor does not return to a
        key that is gone.
        """
        return False

    # -- methods for owners ---------------------------------------------------------------------------------------

    @property
    def cursor_index(self) -> int:
        """The index of the line under the cursor, -1 if there are no lines."""
        return self._cursor if self.line_count() else -1

    @property
    def cursor_key(self) -> Hashable | None:
        """The key of the line under the cursor; None if there are no lines."""
        return self.key_at(self._cursor) if self.line_count() else None

    @property
    def marks(self) -> frozenset[Hashable]:
        """The marked keys, including those of lines that are filtered out."""
        return self._marks

    @property
    def visible_range(self) -> range:
        """The indexes of the visible lines."""
        return range(self._top, min(self.line_count(), self._top + self._page))

    @property
    def empty(self) -> str:
        """The text of a view without lines."""
        return self._empty

    @empty.setter
    def empty(self, text: str) -> None:
        self._empty = text
        self._painter.repaint()

    def set_marks(self, keys: Iterable[Hashable]) -> None:
        """Mark the lines with these keys, and unmark all others."""
        marks = frozenset(keys)
        if marks != self._marks:
            self._marks = marks
            self._painter.repaint()
            self.post_message(self.MarksChanged(self, marks))

    def move_cursor(self, key: Hashable) -> bool:
        """Move the cursor to the line with a key. Return False, without a move, if no line has the key."""
        index = self.index_of(key)
        if index is None:
            return False
        self._move_to(index)
        return True

    def dim(self, dimmed: bool) -> None:
        """Draw the lines without their colours (True), as a sign that they may be out of date, or with them again
        (False).
        """
        self._painter.dim(dimmed)

    # -- geometry -------------------------------------------------------------------------------------------------

    @property
    def _page(self) -> int:
        return max(1, self.size.height - self.HEADER_LINES)

    @property
    def _top(self) -> int:
        return int(self.scroll_y)

    @property
    def _on_screen(self) -> tuple[tuple[int, int], ...]:
        """For each screen line, the index of its line and the number of the line's piece, if all lines fit and at
        least one is folded. Empty otherwise, as each line then takes one screen line.
        """
        # Textual paints lines in a new size before it calls `on_resize`.
        if self._folded is None or self._folded[0] != self.size:
            self._folded = self.size, self._fold()
        return self._folded[1]

    def _fold(self) -> tuple[tuple[int, int], ...]:
        count = self.line_count()
        spare = self._page - count
        if not count or spare <= 0 or not self.is_cut(self.size.width - 1):
            return ()
        places: list[tuple[int, int]] = []
        for index in range(count):
            needed = len(self.pieces(index, self.size.width - 1, 1 + spare))
            spare -= needed - 1
            places += [(index, piece) for piece in range(needed)]
        return tuple(places) if len(places) > count else ()

    def lines_wanted(self, width: int | None = None) -> int:
        """Return the number of screen lines that show the header and all lines, with their texts folded. Above
        MOST_FOLDED lines, each line counts as one.

        Args:
            width: the width of the view, in cells; None for its present one.
        """
        count, width = self.line_count(), (self.size.width if width is None else width) - 1
        lines = max(count, 1)
        if 0 < count <= MOST_FOLDED and self.is_cut(width):
            lines = sum(len(self.pieces(index, width, count)) for index in range(count))
        return self.HEADER_LINES + lines

    KEEPS_COLUMNS: ClassVar[bool] = False
    """Whether a pane of details next to the view must leave enough width for all columns of the view."""

    def hides_columns(self, width: int) -> bool:  # noqa: ARG002
        """Return whether at least one column does not fit into a view of this width, in cells; False in a view without
        columns.
        """
        return False

    def cells_wanted(self) -> int:
        """Return the width, in cells, at which the view shows all columns with no text cut; the present width for a
        view without columns.
        """
        return self.size.width

    def _unfold(self) -> None:
        """Discard the cached folding, because the lines or the width changed."""
        self._folded = None

    def _measure(self) -> None:
        """Set Textual's virtual size to the size of all lines, without a new layout: the view's own place stays the
        same.
        """
        self._unfold()
        size = Size(self.size.width, self.line_count() + self.HEADER_LINES)
        self.set_reactive(Widget.virtual_size, size)

    def _scroll_to_line(self, top: int) -> None:
        self.scroll_y = max(0, min(top, self.line_count() - self._page))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Paint the screen lines that differ at the new scroll position."""
        if int(old_value) != int(new_value):
            self._painter.repaint()

    # -- changing the lines ---------------------------------------------------------------------------------------

    def _hold(self) -> CursorAnchor:
        """Return the cursor's position as keys. Called before the lines change."""
        if self._starts_over:
            self._starts_over = False
            return CursorAnchor((), 0, 0, None)
        if self._wanted_key is None:
            self._wanted_key = self.cursor_key
        return hold(self, self._cursor, self.visible_range, self._wanted_key)

    def start_over(self) -> None:
        """Scroll to the first line, and put the cursor on it. Called before lines about another subject are shown."""
        self._wanted_key = None
        self._starts_over = True

    def _restore(self, place: CursorAnchor) -> None:
        """Put the cursor back to its saved position among the new lines."""
        self._measure()
        cursor, top = find_again(place, self)
        self._cursor = self._nearest_rest(cursor, 1)
        if self._wanted_key is not None and self.is_gone(self._wanted_key):
            self._wanted_key = self.cursor_key
        self._scroll_to_line(top)
        if place.top_key is None:
            self._scroll_into_view()
        self._painter.repaint()
        self._tell_highlighted()

    @property
    def is_first_chosen(self) -> bool:
        """Whether the cursor is on the first line by the user's choice: moved there, or never moved. False if the
        cursor only fell back to the first line because its own line is gone.
        """
        return self._cursor == 0 and (self._wanted_key is None or self._wanted_key == self.cursor_key)

    @property
    def is_near_top(self) -> bool:
        """Whether the cursor is visible, and stays visible if the view scrolls to the first line."""
        return self._cursor < self._page and self._cursor in self.visible_range

    def show_top(self) -> None:
        """Scroll to the first line, or as far up as the cursor stays visible."""
        self._scroll_to_line(0)
        self._scroll_into_view()
        self._painter.repaint()

    def _tell_highlighted(self) -> None:
        key = self.cursor_key
        if key != self._told_key:
            self._told_key = key
            self.post_message(self.Highlighted(self, key, self.cursor_index))

    # -- moving ---------------------------------------------------------------------------------------------------

    def _nearest_rest(self, index: int, direction: int) -> int:
        """Return the index of the line nearest to `index` on which the cursor may be. Search in `direction` (1: down,
        -1: up) first.
        """
        count = self.line_count()
        for step in (direction, -direction):
            place = index
            while 0 <= place < count:
                if self.can_rest(place):
                    return place
                place += step
        return index

    def _move_to(self, index: int) -> None:
        count = self.line_count()
        if not count:
            return
        old = self._cursor
        index = max(0, min(index, count - 1))
        self._cursor = self._nearest_rest(index, 1 if index >= old else -1)
        self._wanted_key = self.key_at(self._cursor)
        self._scroll_into_view()
        self._repaint_lines(old, self._cursor)
        self._tell_highlighted()

    def _repaint_lines(self, *indexes: int) -> None:
        first = self.HEADER_LINES - self._top
        self._painter.repaint(None if self._on_screen else [index + first for index in indexes])

    def _scroll_into_view(self) -> None:
        """Scroll until the cursor's line and the lines below that belong to it are visible."""
        top, page = self._top, self._page
        last = self._cursor + min(page - 1, self.lines_below(self._cursor) if self.line_count() else 0)
        if self._cursor < top:
            self._scroll_to_line(self._cursor)
        elif last >= top + page:
            self._scroll_to_line(last - page + 1)

    def action_move(self, step: int) -> None:
        """Move the cursor by `step` lines; up if negative."""
        self._move_to(self._cursor + step)

    def action_page(self, direction: int) -> None:
        """Move the cursor by the height of the view, down (1) or up (-1); it keeps its row on the screen."""
        self._move_window(direction * self._page)

    def action_half_page(self, direction: int) -> None:
        """Move the cursor by half the height of the view, down (1) or up (-1)."""
        self._move_window(direction * max(1, self._page // 2))

    def _move_window(self, lines: int) -> None:
        self._scroll_to_line(self._top + lines)
        self._move_to(self._cursor + lines)

    def action_first(self) -> None:
        """Move the cursor to the first line."""
        self._move_to(0)

    def action_last(self) -> None:
        """Move the cursor to the last line."""
        self._move_to(self.line_count() - 1)

    def action_pan(self, direction: int) -> None:
        """Scroll to the right (1) or left (-1) if the content is wider than the view."""

    def action_mark(self, all_shown: bool = False) -> None:
        """Mark or unmark the line under the cursor, and move to the next one. With `all_shown`, mark or unmark all
        lines that no filter hides.
        """
        key = self.cursor_key
        if not self._markable or key is None:
            return
        if all_shown:
            shown = frozenset(map(self.key_at, range(self.line_count())))
            self.set_marks(self._marks - shown if shown <= self._marks else self._marks | shown)
            return
        self._marks ^= {key}
        self.post_message(self.MarksChanged(self, self._marks))
        self._repaint_lines(self._cursor)
        self.action_move(1)

    def action_select(self) -> None:
        """Post `Selected` for the line under the cursor."""
        if (key := self.cursor_key) is not None:
            self.post_message(self.Selected(self, key, self._cursor))

    # -- mouse ----------------------------------------------------------------------------------------------------

    def _index_at(self, y: int) -> int | None:
        line = y - self.HEADER_LINES
        if places := self._on_screen:
            return places[line][0] if 0 <= line < len(places) else None
        index = line + self._top
        return index if line >= 0 and index < self.line_count() else None

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line; for a double click, also post `Selected`. For a click in the header,
        call `_header_clicked`.
        """
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        if offset.y < self.HEADER_LINES:
            self._header_clicked(offset.x)
            return
        index = self._index_at(offset.y)
        if index is None or not self.can_rest(index):
            return
        self._move_to(index)
        if event.chain == 2:
            self.action_select()

    def _header_clicked(self, x: int) -> None:
        """Handle a click in the header, `x` cells from the left."""

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll_to_line(self._top + 3)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll_to_line(self._top - 3)

    # -- painting -------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Post `Highlighted` for the first position of the cursor."""
        self._tell_highlighted()

    def on_resize(self) -> None:
        """Scroll so that the cursor stays visible."""
        self._measure()
        self._scroll_to_line(self._top)
        self._scroll_into_view()

    def _line_at(self, y: int) -> Line:
        """Return the content of row `y` of the screen."""
        width = self.size.width
        header_height = self.HEADER_LINES
        if y < header_height:
            return Line((("", ""), *(self.header(width) or ())))
        count = self.line_count()
        if not count:
            return self._empty_line(y - header_height, width)
        piece, places = 0, self._on_screen
        if places:
            index, piece = places[y - header_height] if y - header_height < len(places) else (count, 0)
        else:
            index = y - header_height + self._top
        if index >= count:
            return Line(())
        height = sum(place == index for place, _ in places) if places else 1
        pieces = self.pieces(index, width - 1, height) if height > 1 else (self.spans(index, width - 1),)
        spans = pieces[piece] if piece < len(pieces) else ()
        marked = bool(self._marks) and self.key_at(index) in self._marks
        if index == self._cursor:
            sign = self.CURSOR_ON_MARKED if marked else self.CURSOR_MARK
            return Line(((" " if piece else sign, ""), *spans), "cursor")
        if marked:
            return Line(((" " if piece else self.MARKED, "mark"), *spans), "marked")
        return Line(((" ", ""), *spans))

    def _empty_line(self, row: int, width: int) -> Line:
        lines = self._empty.split("\n")
        return Line((("  " + fit(clean(lines[row]), width - 2), "empty"),)) if row < len(lines) else Line(())
