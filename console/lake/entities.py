"""The one spelling of entities, the same for every source that reports them, and the check of cluster ids. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from console.model import codes

# The cluster ids that the lake accepts, and the name of a cluster's folder. Pure.
#
# Kafka generates an id from a random UUID (`Uuid.toString`: 22 characters of base64url, KIP-78), but accepts any id
# that its storage is formatted with: `..`, `/etc` and 32 KB of text are possible ids of a cluster.

LONGEST = 120
"""Maximum length of a cluster's id in characters. Names of files contain it: most filesystems allow 255 bytes for a
name, and an escaped character takes three.
"""
_LONGEST_NAME = 200
"""Maximum length of a cluster's id in bytes of UTF-8, after the escapes that the name of a partition's folder needs."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESERVED = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for the partition of an empty value."""


def id_problem(cluster_id: str) -> str:
    """Return the reason why a cluster's id is refused; empty if it is accepted. The reason quotes at most 40 characters
    of the id.
    """
    shown = ascii(cluster_id[:40]) + (" …" if len(cluster_id) > 40 else "")
    if not cluster_id.strip():
        return "the id of the cluster is empty"
    if len(cluster_id) > LONGEST:
        return f"the id of the cluster, {shown}, has {len(cluster_id)} characters; {LONGEST} are allowed"
    if not cluster_id.isprintable():
        return f"the id of the cluster, {shown}, has unprintable characters"
    if cluster_id == _RESERVED:
        return f"the id of the cluster, {shown}, is reserved: it means an empty value"
    if sum(3 if each.isascii() and not each.isalnum() else len(each.encode()) for each in cluster_id) > _LONGEST_NAME:
        return f"the id of the cluster, {shown}, is too long for the name of a file"
    return ""


def folder_of(cluster_id: str) -> str:
    """Return the name of a cluster's folder: one component of a path, never `.` or `..`, different for different ids.

    An id of 1 to 64 letters, digits, `-` and `_`, such as Kafka itself creates, is its own folder; for any other id the
    name is `~` and 40 hexadecimal digits of its SHA-256.
    """
    if _PLAIN.fullmatch(cluster_id):
        return cluster_id
    return f"~{hashlib.sha256(cluster_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


# The spelling of a row's entity, the same for all sources.
#
# ========== ============================================= ===================================================
# type       key                                           attributes
# ========== ============================================= ===================================================
# topic      its name                                      config keys; `:topic_id`, `:partitions`, `:replication`
# broker     its id, or `<default>` for the cluster-wide   config keys; `:endpoints`, `:rack`, `:fenced`
# group      its name                                      config keys
# client-metrics its name                                  config keys
# quota      `user=a,client-id=<default>`, `ip=1.2.3.4`    quota keys
# acl        `TOPIC:LITERAL:name`                          `ALLOW READ User:a from *`, its value `set`
# scram      the user                                      the mechanism, its value `iterations=8192`
# feature    its name                                      `:level`
# connector  its Connect cluster and its name, `main/x`    config keys; `:state`, `:tasks`
# cluster    the cluster's id                              `:unobserved`
# ========== ============================================= ===================================================
#
# Changes of a whole topic are changes of its attributes: its creation sets `:partitions`, `:replication` (empty: the
# broker's default) and each of its configs; added partitions set `:partitions`; its deletion deletes `:topic_id` and
# with it all others. A connector's creation sets `:state` and each of its configs; its deletion deletes `:state`, and
# with it all others.
#
# Names in quota and ACL keys have `%`, `,`, `=`, `:`, `<`, `>` and control characters as `%XX` of UTF-8, so that a
# client named `<default>` differs from the default entity, and a key is split unambiguously.

