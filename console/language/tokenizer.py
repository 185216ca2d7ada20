"""The tokenizer: it splits a script into statements, statements into words, and words into pieces, with their offsets.

It never raises: errors (an unclosed quote, an unknown escape) are in the result, so that lexer and completion process
unfinished text with the same code as the parser.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct

from console.language.quoting import ESCAPES

_SPACE, _BARE, _PLAIN = re.compile(r"[^\S\n]*"), re.compile(r"[^;'\"\s]*"), re.compile(r'[^"\\]*')
"""Match white space within a line; a piece without quotes; and text in double quotes up to an escape."""
_CODE_POINT = re.compile(r"u\{([0-9A-Fa-f]{1,6})\}")


class Span(NamedTuple):
    """A place in the script: the offsets from `start` to `end`, which is excluded, and the line and column of the
    start, from 1.
    """

    start: int
    end: int
    line: int
    column: int


NOWHERE = Span(0, 0, 1, 1)


class Piece(NamedTuple):
    """A part of a word that is quoted in one way, or not quoted."""

    text: str
    """The text that the piece denotes, without quotes and escapes."""
    start: int
    """The offset at which the piece begins, with its quote."""
    end: int
    """The offset after the piece, with its quote."""
    quote: str = ""
    """The quote character; ``""`` for a piece without quotes."""


class Word(Struct, frozen=True):
    """A word: its adjacent pieces. A word without pieces is the empty value of ``k=``."""

    pieces: tuple[Piece, ...]
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text that the word denotes, without quotes and escapes."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def bare(self) -> bool:
        """Whether no part of the word is quoted."""
        return all(not piece.quote for piece in self.pieces)

    def is_bare(self, text: str) -> bool:
        """Return whether the word is exactly this text, unquoted: a keyword, or ``<default>``."""
        return self.bare and self.text == text

    def split(self, separator: str) -> tuple[Word, Word] | None:
        """Return the words before and after the first unquoted separator (one character); None if there is no unquoted
        separator.
        """
        for number, piece in enumerate(self.pieces):
            at = -1 if piece.quote else piece.text.find(separator)
            if at < 0:
                continue
            # Keep the offsets of the script, so that a colour or an error marks the right half of the word.
            cut = piece.start + at
            head, tail = Piece(piece.text[:at], piece.start, cut), Piece(piece.text[at + 1 :], cut + 1, piece.end)
            before = self.pieces[:number] + ((head,) if head.text else ())
            after = ((tail,) if tail.text else ()) + self.pieces[number + 1 :]
            return Word(before, self.start, cut), Word(after, cut + 1, self.end)
        return None

    def without_first(self) -> Word:
        """Return the word without its first character, which must be unquoted."""
        first = self.pieces[0]
        rest = Piece(first.text[1:], first.start + 1, first.end)
        return Word(((rest,) if rest.text else ()) + self.pieces[1:], self.start + 1, self.end)

    @property
    def first_bare(self) -> str:
        """The first character of the word if it is unquoted; ``""`` if it is quoted or the word is empty."""
        if not self.pieces or self.pieces[0].quote:
            return ""
        return self.pieces[0].text[:1]


UNCLOSED = "the quote opened here is not closed"


class Flaw(NamedTuple):
    """An error in the text: its message and its offsets."""

    message: str
    start: int
    end: int


class RawStatement(Struct, frozen=True):
    """The words of one statement, before they are parsed."""

    words: tuple[Word, ...]
    start: int
    end: int
    """The offset of the separator after the statement, or of the end of the text."""


class Scan(Struct, frozen=True):
    """A script, split into statements and words."""

    text: str
    statements: tuple[RawStatement, ...]
    """The statements, including an empty one between two separators."""
    comments: tuple[tuple[int, int], ...] = ()
    flaws: tuple[Flaw, ...] = ()
    """The errors in the order of the text."""


def _after(what: re.Pattern[str], text: str, at: int) -> int:
    """Return the offset after the text at `at` that `what` matches; `at` itself if it matches nothing there. The
    scanner uses this instead of reading character by character, which would take a second for a megabyte.
    """
    found = what.match(text, at)
    return found.end() if found is not None else at


@dataclass(slots=True)
class _Scanner:
    text: str
    at: int = 0
    comments: list[tuple[int, int]] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)

    def run(self) -> Scan:
        statements = [self.statement()]
        while self.at < len(self.text):
            self.at += 1  # skip the separator
            statements.append(self.statement())
        return Scan(self.text, tuple(statements), tuple(self.comments), tuple(self.flaws))

    def statement(self) -> RawStatement:
        start, words = self.at, list[Word]()
        while True:
            self.skip_space()
            char = self.text[self.at : self.at + 1]
            if char in ("", ";", "\n"):
                return RawStatement(tuple(words), start, self.at)
            # Within a statement, # is an ordinary character: topics and passwords may begin with it.
            if char == "#" and not words:
                line_end = self.text.find("\n", self.at)
                end = line_end if line_end >= 0 else len(self.text)
                self.comments.append((self.at, end))
                self.at = end
                continue
            words.append(self.word())

    def skip_space(self) -> None:
        self.at = _after(_SPACE, self.text, self.at)

    def word(self) -> Word:
        start, pieces = self.at, list[Piece]()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == ";" or char.isspace():
                break
            pieces.append(self.raw() if char == "'" else self.escaped() if char == '"' else self.bare())
        return Word(tuple(pieces), start, self.at)

    def bare(self) -> Piece:
        start = self.at
        self.at = _after(_BARE, self.text, start)
        return Piece(self.text[start : self.at], start, self.at)

    def raw(self) -> Piece:
        start = self.at
        # Single quotes allow no escapes, as in a shell.
        closing = self.text.find("'", start + 1)
        if closing < 0:
            return self.unclosed(start, self.text[start + 1 :])
        self.at = closing + 1
        return Piece(self.text[start + 1 : closing], start, self.at, "'")

    def escaped(self) -> Piece:
        start, parts = self.at, list[str]()
        self.at += 1
        while self.at < len(self.text):
            end = _after(_PLAIN, self.text, self.at)
            parts.append(self.text[self.at : end])
            self.at = end + 1
            char = self.text[end : self.at]
            if char == '"':
                return Piece("".join(parts), start, self.at, '"')
            if char:
                parts.append(self.escape() if self.at < len(self.text) else char)
        return self.unclosed(start, "".join(parts))

    def escape(self) -> str:
        """Read an escape and return the character that it denotes; an unknown escape is an error and denotes its own
        character.
        """
        char = self.text[self.at]
        if char == "u" and (found := _CODE_POINT.match(self.text, self.at)) and int(found[1], 16) <= sys.maxunicode:
            self.at = found.end()
            return chr(int(found[1], 16))
        self.at += 1
        if char not in ESCAPES:
            message = 'unknown escape; in double quotes: \\" \\\\ \\n \\t \\r, and \\u{HEX} for any character'
            self.flaws.append(Flaw(message, self.at - 2, self.at))
        return ESCAPES.get(char, char)

    def unclosed(self, start: int, text: str) -> Piece:
        self.at = len(self.text)
        self.flaws.append(Flaw(UNCLOSED, start, self.at))
        return Piece(text, start, self.at, self.text[start])


def scan(text: str) -> Scan:
    """Split a script into statements and words; never raises. A comment ends with its line."""
    return _Scanner(text).run()


class Places:
    """Converts offsets to lines and columns. It is created once for a script, which may have 10,000 statements."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """Return the span of offsets, with the line and column (in characters) of its start."""
        line = bisect_right(self._starts, start)
        return Span(start, end, line, start - self._starts[line - 1] + 1)
