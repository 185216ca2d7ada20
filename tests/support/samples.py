"""Short constructors of ACLs, configs, log directories and edits for tests, which give only the relevant fields."""

from collections.abc import Mapping

from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.statements import EditStatement
from console.model import cluster, codes, config
from console.model.acl import Acl
from console.model.snapshot import Snapshot
from console.plan.edits import Edit


def acl(
    principal: str = "User:alice",
    name: str = "orders",
    operation: str = "READ",
    permission: str = "ALLOW",
    *,
    on: str = "TOPIC",
    pattern: str = "LITERAL",
    host: str = "*",
) -> Acl:
    """Return an ACL; codes are given by their names. on: the resource type. name: the resource's name."""
    resource = codes.AclResourceType.parse(on), name, codes.PatternType.parse(pattern)
    return Acl(*resource, principal, host, codes.AclOperation.parse(operation), codes.Permission.parse(permission))


def own_entry(key: str, value: str, source: codes.ConfigSource, type_: int = 0) -> config.ConfigEntry:
    """Return a config entry as brokers describe it, whose first synonym is the entry itself. type_: the code of the
    config's type.
    """
    synonyms = (config.Synonym(key, value, source),)
    return config.ConfigEntry(key, value, source, type=codes.ConfigType(type_), synonyms=synonyms)


def config_set(values: Mapping[str, str | None], source: codes.ConfigSource) -> config.ConfigSet:
    """Return a config set whose entries have these values and all the same source. values: config key -> value; None
    for a sensitive value.
    """
    return config.ConfigSet(tuple(config.ConfigEntry(key, value, source) for key, value in values.items()))


def held(*replicas: tuple[str, int, int], total: int = 10**9, usable: int = 9 * 10**8) -> cluster.LogDir:
    """Return a log directory with replicas. replicas: topic, partition and size in bytes of each. total, usable: bytes
    of the volume.
    """
    sizes = cluster.ReplicaSizes([cluster.ReplicaSize(*each, 0, False) for each in replicas])
    return cluster.LogDir("/data", sizes, total, usable)


def edits_of(*statements: str, snapshot: Snapshot | None = None) -> list[Edit]:
    """Parse statements, and return their edits. snapshot: the cluster that they refer to; None for an empty one."""
    found: list[Edit] = []
    for text in statements:
        (statement,) = parse(text)
        assert isinstance(statement, EditStatement)
        found += to_edits(statement, snapshot or Snapshot())
    return found


def acls_of(*statements: str) -> list[Acl]:
    """Parse statements, and return the ACLs that they add or remove."""
    return [edit.acl for edit in edits_of(*statements)]  # type: ignore[attr-defined]
