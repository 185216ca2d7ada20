"""The results of `list KIND`: tables from the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from msgspec.structs import replace

from console.answers.quotas import sorted_entities, without_empty
from console.answers.results import Column, Row, Table, titles
from console.language import filters as language_filters
from console.language.statements import FieldFilter
from console.language.verbs.listing import SIZE, List, asks_for
from console.language.vocabulary import problems
from console.model.config import ConfigResource, topic_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.patterns import regex_hint
from console.model.snapshot import LAG_UNREAD, ReadFailure, Snapshot
from console.model.topic_readers import TopicLags
from console.plan.plan import EMPTY
from console.present import connectors, kinds, schemas
from console.present.acls import AclRow
from console.present.brokers import broker_loads, broker_rows
from console.present.columns import Columns
from console.present.groups import GroupRow
from console.present.names import NOTHING, some
from console.present.quotas import QuotaRow
from console.present.topics import NO_FACTS, TOPICS, TopicRow, size_on_disk

R = TypeVar("R")
CONFIG_KEYS = ", or a config's key"


_NOT_NAMED = {Part.CONNECT: connectors.NOT_NAMED, Part.SCHEMAS: schemas.NOT_NAMED}
"""Part that is read from a service next to the brokers -> the next step if the context does not name the service."""


def list_kind(statement: List, snapshot: Snapshot) -> Table:
    """Return the table for a statement `list`.

    Raises:
        CommandError: a filter names a column that the kind does not have.
    """
    kind = kinds.KINDS[statement.kind]
    language_filters.require_names(statement, kind.columns.of("filter"))
    if kind.rows is None:
        return _LISTS[statement.kind](statement, snapshot)
    table = _table(statement, snapshot, kind.rows(snapshot), lambda row, test: test(kind.name(row)), kind.parts)
    absent = next((part for part in kind.parts if part in _NOT_NAMED and part not in snapshot.read_at), None)
    if absent is not None and not table.problems:
        return replace(table, empty=_NOT_NAMED[absent])
    is_whole = not (statement.globs or statement.fields or table.problems)
    return replace(table, empty=kind.empty) if kind.empty and is_whole else table


def _table(
    statement: List,
    snapshot: Snapshot,
    rows: Iterable[R],
    names: Callable[[R, language_filters.Test], bool],
    parts: tuple[str, ...],
    resource: Callable[[R], ConfigResource] | None = None,
    shown: Columns[R] | None = None,
) -> Table:
    """Return the rows that match the statement's filters, as a table.

    Args:
        names: a function from a row and a test to whether the row's name passes the test.
        parts: the parts of the snapshot whose failures the table reports.
        resource: a function from a row to its config resource; None if filters on configs are not allowed.
        shown: the columns; None for all columns of the kind.
    """
    columns: Columns[R] = shown or kinds.KINDS[statement.kind].columns
    by_columns, fields = language_filters.split_fields(statement) if resource is not None else (statement, ())
    passes = language_filters.row_test(
        by_columns, kinds.KINDS[statement.kind].columns.of("filter"), CONFIG_KEYS if resource is not None else ""
    )
    name_test, configs, found = _names(statement), language_filters.ConfigFilter(fields), []
    unknown: list[str] = []
    for row in rows:
        passed = passes(row) if names(row, name_test) else False
        if not passed:
            if passed is None:
                unknown.append(columns.texts(row)[0])
            continue
        values = configs.values(snapshot, resource(row)) if resource is not None else {}
        if values is not None:
            texts = (value or NOTHING for value in values.values())
            found.append(Row((*columns.texts(row), *texts), columns.data(row) | values))
    configs.require_known(statement.kind)
    headings = titles(columns) + tuple(map(Column, configs.keys))
    match = " are known to match" if unknown else " match" if statement.globs or statement.fields else ""
    unread = problems(snapshot, *parts, *([Part.CONFIGS] if fields else []))
    if unknown:
        unread = (*unread, _unjudged(statement, by_columns.fields, unknown))
    empty = f"no {statement.kind}{match}"
    hints = tuple(dict.fromkeys(filter(None, (regex_hint(glob.pattern) for glob in statement.globs))))
    return Table(statement.kind.replace("-", "_"), headings, tuple(found), empty=empty, notes=hints, problems=unread)


def _unjudged(statement: List, fields: Sequence[FieldFilter], names: Sequence[str]) -> ReadFailure:
    """Return a failure that names the rows which a filter can't decide on, because values were not read."""
    filters = " ".join(f"{field.key}{field.operator}{field.pattern}" for field in fields)
    message = f"whether they pass {filters} can't be said: what is known of that is not all, or nothing"
    return ReadFailure(
        statement.kind, some(names), Failure("NOT_KNOWN", message, "List them without the filter to see what is known.")
    )


