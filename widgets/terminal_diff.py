"""A terminal's cells with their colours and attributes, and the shortest output that changes them to other cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import get_character_cell_size

VISIBLE_ON_BLANKS = frozenset({"4", "7", "9", "21", "51", "52", "53"})
"""The SGR parameters of attributes that are visible on a blank: underlines, reverse, strike, frames, overline."""

FIRST_CODE = 0xE000


class Pen(NamedTuple):
    """The style of the next character, as SGR parameters: text colour, background, attributes. An empty colour is the
    terminal's own.
    """

    attributes: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""


PLAIN = Pen()


def read_pen(parameters: str) -> Pen:
    """Parse the parameters of one SGR sequence, such as ``1;31``, into a pen, starting from a reset (ECMA-48,
    8.3.117).
    """
    attributes: set[str] = set()
    foreground = background = ""
    codes = iter(parameters.replace(":", ";").split(";"))
    for code in codes:
        if code in ("", "0"):
            attributes, foreground, background = set(), "", ""
        elif code in ("38", "48"):
            kind = next(codes, "")
            rest = [next(codes, "0") for _ in range(3 if kind == "2" else 1)]
            color = ";".join((code, kind, *rest))
            foreground, background = (color, background) if code == "38" else (foreground, color)
        elif code == "39":
            foreground = ""
        elif code == "49":
            background = ""
        elif code[0] in "39" and len(code) == 2:
            foreground = code
        elif (code[0] == "4" and len(code) == 2) or (code[:2] == "10" and len(code) == 3):
            background = code
        else:
            attributes.add(code)
    return Pen(frozenset(attributes), foreground, background)


def change(old: Pen, new: Pen) -> str:
    """Return the shortest SGR sequence that changes `old` to `new`; ``""`` if they are equal."""
    if old == new:
        return ""
    whole = [*sorted(new.attributes), *filter(None, (new.foreground, new.background))]
    from_reset = f"\x1b[0;{';'.join(whole)}m" if whole else "\x1b[m"
    if not old.attributes <= new.attributes:
        return from_reset
    parts = sorted(new.attributes - old.attributes)
    if new.foreground != old.foreground:
        parts.append(new.foreground or "39")
    if new.background != old.background:
        parts.append(new.background or "49")
    by_difference = f"\x1b[{';'.join(parts)}m"
    return min(by_difference, from_reset, key=len)


class PenTable:
    """Pens by one-character codes, so that the styles of a row compare and hash as fast as text."""

    def __init__(self) -> None:
        self._codes: dict[Pen, str] = {}
        self._pens: list[Pen] = []
        self._read: dict[str, tuple[str, str]] = {}
        self.plain = self.code(PLAIN)

    def code(self, pen: Pen) -> str:
        """Return the code of `pen`."""
        code = self._codes.get(pen)
        if code is None:
            code = self._codes[pen] = chr(FIRST_CODE + len(self._pens))
            self._pens.append(pen)
        return code

    def pen(self, code: str) -> Pen:
        """Return the pen with this code."""
        return self._pens[ord(code) - FIRST_CODE]

    def read(self, parameters: str) -> tuple[str, str]:
        """Return two codes for SGR parameters: that of the pen for characters; and that of the pen for blanks, without
        the attributes that are not visible on a blank.
        """
        codes = self._read.get(parameters)
        if codes is None:
            pen = read_pen(parameters)
            codes = self._read[parameters] = self.code(pen), self.code(on_blank(pen))
        return codes


def on_blank(pen: Pen) -> Pen:
    """Return `pen` with only the background and the attributes that are visible on a blank."""
    return pen if pen.attributes & VISIBLE_ON_BLANKS else Pen(background=pen.background)


# A copy of a terminal's content, and the fewest bytes that change it to another content.
#
# Textual repaints whole lines and repeats every colour in every segment, which is most of the traffic over a slow link.
# This module parses Textual's frames into cells, and writes only cells that differ, with the shortest changes of
# colour, erasures for runs of blanks and, if lines moved, a scroll. If a part of a line moved to the left, as in
# graphs, the terminal deletes characters before the part, and inserts as many after it.

_TOKEN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H|(?P<link>\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07))|\x1b\[(?P<pen>[\d;:]*)m|(?P<down>\n)|(?P<text>[^\x00-\x1f\x7f]+)|(?P<other>.)",
    re.DOTALL,
)
CLEAR = "\x1b[m\x1b[2J"
UNKNOWN = "\x00"
"""The character that represents a cell of unknown content."""
BRIDGE = 4
"""Maximum number of unchanged cells between changed ones that are written again instead of skipped: the sequence that
moves the cursor takes as many bytes.
"""
ERASE_FROM = 12
"""Minimum number of blanks in the middle of a line that are erased instead of written."""
FEW_ROWS = 3
"""If more rows than this have changed, scrolling the terminal is considered."""
LONG_LINE = 40
"""If the output for one line has more characters than this, moving cells to the left is considered as a shorter way."""
MOST_LEFT = 4
"""Maximum number of cells by which cells are moved to the left."""


class UnreadableFrame(ValueError):
    """A frame has a sequence that this module can't read; the caller must send the frame unchanged."""


