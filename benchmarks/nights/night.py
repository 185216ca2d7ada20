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
"""Does what goes wrong (or, of a twin, what looks alike), on a cluster that is prepared for it. It returns when that is
done; the console watches all the while."""
Make = Callable[["Field"], AbstractAsyncContextManager[Begin]]
"""Prepares topics, groups and clients, and yields the `Begin`; leaving it ends what it started."""


class Words(Struct, frozen=True):
    """Words that a text must and must not have: regular expressions, searched without case, ``.`` also for newlines."""

    must: tuple[str, ...]
    """Each has to be found in the one text: alternatives stand within an expression, as ``deleted|gone``."""
    never: tuple[str, ...] = ()
    """Each makes the text wrong."""

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
    """A few words, lower case: the name under which results are kept."""
    source: str
    """Address of the public report that it is made after."""
    story: str
    """What went wrong and what people saw, in the author's own words: two or three sentences."""
    make: Make
    twin_story: str
    """What looks alike and is well."""
    twin: Make
    cause: Words
    """A row that names the cause."""
    symptom: Words
    """A row that names the symptom rightly, without its cause."""
    step: Words | None
    """The proposed step that helps, or the advice that leads there; None if nothing can be done from here."""
    wrong: tuple[str, ...] = ()
    """Regular expressions over proposed statements: steps that would make it worse, or lose something."""
    unknowable: bool = False
    """No API of the brokers tells the cause: to say so, and where to look, counts as naming it. `cause` then has the
    words of that."""
    fine: tuple[str, ...] = ()
    """Regular expressions: rows that may stand on the twin, as they are true and worth a row (say why in a comment)."""
    stands: bool = False
    """It went wrong before the console was opened: `Begin` runs first, and the console opens after it."""
    watch: float = 90.0
    """Seconds that the console watches, from the end of `Begin`."""
    brokers: int = 3
    properties: Mapping[str, str] = field(default_factory=dict)
    """Server properties of every broker."""
    format_options: tuple[str, ...] = ()
    """More arguments of ``kafka-storage format``, as ``("--release-version", "4.1")``."""
    security: str = "plain"
    """``plain``, ``logins`` (a second listener with SASL PLAIN and SCRAM users) or ``acls`` (the same, and only who has
    an ACL may do something on it)."""
    versions: tuple[str, ...] = ("4.3", "4.4", "3.9")
    """Releases on which it can be made, the first one is the one of record."""
