"""The kinds of entities that `list` takes, with the columns of each. This module has the columns of tokens, and of
kinds that only `list` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from console.model.cluster import ScramCredential
from console.model.codes import BROKER_LOGGER
from console.model.config import ConfigEntry, ConfigSet
from console.model.entity_types import EntityType, KnownKey, listed_alone
from console.model.numbers import time_of
from console.model.parts import Part
from console.model.quota import CLIENT_ID, IP, USER
from console.model.snapshot import Snapshot
from console.model.tokens import DelegationToken
from console.plan.amounts import unit_of, utc_time
from console.present import columns, connectors, mirrors
from console.present.acls import ACLS
from console.present.brokers import BROKERS
from console.present.groups import GROUPS
from console.present.names import NOTHING, named
from console.present.quorum import QUORUM, quorum_rows
from console.present.quotas import QUOTAS
from console.present.schemas import SCHEMAS, schema_rows
from console.present.text import Line, clean
from console.present.topics import TOPICS


def _count(value: int) -> str:
    return str(value or "")


class UserRow(NamedTuple):
    """A user with its quotas, SCRAM mechanisms and ACLs; None as the name for the default user."""

    user: str | None
    quotas: int
    scram: str
    """The SCRAM mechanisms; ``?`` if the broker did not return them."""
    acls: int


USERS: columns.Columns[UserRow] = columns.Columns(
    columns.Column("user", columns.LISTED, text=lambda row: named(row.user)),
    columns.Column("quotas", columns.LISTED, type="number", text=lambda row: _count(row.quotas)),
    columns.Column("scram", columns.LISTED, title="SCRAM"),
    columns.Column("acls", columns.LISTED, type="number", title="ACLs", text=lambda row: _count(row.acls)),
)


def user_rows(snapshot: Snapshot) -> Iterator[UserRow]:
    """Yield every user that has a quota, a SCRAM credential or an ACL, or whose credentials could not be read."""
    quotas = _count_parts(snapshot, USER)
    acls: dict[str | None, int] = {}
    for acl in snapshot.acls:
        kind, _, name = acl.principal.partition(":")
        # Quotas and credentials belong to users; an ACL's principal may have another type, such as Group.
        if kind == "User":
            acls[name] = acls.get(name, 0) + 1
    unread = {each.entity for each in snapshot.failures if each.part == Part.SCRAM and each.entity}
    # List a user that could not be read, too: without a row, it would seem not to exist.
    for user in _default_first({*quotas, *snapshot.scram, *unread, *acls}):
        credentials = () if user is None else snapshot.scram.get(user, ())
        scram = "?" if user in unread else ",".join(credential.mechanism.label for credential in credentials)
        yield UserRow(user, quotas.get(user, 0), scram, acls.get(user, 0))


class QuotaOwner(NamedTuple):
    """A client id or an address, and the number of quota entities that contain it; None as the name for the default."""

    name: str | None
    quotas: int


def _owners(key: str, title: str) -> columns.Columns[QuotaOwner]:
    return columns.Columns(
        columns.Column(key, columns.LISTED, lambda row: row.name, title=title, text=lambda row: named(row.name)),
        columns.Column("quotas", columns.LISTED, type="number"),
    )


CLIENTS = _owners("client", "Client")
IPS = _owners("ip", "Address")


def _owner_rows(snapshot: Snapshot, type_: str) -> Iterator[QuotaOwner]:
    """Return every client id or address that has a quota, the default first. type_: the type of quota entity."""
    counts = _count_parts(snapshot, type_)
    return (QuotaOwner(name, counts[name]) for name in _default_first(counts))


def _count_parts(snapshot: Snapshot, type_: str) -> dict[str | None, int]:
    counts: dict[str | None, int] = {}
    for entity in snapshot.quotas:
        for part in entity.parts:
            if part.type == type_:
                counts[part.name] = counts.get(part.name, 0) + 1
    return counts


def _default_first(names: Iterable[str | None]) -> list[str | None]:
    return sorted(names, key=lambda name: (name is not None, name or ""))


class LoggerRow(NamedTuple):
    """A logger of a broker and its level."""

    broker: int
    entry: ConfigEntry


LOGGERS: columns.Columns[LoggerRow] = columns.Columns(
    columns.Column("broker", columns.LISTED, type="number"),
    columns.Column("logger", columns.LISTED, lambda row: row.entry.name),
    columns.Column("level", columns.LISTED, lambda row: row.entry.value, "word"),
)


def logger_rows(snapshot: Snapshot) -> Iterator[LoggerRow]:
    """Yield the loggers that were read, by broker."""
    of_brokers = [resource for resource in snapshot.configs if resource.type == BROKER_LOGGER]
    # Sort by number: as text, 10 would come before 2.
    for resource in sorted(of_brokers, key=lambda resource: int(resource.name)):
        yield from (LoggerRow(int(resource.name), entry) for entry in snapshot.configs[resource])


class ResourceRow(NamedTuple):
    """A resource that has nothing but configs: a subscription of client metrics, for example."""

    name: str
    entries: ConfigSet

    def value(self, key: str) -> str | None:
        """Return the value of a config key; None if it is not set."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value


