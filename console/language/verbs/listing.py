"""``list``: lists all entities of a kind."""

from __future__ import annotations

from collections.abc import Iterable

from console.language import statements
from console.language.arguments import list_filter
from console.language.reader import Expected, Reader, What
from console.language.snapshot_parts import NOTHING, Needs, whole_parts
from console.language.verb import LOOK, StatementKind, Verb
from console.model.codes import BROKER, BROKER_LOGGER, TOPIC, ResourceType
from console.model.config import ConfigResource
from console.model.entity_types import listed_alone
from console.model.parts import Part
from console.model.patterns import has_signs
from console.model.quota import USER, filter_for_name
from console.present import kinds as present_kinds

KINDS = tuple(present_kinds.KINDS)
"""The kinds that can be listed."""

GROUPS, LAG_SECONDS, SIZE = "groups", "lag_seconds", "size"
"""Columns of a list that need additional requests: the readers and the size of topics, and the lag in seconds of groups
and topics."""

SINGLY = 100
"""Maximum number of entities that are read by their names; if a statement names more, all entities of the kind are
read.
"""


class List(statements.QueryStatement, frozen=True):
    """The query ``list KIND``. A row must pass all comparisons, and match one of the globs if there are any."""

    kind: str
    globs: tuple[statements.Glob, ...] = ()
    fields: tuple[statements.FieldFilter, ...] = ()


def _parse(reader: Reader) -> List:
    kind = reader.need_keyword(*KINDS, label=f"one of {', '.join(KINDS)}")
    globs: list[statements.Glob] = []
    fields: list[statements.FieldFilter] = []
    while not reader.ended:
        found = list_filter(reader, kind)
        if isinstance(found, statements.Glob):
            globs.append(found)
        else:
            fields.append(found)
    reader.expect(Expected(What.LIST_FILTER, "a GLOB or KEY=VALUE", detail=kind))
    return List(kind, tuple(globs), tuple(fields))


def _text(statement: List) -> str:
    globs = (statements.pattern_text(glob.pattern) for glob in statement.globs)
    return statements.joined("list", statement.kind, *globs, *map(statements.field_text, statement.fields))


# -- the needs of each kind --------------------------------------------------------------------------------------------

_LISTED = {each.plural: ResourceType(each.number) for each in listed_alone() if each.number is not None}
"""Kind -> resource type, for kinds whose names only ListConfigResources returns."""


def _needs(statement: List, _selected: statements.Subject | None) -> Needs:
    match statement.kind:
        case "topics":
            configs = any("." in field.key for field in statement.fields)
            read = whole_parts(Part.TOPICS) | Needs(every=frozenset({TOPIC}) if configs else frozenset())
            # Read lags only for a filter on them, as they take requests for each group.
            lags = _lags(statement, ()) if asks_for(statement, GROUPS, LAG_SECONDS) else NOTHING
            return read | lags | (whole_parts(Part.CLUSTER, Part.LOG_DIRS) if asks_for(statement, SIZE) else NOTHING)
        case "brokers":
            configs = any("." in field.key for field in statement.fields)
            read = whole_parts(Part.CLUSTER, Part.QUORUM, Part.VERSIONS, Part.TOPICS)
            return read | Needs(every=frozenset({BROKER}) if configs else frozenset())
        case "quorum":
            return whole_parts(Part.CLUSTER, Part.QUORUM)
        case "users":
            return _users(statement)
        case "clients" | "ips" | "quotas":
            return whole_parts(Part.QUOTAS)
        case "loggers":
            return _loggers(statement)
        case "connectors":
            return whole_parts(Part.CONNECT, Part.GROUPS) | Needs(connectors=True)
        case "connect-workers" | "connect-plugins":
            return whole_parts(Part.CONNECT)
        case "mirrors" | "mirror-groups" | "mirror-topics":
            return whole_parts(Part.TOPICS, Part.CONNECT) | Needs(mirrors=True)
        case "groups":
            return _lags(statement, tuple(glob.pattern for glob in statement.globs))
        case "schemas":
            return whole_parts(Part.SCHEMAS, Part.TOPICS)
        case kind if kind in _LISTED:
            return Needs(every=frozenset({_LISTED[kind]}))
        case kind:
            return whole_parts(kind)


