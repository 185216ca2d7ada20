"""Kafka's codes with their names. A code that kac has no name for, such as that of a newer broker, keeps its number.

Sources: ConfigResource.Type, DescribeConfigsResponse.ConfigSource and ConfigType, AlterConfigOp.OpType, and
org.apache.kafka.common.resource / .acl of Apache Kafka 3.9 to 4.3. kio has no enumerations for them.

Also used by the lake's application on Spark's executors: Python 3.10, standard library.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from console.model.entity_types import BY_NUMBER, SHARED_SOURCES, EntityType, unknown

if TYPE_CHECKING:
    from typing import Self


_UNKNOWN = re.compile(r"UNKNOWN\(([0-9]{1,4})\)")
"""Matches ``UNKNOWN(n)``, the form in which `Code.name` shows a code that kac has no name for."""


class Code(int):
    """A protocol code with Kafka's upper-case name; a code that is not in `NAMES` is called ``UNKNOWN(n)``."""

    NAMES: ClassVar[dict[int, str]] = {}

    @property
    def name(self) -> str:
        """Kafka's name in upper case, or ``UNKNOWN(n)``."""
        return self.NAMES.get(int(self), f"UNKNOWN({int(self)})")

    @property
    def known(self) -> bool:
        """Whether this version of kac has a name for the code."""
        return int(self) in self.NAMES

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the code for a name in any case, with ``-`` or ``_``; also for ``UNKNOWN(n)``.

        Raises:
            ValueError: Kafka has no such name.
        """
        wanted = name.strip().upper().replace("-", "_")
        for number, known in cls.NAMES.items():
            if known == wanted:
                return cls(number)
        # kac's files may contain a code that a newer broker described; the name of a known code is never written in
        # this form.
        if (unknown := _UNKNOWN.fullmatch(wanted)) and not (found := cls(unknown[1])).known:
            return found
        raise ValueError(f"{name!r} is not one of {', '.join(cls.NAMES.values())}")

    @property
    def json(self) -> str | int:
        """The form in kac's files: the name, or the number for a code that kac has no name for."""
        return self.NAMES.get(self, int(self))

    @classmethod
    @cache
    def from_json(cls, value: str | int) -> Self:
        """Return the code from its form in kac's files, a name or number (`json`).

        Raises:
            ValueError: Kafka has no such name.
        """
        return cls(value) if isinstance(value, int) else cls.parse(value)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class ResourceType(Code):
    """The type of a config resource (ConfigResource.Type), from the table `console.model.entity_types`."""

    NAMES: ClassVar[dict[int, str]] = {number: each.name for number, each in BY_NUMBER.items()}

    @property
    def entity(self) -> EntityType:
        """The record of the type in `console.model.entity_types`; for a type that kac does not know, a record with only
        its number.
        """
        return BY_NUMBER.get(self) or unknown(int(self))


TOPIC = ResourceType(2)
BROKER = ResourceType(4)
BROKER_LOGGER = ResourceType(8)
CLIENT_METRICS = ResourceType(16)
GROUP = ResourceType(32)
CONNECTOR = ResourceType(1001)
SCHEMA = ResourceType(1002)
CONNECT_LOGGER = ResourceType(1004)
IN_RESOURCE_LISTS = tuple(ResourceType(number) for number, each in BY_NUMBER.items() if each.listed is not None)
"""The types whose entities the API ListConfigResources lists."""


class ConfigSource(Code):
    """The source of a config value (DescribeConfigsResponse.ConfigSource)."""

    NAMES: ClassVar[dict[int, str]] = dict(
        sorted({**SHARED_SOURCES, **{each.own_source: each.own_source_name for each in BY_NUMBER.values()}}.items())
    )


DYNAMIC_TOPIC_CONFIG = ConfigSource(1)
DYNAMIC_BROKER_CONFIG = ConfigSource(2)
DYNAMIC_DEFAULT_BROKER_CONFIG = ConfigSource(3)
STATIC_BROKER_CONFIG = ConfigSource(4)
DEFAULT_CONFIG = ConfigSource(5)
DYNAMIC_BROKER_LOGGER_CONFIG = ConfigSource(6)
DYNAMIC_GROUP_CONFIG = ConfigSource(8)
DYNAMIC_DEFAULT_SCHEMA_CONFIG = ConfigSource(1003)


class ConfigType(Code):
    """The data type of a config value (DescribeConfigsResponse.ConfigType, from DescribeConfigs v3 on)."""

    NAMES: ClassVar[dict[int, str]] = {
        1: "BOOLEAN",
        2: "STRING",
        3: "INT",
        4: "SHORT",
        5: "LONG",
        6: "DOUBLE",
        7: "LIST",
        8: "CLASS",
        9: "PASSWORD",
    }


class AlterOp(Code):
    """The operation of IncrementalAlterConfigs on a key (AlterConfigOp.OpType)."""

    NAMES: ClassVar[dict[int, str]] = {0: "SET", 1: "DELETE", 2: "APPEND", 3: "SUBTRACT"}


SET = AlterOp(0)
DELETE = AlterOp(1)
APPEND = AlterOp(2)
SUBTRACT = AlterOp(3)


class AclResourceType(Code):
    """The type of an ACL's resource (org.apache.kafka.common.resource.ResourceType)."""

    NAMES: ClassVar[dict[int, str]] = {
        1: "ANY",
        2: "TOPIC",
        3: "GROUP",
        4: "CLUSTER",
        5: "TRANSACTIONAL_ID",
        6: "DELEGATION_TOKEN",
        7: "USER",
    }


ACL_TYPES = {
    name.lower().replace("_", "-"): AclResourceType(code) for code, name in AclResourceType.NAMES.items() if code > 1
}
"""kac's word for a type of resource of an ACL -> the type."""


class PatternType(Code):
    """How the resource name of an ACL is compared (PatternType); ANY and MATCH occur in filters only."""

    NAMES: ClassVar[dict[int, str]] = {1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"}


class AclOperation(Code):
    """The operation of an ACL (AclOperation)."""

    NAMES: ClassVar[dict[int, str]] = {
        1: "ANY",
        2: "ALL",
        3: "READ",
        4: "WRITE",
        5: "CREATE",
        6: "DELETE",
        7: "ALTER",
        8: "DESCRIBE",
        9: "CLUSTER_ACTION",
        10: "DESCRIBE_CONFIGS",
        11: "ALTER_CONFIGS",
        12: "IDEMPOTENT_WRITE",
        13: "CREATE_TOKENS",
        14: "DESCRIBE_TOKENS",
        15: "TWO_PHASE_COMMIT",
    }


class Permission(Code):
    """Whether an ACL allows or denies (AclPermissionType)."""

    NAMES: ClassVar[dict[int, str]] = {1: "ANY", 2: "DENY", 3: "ALLOW"}


class ScramMechanism(Code):
    """A SCRAM mechanism (ScramMechanism); its own names have hyphens."""

    NAMES: ClassVar[dict[int, str]] = {1: "SCRAM_SHA_256", 2: "SCRAM_SHA_512"}

    @property
    def label(self) -> str:
        """The name in Kafka's tools: ``SCRAM-SHA-256``."""
        return self.name.replace("_", "-")
