"""Completion: what the grammar expects at the cursor, filled in with what the snapshot knows."""

from __future__ import annotations

from collections.abc import Sequence

from console.commands.candidates import LIMIT, Candidate, Completion, Form, matching
from console.commands.expectations import Candidates
from console.commands.grammar import StatementReading, read
from console.commands.known_names import KnownNames
from console.commands.reader import Expected, Role, What
from console.commands.statements import Subject
from console.commands.verbs import Where
from console.commands.words import Word, scan
from console.language.quoting import quote, quote_beside_equals, quoted
from console.model.snapshot import Snapshot
from console.present.text import clean

_PAIRS = (What.ASSIGN, What.CREATE_ASSIGN, What.GROW_ASSIGN, What.SCRAM_ASSIGN, What.LIST_FILTER)


class Completer:
    """Completes half-typed text. Keeps indexes of names between calls; belongs to one thread."""

    def __init__(self, where: Where = Where.BAR, contexts: Sequence[str] = ()) -> None:
        self.where = where
        self._contexts = tuple(contexts)
        self._names = KnownNames()

    def prepare(self, snapshot: Snapshot) -> None:
        """Make the index of topics ahead of time, so that the first key after a refresh is as quick as the others."""
        self._names.topics(snapshot).make_ready()

    def complete(self, text: str, cursor: int, snapshot: Snapshot, selected: Subject | None = None) -> list[Completion]:
        """Ways to go on at the cursor (an offset into the text), the likeliest first, at most `LIMIT`; never raises.

        selected: what an entity that was left out stands for.
        """
        reading = read(text, self.where)
        if any(mark.role is Role.COMMENT and mark.start < cursor <= mark.end for mark in reading.marks):
            return []
        statement = next(one for one in reversed(reading.statements) if one.start <= cursor)
        index, word = _at_cursor(statement, cursor)
        typed = _typed(text, word, cursor)
        source = Candidates(snapshot, self._names, statement, selected, self.where, self._contexts)
        found: dict[tuple[int, int, str], Completion] = {}
        for place, expected in statement.expected:
            if place == index and len(found) < LIMIT:
                for completion in _complete(expected, source, word, typed):
                    found.setdefault(completion[:3], completion)
        return list(found.values())[:LIMIT]


def complete(text: str, cursor: int, snapshot: Snapshot, selected: Subject | None = None) -> list[Completion]:
    """`Completer.complete` once, in the command bar, with nothing kept: whoever completes as somebody types keeps a
    `Completer`."""
    return Completer().complete(text, cursor, snapshot, selected)


def _at_cursor(statement: StatementReading, cursor: int) -> tuple[int, Word]:
    """The word that the cursor is in or behind, and its number; an empty one between words."""
    for number, word in enumerate(statement.words):
        if word.start < cursor <= word.end:
            return number, word
        if cursor <= word.start:
            return number, Word((), cursor, cursor)
    return len(statement.words), Word((), cursor, cursor)


def _typed(text: str, word: Word, cursor: int) -> Word:
    """The part of the word before the cursor, read by itself: quotes may be open in it."""
    words = scan(text[word.start : cursor]).statements[0].words if cursor > word.start else ()
    return _moved(words[0], word.start) if words else Word((), cursor, cursor)


def _moved(word: Word, by: int) -> Word:
    pieces = tuple(piece._replace(start=piece.start + by, end=piece.end + by) for piece in word.pieces)
    return Word(pieces, word.start + by, word.end + by)


def _complete(expected: Expected, source: Candidates, word: Word, typed: Word) -> list[Completion]:
    if expected.what in _PAIRS:
        pair = typed.split("=")
        if pair is not None:
            key, value = pair
            return _values(expected, source, key, value, word.end)
    if expected.what is What.OPERATIONS:
        return _items(source.words(expected, ""), typed, word.end)
    whole = word.split("=") if expected.what in _PAIRS else None
    end = whole[0].end if whole is not None else word.end
    start = typed.start
    if expected.what is What.VERB and typed.first_bare == ":":
        start, typed = start + 1, typed.without_first()
    candidates = source.words(expected, typed.text)
    return [_completion(start, end, candidate, whole is not None) for candidate in candidates]


def _values(expected: Expected, source: Candidates, key: Word, value: Word, end: int) -> list[Completion]:
    start = key.end + 1
    listed = source.takes_list(expected, key.text)
    if listed and value.bare:
        return _items(source.values(expected, key.text, value.text.rpartition(",")[2]), value, end)
    candidates = source.values(expected, key.text, value.text)
    return [_completion(start, end, candidate, False) for candidate in candidates]


def _items(candidates: list[Candidate], typed: Word, end: int) -> list[Completion]:
    """Completions of the last of several items parted by commas, less those that stand there already."""
    before, comma, last = typed.text.rpartition(",")
    taken = set(before.split(","))
    start = typed.start + len(before) + len(comma)
    fitting = matching([candidate for candidate in candidates if candidate.text not in taken], last)
    return [_completion(start, end, candidate, False) for candidate in fitting]


def _completion(start: int, end: int, candidate: Candidate, has_equals: bool) -> Completion:
    text, shown = candidate.text, candidate.text
    match candidate.form:
        case Form.BARE:
            pass
        case Form.KEY:
            shown = f"{text}="
            text = quote_beside_equals(text) + ("" if has_equals else "=")
        case Form.GLOB if any(char in text for char in "*?["):
            text = quoted(text)
        case _:
            text, shown = quote(text), shown or "''"
    return Completion(start, end, text, clean(shown, 200), clean(candidate.meta, 200), clean(candidate.help))