def _lags(statement: List, groups: tuple[str | None, ...]) -> Needs:
    """Return the need for the lag of groups whose names match. The lag is also estimated as a time, which reads
    records' timestamps, but only if a filter compares this time.
    """
    times = asks_for(statement, LAG_SECONDS)
    return whole_parts(Part.GROUPS) | Needs(lags_of=frozenset({groups}), lag_times=times)


def asks_for(statement: List, *columns: str) -> bool:
    """Return whether the statement has a comparison of one of these columns."""
    return any(field.key.replace("-", "_") in columns for field in statement.fields)


def _users(statement: List) -> Needs:
    """Return the parts to read to list users; if users are named, only their quotas and ACLs."""
    names = _named(glob.pattern for glob in statement.globs)
    if names is None:
        return whole_parts(Part.QUOTAS, Part.SCRAM, Part.ACLS)
    # Read only the quotas of the users that are named: a million users may have quotas.
    principals = frozenset(f"User:{name}" for name in names if name is not None)
    filters = frozenset(filter_for_name(USER, name) for name in names)
    return Needs(parts=frozenset({Part.SCRAM}), quotas_of=filters, acls_of=principals)


def _named(patterns: Iterable[str | None]) -> list[str | None] | None:
    """Return the patterns as names, None among them for the default. Return None instead if a pattern has wildcards, if
    there are no patterns, or more than 100 (`SINGLY`).
    """
    names = list(dict.fromkeys(patterns))
    plain = all(name is None or not has_signs(name) for name in names)
    return names if plain and 0 < len(names) <= SINGLY else None


def _loggers(statement: List) -> Needs:
    exact = [field.pattern for field in statement.fields if (field.key, field.operator) == ("broker", "=")]
    # Read only the brokers that are named: each broker returns only its own loggers, some hundred.
    numbers = [pattern for pattern in exact if pattern and pattern.isascii() and pattern.isdigit()]
    if not numbers:
        return whole_parts(Part.CLUSTER) | Needs(every=frozenset({BROKER_LOGGER}))
    loggers = (ConfigResource(BROKER_LOGGER, number) for number in numbers)
    return whole_parts(Part.CLUSTER) | Needs(resources=frozenset(loggers))


VERBS = (
    Verb(
        "list",
        LOOK,
        ("list KIND {GLOB | KEY=VALUE | KEY>N}",),
        "All entities of a kind",
        f"KIND is one of {', '.join(KINDS)}.\n\n"
        "The filters:\n\n"
        "- GLOB matches names with `*`, `?` and `[ab]`. Quoted characters match themselves.\n"
        "- `KEY=VALUE` and `KEY!=VALUE` compare a column. For topics and brokers KEY may also be a config. VALUE "
        "may be a glob.\n"
        "- `KEY>N`, `KEY>=N`, `KEY<N` and `KEY<=N` compare numbers. N may have a unit of the key. The value -1, "
        "which means no limit, is greater than every number.\n\n"
        "A row has to match one of the globs, if there are any, and all comparisons. A row without the column "
        "matches no comparison with it.\n\n"
        "Columns with a special meaning:\n\n"
        "- For topics, `size` is the size of all replicas on disk. A list with a filter on `size` begins with the "
        "largest topics.\n"
        "- For groups, `topic=NAME` finds the groups that read the topic.\n"
        "- For ACLs, ANY stands for every value. `pattern_type=MATCH` finds all ACLs that affect the resource in "
        "`resource_name=NAME`.",
        (
            "list topics svc-*",
            "list topics cleanup.policy=compact*",
            "list topics under_replicated>0",
            "list topics retention.ms>=7d",
            "list topics size>1GiB",
            "list groups topic=orders",
            "list groups lag>1000",
            "list groups lag_seconds>5min",
            "list quotas user=alice",
            "list quotas user=<default>",
            "list acls principal=User:alice operation=WRITE",
            "list acls resource_type=TOPIC resource_name=orders pattern_type=MATCH",
            "list groups state=Stable",
            "list loggers broker=1 level=DEBUG",
            "list quorum role=voter",
            "list connectors main/* state=FAILED",
            "list connectors tasks_failed>0",
            "list schemas compatibility=NONE",
            "list mirrors heartbeat_seconds>1min",
        ),
        rank=2,
        stands_for={
            "list groups lag>0": "lag list",
            "list topics size>0": "size list",
            "list brokers": "cluster list",
            "list acls principal=User:NAME": "acl describe",
        },
        parse=_parse,
        statements=(StatementKind(statement=List, text=_text, needs=_needs),),
    ),
)