def _names(statement: List) -> language_filters.Test:
    return language_filters.glob_test([glob.pattern for glob in statement.globs])


def _topics(statement: List, snapshot: Snapshot) -> Table:
    by_size = asks_for(statement, SIZE)
    facts = NO_FACTS._replace(
        lags=TopicLags().after(snapshot), size=lambda name: size_on_disk(snapshot.log_dirs, name) if by_size else None
    )
    rows = [TopicRow(snapshot.topics[name], facts) for name in sorted(snapshot.topics)]
    if by_size:
        rows.sort(key=lambda row: facts.size(row.topic.name) or 0, reverse=True)
    return _table(
        statement,
        snapshot,
        rows,
        lambda row, test: test(row.topic.name),
        (Part.TOPICS, Part.LOG_DIRS) if by_size else (Part.TOPICS,),
        lambda row: topic_resource(row.topic.name),
        TOPICS if by_size else TOPICS.without({SIZE}),
    )


def _brokers(statement: List, snapshot: Snapshot) -> Table:
    rows = (row for row in broker_rows(snapshot, EMPTY, broker_loads(snapshot)) if row.broker is not None)
    return _table(
        statement,
        snapshot,
        rows,
        lambda row, test: test(row.key),
        (Part.TOPICS, Part.VERSIONS),
        lambda row: row.resource,
    )


def _quotas(statement: List, snapshot: Snapshot) -> Table:
    rows = (QuotaRow(entity, snapshot.quotas[entity]) for entity in sorted_entities(snapshot.quotas))
    table = _table(
        statement, snapshot, rows, lambda row, test: any(test(part.name) for part in row.entity.parts), (Part.QUOTAS,)
    )
    return without_empty(table)


def _acls(statement: List, snapshot: Snapshot) -> Table:
    bare, affects = language_filters.without_acl_filters(statement)
    rows = (AclRow(acl, "", True) for acl in snapshot.acls if affects is None or affects(acl))
    table = _table(
        bare, snapshot, rows, lambda row, test: test(row.acl.principal) or test(row.acl.resource_name), (Part.ACLS,)
    )
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: row.cells)))


def _groups(statement: List, snapshot: Snapshot) -> Table:
    test = _names(statement)
    named = [name for name in sorted(snapshot.groups) if test(name)]
    rows = (GroupRow(snapshot.groups[name], snapshot.lags.get(name), snapshot.lag_trends.get(name)) for name in named)
    table = _table(statement, snapshot, rows, lambda row, test: test(row.group.name), (Part.GROUPS,))
    unread = (*table.problems, *(problem for name in named for problem in _lag_problems(snapshot, name)))
    notes = (*table.notes, *(("Lag is in records, over all partitions of a group.",) if table.rows else ()))
    return replace(table, problems=unread, notes=notes)


def _lag_problems(snapshot: Snapshot, group: str) -> Iterator[ReadFailure]:
    yield from (each for each in problems(snapshot, LAG_UNREAD) if each.entity == group)
    lag = snapshot.lags.get(group)
    yield from (ReadFailure(LAG_UNREAD, group, failure) for failure in (lag.failures if lag is not None else ()))


_LISTS: Mapping[str, Callable[[List, Snapshot], Table]] = MappingProxyType(
    {"topics": _topics, "brokers": _brokers, "quotas": _quotas, "acls": _acls, "groups": _groups}
)
