"""`list KIND`: tables over the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from console.answers.quotas import entity_table, scram_table, sorted_entities
from console.answers.results import Column, Data, Row, Table
from console.language.filters import (
    ConfigFilter,
    Test,
    field_tests,
    glob_test,
    passes,
    require_names,
    split_fields,
    without_acl_filters,
)
from console.language.statements import List
from console.language.vocabulary import problems
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS
from console.model.config import broker_resource, topic_resource
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.snapshot import ReadFailure, Snapshot
from console.plan.plan import EMPTY
from console.present.brokers import broker_cells, broker_loads, broker_rows
from console.present.columns import COLUMNS, CONFIG_KEYS
from console.present.groups import lag_total
from console.present.names import NOTHING, named
from console.present.text import plain

_TOPICS = (
    Column("Topic"),
    Column("Partitions", True),
    Column("Replication", True),
    Column("Under-replicated", True),
    Column("Offline", True),
    Column("Internal"),
)
_BROKERS = (
    Column(""),
    Column("Broker"),
    Column("Address"),
    Column("Rack"),
    Column("Kafka"),
    Column("Leaders", True),
    Column("Replicas", True),
    Column("Out of sync", True),
    Column("Quorum"),
)
_ACLS = (
    Column("Principal"),
    Column("Resource"),
    Column("Name"),
    Column("Pattern"),
    Column("Permission"),
    Column("Operation"),
    Column("Host"),
)
_GROUPS = (
    Column("Group"),
    Column("State"),
    Column("Type"),
    Column("Protocol"),
    Column("Lag", True),
    Column("Coordinator", True),
)


def list_kind(statement: List, snapshot: Snapshot) -> Table:
    """The table of a kind. Raises CommandError for a filter on a column that it has not."""
    require_names(statement, COLUMNS[statement.kind])
    return _LISTS[statement.kind](statement, snapshot)


def _table(statement: List, columns: tuple[Column, ...], rows: Iterable[Row], unread: tuple[ReadFailure, ...]) -> Table:
    filtered = bool(statement.globs or statement.fields)
    empty = f"no {statement.kind}" + (" match" if filtered else "")
    return Table(statement.kind.replace("-", "_"), columns, tuple(rows), empty=empty, problems=unread)


def _names(statement: List) -> Test:
    return glob_test([glob.pattern for glob in statement.globs])


def _topics(statement: List, snapshot: Snapshot) -> Table:
    columns_only, fields = split_fields(statement)
    tests, name_test = field_tests(columns_only, COLUMNS["topics"], CONFIG_KEYS), _names(statement)
    rows, configs = [], ConfigFilter(fields)
    for name in sorted(snapshot.topics):
        if not name_test(name):
            continue
        topic = snapshot.topics[name]
        data: dict[str, Data] = {
            "name": name,
            "partition_count": len(topic.partitions),
            "replication_factor": topic.replication,
            "under_replicated": topic.under_replicated,
            "offline": topic.offline,
            "internal": topic.internal,
        }
        values = configs.values(snapshot, topic_resource(name))
        filtered_by = {**data, "partitions": len(topic.partitions), "replication": topic.replication}
        if values is None or not passes(tests, filtered_by):
            continue
        cells = (
            name,
            str(len(topic.partitions)),
            str(topic.replication),
            str(topic.under_replicated or ""),
            str(topic.offline or ""),
            "internal" if topic.internal else "",
            *(value or NOTHING for value in values.values()),
        )
        rows.append(Row(cells, {**data, **values}))
    configs.require_known(statement.kind)
    columns = _TOPICS + tuple(map(Column, configs.keys))
    return _table(statement, columns, rows, problems(snapshot, "topics", *(["configs"] if fields else [])))


def _brokers(statement: List, snapshot: Snapshot) -> Table:
    columns_only, fields = split_fields(statement)
    tests, name_test = field_tests(columns_only, COLUMNS["brokers"], CONFIG_KEYS), _names(statement)
    rows, configs = [], ConfigFilter(fields)
    for row in broker_rows(snapshot, EMPTY, broker_loads(snapshot)):
        broker = row.broker
        if broker is None or not name_test(str(broker.id)):
            continue
        data: dict[str, Data] = {
            "id": broker.id,
            "host": broker.host,
            "port": broker.port,
            "rack": broker.rack,
            "release": row.release or None,
            "controller": row.controller,
            "fenced": broker.fenced,
            "leaders": row.load.leaders,
            "replicas": row.load.replicas,
            "out_of_sync": row.load.out_of_sync,
        }
        values = configs.values(snapshot, broker_resource(broker.id))
        if values is None or not passes(tests, data):
            continue
        letter, _, number, where, rack, release, leaders, replicas, lost, _, _, quorum = map(plain, broker_cells(row))
        cells = (letter, number, where, rack, release, leaders, replicas, lost, quorum)
        rows.append(Row((*cells, *(value or NOTHING for value in values.values())), {**data, **values}))
    configs.require_known(statement.kind)
    columns = _BROKERS + tuple(map(Column, configs.keys))
    unread = problems(snapshot, "topics", "versions", *(["configs"] if fields else []))
    return _table(statement, columns, rows, unread)


def _users(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["users"]), _names(statement)
    quotas = _count_parts(snapshot, USER)
    acls: dict[str | None, int] = {}
    for acl in snapshot.acls:
        kind, _, name = acl.principal.partition(":")
        if kind == "User":
            acls[name] = acls.get(name, 0) + 1
    rows = []
    for user in _default_first({*quotas, *snapshot.scram, *acls}):
        scram = ",".join(credential.mechanism.label for credential in snapshot.scram.get(user or "", ()))
        data: dict[str, Data] = {
            "user": user,
            "quotas": quotas.get(user, 0),
            "scram": scram if user is not None else "",
            "acls": acls.get(user, 0),
        }
        if name_test(user) and passes(tests, data):
            rows.append(Row((named(user), *(str(data[key] or "") for key in ("quotas", "scram", "acls"))), data))
    columns = (Column("User"), Column("Quotas", True), Column("SCRAM"), Column("ACLs", True))
    return _table(statement, columns, rows, problems(snapshot, "quotas", "scram", "acls"))


def _count_parts(snapshot: Snapshot, type_: str) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for entity in snapshot.quotas:
        for part in entity.parts:
            if part.type == type_:
                counts[part.name] = counts.get(part.name, 0) + 1
    return counts


def _default_first(found: Iterable[str | None]) -> list[str | None]:
    return sorted(found, key=lambda name: (name is not None, name or ""))


def _of_quotas(type_: str, key: str, title: str) -> Callable[[List, Snapshot], Table]:
    def listing(statement: List, snapshot: Snapshot) -> Table:
        tests, name_test = field_tests(statement, COLUMNS[statement.kind]), _names(statement)
        counts = _count_parts(snapshot, type_)
        rows = []
        for name in _default_first(counts):
            data: dict[str, Data] = {key: name, "quotas": counts[name]}
            if name_test(name) and passes(tests, data):
                rows.append(Row((named(name), str(counts[name])), data))
        return _table(statement, (Column(title), Column("Quotas", True)), rows, problems(snapshot, "quotas"))

    return listing


def _quotas(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["quotas"]), _names(statement)
    found = [
        entity
        for entity, values in snapshot.quotas.items()
        if any(name_test(part.name) for part in entity.parts)
        and passes(tests, _quota_columns(entity) | {key: float(value) for key, value in values.items()})
    ]
    table = entity_table("quotas", sorted_entities(found), snapshot.quotas)
    return _table(statement, table.columns, table.rows, problems(snapshot, "quotas"))


def _quota_columns(entity: QuotaEntity) -> dict[str, object]:
    return {"client" if part.type == CLIENT_ID else part.type: part.name for part in entity.parts}


def _acls(statement: List, snapshot: Snapshot) -> Table:
    statement, affects = without_acl_filters(statement)
    tests, name_test = field_tests(statement, COLUMNS["acls"]), _names(statement)
    rows = []
    for acl in snapshot.acls:
        if affects is not None and not affects(acl):
            continue
        data: dict[str, Data] = {
            "resource_type": acl.resource_type.name,
            "resource_name": acl.resource_name,
            "pattern_type": acl.pattern_type.name,
            "principal": acl.principal,
            "host": acl.host,
            "operation": acl.operation.name,
            "permission": acl.permission.name,
        }
        if passes(tests, data) and (name_test(acl.principal) or name_test(acl.resource_name)):
            rows.append(Row(tuple(str(data[key]) for key in COLUMNS["acls"]), data))
    return _table(statement, _ACLS, sorted(rows, key=lambda row: row.cells), problems(snapshot, "acls"))


def _groups(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["groups"]), _names(statement)
    rows = []
    unread: list[ReadFailure] = []
    for name in sorted(snapshot.groups):
        group, lag = snapshot.groups[name], snapshot.lags.get(name)
        data: dict[str, Data] = {
            "name": name,
            "state": group.state,
            "type": group.type,
            "protocol": group.protocol,
            "lag": None if lag is None else lag.known_total,
            "coordinator": group.coordinator,
        }
        if not name_test(name):
            continue
        unread += problems(snapshot, f"lag of {name}")
        unread += (ReadFailure("lag of", name, failure) for failure in (lag.failures if lag is not None else ()))
        if passes(tests, data):
            coordinator = str(group.coordinator) if group.coordinator >= 0 else ""
            rows.append(Row((name, group.state, group.type, group.protocol, lag_total(lag), coordinator), data))
    table = _table(statement, _GROUPS, rows, (*problems(snapshot, "groups"), *unread))
    return replace(table, notes=("Lag is in records, over all partitions of a group.",) if rows else ())


def _loggers(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["loggers"]), _names(statement)
    rows = []
    of_brokers = [resource for resource in snapshot.configs if resource.type == BROKER_LOGGER]
    for resource in sorted(of_brokers, key=lambda resource: int(resource.name)):
        for entry in snapshot.configs[resource]:
            data: dict[str, Data] = {"broker": int(resource.name), "logger": entry.name, "level": entry.value}
            if name_test(entry.name) and passes(tests, data):
                rows.append(Row((resource.name, entry.name, entry.value or ""), data))
    columns = (Column("Broker", True), Column("Logger"), Column("Level"))
    return _table(statement, columns, rows, problems(snapshot, "configs"))


def _client_metrics(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["client-metrics"]), _names(statement)
    rows = []
    for resource in sorted(resource for resource in snapshot.configs if resource.type == CLIENT_METRICS):
        entries = snapshot.configs[resource]
        values = {key: entry.value if (entry := entries.get(key)) else None for key in _METRICS_KEYS}
        data: dict[str, Data] = {"name": resource.name, **{key.replace(".", "_"): v for key, v in values.items()}}
        if name_test(resource.name) and passes(tests, data):
            rows.append(Row((resource.name, *(value or NOTHING for value in values.values())), data))
    columns = (Column("Name"), Column("Metrics"), Column("Interval ms", True), Column("Match"))
    return _table(statement, columns, rows, problems(snapshot, "configs", "resources"))


_METRICS_KEYS = ("metrics", "interval.ms", "match")


def _scram(statement: List, snapshot: Snapshot) -> Table:
    tests, name_test = field_tests(statement, COLUMNS["scram"]), _names(statement)
    table = scram_table(snapshot, sorted(snapshot.scram))
    rows = [row for row in table.rows if passes(tests, row.data) and name_test(row.cells[0])]
    return _table(statement, table.columns, rows, problems(snapshot, "scram"))


_LISTS: Mapping[str, Callable[[List, Snapshot], Table]] = MappingProxyType(
    {
        "topics": _topics,
        "brokers": _brokers,
        "users": _users,
        "clients": _of_quotas(CLIENT_ID, "client", "Client"),
        "ips": _of_quotas(IP, "ip", "Address"),
        "quotas": _quotas,
        "acls": _acls,
        "groups": _groups,
        "loggers": _loggers,
        "client-metrics": _client_metrics,
        "scram": _scram,
    }
)
