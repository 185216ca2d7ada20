"""Tests for the filters of `list`: globs on names, comparisons of columns and configs, and Kafka's own filters
of ACLs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase, translate
from operator import eq, ge, gt, le, lt, ne
from typing import TypeVar

from msgspec.structs import replace

from console.language.errors import CommandError, did_you_mean
from console.language.statements import FieldFilter
from console.language.verbs.listing import List
from console.model import codes as model_codes
from console.model.acl import Acl
from console.model.config import ConfigEntry, ConfigResource
from console.model.numbers import decimal_number
from console.model.patterns import has_signs, is_glob, literal_text
from console.model.snapshot import Snapshot
from console.plan.amounts import Unit, has_unit, parse_amount, unit_of
from console.plan.values import BOOLEAN, DOUBLE, INT, LONG, SHORT
from console.present.columns import ABSENT, Column
from console.present.values import is_unlimited

Test = Callable[[str | None], bool]
"""Returns whether a name passes; None means the default entity, which ``<default>`` and patterns like ``*`` match."""
R = TypeVar("R")
FieldTest = Callable[[object], bool]
"""Returns whether the value of a column passes."""

_EQUALITY = ("=", "!=")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {"=": eq, "!=": ne, ">": gt, ">=": ge, "<": lt, "<=": le}
_GLOB_OF_DIGITS = re.compile(r"\A(?=.*[*?\[])[-0-9.*?\[\]!]+")


def glob_test(patterns: Collection[str | None], *, fold: bool = False) -> Test:
    """Return a test whether a name matches one of the patterns; a pattern of None matches only the default entity.
    Without patterns, every name passes. fold: whether to ignore case.
    """
    if not patterns:
        return lambda _text: True
    flags = re.IGNORECASE if fold else 0
    tests = [re.compile(translate(pattern), flags).fullmatch for pattern in patterns if pattern is not None]
    default = None in patterns or any(test("") for test in tests)
    return lambda text: default if text is None else any(test(text) for test in tests)


def row_test(statement: List, columns: Collection[Column[R]], more: str = "") -> Callable[[R], bool | None]:
    """Return a test whether a row passes all comparisons of the statement. A row that has no value in a column fails.

    Args:
        columns: the columns of the list.
        more: further valid keys, as text for an error.

    Returns:
        A function of a row. It returns None if the result depends on a value that is unknown.

    Raises:
        CommandError: there is no such column, or the comparison or value is invalid for the column.
    """
    tests: list[Callable[[R], bool | None]] = []
    for field in statement.fields:
        name = field.key.replace("-", "_")
        column = next((column for column in columns if column.name == name), None)
        if column is None:
            names = [column.name for column in columns]
            hint = did_you_mean(name, names) or f"columns: {', '.join(names)}{more}"
            raise CommandError(f"{statement.kind} have no column '{field.key}'", hint, field.span)
        tests.append(_value_test(field, column))

    def passes(row: R) -> bool | None:
        found = [test(row) for test in tests]
        return False if False in found else None if None in found else True

    return passes


def _value_test(field: FieldFilter, column: Column[R]) -> Callable[[R], bool | None]:
    """Return a test of a row's value in a column. It returns None if the value is unknown, or if only a part of it is
    known and the rest could change the result.
    """
    test = _column_test(field, column)

    def passes(row: R) -> bool | None:
        value = column.value(row)
        if value is ABSENT:
            return False
        if value is None and column.unknown:
            return None
        if column.part is None or not column.part(row):
            return test(value)
        # The total may be higher than the known part: a result is certain only if it holds for both ends of that range.
        at_least, at_most = test(value), test(math.inf)
        decided = at_least == at_most and field.operator in _ORDERED
        return at_least if decided else None

    return passes


_ORDERED = (">", ">=", "<", "<=")
"""Operators with which a comparison holds for all values of a range if it holds for both ends."""


def require_names(statement: List, columns: Collection[Column[R]]) -> None:
    """Raise CommandError if a pattern looks like a quoted comparison, such as ``"lag>5"``: because of the quotes, it
    would only select an entity with this name.
    """
    names = {column.name for column in columns}
    for glob in statement.globs:
        found = _QUOTED_FILTER.match(glob.pattern or "")
        if found and (found[1].replace("-", "_") in names or "." in found[1] or statement.kind in _PLAIN_NAMES):
            shown = glob.pattern or ""
            raise CommandError(
                f"'{shown}' is read as a name, since it is quoted",
                f"to compare a column, leave the comparison out of the quotes: {found[1]}{found[2]}VALUE",
                glob.span,
            )


_QUOTED_FILTER = re.compile(r"\A([A-Za-z][A-Za-z_.-]*)([=<>!]+)")
_PLAIN_NAMES = frozenset({"topics", "brokers"})
"""Kinds of entities whose names can't contain a comparison operator, so that such a pattern is always meant as a
comparison.
"""


def _column_test(field: FieldFilter, column: Column[R]) -> FieldTest:
    if column.type == "number":
        return _number_test(field, column.unit)
    if column.type == "boolean":
        return _boolean_test(field)
    if column.type == "names":
        return _names_test(field)
    return _text_test(field, fold=column.type == "word")


def _text_test(field: FieldFilter, *, fold: bool = False) -> FieldTest:
    if field.operator not in _EQUALITY:
        hint = f"{field.key}=GLOB and {field.key}!=GLOB compare texts"
        raise CommandError(f"'{field.key}' is not a number: {field.operator} does not apply", hint, field.span)
    if field.pattern == "":
        raise CommandError(f"'{field.key}{field.operator}' needs a value", _write(field, "GLOB"), field.span)
    return _negated(field, glob_test([field.pattern], fold=fold))


def _names_test(field: FieldFilter) -> FieldTest:
    one = _text_test(replace(field, operator="="))
    has = field.operator == "="
    if field.operator not in _EQUALITY:
        _text_test(field)  # raises CommandError for an invalid filter
    return lambda names: isinstance(names, list) and any(map(one, names)) is has


def _boolean_test(field: FieldFilter) -> FieldTest:
    pattern = (field.pattern or "").lower()
    matched = [word for word in ("true", "false") if fnmatchcase(word, pattern)]
    if field.operator not in _EQUALITY or not matched:
        raise CommandError(f"'{field.key}' is true or false", _write(field, "true", "="), field.span)
    return _negated(field, lambda text: text in matched)


def _negated(field: FieldFilter, test: Test) -> FieldTest:
    if field.operator == "!=":
        return lambda value: not test(as_text(value))
    return lambda value: test(as_text(value))


def _number_test(field: FieldFilter, unit: Unit) -> FieldTest:
    """Return a test of numbers, also of texts that are numbers; a glob in the filter is compared with the digits. Other
    values fail. Raises CommandError: the filter's value is not a number.
    """
    pattern = field.pattern or ""
    if field.operator in _EQUALITY and _GLOB_OF_DIGITS.fullmatch(pattern):
        return _negated(field, glob_test([pattern]))
    try:
        wanted = _amount(pattern, unit)
    except ValueError as error:
        example = unit.examples.partition(",")[0] or "3"
        raise CommandError(f"{field.key}: {error}", _write(field, example), field.span) from None
    compare = _COMPARE[field.operator]

    def test(value: object) -> bool:
        number = _as_number(value)
        return number is not None and compare(number, wanted)

    return test


def _amount(text: str, unit: Unit) -> float:
    """Return the number in an amount, in the column's unit. Raises ValueError, with a message for the operator."""
    if unit is not Unit.NONE and has_unit(text):
        return parse_amount(text, unit)
    return decimal_number(text.removesuffix("%"))