class Row(NamedTuple):
    """The cells of one row: for each cell its character (``""`` for the second cell of a wide character), and its pen's
    code.
    """

    chars: list[str]
    pens: list[str]

    def key(self) -> str:
        """Return a text that is equal for equal rows, and only for them."""
        return "".join(self.chars) + "\n" + "".join(self.pens)


class _Scroll(NamedTuple):
    """A scroll of the rows `top` to `bottom` (inclusive) by `lines`: up, or down if negative."""

    top: int
    bottom: int
    lines: int


class _Written(NamedTuple):
    """An output, and the pen and the cursor's position (row, cell; None if unknown) after it."""

    output: str
    pen: Pen
    at: tuple[int, int] | None


class TerminalDiff:
    """A copy of the cells of a terminal of a certain size, blank at first.

    `erases_in_color`: whether cells that the terminal erases get the pen's background.
    """

    def __init__(self, width: int, height: int, *, erases_in_color: bool) -> None:
        self.width = width
        self.height = height
        self._erases_in_color = erases_in_color
        self._pens = PenTable()
        self._rows = [self._row_of(" ")] * height
        self._pen = PLAIN
        self._at: tuple[int, int] | None = None
        self._unsure = True

    def forget(self) -> None:
        """Mark the content as unknown, because another program may have written: the next update clears the terminal
        and writes everything.
        """
        self._unsure = True

    def update(self, frame: str) -> str:
        """Return the output that makes the terminal show a frame; ``""`` if it already shows the frame.

        Args:
            frame: text with cursor positions, SGR sequences, line feeds and hyperlinks. The output omits the
                hyperlinks.

        Raises:
            UnreadableFrame: the frame has any other sequence. The content of the terminal is unknown then.
        """
        drawn, at = self._read(frame)
        before = self._rows
        changed = {y: row for y, row in drawn.items() if row != before[y]}
        self._rows = [drawn.get(y, row) for y, row in enumerate(before)]
        if self._unsure:
            self._unsure = False
            blank = [self._row_of(" ")] * self.height
            output, self._pen, self._at = self._write(dict(enumerate(self._rows)), blank, PLAIN, None)
            output = CLEAR + output
        else:
            output, self._pen, self._at = self._shortest(changed, before)
        if at != self._at:
            self._at = at
            output += f"\x1b[{at[0] + 1};{at[1] + 1}H"
        return output

    def _shortest(self, changed: dict[int, Row], before: list[Row]) -> _Written:
        """Return the shorter of two outputs that change the rows: one without a scroll, and one that first scrolls the
        rows that have moved.

        Args:
            changed: row's number -> its new cells.
            before: the present cells of all rows.
        """
        written = self._write(changed, before, self._pen, self._at)
        scroll = _moved(changed, before) if len(changed) > FEW_ROWS else None
        if scroll is None:
            return written
        rows = _scrolled(before, scroll, self._row_of(UNKNOWN))
        in_region = {y: self._rows[y] for y in range(scroll.top, scroll.bottom + 1)}
        after = self._write(changed | in_region, rows, self._pen, None)
        after = after._replace(output=_scroll_sequence(scroll) + after.output)
        return min(written, after, key=lambda way: len(way.output))

    def _row_of(self, char: str) -> Row:
        return Row([char] * self.width, [self._pens.plain] * self.width)

    # -- reading frames -------------------------------------------------------------------------------------------

    def _read(self, frame: str) -> tuple[dict[int, Row], tuple[int, int]]:
        """Return the new content of the rows that a frame writes to, by row number, and the cursor's position (row,
        cell) after it. Raises UnreadableFrame.
        """
        rows: dict[int, Row] = {}
        x = y = 0
        ink = blank = self._pens.plain
        for token in _TOKEN.finditer(frame):
            kind = token.lastgroup
            if kind == "text":
                if 0 <= y < self.height:
                    if y not in rows:
                        old = self._rows[y]
                        rows[y] = Row(old.chars.copy(), old.pens.copy())
                    x = self._put(rows[y], x, token["text"], ink, blank)
            elif kind == "pen":
                ink, blank = self._pens.read(token["pen"])
            elif kind == "column":
                x, y = int(token["column"]) - 1, int(token["row"]) - 1
            elif kind == "down":
                y += 1
            elif kind != "link":
                raise UnreadableFrame(repr(token[0]))
        return rows, (y, x)

    def _put(self, row: Row, x: int, text: str, ink: str, blank: str) -> int:
        """Write `text` into a row from cell `x` on, cut at the end of the row, and return the cell after it.

        Args:
            ink: the pen's code for characters.
            blank: the pen's code for blanks.
        """
        chars, pens = row
        if x >= self.width:
            return x
        if x and chars[x] == "":
            self._halve(row, x - 1)
        if text.isascii():
            text = text[: self.width - x]
            end = x + len(text)
            chars[x:end] = text
            pens[x:end] = [blank if char == " " else ink for char in text] if " " in text else [ink] * len(text)
        else:
            end = x
            for char in text:
                size = get_character_cell_size(char)
                if size == 0:
                    if end:
                        holder = end - 1 if chars[end - 1] else end - 2
                        chars[holder] += char
                    continue
                if end + size > self.width:
                    break
                chars[end], pens[end] = char, blank if char == " " else ink
                if size == 2:
                    chars[end + 1], pens[end + 1] = "", ink
                end += size
        if end < self.width and chars[end] == "":
            self._halve(row, end)
        return end

    def _halve(self, row: Row, x: int) -> None:
        """Replace the other half of a wide character by a blank, if one of its two cells is overwritten."""
        row.chars[x] = " "
        row.pens[x] = self._pens.code(on_blank(self._pens.pen(row.pens[x])))

    # -- writing differences --------------------------------------------------------------------------------------

    def _write(self, targets: dict[int, Row], rows: list[Row], pen: Pen, at: tuple[int, int] | None) -> _Written:
        """Return the output that changes `rows` to `targets`, and the pen and the cursor's position after it.

        Args:
            targets: row's number -> its new cells.
            rows: the present cells of all rows.
            pen: the terminal's pen before the output.
            at: the cursor's position (row, cell) before the output; None if unknown.
        """
        output: list[str] = []
        for y in sorted(targets):
            written = self._write_line(y, rows[y], targets[y], pen, at)
            if len(written.output) > LONG_LINE:
                ways = [written]
                for moves, row in _moved_left(y, rows[y], targets[y], self.width):
                    # Cells that the move erases take the pen's background, in terminals that support that.
                    moved = self._write_line(y, row, targets[y], pen, None)
                    ways.append(moved._replace(output=moves + moved.output))
                written = min(ways, key=lambda way: len(way.output))
            output.append(written.output)
            pen, at = written.pen, written.at
        return _Written("".join(output), pen, at)

    def _write_line(self, y: int, old: Row, new: Row, pen: Pen, at: tuple[int, int] | None) -> _Written:
        """Return the output that changes line `y` from `old` to `new`, and the pen and the cursor's position after it.

        Args:
            pen: the terminal's pen before the output.
            at: the cursor's position (row, cell) before the output; None if unknown.
        """
        output: list[str] = []
        for start, end in _runs(old, new, self.width):
            if at != (y, start):
                forward = at is not None and at[0] == y and at[1] < start
                output.append(f"\x1b[{start - at[1]}C" if forward and at else f"\x1b[{y + 1};{start + 1}H")
            pen = self._write_run(output, new, start, end, pen)
            at = (y, end) if end < self.width else None
        return _Written("".join(output), pen, at)

    def _write_run(self, output: list[str], row: Row, start: int, end: int, pen: Pen) -> Pen:
        """Append to `output` the cells from `start` to `end` (exclusive), for a cursor that is at `start`. Return the
        last pen.
        """
        chars, codes = row
        x = start
        while x < end:
            if chars[x] == " ":
                code, last = codes[x], x + 1
                while last < end and chars[last] == " " and codes[last] == code:
                    last += 1
                ground = self._pens.pen(code)
                if on_blank(pen) != ground:
                    output.append(change(pen, ground))
                    pen = ground
                output.append(self._blanks(last - x, pen, at_end=last == self.width))
                x = last
                continue
            if chars[x]:
                ink = self._pens.pen(codes[x])
                if ink != pen:
                    output.append(change(pen, ink))
                    pen = ink
                output.append(chars[x])
            x += 1
        return pen

    def _blanks(self, count: int, pen: Pen, *, at_end: bool) -> str:
        """Return the shortest output for `count` blanks on the pen's background. at_end: whether they extend to the end
        of the row.
        """
        erasable = not pen.attributes and (self._erases_in_color or not pen.background)
        if erasable and at_end and count > 3:
            return "\x1b[K"
        if erasable and count >= ERASE_FROM and not at_end:
            return f"\x1b[{count}X\x1b[{count}C"
        return " " * count


