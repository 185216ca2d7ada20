"""Defines a night: how a published trouble is made on real brokers, how a healthy twin is made that resembles it, and
the words of a right answer. The author writes it before its first run, from public reports, without looking at the
console's rules.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

Begin = Callable[[], Awaitable[None]]
"""Makes the trouble (or, for a twin, the harmless change that resembles it) in a prepared cluster, and returns once it
is made. The console is open before, unless `Night.stands` is set.
"""
Make = Callable[["Field"], AbstractAsyncContextManager[Begin]]
"""Prepares topics, groups and clients, and yields a `Begin`; at its end, stops everything that it started."""


class Words(Struct, frozen=True):
    """Words that a text must and must not contain, as regular expressions that ignore case and whose ``.`` matches
    newlines.
    """

    must: tuple[str, ...]
    """Patterns that must all match somewhere in the same text. Alternatives are part of a pattern, as in
    ``deleted|gone``.
    """
    never: tuple[str, ...] = ()
    """Patterns that must not be found in the text."""

    def fit(self, text: str) -> bool:
        """Return whether a text matches every pattern of `must` and no pattern of `never`.

        Args:
            text: one row of the console (its title, subject, evidence and advice), or one proposed step.
        """

        def found(pattern: str) -> bool:
            return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None

        return all(map(found, self.must)) and not any(map(found, self.never))


class Night(Struct, frozen=True, kw_only=True):
    """A published trouble (the night) and a healthy cluster that resembles it (its twin)."""

    name: str
    """The night's name in the results: a few words in lower case."""
    source: str
    """The URL of the public report that the night is based on."""
    story: str
    """The trouble and its visible effects, in the author's own words, in two or three sentences."""
    make: Make
    twin_story: str
    """A description of the healthy twin, which resembles the night."""
    twin: Make
    cause: Words
    """The words of a row that names the cause."""
    symptom: Words
    """The words of a row that names the symptom correctly, without its cause."""
    step: Words | None
    """The words of a proposed step that helps, or of advice that leads to it; None if no step in the console can help.
    """
    wrong: tuple[str, ...] = ()
    """Patterns of proposed statements that would make the situation worse, or lose data."""
    unknowable: bool = False
    """Whether no API of the brokers shows the cause. Then a row counts as naming the cause if it says that the cause
    is not visible, and where to look for it; `cause` has the words of such a row.
    """
    fine: tuple[str, ...] = ()
    """Patterns of rows that are allowed for the twin, because they are true and useful (give the reason in a
    comment).
    """
    stands: bool = False
    """Whether the trouble exists before the console is opened: `Begin` is called first, and the console is opened after
    it.
    """
    watch: float = 90.0
    """Seconds for which the console watches after `Begin` has ended."""
    brokers: int = 3
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties in the server.properties of every broker."""
    format_options: tuple[str, ...] = ()
    """Further arguments of ``kafka-storage format``, such as ``("--release-version", "4.1")``."""
    security: str = "plain"
    """``plain``, ``logins`` (a second listener with SASL PLAIN and SCRAM users) or ``acls`` (a second listener on which
    only users with ACLs may do anything).
    """
    versions: tuple[str, ...] = ("4.3", "4.4", "3.9")
    """The releases on which the night can be made; the scores come from the first one."""
