"""What was entered before, and looking for it by how it starts."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 1000


class LineHistory:
    """Entries, the oldest first, and a place among them while the user looks back."""

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
        """Stop looking back: the next look starts from the newest entry."""
        self._typed = None

    def older(self, typed: str) -> str | None:
        """Return the next older entry that starts with what was typed when the looking back began, or None."""
        if self._typed is None:
            self._typed, self._place = typed, len(self._entries)
        for place in range(self._place - 1, -1, -1):
            if self._fits(place, typed):
                self._place = place
                return self._entries[place]
        return None

    def newer(self, typed: str) -> str | None:
        """Return the next newer such entry, then what was typed, then None."""
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
