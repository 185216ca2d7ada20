"""Edits and what stood in their place, as JSON and back. A secret goes out as set, and does not come back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser
from console.model.cluster import Partition, ScramCredential, Topic
from console.model.codes import (
    AclOperation,
    AclResourceType,
    Code,
    ConfigSource,
    ConfigType,
    PatternType,
    Permission,
    ResourceType,
    ScramMechanism,
)
from console.model.config import ConfigEntry, ConfigResource, Synonym
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    Edit,
    GrowTopic,
    QuotaEdit,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UnsetQuota,
    UpsertScram,
)
from console.plan.staged import UNREAD, Was

Json = dict[str, Any]

_NOT_WRITTEN = Secret("")
"""Stands for a secret that was read back: what it was is nowhere."""

_CONFIG_OPS: Mapping[str, type[SetConfig | AppendConfig | SubtractConfig]] = {
    "set": SetConfig,
    "append": AppendConfig,
    "subtract": SubtractConfig,
}
_OPS: Mapping[type, str] = {kind: op for op, kind in _CONFIG_OPS.items()}


def code(value: Code) -> str | int:
    """A code's name; its number where it has none."""
    return value.NAMES.get(value, int(value))


@cache
def parsed(kind: type[Code], value: str | int) -> Any:
    """The code again. Raises ValueError."""
    return kind(value) if isinstance(value, int) else kind.parse(value)


# -- edits ---------------------------------------------------------------------------------------------------------


def edit_json(edit: Edit, hide: bool = False) -> Json:
    """An edit. hide: its value is not to be written even though it is no Secret."""
    match edit:
        case UnsetConfig():
            return {"op": "unset", **_resource(edit.resource), "key": edit.key}
        case SetConfig() | AppendConfig() | SubtractConfig():
            op = _OPS[type(edit)]
            return {"op": op, **_resource(edit.resource), "key": edit.key, **_value(edit.value, hide)}
        case SetQuota():
            return {"op": "set", "quota": edit.entity.as_dict(), "key": edit.key, "value": edit.value}
        case UnsetQuota():
            return {"op": "unset", "quota": edit.entity.as_dict(), "key": edit.key}
        case AddAcl():
            return {"op": "add", "acl": acl_json(edit.acl)}
        case RemoveAcl():
            return {"op": "remove", "acl": acl_json(edit.acl)}
        case CreateTopic(topic):
            return {
                "op": "create",
                "topic": topic.name,
                "partitions": topic.partitions,
                "replication": topic.replication,
                "assignments": topic.assignments,
                "configs": {key: None if isinstance(v, Secret) else v for key, v in topic.configs.items()},
            }
        case DeleteTopic():
            return {"op": "delete", "topic": edit.name}
        case GrowTopic():
            return {"op": "grow", "topic": edit.name, "partitions": edit.partitions}
        case UpsertScram():
            return {"op": "set", **_scram(edit.user), "iterations": edit.iterations, "secret": True}
        case DeleteScram():
            return {"op": "delete", **_scram(edit.user)}


def _resource(resource: ConfigResource) -> Json:
    return {"type": code(resource.type), "name": resource.name}


def _value(value: str | Secret, hide: bool) -> Json:
    return {"secret": True} if hide or isinstance(value, Secret) else {"value": value}


def _scram(user: ScramUser) -> Json:
    return {"scram": user.user, "mechanism": code(user.mechanism)}


def acl_json(acl: Acl) -> list[str | int]:
    """A binding: resource type, name, pattern, principal, host, operation, permission."""
    return [
        code(acl.resource_type),
        acl.resource_name,
        code(acl.pattern_type),
        acl.principal,
        acl.host,
        code(acl.operation),
        code(acl.permission),
    ]


def acl_of(data: list[Any]) -> Acl:
    """The binding again."""
    type_, name, pattern, principal, host, operation, permission = data
    return Acl(
        parsed(AclResourceType, type_),
        name,
        parsed(PatternType, pattern),
        principal,
        host,
        parsed(AclOperation, operation),
        parsed(Permission, permission),
    )