def _key_column(key: KnownKey) -> columns.Column[ResourceRow]:
    """Return the column of a config key. A number stays the text that the broker sent, but is compared as a number."""
    return columns.Column(
        key.name.replace(".", "_"),
        columns.LISTED,
        lambda row: row.value(key.name),
        "number" if key.type in ("INT", "LONG") else "text",
        unit_of(key.name),
        title=key.name.replace(".", " ").capitalize(),
        text=lambda row: row.value(key.name) or NOTHING,
    )


def _resource_columns(type_: EntityType) -> columns.Columns[ResourceRow]:
    """Return the columns of a resource type that only ListConfigResources lists."""
    return columns.Columns(columns.Column("name", columns.LISTED), *map(_key_column, type_.keys))


def resource_rows(snapshot: Snapshot, type_: EntityType) -> Iterator[ResourceRow]:
    """Return the resources of a type, by name: those whose configs were read."""
    found = sorted(resource for resource in snapshot.configs if resource.type == type_.number)
    return (ResourceRow(resource.name, snapshot.configs[resource]) for resource in found)


class CredentialRow(NamedTuple):
    """A SCRAM credential as a broker describes it: mechanism and iterations, never a password."""

    user: str
    credential: ScramCredential


SCRAM: columns.Columns[CredentialRow] = columns.Columns(
    columns.Column("user", columns.LISTED),
    columns.Column("mechanism", columns.LISTED, lambda row: row.credential.mechanism.label, "word"),
    columns.Column("iterations", columns.LISTED, lambda row: row.credential.iterations, "number"),
)


def scram_rows(snapshot: Snapshot, users: Iterable[str] | None = None) -> Iterator[CredentialRow]:
    """Yield the SCRAM credentials of some users.

    Args:
        users: names, in the order of the rows; None for all users, by name.
    """
    for user in sorted(snapshot.scram) if users is None else users:
        yield from (CredentialRow(user, credential) for credential in snapshot.scram.get(user, ()))


_TO_THE_MINUTE = "2026-01-31T23:59"


def _moment_column(
    name: str, title: str, sort_key: str, at: Callable[[DelegationToken], int], priority: int
) -> columns.Column[DelegationToken]:
    return columns.Column(
        name,
        get=lambda row: None if time_of(at(row)) is None else utc_time(at(row)),
        title=title,
        cell=lambda row: utc_time(at(row))[: len(_TO_THE_MINUTE)].replace("T", " "),
        text=lambda row: utc_time(at(row)),
        order=at,
        layout=columns.on_screen(len(_TO_THE_MINUTE), title, priority=priority, sort_key=sort_key),
    )


TOKENS: columns.Columns[DelegationToken] = columns.Columns(
    columns.Column("id", layout=columns.on_screen((22, 40), "Token", priority=97, sort_key="N")),
    columns.Column("owner", layout=columns.on_screen((12, 40), flex=1, sort_key="O")),
    columns.Column(
        "requester", columns.DATA | columns.SCREEN, layout=columns.on_screen((12, 30), "Asked for by", priority=30)
    ),
    columns.Column(
        "renewers",
        get=lambda row: ",".join(row.renewers),
        cell=lambda row: clean(",".join(row.renewers), 200) or NOTHING,
        text=lambda row: ",".join(row.renewers),
        layout=columns.on_screen((10, 40), priority=70),
    ),
    _moment_column("issued", "Issued", "I", lambda row: row.issued, 40),
    _moment_column("expires", "Expires", "X", lambda row: row.expires, 95),
    _moment_column("max_time", "At most until", "M", lambda row: row.max_time, 50),
)
"""The columns of delegation tokens, without their HMACs; times are UTC."""
_SOON = timedelta(hours=1)


