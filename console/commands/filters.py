"""The filters of `list`: globs over names, ``KEY=VALUE`` over columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from fnmatch import translate

from console.commands.errors import CommandError, did_you_mean
from console.commands.results import Column
from console.commands.statements import FieldFilter, List
from console.model.config import ConfigResource
from console.model.snapshot import Snapshot

Test = Callable[[str | None], bool]
"""Whether a name passes; None is the default, which only ``<default>`` and patterns that match anything take."""

FOLDED = frozenset({"operation", "permission", "resource_type", "pattern_type", "state", "type", "level", "mechanism"})
"""Columns of fixed words, in any case."""


def glob_test(patterns: Collection[str | None], *, fold: bool = False) -> Test:
    """Whether a name matches one of the patterns, None being ``<default>``; no patterns match all."""
    if not patterns:
        return lambda _text: True
    flags = re.IGNORECASE if fold else 0
    tests = [re.compile(translate(pattern), flags).fullmatch for pattern in patterns if pattern is not None]
    default = None in patterns or any(test("") for test in tests)
    return lambda text: default if text is None else any(test(text) for test in tests)


def field_tests(statement: List, columns: Collection[str], more: str = "") -> dict[str, Test]:
    """Column -> test for the statement's ``KEY=VALUE`` filters; several on one column have to hold together.

    more: further keys that are legal, in words for the operator. Raises CommandError for a column that is none.
    """
    tests: dict[str, Test] = {}
    for field in statement.fields:
        name = field.key.replace("-", "_")
        if name not in columns:
            hint = did_you_mean(name, columns) or f"columns: {', '.join(columns)}{more}"
            raise CommandError(f"{statement.kind} have no column '{field.key}'", hint, field.span)
        test = glob_test([field.pattern], fold=name in FOLDED)
        before = tests.get(name)
        tests[name] = test if before is None else _both(before, test)
    return tests


def _both(one: Test, other: Test) -> Test:
    return lambda text: one(text) and other(text)


def passes(tests: Mapping[str, Test], values: Mapping[str, object]) -> bool:
    """Whether a row passes; one that has not the column does not."""
    return all(name in values and test(as_text(values[name])) for name, test in tests.items())


def as_text(value: object) -> str | None:
    """A value as a filter is written for it: ``true``, ``12``, ``1048576``."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def split_fields(statement: List) -> tuple[List, tuple[FieldFilter, ...]]:
    """The statement with its column filters only, and the filters on configs (keys with a dot)."""
    configs = tuple(field for field in statement.fields if "." in field.key)
    columns = tuple(field for field in statement.fields if "." not in field.key)
    return List(statement.kind, statement.globs, columns, span=statement.span), configs


class ConfigFilter:
    """Filters on the values of configs, over many resources."""

    def __init__(self, fields: tuple[FieldFilter, ...]) -> None:
        self._fields = [(field, glob_test([field.pattern])) for field in fields]
        self._seen: set[str] = set()
        self._looked = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """A column for each key."""
        return tuple(Column(key) for key in dict.fromkeys(field.key for field, _ in self._fields))

    def values(self, snapshot: Snapshot, resource: ConfigResource) -> dict[str, str | None] | None:
        """Key -> value of a resource that passes, None for one that does not. A hidden value passes no filter."""
        entries = snapshot.configs.get(resource)
        if entries is None:
            return {} if not self._fields else None
        self._looked = True
        found = {field.key: entry for field, _ in self._fields if (entry := entries.get(field.key)) is not None}
        self._seen.update(found)
        for field, test in self._fields:
            entry = found.get(field.key)
            if entry is None or entry.hidden or not test(entry.value):
                return None
        return {key: entry.value for key, entry in found.items()}

    def require_known(self, kind: str) -> None:
        """Raises CommandError for a key that none of the resources looked at has."""
        for field, _ in self._fields:
            if self._looked and field.key not in self._seen:
                raise CommandError(f"no {kind} have a config '{field.key}'", "", field.span)
