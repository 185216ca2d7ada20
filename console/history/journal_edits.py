"""What an edit in kac's journal sets, as entities and attributes (docs/trust.md). Pure."""

from __future__ import annotations

from collections.abc import Mapping
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
_DONE_ONCE = frozenset({"elect-preferred", "elect-unclean", "cancel-move", "move", "abort"})
"""Edits that leave no attribute."""
_WITHOUT_SETTINGS = frozenset({"group", "group_offset", "records_of", "registration"})
"""Fields of edits of what is no setting."""
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
    if edit["op"] in _DONE_ONCE or edit.keys() & _WITHOUT_SETTINGS:
        return ()
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


_UNKNOWN_PRINCIPALS = frozenset({"", "certificate", "OAUTHBEARER", "GSSAPI"})


def principal_of(name: str) -> str | None:
    """The principal as brokers write it: `User:alice`."""
    if name in _UNKNOWN_PRINCIPALS:
        return None
    return name if ":" in name else f"User:{name}"