def _as_number(value: object) -> float | None:
    if isinstance(value, int | float):
        return value
    try:
        return decimal_number(str(value))
    except ValueError:
        return None


def _write(field: FieldFilter, example: str, operator: str = "") -> str:
    return f"write for instance {field.key}{operator or field.operator}{example}"


def as_text(value: object) -> str | None:
    """Return a value in the notation of filters: ``true``, ``12``, ``1048576``; None for None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def split_fields(statement: List) -> tuple[List, tuple[FieldFilter, ...]]:
    """Return the statement without the filters on configs (keys with a dot), and these filters."""
    configs = tuple(field for field in statement.fields if "." in field.key)
    columns = tuple(field for field in statement.fields if "." not in field.key)
    return List(statement.kind, statement.globs, columns, span=statement.span), configs


class ConfigFilter:
    """Filters on config values, for many resources. A number in a filter may have a unit; "unlimited" counts as higher
    than any number.
    """

    def __init__(self, fields: tuple[FieldFilter, ...]) -> None:
        self._fields = fields
        self._tests: dict[tuple[FieldFilter, model_codes.ConfigType], FieldTest] = {}
        self._seen: set[str] = set()
        self._was_asked = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the filters, each once."""
        return tuple(dict.fromkeys(field.key for field in self._fields))

    def values(self, snapshot: Snapshot, resource: ConfigResource) -> dict[str, str | None] | None:
        """Return the values of a resource for the keys of the filters; None if the resource fails one of the filters.
        It fails also if the key is missing, its value is hidden, or the resource's configs were not read.

        Raises:
            CommandError: a comparison or a value is invalid for the key.
        """
        entries = snapshot.configs.get(resource)
        if entries is None:
            return {} if not self._fields else None
        self._was_asked = True
        found = {field.key: entry for field in self._fields if (entry := entries.get(field.key)) is not None}
        self._seen.update(found)
        for field in self._fields:
            entry = found.get(field.key)
            if entry is None or entry.hidden or not self._test(field, entry)(_comparable(field, entry)):
                return None
        return {key: entry.value for key, entry in found.items()}

    def _test(self, field: FieldFilter, entry: ConfigEntry) -> FieldTest:
        known = self._tests.get((field, entry.type))
        if known is None:
            if entry.type in _NUMERIC:
                known = _number_test(field, unit_of(field.key))
            else:
                known = _boolean_test(field) if entry.type == BOOLEAN else _config_text_test(field)
            self._tests[field, entry.type] = known
        return known

    def require_known(self, kind: str) -> None:
        """Raise CommandError for a key of the filters that none of the tested resources has; do nothing if no
        resource was tested. kind: the noun for the resources.
        """
        for field in self._fields:
            if self._was_asked and field.key not in self._seen:
                raise CommandError(f"no {kind} have a config '{field.key}'", "", field.span)


