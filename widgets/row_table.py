"""A table whose rows are drawn on demand, and the search for the rows that a query matches."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress
from typing import NamedTuple

from widgets.columns import ColumnView
from widgets.row_source import Cell, Column, ListRows, RowSource

# Views of some rows of a source in another order, made without copying a row, and the search for rows.
#
# A query is a list of words that must all occur (`svc-8 dlq`), a regular expression after a slash (`/svc-[0-9]+$`; a
# closing slash is allowed), or the negation of either (`!dlq`, `!/^__/`). Case is ignored.


class BadQuery(ValueError):
    """A query has an invalid regular expression; the message has the position of the error."""


class Query(NamedTuple):
    """A query on texts in lower case: words that must all occur, or a regular expression (`words` is empty then).
    negated: whether the query matches the texts in which a word is missing, or in which the expression does not
    match.
    """

    words: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    negated: bool = False

    def extends(self, other: Query) -> bool:
        """Return whether each word of `other` is part of a word of this query, so that every match of this query also
        matches `other`. False if either query is negated or has a regular expression.
        """
        if self.pattern or other.pattern or self.negated or other.negated:
            return False
        return all(any(old in new for new in self.words) for old in other.words)


def parse_query(text: str) -> Query:
    """Parse a query; case is ignored. ``/!text`` means ``!text``, because a user may type the slash that opens the
    filter. Raises BadQuery.
    """
    text = text[1:] if text.startswith("/!") else text
    negated = text.startswith("!")
    rest = text[1:] if negated else text
    if not rest.startswith("/"):
        return Query(words=tuple(rest.lower().split()), negated=negated and bool(rest.strip()))
    source = rest[1:]
    if len(source) > 1 and source.endswith("/") and not source.endswith("\\/"):
        source = source[:-1]
    if not source:
        return Query()
    while source.startswith(".*"):
        source = source[2:]
    try:
        return Query(pattern=re.compile(source, 0 if source.islower() else re.IGNORECASE), negated=negated)
    except re.error as error:
        raise BadQuery(f"not a regular expression: {error.msg}") from None


class TextSearch:
    """Searches texts in lower case. For a query that extends the query before, it searches only that query's hits."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [text.lower() for text in texts]
        self._last = Query()
        self._hits: Sequence[int] = range(len(self._texts))

    def __len__(self) -> int:
        return len(self._texts)

    def hits(self, text: str) -> Sequence[int]:
        """Return the indexes of the texts that match the query `text`, ascending. Raises BadQuery."""
        query = parse_query(text)
        if query != self._last:
            within = self._hits if query.extends(self._last) else range(len(self._texts))
            self._hits = self._search(query, within)
            self._last = query
        return self._hits

    def _search(self, query: Query, within: Sequence[int]) -> Sequence[int]:
        texts = self._texts
        if query.pattern is not None:
            found = map(query.pattern.search, texts)
            if query.negated:
                return [index for index, match in enumerate(found) if match is None]
            return list(compress(range(len(texts)), found))
        if query.negated:
            return [index for index, text in enumerate(texts) if not all(word in text for word in query.words)]
        for word in query.words:
            within = [index for index in within if word in texts[index]]
        return within


class RowView:
    """The rows of another source at the indexes `places`, in that order. A row is created when it is requested."""

    def __init__(self, source: RowSource, places: Sequence[int], *, ascending: bool = True) -> None:
        self.source = source
        self._places = places
        self._ascending = ascending
        self._inverse: dict[int, int] | None = None

    def __len__(self) -> int:
        return len(self._places)

    def key(self, index: int) -> Hashable:
        """Return the key of the row at `index` of this view."""
        return self.source.key(self._places[index])

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of the row at `index` of this view."""
        return self.source.cells(self._places[index])

    def index_of(self, key: Hashable) -> int | None:
        """Return the index in this view of the row with this key; None if the view does not have it."""
        place = self.source.index_of(key)
        if place is None:
            return None
        if self._ascending:
            index = bisect_left(self._places, place)
            return index if index < len(self._places) and self._places[index] == place else None
        if self._inverse is None:
            self._inverse = {place: index for index, place in enumerate(self._places)}
        return self._inverse.get(place)


class RowTable(ColumnView):
    """A table of rows by key. `set_rows` sets another source; cursor, marks and scroll position stay on their keys."""

    def __init__(
        self, columns: Sequence[Column], rows: RowSource | None = None, *, empty: str = "", markable: bool = True
    ) -> None:
        """Create a table; see `Column` and `RowSource`.

        Args:
            rows: the source of the rows; None for an empty table.
            empty: the text of a table without rows.
            markable: whether the user can mark rows.
        """
        super().__init__(columns, empty=empty, markable=markable)
        self._rows: RowSource = ListRows((), lambda row: row, lambda row: row) if rows is None else rows
        self._sample()

    @property
    def rows(self) -> RowSource:
        """The source of the rows."""
        return self._rows

    def set_rows(self, rows: RowSource) -> None:
        """Show the rows of this source: after a refresh, a sort, a filter. The cursor and the marks stay on their keys,
        if the source has them.
        """
        held = self._hold()
        self._rows = rows
        self._sample()
        self._restore(held)

    def set_columns(self, columns: Sequence[Column], rows: RowSource) -> None:
        """Show these columns instead, with rows that have cells for them."""
        held = self._hold()
        self._put_columns(columns)
        self._rows = rows
        self._sample()
        self._restore(held)

    def line_count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def key_at(self, index: int) -> Hashable:
        """Return a row's key."""
        return self._rows.key(index)

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of a row; None for an unknown key."""
        return self._rows.index_of(key)

    def is_gone(self, key: Hashable) -> bool:
        """Return whether no row has this key, neither a shown row nor one that a filter hides."""
        rows = self._rows
        while isinstance(rows, RowView):
            rows = rows.source
        return rows.index_of(key) is None

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return a row's cells, one for each column."""
        return self._rows.cells(index)
