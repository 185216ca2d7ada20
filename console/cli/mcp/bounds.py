"""Bounds of answers: the number of rows and characters, no secrets, no invisible characters. Pure."""

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
"""Maximum length of an answer in characters of JSON. A longer answer gets fewer rows, then shorter texts, until it
fits."""
SEARCHED = 1 << 15
"""Maximum length in characters of a text that is searched for secrets: a config's value has no more."""
FIELDS = 64
"""Number of a mapping's entries that always stay: rows have fewer fields, but there may be more values by broker."""
HIDDEN: Final = "[hidden]"
"""Text in place of a value that is or may be a secret."""
_NAMES = ("key", "name")
_BESIDE = ("source", "hidden", "known")
"""Fields that accompany the value on one side of a change."""
_VALUES = frozenset({"value", "values", "left", "right", "was", "became", "old", "new", "theirs", "mine"})


class LeftOut(NamedTuple):
    """A list of an answer that was shortened."""

    where: str
    """The fields that lead to the list, such as ``topics`` or ``configs.synonyms``."""
    shown: int
    of: int


class Fitted(NamedTuple):
    """An answer within its bounds."""

    data: Data
    left_out: tuple[LeftOut, ...]
    """The shortened lists; if several have the same place, the longest of them."""


def fitted(data: Data, rows: int = ROWS) -> Fitted:
    """Return an answer within its bounds: secrets hidden, texts escaped and cut, lists of at most `rows` rows."""
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
    """Return the shown part of an answer. The search for secrets, which takes time by length, covers only this part."""
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
    """Return the shown part with fewer rows and shorter texts."""
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
    """Return a text with invisible characters escaped, of at most `longest` characters of its own.

    Args:
        beyond: the number of characters cut off before.
    """
    more = max(0, len(text) - longest) + beyond
    return clean(text[:longest]) + (f"… ({plural(more, 'more character')})" if more else "")


# -- secrets: brokers hide those that they know, but not a plug-in's, nor those typed into another key -----------------


def _masked(data: Data) -> Data:
    """Return a value, or both sides of a change, with set values masked: that a value is unset may be known."""
    if isinstance(data, Mapping):
        sides = data if "value" not in data else {"value": data["value"]}
        masked = {key: _masked(value) for key, value in islice(sides.items(), MOST_ROWS)}
        return {**{key: value for key, value in data.items() if key in _BESIDE}, **masked}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_masked(each) for each in data[:MOST_ROWS]]
    return None if data is None else HIDDEN
