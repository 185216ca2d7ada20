"""Names to be found while somebody types: by how they begin, then by what they hold; quick with 100,000 of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Set
from itertools import accumulate, islice


class NameIndex:
    """Names in alphabetical order without regard to case."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = sorted(names, key=str.casefold)
        self._folded = [name.casefold() for name in self._names]
        self._text: str | None = None
        self._starts: list[int] = []

    def names(self) -> list[str]:
        """All of them in order."""
        return self._names

    def changed(self, gone: Set[str], new: Set[str]) -> NameIndex:
        """The index without some names and with others, without sorting all of them again."""
        other = NameIndex()
        other._names = [name for name in self._names if name not in gone] if gone else self._names.copy()
        other._folded = [name.casefold() for name in other._names] if gone else self._folded.copy()
        for name in new:
            place = bisect_left(other._folded, name.casefold())
            other._names.insert(place, name)
            other._folded.insert(place, name.casefold())
        return other

    def find(self, typed: str, limit: int) -> list[str]:
        """Names that begin with what was typed, then names that hold it elsewhere."""
        folded = typed.casefold()
        first = bisect_left(self._folded, folded)
        beginning = []
        for place in range(first, min(first + limit, len(self._names))):
            if not self._folded[place].startswith(folded):
                break
            beginning.append(self._names[place])
        if len(beginning) == limit or not folded:
            return beginning
        return beginning + list(islice(self._holding(folded), limit - len(beginning)))

    def make_ready(self) -> None:
        """Make what `find` makes when it first needs it."""
        self._all_text()

    def _holding(self, folded: str) -> Iterator[str]:
        if "\n" in folded:
            return
        text = self._all_text()
        at = text.find(folded)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            if not self._folded[number].startswith(folded):
                yield self._names[number]
            at = text.find(folded, self._starts[number] + len(self._folded[number]))

    def _all_text(self) -> str:
        """All names in one text, a line each: one search in it is quicker than 100,000 in names."""
        if self._text is None:
            self._text = "\n".join(self._folded)
            self._starts = list(accumulate((len(name) + 1 for name in self._folded[:-1]), initial=0))
        return self._text
