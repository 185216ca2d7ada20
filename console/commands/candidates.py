"""Ways to go on, and how they are chosen by what was typed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

LIMIT = 60
"""Candidates that anybody would look through."""


class Form(Enum):
    """How a candidate goes into the text."""

    NAME = "name"
    """As one word that stands for exactly it, quoted where it has to be."""
    GLOB = "glob"
    """The same where a pattern may stand."""
    KEY = "key"
    """With ``=`` behind it."""
    BARE = "bare"
    """As it is: a keyword, ``<default>``."""


class Candidate(NamedTuple):
    """A text that can stand at a place, what stands beside it in a list, and a line of help."""

    text: str
    meta: str = ""
    help: str = ""
    form: Form = Form.NAME


class Completion(NamedTuple):
    """A way to go on: `text`, quoted where it has to be, goes where ``[start, end)`` stands.

    display: the text for a list, harmless; meta: what stands beside it there; help: a line on it.
    """

    start: int
    end: int
    text: str
    display: str = ""
    meta: str = ""
    help: str = ""


def matching(candidates: Iterable[Candidate], typed: str) -> list[Candidate]:
    """Those that begin with what was typed, then those that hold it, then those with its letters in order; each in
    the order they came."""
    folded = typed.casefold()
    if not folded:
        return list(candidates)
    ranked = [(rank, place, c) for place, c in enumerate(candidates) if (rank := _rank(c.text.casefold(), folded)) < 3]
    # Letters in order match nearly anything; they are a help only where nothing else is found.
    best = min((rank for rank, _, _ in ranked), default=3)
    return [candidate for rank, _, candidate in sorted(ranked) if rank < 2 or best == 2]


def _rank(text: str, typed: str) -> int:
    if text.startswith(typed):
        return 0
    if typed in text:
        return 1
    letters = iter(text)
    return 2 if len(typed) > 1 and all(letter in letters for letter in typed) else 3
