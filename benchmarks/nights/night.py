"""A night is a record: how something public happened is made on real brokers, a twin that looks alike and is well, and
the words that a right answer has. Its author writes it before its first run, from public reports, without looking at
the console's rules."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

Begin = Callable[[], Awaitable[None]]
"""Does what goes wrong (or, for a twin, what looks alike) on a cluster that is prepared for it, and returns when that
is done. The console watches the whole time."""
Make = Callable[["Field"], AbstractAsyncContextManager[Begin]]
"""Prepares topics, groups and clients, and yields the `Begin`; at its end, it stops everything that it started."""


class Words(Struct, frozen=True):
    """Words that a text must and must not have: regular expressions, searched without case, ``.`` also for newlines."""

    must: tuple[str, ...]
    """Patterns that all have to be found in the same text. Alternatives are within one pattern, as ``deleted|gone``."""
    never: tuple[str, ...] = ()
    """Patterns that must not be found in the text."""

    def fit(self, text: str) -> bool:
        """Whether a text has all that it must, and nothing that it must not.

        Args:
            text: one row of the console: its title, subject, evidence and advice; or one proposed step.
        """

        def found(pattern: str) -> bool:
            return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None

        return all(map(found, self.must)) and not any(map(found, self.never))


class Night(Struct, frozen=True, kw_only=True):
    """A night and its twin."""

    name: str
    """The name under which results are kept: a few words in lower case."""
    source: str
    """The address of the public report that the night is based on."""
    story: str
    """What went wrong and what people saw, in the author's own words, in two or three sentences."""
    make: Make
    twin_story: str
    """What happens in the twin, which looks alike and is healthy."""
    twin: Make
    cause: Words
    """The words of a row that names the cause."""
    symptom: Words
    """The words of a row that names the symptom correctly, without its cause."""
    step: Words | None
    """The words of a proposed step that helps, or of advice that leads to the step; None if the console can do
    nothing."""
    wrong: tuple[str, ...] = ()
    """Patterns of proposed statements that would make the situation worse, or lose something."""
    unknowable: bool = False
    """Whether no API of the brokers shows the cause. Then a row counts as naming the cause if it says that, and where
    to look; `cause` has the words of such a row."""
    fine: tuple[str, ...] = ()
    """Patterns of rows that are allowed for the twin, because they are true and useful (give the reason in a
    comment)."""
    stands: bool = False
    """Whether it goes wrong before the console is opened: `Begin` runs first, and the console opens after it."""
    watch: float = 90.0
    """Seconds for which the console watches after `Begin` has ended."""
    brokers: int = 3
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties in the file of every broker."""
    format_options: tuple[str, ...] = ()
    """Further arguments of ``kafka-storage format``, as ``("--release-version", "4.1")``."""
    security: str = "plain"
    """``plain``, ``logins`` (a second listener with SASL PLAIN and SCRAM users) or ``acls`` (the same, and only users
    with an ACL may do anything on that listener)."""
    versions: tuple[str, ...] = ("4.3", "4.4", "3.9")
    """The releases on which the night can be made; the results of the first one are the ones that count."""
