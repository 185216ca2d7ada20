"""Decodes lines of kac's journal: a change's intent, its edits as settings, and what became of it (docs/trust.md)."""

from __future__ import annotations

import json
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

# The edits of a journal, as what they set: entity, attribute, operation and value, spelled as all sources are.


class Setting(NamedTuple):
    """One thing that an edit sets. op: set, delete, append, subtract. value, old_value: None for nothing, or hidden."""

    entity_type: str
    entity_key: str
    attr: str
    op: str
    value: str | None = None
    old_value: str | None = None
    old_source: str | None = None
    is_sensitive: bool = False


_OPS = {"set": "set", "add": "set", "grow": "set", "create": "set", "unset": "delete", "remove": "delete"}
_OWN_SOURCES = {
    "topic": ("DYNAMIC_TOPIC_CONFIG",),
    "broker": ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG"),
    "broker-logger": ("DYNAMIC_BROKER_LOGGER_CONFIG",),
    "client-metrics": ("DYNAMIC_CLIENT_METRICS_CONFIG",),
    "group": ("DYNAMIC_GROUP_CONFIG",),
}
"""Where a value is set that is the entity's own; a broker's file is its own too."""


def settings_of(edit: Mapping[str, Any], was: Any) -> tuple[Setting, ...]:
    """What an edit sets. was: what stood in its place, as the journal has it.

    Raises KeyError, TypeError, ValueError, AttributeError or IndexError for what is no edit.
    """
    op = _OPS.get(edit["op"], edit["op"])
    if op not in ("set", "delete", "append", "subtract"):
        raise ValueError(op)
    known = None if was == "unread" else was
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


# The lines of a journal that kac keeps: JSON objects, a change's intent and what became of it (docs/trust.md).
#
# Read here by themselves, since executors have nothing else of kac; a test holds them equal to what kac itself reads.

VERSION = 1
UNPROVEN = "Nothing changed: apply again."
"""The remedy with which former versions said "not applied" of a request whose answer was lost, without a proof."""


class BadLine(ValueError):
    """A line that is no record: why, in words."""


@dataclass(frozen=True)
class Edit:
    """An edit of a change. request: its request's place in the change. reverts: the change that it takes back."""

    settings: tuple[Setting, ...]
    request: int | None
    reverts: int | None


@dataclass(frozen=True)
class Intent:
    """A change that was about to be sent. principal: None where only the brokers know, as of a certificate."""

    change: int
    at: datetime
    host: str
    door: str
    principal: str | None
    os_user: str
    client_host: str | None
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Note:
    """What became of a change. sent: the request that goes out. ended: by the edit's place, (status, error name,
    message). found: by the edit's place, the status that a later look or an operator gave."""

    change: int
    at: datetime
    sent: int | None = None
    ended: Mapping[int, tuple[str, str | None, str | None]] | None = None
    found: Mapping[int, str] | None = None


@dataclass(frozen=True)
class Mended:
    """The line before had been cut, and was ended by hand."""


@dataclass(frozen=True)
class Other:
    """A record that says nothing of how a change went."""


Record = Intent | Note | Mended | Other

_UNKNOWN_PRINCIPALS = frozenset({"", "certificate", "OAUTHBEARER", "GSSAPI"})
_STATUSES = frozenset({"applied", "valid", "unchecked", "failed", "not applied", "unknown"})


def record(line: bytes) -> Record:
    """What a line says. Raises BadLine."""
    try:
        data = json.loads(line)
    except ValueError:
        raise BadLine("it is no JSON") from None
    if not isinstance(data, dict):
        raise BadLine("it is no JSON object")
    if data.get("v") != VERSION:
        raise BadLine("its version is none that is known here")
    try:
        return _record(data)
    except BadLine:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadLine(f"it is not in the journal's form ({type(error).__name__})") from None


def time_of(text: str) -> datetime:
    """A time as the journal writes it, UTC with milliseconds; Python 3.10 does not take the Z."""
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def _record(data: Mapping[str, Any]) -> Record:
    kind = data["kind"]
    if kind == "intent":
        return _intent(data)
    if kind == "sending":
        return Note(int(data["change"]), time_of(data["at"]), sent=int(data["request"]))
    if kind == "outcome":
        ended = {int(place): _ended(how) for place, how in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), ended=ended)
    if kind == "settled":
        found = {int(place): _status(status) for place, status in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), found={p: s for p, s in found.items() if s == "applied"})
    if kind == "decided":
        said = {int(place): _status(status) for place, status in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), found=said)
    if kind == "mended":
        return Mended()
    if kind in ("closed", "told"):
        return Other()
    raise BadLine("its kind is none that is known here")


def _ended(how: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    status = _status(how["status"])
    if status == "not applied" and how.get("remedy") == UNPROVEN:
        status = "unknown"
    return status, how.get("error"), how.get("message")


def _status(text: str) -> str:
    if text not in _STATUSES:
        raise ValueError(text)
    return text


def _intent(data: Mapping[str, Any]) -> Intent:
    requests = {place: n for n, request in enumerate(data["requests"]) for place in request["edits"]}
    who, origin = data["who"], data["from"]
    return Intent(
        int(data["change"]),
        time_of(data["at"]),
        origin["host"],
        origin["door"],
        _principal(who["principal"]),
        f"{who['os_user']} (by {who['sudo_user']})" if who["sudo_user"] else who["os_user"],
        who["ssh_client"] or None,
        tuple(
            Edit(
                settings_of(entry["edit"], entry["was"]),
                requests.get(place),
                int(entry["reverts"][0]) if "reverts" in entry else None,
            )
            for place, entry in enumerate(data["edits"])
        ),
    )


def _principal(name: str) -> str | None:
    """As brokers write it: `User:alice`."""
    if name in _UNKNOWN_PRINCIPALS:
        return None
    return name if ":" in name else f"User:{name}"