def _moved(changed: dict[int, Row], before: list[Row]) -> _Scroll | None:
    """Return the single scroll that puts most of the changed rows in their new places; None if it does that for
    fewer than `FEW_ROWS` rows.
    """
    places: dict[str, list[int]] = {}
    for y, row in enumerate(before):
        if any(char != " " for char in row.chars):
            places.setdefault(row.key(), []).append(y)
    moves: dict[int, list[int]] = {}
    for y, row in changed.items():
        for place in places.get(row.key(), ()):
            moves.setdefault(place - y, []).append(y)
    lines, ys = max(moves.items(), key=lambda move: len(move[1]), default=(0, []))
    if len(ys) < FEW_ROWS:
        return None
    return _Scroll(min(ys), max(ys) + lines, lines) if lines > 0 else _Scroll(min(ys) + lines, max(ys), lines)


def _scrolled(rows: list[Row], scroll: _Scroll, freed: Row) -> list[Row]:
    """Return the rows after a scroll; `freed` is the content of the rows that the scroll empties."""
    top, bottom, lines = scroll
    region = rows[top : bottom + 1]
    new = [freed] * abs(lines)
    return [*rows[:top], *([*region[lines:], *new] if lines > 0 else [*new, *region[:lines]]), *rows[bottom + 1 :]]


