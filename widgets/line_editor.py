"""A line of text with a cursor, and the entries before it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import get_character_cell_size

# One line of text with a cursor in it, and the ways hands are used to editing one. Values, no widget.

_WORD_LEFT = re.compile(r"\w+\W*$")
_WORD_RIGHT = re.compile(r"\W*\w+")
_BLANK_WORD_LEFT = re.compile(r"\S+\s*$")


class LineEditor(NamedTuple):
    """A text and the index of the character under the cursor (the text's length: behind the last one)."""

    text: str = ""
    cursor: int = 0

    @classmethod
    def at_end(cls, text: str) -> LineEditor:
        """Return `text` with the cursor behind it."""
        return cls(text, len(text))

    @property
    def before(self) -> str:
        """The text to the left of the cursor."""
        return self.text[: self.cursor]

    @property
    def after(self) -> str:
        """The text from the cursor on."""
        return self.text[self.cursor :]

    def insert(self, text: str) -> LineEditor:
        """Put `text` before the cursor."""
        return LineEditor(self.before + text + self.after, self.cursor + len(text))

    def replace(self, start: int, end: int, text: str) -> LineEditor:
        """Replace the text from `start` to `end`, and put the cursor behind it."""
        return LineEditor(self.text[:start] + text + self.text[end:], start + len(text))

    def left(self) -> LineEditor:
        """Go one character to the left; combining marks go with theirs."""
        place = max(0, self.cursor - 1)
        while place and get_character_cell_size(self.text[place]) == 0:
            place -= 1
        return self._replace(cursor=place)

    def right(self) -> LineEditor:
        """Go one character to the right."""
        place = min(len(self.text), self.cursor + 1)
        while place < len(self.text) and get_character_cell_size(self.text[place]) == 0:
            place += 1
        return self._replace(cursor=place)

    def home(self) -> LineEditor:
        """Go to the start."""
        return self._replace(cursor=0)

    def end(self) -> LineEditor:
        """Go to the end."""
        return self._replace(cursor=len(self.text))

    def word_left(self) -> LineEditor:
        """Go to the start of the word."""
        match = _WORD_LEFT.search(self.before)
        return self._replace(cursor=match.start() if match else 0)

    def word_right(self) -> LineEditor:
        """Go to the end of the word."""
        match = _WORD_RIGHT.match(self.after)
        return self._replace(cursor=self.cursor + match.end() if match else len(self.text))

    def delete_left(self) -> LineEditor:
        """Delete the character before the cursor."""
        return self._delete_to(self.left())

    def delete_right(self) -> LineEditor:
        """Delete the character at the cursor."""
        return self._delete_to(self.right())

    def delete_word_left(self) -> LineEditor:
        """Delete back to the start of the word."""
        return self._delete_to(self.word_left())

    def delete_word_right(self) -> LineEditor:
        """Delete up to the end of the word."""
        return self._delete_to(self.word_right())

    def delete_blank_word_left(self) -> LineEditor:
        """Delete back to the last blank, as a shell's Ctrl-W does."""
        match = _BLANK_WORD_LEFT.search(self.before)
        return self._delete_to(self._replace(cursor=match.start() if match else 0))

    def delete_to_start(self) -> LineEditor:
        """Delete everything before the cursor."""
        return self._delete_to(self.home())

    def delete_to_end(self) -> LineEditor:
        """Delete everything from the cursor on."""
        return self._delete_to(self.end())

    def _delete_to(self, other: LineEditor) -> LineEditor:
        start, end = sorted((self.cursor, other.cursor))
        return LineEditor(self.text[:start] + self.text[end:], start)


LIMIT = 1000


class LineHistory:
    """Entries, the oldest first, and the current one while the user recalls them."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries = list(entries[-LIMIT:])
        self._typed: str | None = None
        self._place = 0

    @property
    def entries(self) -> tuple[str, ...]:
        """All entries, the oldest first."""
        return tuple(self._entries)

    def add(self, text: str) -> None:
        """Remember `text`, unless it is blank or the same as the last one, and stop looking back."""
        self.stop()
        if text.strip() and self._entries[-1:] != [text]:
            self._entries.append(text)
            del self._entries[:-LIMIT]

    def stop(self) -> None:
        """Stop recalling: the next recall starts from the newest entry."""
        self._typed = None

    def older(self, typed: str) -> str | None:
        """Return the next older entry that starts with what was typed when recalling began, or None."""
        if self._typed is None:
            self._typed, self._place = typed, len(self._entries)
        for place in range(self._place - 1, -1, -1):
            if self._fits(place, typed):
                self._place = place
                return self._entries[place]
        return None

    def newer(self, typed: str) -> str | None:
        """Return the next newer entry with that beginning, then what was typed, then None."""
        if self._typed is None:
            return None
        for place in range(self._place + 1, len(self._entries)):
            if self._fits(place, typed):
                self._place = place
                return self._entries[place]
        typed_first, self._typed = self._typed, None
        return typed_first

    def _fits(self, place: int, shown: str) -> bool:
        entry = self._entries[place]
        return self._typed is not None and entry.startswith(self._typed) and entry != shown
