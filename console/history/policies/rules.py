"""What a file of policies or a baseline says, as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")

ENTITY_TYPES = ("topic", "broker", "group", "client-metrics", "quota", "acl", "scram", "feature")
"""What a rule may be about, as `console.history.entities` has it."""

_MAY_BE_MISSING = ("quota", "broker")
"""Types of which an entity that is named in full is looked for in every cluster: it may be there without a value."""


@dataclass(frozen=True)
class Names:
    """Which names are meant: globs of `*` and `?`, less those of `but`."""

    globs: tuple[str, ...]
    but: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """As a regular expression of a whole name, for Python and Java alike."""
        left_out = f"(?!(?:{_any_of(self.but)})$)" if self.but else ""
        return f"^{left_out}(?:{_any_of(self.globs)})$"

    @property
    def exact(self) -> tuple[str, ...]:
        """Those that are one name."""
        return tuple(glob for glob in self.globs if not set("*?") & set(glob))


EVERYTHING = Names(("*",))


@dataclass(frozen=True)
class Expected:
    """What a value should be; all that is given has to hold.

    at_least, at_most: of numbers; infinite: the number that stands for no end (-1 of retention). below: an attribute of
    the same entity whose number is higher. one_of, none_of: texts. matches, matches_not: regular expressions that are
    looked for in the text. is_set: that there is a value, or that there is none. set_on_one: that one of the entities
    named has one.
    """

    at_least: float | None = None
    at_most: float | None = None
    infinite: float | None = None
    below: str | None = None
    one_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    matches: str | None = None
    matches_not: str | None = None
    is_set: bool | None = None
    set_on_one: bool = False

    @property
    def words(self) -> str:
        """For people: ``at least 2, below :replication``."""
        said = [
            self.at_least is not None and f"at least {_number(self.at_least)}",
            self.at_most is not None and f"at most {_number(self.at_most)}",
            self.below is not None and f"below {self.below.lstrip(':')}",
            self.one_of and " or ".join(self.one_of),
            self.none_of and f"not {' or '.join(self.none_of)}",
            self.matches is not None and f"matches {self.matches}",
            self.matches_not is not None and f"has no {self.matches_not}",
            self.is_set is not None and ("is set" if self.is_set else "is not set"),
            self.set_on_one and "is set on one of them",
        ]
        return ", ".join(each for each in said if each)


@dataclass(frozen=True)
class Policy:
    """One policy.

    id, severity, what, why: for people. entity_type, names, clusters: what it is about. attrs: its attributes. acl: in
    place of attrs, a regular expression of them. inherits: the broker's config that holds where there is no value.
    default: Kafka's own value, where that has none either. expected_words: in place of what `expected` says by itself.
    show_actual: whether the value may be shown.
    """

    id: str
    severity: Severity
    what: str
    why: str
    entity_type: str
    names: Names
    attrs: Names
    expected: Expected
    clusters: Names = EVERYTHING
    acl: str | None = None
    inherits: str | None = None
    default: str | None = None
    expected_words: str | None = None
    show_actual: bool = True

    @property
    def counts_missing(self) -> bool:
        """Whether it says something of an entity that has no value."""
        return self.expected.is_set is True or self.expected.set_on_one or bool(self.inherits or self.default)

    @property
    def looked_for(self) -> tuple[str, ...]:
        """Entities that it looks for in every cluster, there or not."""
        return self.names.exact if self.counts_missing and self.entity_type in _MAY_BE_MISSING else ()


@dataclass(frozen=True)
class Wanted:
    """A value of a baseline. value: None if there should be none. severity: None: as severe as the attribute is."""

    entity_type: str
    names: Names
    attr: str
    value: str | None
    clusters: Names = EVERYTHING
    severity: Severity | None = None

    @property
    def looked_for(self) -> tuple[str, ...]:
        """Entities that it looks for in every cluster, there or not."""
        return self.names.exact if self.value is not None and self.entity_type in _MAY_BE_MISSING else ()


def _any_of(globs: tuple[str, ...]) -> str:
    return "|".join(re.escape(glob).replace(r"\*", "(?s:.*)").replace(r"\?", "(?s:.)") for glob in globs)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