def _scroll_sequence(scroll: _Scroll) -> str:
    """Return the sequences that set the scroll margins, delete or insert lines at the top margin, and reset the margins
    (VT102). The cursor is in the top left corner after them.
    """
    top, bottom, lines = scroll
    act = f"{lines}M" if lines > 0 else f"{-lines}L"
    return f"\x1b[{top + 1};{bottom + 1}r\x1b[{top + 1};1H\x1b[{act}\x1b[r"


def _moved_left(y: int, old: Row, new: Row, width: int) -> Iterable[tuple[str, Row]]:
    """Find the longest part of a line that moved to the left, and yield the ways to show it: the output of each way,
    and the line after it. The first way also moves the cells to the right of that part. The second way then
    inserts cells, so that the cells to the right are in their old places again (VT102).
    """
    before, after = (list(zip(row.chars, row.pens, strict=True)) for row in (old, new))
    if min(_first_doubtful(old.chars), _first_doubtful(new.chars)) < width:
        return
    longest = (0, 0, 0)
    for cells in range(1, MOST_LEFT + 1):
        start = 0
        for x in range(width - cells + 1):
            if x == width - cells or after[x] != before[x + cells]:
                # Count only cells that the move makes equal, and not cells that are equal anyway.
                moved = sum(after[place] != before[place] for place in range(start, x))
                longest = max(longest, (moved, start, cells))
                start = x + 1
    moved, start, cells = longest
    if not moved:
        return
    end = next((x for x in range(start, width - cells) if after[x] != before[x + cells]), width - cells)
    freed = [(UNKNOWN, old.pens[0])] * cells
    delete = f"\x1b[{y + 1};{start + 1}H\x1b[{cells}P"
    left = [*before[:start], *before[start + cells :], *freed]
    yield delete, _row(left)
    if end + cells < width:
        back = [*before[:start], *before[start + cells : end + cells], *freed, *before[end + cells :]]
        yield f"{delete}\x1b[{y + 1};{end + 1}H\x1b[{cells}@", _row(back)


def _row(cells: Iterable[tuple[str, str]]) -> Row:
    chars, pens = zip(*cells, strict=True)
    return Row(list(chars), list(pens))


def _runs(old: Row, new: Row, width: int) -> Iterable[tuple[int, int]]:
    """Return the ranges of cells to write, as first and last-plus-one; empty if the rows are equal.

    Terminals disagree on the width of some characters. A row with such a character is written to its end: from the
    first such character or from the first difference, whichever comes first.
    """
    if old == new:
        return []
    differing = [
        x
        for x, cells in enumerate(zip(old.chars, new.chars, old.pens, new.pens, strict=True))
        if cells[0] != cells[1] or cells[2] != cells[3]
    ]
    doubtful = min(_first_doubtful(old.chars), _first_doubtful(new.chars))
    if doubtful < width:
        return [(min(doubtful, differing[0]), width)]
    runs: list[tuple[int, int]] = []
    start = last = differing[0]
    for x in differing[1:]:
        if x - last > BRIDGE:
            runs.append((start, last + 1))
            start = x
        last = x
    return [*runs, (start, last + 1)]


def _first_doubtful(chars: list[str]) -> int:
    """Return the index of the first character that some terminals draw wider or narrower than one cell; the number
    of cells if there is none.
    """
    if "".join(chars).isascii() and "" not in chars:
        return len(chars)
    for x, char in enumerate(chars):
        if len(char) != 1 or (char >= "\U00001100" and (char >= "\U0001f000" or get_character_cell_size(char) != 1)):
            return x
    return len(chars)
