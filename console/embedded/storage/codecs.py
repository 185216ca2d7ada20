"""The tables' keys and values as JSON, and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from console.embedded.state.values import Partition, ScramCredential, ScramKey, Topic
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ResourceType
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity, QuotaPart


class Codec(NamedTuple):
    """How one table's keys and values are written and read."""

    key: Callable[[Any], Any]
    value: Callable[[Any], Any]
    read_key: Callable[[Any], Any]
    read_value: Callable[[Any, Any], Any]


def _same(thing: Any) -> Any:
    return thing


def _value_alone(_key: Any, value: Any) -> Any:
    return value


def _limits(_key: Any, value: dict[str, Any]) -> dict[str, float]:
    # What JSON has no number for was written as text.
    return {name: float(limit) for name, limit in value.items()}


def _topic(topic: Topic) -> Any:
    return [str(topic.id), topic.internal, topic.partitions]


def _read_topic(name: str, value: Any) -> Topic:
    topic_id, internal, partitions = value
    return Topic(name, UUID(topic_id), tuple(_read_partition(fields) for fields in partitions), internal)


def _read_partition(fields: Any) -> Partition:
    replicas, isr, leader, leader_epoch, partition_epoch, adding, removing = fields
    return Partition(tuple(replicas), tuple(isr), leader, leader_epoch, partition_epoch, tuple(adding), tuple(removing))


def _acl(fields: Any) -> Acl:
    resource, name, pattern, principal, host, operation, permission = fields
    return Acl(
        AclResourceType(resource),
        name,
        PatternType(pattern),
        principal,
        host,
        AclOperation(operation),
        Permission(permission),
    )


def _credential(credential: ScramCredential) -> Any:
    secrets = (credential.salt, credential.stored_key, credential.server_key)
    return [credential.iterations, *(b64encode(secret).decode() for secret in secrets)]


def _read_credential(_key: Any, value: Any) -> ScramCredential:
    iterations, *encoded = value
    salt, stored_key, server_key = (b64decode(part) for part in encoded)
    return ScramCredential(salt, iterations, stored_key, server_key)


CODECS: Mapping[str, Codec] = {
    "topics": Codec(_same, _topic, _same, _read_topic),
    "configs": Codec(
        lambda key: [int(key.type), key.name],
        dict,
        lambda key: ConfigResource(ResourceType(key[0]), key[1]),
        _value_alone,
    ),
    "quotas": Codec(
        lambda entity: [list(part) for part in entity.parts],
        dict,
        lambda key: QuotaEntity(tuple(QuotaPart(*part) for part in key)),
        _limits,
    ),
    "acls": Codec(list, str, _acl, lambda _key, value: UUID(value)),
    "scram": Codec(list, _credential, lambda key: ScramKey(*key), _read_credential),
    "features": Codec(_same, _same, _same, _value_alone),
}
"""By table. Brokers and the controller are made anew with each start."""
