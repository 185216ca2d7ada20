"""A command as it may be kept in a history: without the secrets that somebody typed into it all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.commands.reader import is_secret_source
from console.commands.words import Word, scan
from console.language.quoting import ENTITY_WORDS
from console.language.sensitive import looks_sensitive, names_a_secret, without_secrets
from console.present.names import HIDDEN

_SEPARATORS = ("=", ":", ":=")


def redact(text: str) -> str:
    """The text with dots for every value of a key that looks like a secret's, whether it parses or not.

    ``KEY=VALUE``, ``KEY = VALUE``, ``KEY: VALUE`` and ``password VALUE`` are understood, and what any text may hold
    (`without_secrets`). ``@FILE`` and ``?`` stay.
    """
    cuts = [cut for statement in scan(text).statements for cut in _cuts(statement.words)]
    shown = text
    for start, end in reversed(cuts):
        shown = shown[:start] + HIDDEN + shown[end:]
    return without_secrets(shown, HIDDEN)


def _cuts(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Where the values of secrets stand."""
    place = 0
    while place < len(words):
        word, before = words[place], words[place - 1].text if place else ""
        place += 1
        pair = word.split("=")
        if pair is not None and pair[0].end > pair[0].start:
            if not looks_sensitive(pair[0].text):
                continue
            if pair[1].end > pair[1].start:
                if not is_secret_source(pair[1]):
                    yield pair[1].start, pair[1].end
                continue
        elif before in ENTITY_WORDS or not names_a_secret(word.text):
            continue
        while place < len(words) and words[place].text in _SEPARATORS:
            place += 1
        if place < len(words):
            value = words[place].without_first() if words[place].first_bare == "=" else words[place]
            if not is_secret_source(value):
                yield value.start, value.end
            place += 1