_NUMERIC = frozenset({INT, LONG, SHORT, DOUBLE})


def _config_text_test(field: FieldFilter) -> FieldTest:
    """Return a test of texts, which may be empty, and of numbers in configs whose type is unknown."""
    if field.operator in _EQUALITY:
        return _negated(field, glob_test([field.pattern]))
    return _number_test(field, unit_of(field.key)) if unit_of(field.key) is not Unit.NONE else _text_test(field)


def _comparable(field: FieldFilter, entry: ConfigEntry) -> object:
    above_all = field.operator not in _EQUALITY and is_unlimited(entry.name, entry.value)
    return math.inf if above_all else entry.value


# -- Kafka's own filters of ACLs: ANY for any code, MATCH for the patterns that match a name ---------------------------

_CODES: Mapping[str, type[model_codes.Code]] = {
    "resource_type": model_codes.AclResourceType,
    "pattern_type": model_codes.PatternType,
    "operation": model_codes.AclOperation,
    "permission": model_codes.Permission,
}
_LITERAL, _PREFIXED = 3, 4


def without_acl_filters(statement: List) -> tuple[List, Callable[[Acl], bool] | None]:
    """Return the statement without filters that have Kafka's values ANY and MATCH; and for MATCH a test of ACLs, None
    if the statement has no MATCH.

    MATCH selects the ACLs that affect a resource with the statement's resource_name (AclBindingFilter, KIP-290): those
    on this literal name, on the literal ``*``, and on each prefix of this name.

    Raises:
        CommandError: a value is no name of Kafka's enumeration, or MATCH is given with a pattern as the name.
    """
    kept = tuple(field for field in statement.fields if not _is(field, "ANY"))
    for field in kept:
        _require_code(field)
    if not any(_is(field, "MATCH") for field in kept):
        return List(statement.kind, statement.globs, kept, span=statement.span), None
    names = [field for field in kept if _column(field) == "resource_name"]
    for field in names:
        if field.operator != "=" or field.pattern is None or is_glob(field.pattern):
            hint = "write resource_name=NAME, or leave pattern_type=MATCH out"
            raise CommandError("pattern_type=MATCH compares with one name, not with a pattern", hint, field.span)
    wanted = [literal_text(field.pattern or "") for field in names]
    left = tuple(field for field in kept if not _is(field, "MATCH") and _column(field) != "resource_name")
    return List(statement.kind, statement.globs, left, span=statement.span), lambda acl: _affects(acl, wanted)


def _affects(acl: Acl, names: list[str]) -> bool:
    if acl.pattern_type == _PREFIXED:
        return all(name.startswith(acl.resource_name) for name in names)
    return acl.pattern_type == _LITERAL and all(acl.resource_name in (name, "*") for name in names)


def _column(field: FieldFilter) -> str:
    return field.key.replace("-", "_")


def _is(field: FieldFilter, word: str) -> bool:
    return field.operator == "=" and _column(field) in _CODES and (field.pattern or "").upper() == word


def _require_code(field: FieldFilter) -> None:
    codes = _CODES.get(_column(field))
    pattern = (field.pattern or "").upper()
    if codes is None or has_signs(pattern):
        return
    # MATCH exists only for patterns; and `!=` with ANY or MATCH would exclude nothing.
    known = [name for name in codes.NAMES.values() if field.operator == "=" or name not in ("ANY", "MATCH")]
    if pattern not in known and not pattern.startswith("UNKNOWN("):
        hint = did_you_mean(pattern, known) or f"there are {', '.join(known)}"
        raise CommandError(f"unknown {_column(field).replace('_', ' ')} '{field.pattern}'", hint, field.span)