def expires_soon(token: DelegationToken, now: datetime) -> bool:
    """Return whether a token expires within an hour of `now`, or has expired."""
    return token.expires <= (now + _SOON).timestamp() * 1000


def token_lines(token: DelegationToken) -> list[Line]:
    """Return lines with the details of a token."""
    renewers = ", ".join(token.renewers)
    told = (
        ("owner", token.owner),
        ("asked for by", token.requester),
        ("renewed by", f"its owner and {renewers}" if renewers else "its owner"),
        ("issued", utc_time(token.issued)),
        ("expires", utc_time(token.expires)),
        ("at most until", utc_time(token.max_time)),
    )
    lines: list[Line] = [[(f"{name:<15}", "muted"), (clean(value, 400), "")] for name, value in told]
    return [*lines, [], [("What proves it was shown once, to the user who made it, and is kept nowhere.", "muted")]]


def token_rows(snapshot: Snapshot) -> Iterator[DelegationToken]:
    """Return the tokens that were read, by id."""
    return iter(snapshot.tokens.values())


class Kind(NamedTuple):
    """A kind of entities that `list` takes. If `rows` is None, a function of `console.answers.lists` lists it."""

    columns: columns.Columns[Any]
    rows: Callable[[Snapshot], Iterable[Any]] | None = None
    name: Callable[[Any], str | None] = lambda row: row.name
    """Returns the name of a row, against which a GLOB is matched."""
    parts: tuple[Part, ...] = ()
    """The parts of the snapshot whose read failures are printed below the table."""
    empty: str = ""
    """The text if the table has no rows; ``""`` for ``no KIND``."""


def _resources(type_: EntityType) -> Kind:
    """Return the kind for a resource type that has nothing but configs."""
    rows = partial(resource_rows, type_=type_)
    return Kind(_resource_columns(type_), rows, parts=(Part.CONFIGS, Part.RESOURCES))


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "topics": Kind(TOPICS),
        "brokers": Kind(BROKERS),
        "quorum": Kind(QUORUM, quorum_rows, lambda row: str(row.replica.id), (Part.QUORUM,)),
        "users": Kind(USERS, user_rows, lambda row: row.user, (Part.QUOTAS, Part.SCRAM, Part.ACLS)),
        "clients": Kind(CLIENTS, partial(_owner_rows, type_=CLIENT_ID), parts=(Part.QUOTAS,)),
        "ips": Kind(IPS, partial(_owner_rows, type_=IP), parts=(Part.QUOTAS,)),
        "quotas": Kind(QUOTAS),
        "acls": Kind(ACLS["principal"]),
        "groups": Kind(GROUPS),
        "loggers": Kind(LOGGERS, logger_rows, lambda row: row.entry.name, (Part.CONFIGS,)),
        **{each.plural: _resources(each) for each in listed_alone()},
        "scram": Kind(SCRAM, scram_rows, lambda row: row.user, (Part.SCRAM,)),
        "schemas": Kind(SCHEMAS, schema_rows, parts=(Part.SCHEMAS,)),
        "tokens": Kind(TOKENS, token_rows, lambda row: row.id, (Part.TOKENS,)),
        "connectors": Kind(connectors.CONNECTORS, connectors.connector_rows, parts=(Part.CONNECT,)),
        "connect-workers": Kind(
            connectors.WORKERS, connectors.worker_rows, lambda row: row.worker.address, (Part.CONNECT,)
        ),
        "connect-plugins": Kind(
            connectors.PLUGINS, connectors.plugin_rows, lambda row: row.plugin.class_name, (Part.CONNECT,)
        ),
        "mirrors": Kind(
            mirrors.MIRRORS, mirrors.mirror_rows, lambda row: row.flow.name, (Part.MIRRORS,), mirrors.EMPTY
        ),
        "mirror-groups": Kind(
            mirrors.CHECKPOINTS,
            mirrors.checkpoint_rows,
            lambda row: row.checkpoint.group,
            (Part.MIRRORS,),
            mirrors.NO_CHECKPOINTS,
        ),
        "mirror-topics": Kind(
            mirrors.SYNCS, mirrors.sync_rows, lambda row: row.topic, (Part.MIRRORS,), mirrors.NO_SYNCS
        ),
    }
)


def filter_names(kind: str) -> tuple[str, ...]:
    """Return the keys that ``KEY=VALUE`` of `list` accepts for a kind, apart from config keys; empty for an unknown
    kind.
    """
    known = KINDS.get(kind)
    return () if known is None else tuple(column.name for column in known.columns.of("filter"))
