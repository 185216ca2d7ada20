"""A command as it may be kept in a history: without the secrets that somebody typed into it all the same."""

from __future__ import annotations

from console.commands.reader import is_secret_source
from console.commands.sensitive import looks_sensitive
from console.commands.words import Word, scan
from console.present.names import HIDDEN


def redact(text: str) -> str:
    """The text with dots for every value of a key that looks like a secret's, whether it parses or not.

    ``@FILE`` and ``?`` stay. After such a key and a bare ``=`` the next word is taken for the value.
    """
    cuts: list[tuple[int, int]] = []
    for statement in scan(text).statements:
        words = iter(statement.words)
        for word in words:
            pair = word.split("=")
            if pair is None or not looks_sensitive(pair[0].text) or is_secret_source(pair[1]):
                continue
            value: Word | None = pair[1] if pair[1].end > pair[1].start else next(words, None)
            if value is not None:
                cuts.append((value.start, value.end))
    shown = text
    for start, end in reversed(cuts):
        shown = shown[:start] + HIDDEN + shown[end:]
    return shown
