"""Limits of the answers to an agent: the number of rows and characters; secrets hidden, invisible characters escaped.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from console.model.numbers import Data, json_text, plural
from console.present.text import clean
from console.sensitive import seems_sensitive, without_secrets

ROWS, MOST_ROWS = 100, 1_000
"""Default and maximum number of rows for each list in an answer."""
LONGEST_TEXT = 2_000
"""Maximum length of one text in an answer in characters."""
LARGEST = 200_000
"""Maximum length of an answer as JSON, in characters. A longer answer gets fewer rows, then shorter texts, until it
fits.
"""
SEARCHED = 1 << 15
"""Number of characters at the beginning of a text that are searched for secrets and may be shown: a config's value has
no more.
"""
FIELDS = 64
"""Number of entries of a mapping that are never cut: the fields of a row are fewer, but a mapping by broker may have
more.
"""
HIDDEN: Final = "[hidden]"
"""The text that replaces a value which is or may be a secret."""
_NAMES = ("key", "name")
_BESIDE = ("source", "hidden", "known")
"""Names of fields next to a secret value that are shown."""
_VALUES = frozenset({"value", "values", "left", "right", "was", "became", "old", "new", "theirs", "mine"})


class LeftOut(NamedTuple):
    """A list or mapping of an answer that was shortened: its path, and the numbers of shown and of all entries."""

    where: str
    """The path of fields to the list, such as ``topics`` or ``configs.synonyms``."""
    shown: int
    of: int


class Fitted(NamedTuple):
    """An answer within the limits."""

    data: Data
    left_out: tuple[LeftOut, ...]
    """The shortened lists and mappings, one for each path. If several lists have the same path, one in each row, the
    longest of them is named.
    """


def fitted(data: Data, rows: int = ROWS) -> Fitted:
    """Return an answer within the limits: secrets hidden, texts escaped and cut, lists of at most `rows` rows."""
    left_out: dict[str, LeftOut] = {}
    kept = _shown(data, "", rows, left_out)
    longest = LONGEST_TEXT
    found = Fitted(kept, tuple(left_out.values()))
    while len(json_text(found.data)) > LARGEST and (rows > 1 or longest > 1):
        if rows > 1:
            rows //= 2
        else:
            longest //= 2
        left = dict(left_out)
        found = Fitted(_shortened(kept, "", rows, longest, left), tuple(left.values()))
    return found


def _note(where: str, rows: int, of: int, left_out: dict[str, LeftOut]) -> None:
    of = max(of, left_out[where].of if where in left_out else 0)
    if rows < of:
        left_out[where] = LeftOut(clean(where, 200), rows, of)


def _shown(data: Data, where: str, rows: int, left_out: dict[str, LeftOut]) -> Data:
    """Return the part of an answer that is shown, with secrets hidden. The rest is cut off before the search for
    secrets, which takes time.

    Args:
        where: the path of `data` in the answer.
        left_out: path -> the shortened list or mapping; it is extended.
    """
    if isinstance(data, str):
        # Search for secrets before cutting: half a secret is a secret, too.
        return _cut(without_secrets(data[:SEARCHED], HIDDEN), LONGEST_TEXT, max(0, len(data) - SEARCHED))
    if isinstance(data, Mapping):
        most = max(rows, FIELDS)
        _note(where, most, len(data), left_out)
        secret = any(isinstance(name := data.get(each), str) and seems_sensitive(name) for each in _NAMES)
        return {
            _cut(key, LONGEST_TEXT): _masked(value)
            if seems_sensitive(key) or (secret and key in _VALUES)
            else _shown(value, _inner(where, key), rows, left_out)
            for key, value in islice(data.items(), most)
        }
    if isinstance(data, Sequence):
        _note(where, rows, len(data), left_out)
        return [_shown(each, where, rows, left_out) for each in data[:rows]]
    return data


def _shortened(data: Data, where: str, rows: int, longest: int, left_out: dict[str, LeftOut]) -> Data:
    """Return an answer with at most `rows` rows in each list, and at most `longest` characters in each text.

    Args:
        where: the path of `data` in the answer.
        left_out: path -> the shortened list; it is extended.
    """
    if isinstance(data, str):
        return data if len(data) <= longest else f"{data[:longest]}…"
    if isinstance(data, Mapping):
        most = max(rows, FIELDS)
        _note(where, most, len(data), left_out)
        return {
            key: _shortened(value, _inner(where, key), rows, longest, left_out)
            for key, value in islice(data.items(), most)
        }
    if isinstance(data, Sequence):
        _note(where, rows, len(data), left_out)
        return [_shortened(each, where, rows, longest, left_out) for each in data[:rows]]
    return data


def _inner(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _cut(text: str, longest: int, beyond: int = 0) -> str:
    """Return a text with invisible characters escaped, cut to at most `longest` characters, and a note of how many are
    missing.

    Args:
        beyond: the number of characters that were cut off before.
    """
    more = max(0, len(text) - longest) + beyond
    return clean(text[:longest]) + (f"… ({plural(more, 'more character')})" if more else "")


# -- secrets: brokers hide those that they know, but not a plug-in's, nor those typed into another key -----------------


def _masked(data: Data) -> Data:
    """Return `HIDDEN` in place of a value, or in place of each side of a change. A value that is not set stays None,
    and the fields in `_BESIDE` stay as they are.
    """
    if isinstance(data, Mapping):
        sides = data if "value" not in data else {"value": data["value"]}
        masked = {key: _masked(value) for key, value in islice(sides.items(), MOST_ROWS)}
        return {**{key: value for key, value in data.items() if key in _BESIDE}, **masked}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_masked(each) for each in data[:MOST_ROWS]]
    return None if data is None else HIDDEN
