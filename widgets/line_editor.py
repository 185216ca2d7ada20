"""One line of text with a cursor in it, and the ways hands are used to editing one. Values, no widget."""

from __future__ import annotations

import re
from typing import NamedTuple

from rich.cells import get_character_cell_size

_WORD_LEFT = re.compile(r"\w+\W*$")
_WORD_RIGHT = re.compile(r"\W*\w+")
_BLANK_WORD_LEFT = re.compile(r"\S+\s*$")


class LineEditor(NamedTuple):
    """A text, and the index of the character that the cursor stands on (its length: behind the last one)."""

    text: str = ""
    cursor: int = 0

    @classmethod
    def at_end(cls, text: str) -> LineEditor:
        """Return `text` with the cursor behind it."""
        return cls(text, len(text))

    @property
    def before(self) -> str:
        """What stands left of the cursor."""
        return self.text[: self.cursor]

    @property
    def after(self) -> str:
        """What stands at the cursor and right of it."""
        return self.text[self.cursor :]

    def insert(self, text: str) -> LineEditor:
        """Put `text` before the cursor."""
        return LineEditor(self.before + text + self.after, self.cursor + len(text))

    def replace(self, start: int, end: int, text: str) -> LineEditor:
        """Put `text` for what stands from `start` to `end`, and the cursor behind it."""
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
