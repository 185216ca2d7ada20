"""Quotas as results: those that are set on an entity, and the limits that apply to a user and a client id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from console.answers.results import NOT_READ, Detail, Row, Table, table_of
from console.language.verbs.effective import EffectiveQuota
from console.language.verbs.show import Show
from console.language.vocabulary import check_key, problems, quota_keys
from console.model import quota
from console.model.inheritance import Inheritance
from console.model.numbers import Data
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.diff import after
from console.plan.plan import Plan
from console.present import quotas as present_quotas
from console.present.kinds import SCRAM, scram_rows
from console.present.names import NOTHING, plural, quota_entity


def quota_subject(statement: Show, entity: quota.QuotaEntity, snapshot: Snapshot, plan: Plan) -> Detail:
    """Return a quota entity with its quotas; for `describe` also with its clients, the limits that apply to it, and a
    user's SCRAM credentials.
    """
    own = snapshot.quotas.get(entity, {})
    for key in statement.keys:
        check_key(entity, key, own)
    keys = tuple(key.name for key in statement.keys)
    name = entity.name_of(quota.USER) if entity.has(quota.USER) else None
    # An error that concerns another user does not matter here.
    unread_parts = tuple(
        f for f in problems(snapshot, Part.QUOTAS, Part.SCRAM) if f.part == Part.QUOTAS or f.entity in ("", name)
    )
    unread = {each.part for each in unread_parts}
    values = _values(entity, own, keys, plan)
    if Part.QUOTAS in unread:
        values = replace(values, empty=NOT_READ)
    parts: dict[str, Table | tuple[Detail, ...]] = {"quotas": values}
    data: dict[str, Data] = {"entity": entity.as_dict()}
    if statement.full and not keys:
        below = _below(entity, snapshot.quotas)
        if below:
            rows = (present_quotas.QuotaRow(each, snapshot.quotas.get(each, {})) for each in below)
            parts["clients"] = without_empty(table_of("clients", present_quotas.QUOTAS, rows, "With single clients:"))
        parts.update(_counting(entity, snapshot) if Part.QUOTAS not in unread else {})
        if name is not None and not entity.has(quota.CLIENT_ID):
            rows_of_user = scram_rows(snapshot, [name]) if Part.SCRAM not in unread else ()
            empty = NOT_READ if Part.SCRAM in unread else "none"
            parts["scram"] = table_of("scram", SCRAM, rows_of_user, "SCRAM credentials:", empty)
    return Detail(quota_entity(entity), data, (), parts, unread_parts)


def _values(entity: quota.QuotaEntity, own: quota.QuotaValues, keys: tuple[str, ...], plan: Plan) -> Table:
    staged = {s.edit.key: s.edit for s in plan.staged if s.edit.target == entity}
    rows = []
    for key in keys or (*quota_keys(entity), *(key for key in own if key not in quota_keys(entity))):
        edit = staged.get(key)
        if key in own or edit is not None or keys:
            wanted = after(edit, None, Inheritance(Snapshot())) if edit is not None else None
            rows.append(present_quotas.ValueRow(key, own.get(key), wanted))
    return table_of("quotas", present_quotas.VALUES, rows, empty="no quota is set here")


def _below(entity: quota.QuotaEntity, quotas: Mapping[quota.QuotaEntity, quota.QuotaValues]) -> list[quota.QuotaEntity]:
    if not entity.has(quota.USER) or entity.has(quota.CLIENT_ID):
        return []
    user = entity.name_of(quota.USER)
    return sorted_entities(
        e for e in quotas if e.has(quota.USER) and e.has(quota.CLIENT_ID) and e.name_of(quota.USER) == user
    )


def sorted_entities(entities: Iterable[quota.QuotaEntity]) -> list[quota.QuotaEntity]:
    """Return the entities sorted by type, and the default of a type before names."""
    return sorted(entities, key=lambda e: [(part.type, part.name is not None, part.name or "") for part in e.parts])


def without_empty(table: Table) -> Table:
    """Return the table without columns that are empty in all rows; the first column always stays."""
    kept = [
        place
        for place in range(len(table.columns))
        if place == 0 or any(row.cells[place] not in ("", NOTHING) for row in table.rows)
    ]
    columns = tuple(table.columns[place] for place in kept)
    rows = tuple(Row(tuple(row.cells[place] for place in kept), row.data) for row in table.rows)
    return replace(table, columns=columns, rows=rows)


def _counting(entity: quota.QuotaEntity, snapshot: Snapshot) -> dict[str, Table | tuple[Detail, ...]]:
    """Return the limits that apply to the entity if it names a user and a client id, or an address; empty for other
    entities.
    """
    parts = entity.as_dict()
    user, client, address = parts.get(quota.USER), parts.get(quota.CLIENT_ID), parts.get(quota.IP)
    if user is not None and client is not None:
        found = [(key, quota.effective(snapshot.quotas, user, client, key)) for key in quota.CLIENT_KEYS]
        return {"effective": _effective_table(found, snapshot, f"Effective for user {user}, client {client}:")}
    if address is not None:
        found = [(key, quota.effective_ip(snapshot.quotas, address)) for key in quota_keys(entity)]
        return {"effective": _effective_table(found, snapshot, f"Effective for ip {address}:")}
    return {}


def effective_result(statement: EffectiveQuota, snapshot: Snapshot) -> Table:
    """Return the result of `effective user U client C [KEY]`: the limits that apply.

    Raises:
        CommandError: the key is not a quota's.
    """
    keys: tuple[str, ...] = quota.CLIENT_KEYS
    if statement.key is not None:
        check_key(quota.QuotaEntity.of({quota.USER: statement.user, quota.CLIENT_ID: statement.client}), statement.key)
        keys = (statement.key.name,)
    unread = problems(snapshot, Part.QUOTAS)
    # After a failed read, the known quotas do not show whether there is a limit.
    found = [
        (key, quota.effective(snapshot.quotas, statement.user, statement.client, key)) for key in keys if not unread
    ]
    table = _effective_table(found, snapshot, f"user {statement.user}, {_client(statement.client)}")
    return replace(table, problems=unread)


def _client(client: str) -> str:
    return f"client {client}" if client else "a client without a client id"


def _effective_table(found: Iterable[tuple[str, quota.Effective | None]], snapshot: Snapshot, title: str) -> Table:
    brokers = len(snapshot.cluster.brokers)
    rows = [present_quotas.EffectiveRow(*each) for each in found]
    table = table_of("effective", present_quotas.EFFECTIVE, rows, title)
    note = f"Each limit holds on each of the {plural(brokers, 'broker')} by itself"
    at_one = any(row.key == quota.CONTROLLER_MUTATION_RATE and row.level is not None for row in rows)
    note += f"; {quota.CONTROLLER_MUTATION_RATE} on the controller alone." if at_one else "."
    return replace(table, notes=(note,)) if brokers > 1 else table