DEFAULT = "<default>"
CLUSTER = "cluster"
"""The type of an entity that is a whole cluster."""
UNOBSERVED = ":unobserved"
"""An attribute of a cluster. Its rows are the time ranges that neither a poll nor the metadata log covers."""
FIRST_POLL = ":first_look"
"""The attribute of the one row that a timeline shows in place of all values of a cluster's first poll."""
POLL_SOURCES = ("snapshot", "kraft_snapshot")
"""The sources that report states instead of changes: polls, and snapshots of the metadata log."""
CONFIG_TYPES: Mapping[int, str] = MappingProxyType(
    {number: name.lower().replace("_", "-") for number, name in codes.ResourceType.NAMES.items()}
)
"""Kafka's number (ConfigResource.Type) -> the entity type of a config (`topic`, `client-metrics` …)."""
CONFIG_OPS: Mapping[int, str] = MappingProxyType({number: name.lower() for number, name in codes.AlterOp.NAMES.items()})
"""Kafka's number (AlterConfigOp.OpType) -> the operation on a config (`set`, `delete` …)."""
NAMELESS = frozenset({"certificate", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM"})
"""Names in kac's journal that are no principals: with these logins the context's settings do not determine the
principal.
"""
MECHANISMS: Mapping[int, str] = MappingProxyType(
    {number: codes.ScramMechanism(number).label for number in codes.ScramMechanism.NAMES}
)
"""Kafka's number -> a SCRAM mechanism, as Kafka's tools write it."""
ACL_SET = "set"
"""The value of an ACL that exists."""
_PART_ORDER = ("user", "client-id", "ip")
_ESCAPED = re.compile(r"[%,=:<>\x00-\x1f\x7f]")


def named(names: Mapping[int, str], code: int) -> str:
    """Return the name of a number in an enumeration of Kafka; ``UNKNOWN(n)`` if it has no name, as in
    `console.model.codes`.
    """
    return names.get(code, f"UNKNOWN({code})")


def config_key(entity_type: str, name: str) -> str:
    """Return the key of a config's resource: its name; `DEFAULT` for the brokers' common defaults."""
    return DEFAULT if entity_type == "broker" and not name else name


def quota_value(value: float) -> str:
    """Return a quota's value as text: `1048576`, `12.5`; whole numbers without a decimal point."""
    return str(int(value)) if value.is_integer() else repr(value)


def scram_value(iterations: int) -> str:
    """Return the value of a SCRAM credential: the only part of it that is not secret."""
    return f"iterations={iterations}"


def quota_key(parts: Mapping[str, str | None]) -> str:
    """Return the key of a quota's entity, as `user=a,client-id=<default>`. parts: type -> name; a name of None is the
    default entity. Types that Kafka does not define come last.
    """
    known = [each for each in _PART_ORDER if each in parts]
    ordered = known + sorted(each for each in parts if each not in _PART_ORDER)
    return ",".join(f"{each}={_name(parts[each])}" for each in ordered)


def quota_parts(key: str) -> dict[str, str | None]:
    """Return the parts of a key that `quota_key` returned: type -> name, None for the type's default."""
    made: dict[str, str | None] = {}
    for part in key.split(","):
        type_, _, name = part.partition("=")
        made[type_] = None if name == DEFAULT else unquote(name)
    return made


def acl_key(resource_type: str, pattern_type: str, resource_name: str) -> str:
    """Return the key of an ACL's resource pattern, with Kafka's names of types: ``TOPIC:LITERAL:orders``."""
    return f"{resource_type}:{pattern_type}:{_escape(resource_name)}"


def acl_resource(key: str) -> tuple[str, str, str]:
    """Return the parts of a key that `acl_key` returned: resource type, pattern type, name."""
    resource_type, pattern_type, name = key.split(":", 2)
    return resource_type, pattern_type, unquote(name)


def acl_attr(permission: str, operation: str, principal: str, host: str) -> str:
    """Return an ACL as an attribute of its resource pattern: ``ALLOW READ User:a from *``."""
    return f"{permission} {operation} {principal} from {host}"


def acl_of(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return the key and the attribute of an ACL, by its fields in Kafka's messages and records. Raises ValueError: a
    code is not a number.
    """
    upon = codes.AclResourceType(fields["resourceType"]).name, codes.PatternType(fields["patternType"]).name
    what = codes.Permission(fields["permissionType"]).name, codes.AclOperation(fields["operation"]).name
    return acl_key(*upon, fields["resourceName"]), acl_attr(*what, fields["principal"], fields["host"])


def acl_parts(attr: str) -> tuple[str, str, str, str]:
    """Return the parts of an attribute that `acl_attr` returned: permission, operation, principal, host."""
    permission, operation, rest = attr.split(" ", 2)
    principal, _, host = rest.rpartition(" from ")
    return permission, operation, principal, host


def _name(name: str | None) -> str:
    return DEFAULT if name is None else _escape(name)


def _escape(name: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", name)