def edit_of(data: Json) -> Edit:
    """The edit again. Raises KeyError, TypeError and ValueError for what is none."""
    op = data["op"]
    if "acl" in data:
        return (AddAcl if op == "add" else RemoveAcl)(acl_of(data["acl"]))
    if "quota" in data:
        entity = QuotaEntity.of(data["quota"])
        return SetQuota(entity, data["key"], float(data["value"])) if op == "set" else UnsetQuota(entity, data["key"])
    if "scram" in data:
        user = ScramUser(data["scram"], parsed(ScramMechanism, data["mechanism"]))
        return UpsertScram(user, int(data["iterations"]), _NOT_WRITTEN) if op == "set" else DeleteScram(user)
    if "topic" in data:
        return _topic_edit(data)
    resource = ConfigResource(parsed(ResourceType, data["type"]), data["name"])
    if op == "unset":
        return UnsetConfig(resource, data["key"])
    if op == "set":
        return SetConfig(resource, data["key"], _NOT_WRITTEN if data.get("secret") else data["value"])
    kind = AppendConfig if op == "append" else SubtractConfig
    return kind(resource, data["key"], data["value"])


def _topic_edit(data: Json) -> Edit:
    name = data["topic"]
    if data["op"] == "delete":
        return DeleteTopic(name)
    if data["op"] == "grow":
        return GrowTopic(name, int(data["partitions"]))
    assignments = tuple(tuple(replicas) for replicas in data["assignments"])
    configs = {key: _NOT_WRITTEN if value is None else value for key, value in data["configs"].items()}
    return CreateTopic(NewTopic(name, int(data["partitions"]), int(data["replication"]), assignments, configs))


# -- what was there ------------------------------------------------------------------------------------------------


def was_json(was: Was) -> Any:
    """What stood in an edit's place: None for nothing, ``"unread"`` where nobody knew."""
    match was:
        case None:
            return None
        case ConfigEntry():
            return {
                "name": was.name,
                "value": None if was.sensitive else was.value,
                "source": code(was.source),
                "type": code(was.type),
                "sensitive": was.sensitive,
                "read_only": was.read_only,
                "synonyms": [[s.name, None if was.sensitive else s.value, code(s.source)] for s in was.synonyms],
            }
        case Acl():
            return acl_json(was)
        case Topic():
            replicas = [partition.replicas for partition in was.partitions]
            return {"topic": was.name, "id": was.topic_id, "replicas": replicas}
        case ScramCredential():
            return {"mechanism": code(was.mechanism), "iterations": was.iterations}
        case float() | int():
            return was
        case _:
            return "unread"


def was_of(edit: Edit, data: Any) -> Was:
    """What stood there again, as far as it was written. Raises KeyError, TypeError and ValueError."""
    if data is None:
        return None
    if data == "unread":
        return UNREAD
    if isinstance(edit, QuotaEdit):
        return float(data)
    if isinstance(edit, AddAcl | RemoveAcl):
        return acl_of(data)
    if isinstance(edit, UpsertScram | DeleteScram):
        return ScramCredential(parsed(ScramMechanism, data["mechanism"]), int(data["iterations"]))
    if not isinstance(edit, ConfigEdit):
        partitions = tuple(Partition(n, -1, tuple(replicas), ()) for n, replicas in enumerate(data["replicas"]))
        return Topic(data["topic"], partitions, topic_id=data["id"])
    return ConfigEntry(
        data["name"],
        data["value"],
        parsed(ConfigSource, data["source"]),
        read_only=bool(data["read_only"]),
        sensitive=bool(data["sensitive"]),
        type=parsed(ConfigType, data["type"]),
        synonyms=tuple(Synonym(name, value, parsed(ConfigSource, source)) for name, value, source in data["synonyms"]),
    )
