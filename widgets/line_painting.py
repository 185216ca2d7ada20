"""Conversion of the spans of a line to Textual's strips, with as few escape sequences as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor, CompositorMap
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from widgets.cells import cell_width
from widgets.row_source import Span


class Line(NamedTuple):
    """The content of one line of the screen; equal lines are painted the same.

    The style of a span may be several component classes, separated by blanks. `state` is a component class for the
    whole line, such as that of the cursor; ``""`` for no such class.
    """

    spans: tuple[Span, ...]
    state: str = ""


class Painted(Widget):
    """A widget whose lines a `LinePainter` paints."""

    _painter: LinePainter

    def notify_style_update(self) -> None:
        """Forget the computed styles: the theme or the focus changed."""
        super().notify_style_update()
        self._painter.forget_styles()

    def render_line(self, y: int) -> Strip:
        """Draw row `y` of the widget."""
        return self._painter.strip(y)


class LinePainter:
    """Paints a widget's lines, and requests a repaint of only those that changed.

    `line_at(y)` returns the content of row `y` of the widget. Styles are the component classes `PREFIX--NAME`; on a
    line in the state `covering`, only the state's style applies, not those of its spans.
    """

    def __init__(self, widget: Widget, line_at: Callable[[int], Line], prefix: str, covering: str = "") -> None:
        self._widget = widget
        self._line_at = line_at
        self._prefix = prefix
        self._covering = covering
        self.dimmed = False
        """Whether all styles are drawn as muted, except on the cursor's line."""
        self._painted: dict[int, Line] = {}
        self._styles: dict[tuple[str, str], Style] = {}

    def strip(self, y: int) -> Strip:
        """Return row `y` for `Widget.render_line`."""
        line = self._painted[y] = self._line_at(y)
        return to_strip(line, self._style, self._widget.size.width)

    def repaint(self, rows: Iterable[int] | None = None) -> None:
        """Request a repaint of those rows whose content differs from the painted one. rows: the rows to compare; None
        for all.
        """
        widget = self._widget
        if not widget.is_mounted:
            return
        width, height = widget.size
        for y in range(height) if rows is None else rows:
            if not 0 <= y < height:
                continue
            painted, line = self._painted.get(y), self._line_at(y)
            if painted is None:
                widget.refresh(Region(0, y, width, 1))
            elif painted != line:
                start, end = differing(painted, line, width)
                widget.refresh(Region(start, y, end - start, 1))

    def dim(self, dimmed: bool) -> None:
        """Draw all spans, except on the cursor's line, in the style `muted` (True), or in their own styles again
        (False).
        """
        if dimmed != self.dimmed:
            self.dimmed = dimmed
            self.forget_styles()
            self._widget.refresh()

    def forget_styles(self) -> None:
        """Discard the computed styles: theme or focus changed."""
        self._styles.clear()

    def _style(self, name: str, state: str) -> Style:
        style = self._styles.get((name, state))
        if style is None:
            style = self._widget.rich_style
            names = [] if state and state == self._covering else ["muted"] if self.dimmed else name.split()
            for part in [*names, state] if state else names:
                style += self._widget.get_component_rich_style(f"{self._prefix}--{part}", partial=True)
            self._styles[(name, state)] = style
        return style


class MovedWidgets(Compositor):
    """A compositor that also repaints a moved widget if the screen's map was rebuilt before the layout.

    Each repaint of a part of a widget reads the widget's size. That may rebuild the map of the screen while a layout is
    due. Textual's layout then finds no difference from that map, and paints nothing at the new places.
    """

    @property
    def full_map(self) -> CompositorMap:
        """The places of all widgets. If this call rebuilds the map, the next update paints the differences from the
        previous map.
        """
        before, is_old = self._full_map, self._full_map_invalidated
        found = super().full_map
        if is_old:
            moved = (each.clip.intersection(each.region) for _, each in found.items() ^ before.items())
            self._dirty_regions.update(region for region in moved if region)
        return found


def to_strip(line: Line, style_of: Callable[[str, str], Style], width: int) -> Strip:
    """Return `line` as a strip of exactly `width` cells; `style_of(name, state)` returns a span's style.

    Blanks get the style of a neighbour with the same background, because every change of style costs up to 45 bytes.
    """
    ground = style_of("", line.state)
    segments: list[Segment] = []
    text, style = "", ground
    for part, name in line.spans:
        if not part:
            continue
        next_style = style_of(name, line.state)
        if next_style is style or (part.isspace() and _same_ground(next_style, style)):
            text += part
        elif (not text or text.isspace()) and _same_ground(next_style, style):
            text, style = text + part, next_style
        else:
            if text:
                segments.append(Segment(text, style))
            text, style = part, next_style
    segments.append(Segment(text, style))
    return Strip(segments).adjust_cell_length(width, style if _same_ground(style, ground) else ground).simplify()


def differing(old: Line, new: Line, width: int) -> tuple[int, int]:
    """Return the first cell in which two lines may differ, and the cell after the last one."""
    if old.state != new.state:
        return 0, width
    ahead, start = 0, 0
    shorter = min(len(old.spans), len(new.spans))
    while ahead < shorter and old.spans[ahead] == new.spans[ahead]:
        start += cell_width(new.spans[ahead][0])
        ahead += 1
    behind = 0
    while behind < shorter - ahead and old.spans[-1 - behind] == new.spans[-1 - behind]:
        behind += 1
    old_end, new_end = (
        sum(cell_width(text) for text, _ in line.spans[: len(line.spans) - behind]) for line in (old, new)
    )
    return (start, min(width, new_end)) if old_end == new_end else (start, width)


def _same_ground(first: Style, second: Style) -> bool:
    """Return whether a blank looks the same in both styles."""
    return first.bgcolor == second.bgcolor and not (
        first.underline or second.underline or first.reverse or second.reverse or first.strike or second.strike
    )
