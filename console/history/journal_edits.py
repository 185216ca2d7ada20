"""Decodes lines of kac's journal: a change's intent, its edits as settings, and what became of it (docs/trust.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from console.history.entities import (
    ACL_SET,
    CONFIG_TYPES,
    acl_attr,
    acl_key,
    config_key,
    quota_key,
    quota_value,
    scram_value,
)
from console.history.redact import is_secret
from console.model.journal_lines import (
    ClosedLine,
    DecidedLine,
    IntentLine,
    Json,
    Mended,
    OperationLine,
    OutcomeLine,
    Sending,
    SettledLine,
    Told,
    line_of,
    read_line,
)


class Setting(NamedTuple):
    """One attribute that an edit changes. op: set, delete, append, subtract. value, old_value: None if empty or
    hidden."""

    entity_type: str
    entity_key: str
    attr: str
    op: str
    value: str | None = None
    old_value: str | None = None
    old_source: str | None = None
    is_sensitive: bool = False


_OPS = {"set": "set", "add": "set", "grow": "set", "create": "set", "unset": "delete", "remove": "delete"}
_WITHOUT_SETTINGS = frozenset(
    {
        "elect-preferred",
        "elect-unclean",
        "cancel-move",
        "move",
        "abort",
    }
)
"""Edits that are done once and leave no attribute."""
_NO_SETTINGS = frozenset({"group", "group_offset"})
"""Forms of edits that change no setting of the metadata log: groups and their offsets."""
_OWN_SOURCES = {
    "topic": ("DYNAMIC_TOPIC_CONFIG",),
    "broker": ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG"),
    "broker-logger": ("DYNAMIC_BROKER_LOGGER_CONFIG",),
    "client-metrics": ("DYNAMIC_CLIENT_METRICS_CONFIG",),
    "group": ("DYNAMIC_GROUP_CONFIG",),
}
"""Sources of values that are set on the entity itself; a broker's file counts."""


def settings_of(edit: Mapping[str, Any], was: Any) -> tuple[Setting, ...]:
    """The attributes that an edit changes. was: the journal's record of the former value.

    Raises KeyError, TypeError, ValueError, AttributeError or IndexError for JSON that is no edit.
    """
    if edit["op"] in _WITHOUT_SETTINGS or edit.keys() & _NO_SETTINGS:
        return ()
    if "records_of" in edit or "registration" in edit:
        return ()  # they set nothing that stays
    op = _OPS.get(edit["op"], edit["op"])
    if op not in ("set", "delete", "append", "subtract"):
        raise ValueError(op)
    known = None if was == "unread" else was
    if "feature" in edit:
        old = str(int(known)) if known is not None else None
        return (Setting("feature", edit["feature"], ":level", op, str(int(edit["value"])), old),)
    if "acl" in edit:
        return (_acl(edit["acl"], op, known),)
    if "quota" in edit:
        value = quota_value(float(edit["value"])) if op == "set" else None
        old = quota_value(float(known)) if known is not None else None
        return (Setting("quota", quota_key(edit["quota"]), edit["key"], op, value, old),)
    if "scram" in edit:
        mechanism = str(edit["mechanism"]).replace("_", "-")
        old = scram_value(int(known["iterations"])) if known is not None else None
        return (Setting("scram", edit["scram"], mechanism, op, None, old, is_sensitive=op == "set"),)
    return _topic(edit, op, known) if "topic" in edit else (_config(edit, op, known),)


def _acl(acl: Any, op: str, was: Any) -> Setting:
    resource_type, name, pattern, principal, host, operation, permission = acl
    upon = acl_key(str(resource_type), str(pattern), name)
    attr = acl_attr(str(permission), str(operation), principal, host)
    value = ACL_SET if op == "set" else None
    return Setting("acl", upon, attr, op, value, ACL_SET if was is not None else None)


def _topic(edit: Mapping[str, Any], op: str, was: Any) -> tuple[Setting, ...]:
    name = edit["topic"]
    if op == "delete":
        return (Setting("topic", name, ":topic_id", op, None, was["id"] if was is not None else None),)
    if edit["op"] == "grow":
        old = str(len(was["replicas"])) if was is not None else None
        return (Setting("topic", name, ":partitions", op, str(int(edit["partitions"])), old),)
    assigned = edit["assignments"]
    partitions = len(assigned) or int(edit["partitions"])
    replication = len(assigned[0]) if assigned else int(edit["replication"])
    configs = {key: None if is_secret("topic", key) else value for key, value in edit["configs"].items()}
    return (
        Setting("topic", name, ":partitions", op, str(partitions) if partitions > 0 else None),
        Setting("topic", name, ":replication", op, str(replication) if replication > 0 else None),
        *(
            Setting("topic", name, key, op, value, is_sensitive=value is None)
            for key, value in sorted(configs.items(), key=lambda item: item[0])
        ),
    )


def _config(edit: Mapping[str, Any], op: str, was: Any) -> Setting:
    type_ = edit["type"]
    entity_type = CONFIG_TYPES[type_] if isinstance(type_, int) else type_.lower().replace("_", "-")
    if entity_type not in _OWN_SOURCES:
        raise ValueError(entity_type)
    key = edit["key"]
    secret = bool(edit.get("secret")) or is_secret(entity_type, key)
    value = None if secret or op == "delete" else edit["value"]
    source = None if was is None else str(was["source"])
    own = was is not None and source in _OWN_SOURCES[entity_type] and not was["sensitive"] and not secret
    return Setting(
        entity_type,
        config_key(entity_type, edit["name"]),
        key,
        op,
        value,
        was["value"] if own else None,
        source,
        is_sensitive=secret and op != "delete",
    )


@dataclass(frozen=True)
class Edit:
    """An edit of a change. request: the place of its request in the change. reverts: the change that it reverts."""

    settings: tuple[Setting, ...]
    request: int | None
    reverts: int | None


@dataclass(frozen=True)
class Intent:
    """A change before it was sent. principal: None if only the brokers know it, as for a client certificate."""

    change: int
    at: datetime
    host: str
    door: str
    principal: str | None
    os_user: str
    client_host: str | None
    edits: tuple[Edit, ...]


Note = Sending | OutcomeLine | SettledLine | DecidedLine
"""Lines that report how a change ended."""
Record = Intent | Note | Told | ClosedLine | Mended | OperationLine

_UNKNOWN_PRINCIPALS = frozenset({"", "certificate", "OAUTHBEARER", "GSSAPI"})


def record(line: bytes) -> Record:
    """Decodes a line. Raises BadLine."""
    return read_line(line, _record)


def _record(data: Json) -> Record:
    line = line_of(data)
    return _intent(line) if isinstance(line, IntentLine) else line


def _intent(line: IntentLine) -> Intent:
    requests = {place: number for number, request in enumerate(line.requests) for place in request.edits}
    who = line.who
    return Intent(
        line.change,
        line.at,
        line.origin.host,
        line.origin.door,
        principal_of(who.principal),
        f"{who.os_user} (by {who.sudo_user})" if who.sudo_user else who.os_user,
        who.ssh_client or None,
        tuple(
            Edit(
                settings_of(each.edit, each.was),
                requests.get(place),
                None if each.reverts is None else each.reverts[0],
            )
            for place, each in enumerate(line.edits)
        ),
    )


def principal_of(name: str) -> str | None:
    """The principal as brokers write it: `User:alice`."""
    if name in _UNKNOWN_PRINCIPALS:
        return None
    return name if ":" in name else f"User:{name}"
