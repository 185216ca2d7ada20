"""The types of entities with configs or quotas, one record for each type: Kafka's name, kac's name, and its behaviour.

All packages read this table; a package that treats one type specially selects it by the type's `ResourceType`.

Also used by the lake's application on Spark's executors: Python 3.10, standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from typing import NamedTuple

from console.model.numbers import is_natural

# -- the columns of the table ------------------------------------------------------------------------------------------


class Route(Enum):
    """The broker or service to which kac sends the requests about a type. kac sends none to the controller, because
    brokers forward changes to it.
    """

    ANY_BROKER = "any broker"
    NAMED_BROKER = "the broker that the name is the id of"
    CONNECT = "a worker of the Connect cluster that the name begins with"
    SCHEMAS = "the schema registry"


class Lister(Enum):
    """The API that lists the entities of a type."""

    TOPICS = "Metadata"
    BROKERS = "DescribeCluster"
    GROUPS = "ListGroups, and for groups that have configs ListConfigResources"
    RESOURCES = "ListConfigResources alone"
    QUOTAS = "DescribeClientQuotas"
    CONNECT = "GET /connectors of Connect's workers"
    CONNECT_CLUSTERS = "the context's settings"
    SCHEMAS = "GET /subjects of the schema registry"
    UNKNOWN = "none that we know"


class Listed(NamedTuple):
    """The first version of ListConfigResources that lists a type, and the release with it."""

    version: int
    since: str


class FileForm(Enum):
    """The form in which files describe the entities of a type."""

    NOWHERE = "not at all"
    TOPICS = "name -> partitions, replication and configs"
    ENTRIES = "name -> key -> value"
    QUOTAS = "a list of entities and their limits"
    CONNECTORS = "name -> state and config"
    SUBJECTS = "name -> schema, references, compatibility and mode"


class NameForm(NamedTuple):
    """The check of an entity's name before a request, and the words of messages about a wrong name."""

    allows: Callable[[str], bool]
    what: str = "name"
    """The noun for the name in messages about plans, such as ``broker id``."""
    whose: str = "name"
    """The noun for the name in messages about files, such as ``broker's id``."""
    give: str = "another name"
    """The correct form of the name in messages about plans, after the word "give"."""
    write: str = "another name"
    """The correct form of the name in messages about files, after the word "write"."""


TEXT = NameForm(bool)
MAYBE_EMPTY = NameForm(lambda _name: True)
IN_A_CLUSTER = NameForm(
    lambda name: all(name.partition("/")), "name of a connector", "connector's name", "CLUSTER/NAME", "CLUSTER/NAME"
)
BROKER_ID = NameForm(is_natural, "broker id", "broker's id", "the broker's number", "a number")


class KnownKey(NamedTuple):
    """A key of a type that brokers describe only if it is set."""

    name: str
    type: str
    """Kafka's name of the key's data type."""
    default: str
    values: tuple[str, ...] = ()
    """The legal values; empty if any value is legal."""


# -- the table ---------------------------------------------------------------------------------------------------------

_DEFAULT_BROKER, _STATIC_BROKER, _DEFAULT = 3, 4, 5
_DEFAULT_SUBJECT = 1003
SHARED_SOURCES: Mapping[int, str] = {
    _DEFAULT_BROKER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    _STATIC_BROKER: "STATIC_BROKER_CONFIG",
    _DEFAULT: "DEFAULT_CONFIG",
    _DEFAULT_SUBJECT: "DYNAMIC_DEFAULT_SCHEMA_CONFIG",
}
"""Number of a config source that several types share (DescribeConfigsResponse.ConfigSource) -> its name."""
_OF_BROKERS = (2, _DEFAULT_BROKER, _STATIC_BROKER, _DEFAULT)

_LEVELS = ("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE")
_MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT", "FORWARD")
"""The modes of a schema registry and of its subjects."""


class EntityType(NamedTuple):
    """A type of entities with configs or quotas.

    Types of services next to the brokers have numbers above 127, because Kafka's numbers are one byte.
    """

    word: str
    """kac's name of the type in the language, which may consist of two words."""
    name: str
    """Kafka's name of the type."""
    number: int | None
    """The number of ConfigResource.Type; None for a type that has quotas and no configs."""
    one: str
    """The noun for one entity."""
    spoken: str
    """The plural of `one`, for sentences."""
    help: str
    """The description of the type's settings that completion shows."""
    usage: tuple[str, ...]
    """The forms in which statements of the language name an entity of the type."""
    asked: str
    """The placeholder for the argument that follows `word`."""
    pane: str
    """The pane of the screen that shows the entities."""
    lister: Lister
    """The API that lists the entities."""
    names: NameForm = TEXT
    """The check of an entity's name."""
    listed: Listed | None = None
    """The first version of ListConfigResources that lists the entities; None if no version does."""
    has_default: bool = False
    """Whether there is a default entity, whose values apply to all entities without values of their own."""
    route: Route = Route.ANY_BROKER
    """The broker or service that receives the requests about the type's entities."""
    guard: str = "CLUSTER"
    """The type of the ACL resource for the configs: DESCRIBE_CONFIGS on it allows reading them, and ALTER_CONFIGS
    changing them.
    """
    sources: tuple[int, ...] = ()
    """The sources of the values of the type's configs by precedence (DescribeConfigsResponse.ConfigSource): first
    the source of values that the entity itself sets.
    """
    default_source: int = 0
    """The source of values that the default entity sets; 0 if the type has no default entity."""
    section: str = ""
    """The section of files that contains the type's entities; ``""`` if files do not contain them."""
    form: FileForm = FileForm.NOWHERE
    """The form of the type's entities in files."""
    keys: tuple[KnownKey, ...] = ()
    """The keys that brokers list only if they are set, in display order."""
    has_levels: bool = False
    """Whether the type's keys are loggers and its values log levels. A process keeps levels in memory, not in the
    metadata log, and describes every logger as set.
    """
    own_keys: bool = False
    """Whether the keys differ from entity to entity, so that another entity of the type is no example and any key may
    be set.
    """

    @property
    def plural(self) -> str:
        """The plural of the noun, as statements with `list` write it."""
        return _plural(self.word)

    @property
    def kafka_word(self) -> str:
        """Kafka's name of the type as the options of Kafka's tools spell it, and as kac's history does:
        ``broker-logger``.
        """
        return self.name if self.lister is Lister.UNKNOWN else self.name.lower().replace("_", "-")

    @property
    def kafka_type(self) -> str:
        """The value of kafka-configs' option ``--entity-type`` for the type."""
        return _plural(self.kafka_word)

    @property
    def own_source(self) -> int:
        """The number of the source of values that an entity itself sets; 0 if unknown."""
        return self.sources[0] if self.sources else 0

    @property
    def own_source_name(self) -> str:
        """Kafka's name for the source of the values that an entity itself sets: ``DYNAMIC_TOPIC_CONFIG``."""
        return f"DYNAMIC_{self.name}_CONFIG"

    @property
    def at_broker(self) -> bool:
        """Whether an entity's name is a broker's id, and only this broker can describe and change the entity."""
        return self.route is Route.NAMED_BROKER

    @property
    def is_kafkas(self) -> bool:
        """Whether brokers and Kafka's tools know the type; False for types of services next to the brokers."""
        return self.route not in (Route.CONNECT, Route.SCHEMAS)


def _plural(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"


_limited = partial(
    EntityType,
    number=None,
    pane="quotas",
    lister=Lister.QUOTAS,
    has_default=True,
    section="quotas",
    form=FileForm.QUOTAS,
)
"""Creates the record of a type that has quotas and no configs."""

ENTITY_TYPES = (
    EntityType(
        word="topic",
        name="TOPIC",
        number=2,
        one="a topic",
        spoken="topics",
        help="a topic's configs",
        usage=("topic NAME",),
        asked="the NAME of a topic",
        pane="topics",
        lister=Lister.TOPICS,
        guard="TOPIC",
        sources=(1, *_OF_BROKERS),
        section="topics",
        form=FileForm.TOPICS,
    ),
    EntityType(
        word="broker",
        name="BROKER",
        number=4,
        one="a broker",
        spoken="brokers",
        help="a broker's configs, or the cluster default",
        usage=("broker ID", "broker <default>"),
        asked="the number of a broker or <default>",
        pane="brokers",
        lister=Lister.BROKERS,
        names=BROKER_ID,
        has_default=True,
        route=Route.NAMED_BROKER,
        sources=_OF_BROKERS,
        default_source=_DEFAULT_BROKER,
        section="brokers",
        form=FileForm.ENTRIES,
    ),
    EntityType(
        word="logger",
        name="BROKER_LOGGER",
        number=8,
        one="a broker's loggers",
        spoken="loggers",
        help="log levels of a broker",
        usage=("logger BROKER-ID",),
        asked="the number of a broker",
        pane="configs",
        lister=Lister.BROKERS,
        names=BROKER_ID,
        route=Route.NAMED_BROKER,
        sources=(6,),
        has_levels=True,
    ),
    EntityType(
        word="group",
        name="GROUP",
        number=32,
        one="a group",
        spoken="groups",
        help="a group's configs",
        usage=("group NAME",),
        asked="the NAME of a group",
        pane="groups",
        lister=Lister.GROUPS,
        names=MAYBE_EMPTY,  # brokers accept commits of a group with the empty name, and list it
        listed=Listed(1, "4.1"),  # KIP-1142
        guard="GROUP",
        sources=(8, *_OF_BROKERS),
        section="groups",
        form=FileForm.ENTRIES,
    ),
    EntityType(
        word="client-metrics",
        name="CLIENT_METRICS",
        number=16,
        one="a client metrics subscription",
        spoken="client metrics",
        help="a client metrics subscription",
        usage=("client-metrics NAME",),
        asked="the NAME of a client metrics subscription",
        pane="configs",
        lister=Lister.RESOURCES,
        listed=Listed(0, "3.7"),  # KIP-714, KIP-1000
        sources=(7, _DEFAULT),
        section="client-metrics",
        form=FileForm.ENTRIES,
        keys=(  # from Kafka's ClientMetricsConfigs
            KnownKey("metrics", "LIST", ""),
            KnownKey("interval.ms", "INT", "300000"),
            KnownKey("match", "LIST", ""),
        ),
    ),
    EntityType(
        word="connector",
        name="CONNECTOR",
        number=1001,
        one="a connector",
        spoken="connectors",
        help="a connector's config",
        usage=("connector CLUSTER/NAME",),
        asked="the CLUSTER/NAME of a connector",
        pane="connectors",
        lister=Lister.CONNECT,
        names=IN_A_CLUSTER,
        route=Route.CONNECT,
        sources=(1001, _DEFAULT),
        section="connectors",
        form=FileForm.CONNECTORS,
        own_keys=True,
    ),
    EntityType(
        word="logger connect",
        name="CONNECT_LOGGER",
        number=1004,
        one="a Connect cluster's loggers",
        spoken="loggers of Connect",
        help="log levels of the workers of a Connect cluster",
        usage=("logger connect CLUSTER",),
        asked="the NAME of a Connect cluster",
        pane="configs",
        lister=Lister.CONNECT_CLUSTERS,
        route=Route.CONNECT,
        sources=(1004,),
        has_levels=True,
        own_keys=True,
    ),
    EntityType(
        word="schema",
        name="SCHEMA",
        number=1002,
        one="a schema's subject",
        spoken="subjects",
        help="the compatibility and the mode of a schema's subject, or the default of all subjects",
        usage=("schema SUBJECT", "schema <default>"),
        asked="the SUBJECT of a schema or <default>",
        pane="schemas",
        lister=Lister.SCHEMAS,
        has_default=True,
        route=Route.SCHEMAS,
        sources=(1002, _DEFAULT_SUBJECT, _DEFAULT),
        default_source=_DEFAULT_SUBJECT,
        section="schemas",
        form=FileForm.SUBJECTS,
        keys=(
            KnownKey("compatibility", "STRING", "BACKWARD", _LEVELS),
            KnownKey("mode", "STRING", "READWRITE", _MODES),
        ),
    ),
    _limited(
        word="ip",
        name="IP",
        one="an address",
        spoken="addresses",
        help="quotas of an address",
        usage=("ip ADDRESS",),
        asked="an IP address or <default>",
    ),
    _limited(
        word="client",
        name="CLIENT",
        one="a client id",
        spoken="clients",
        help="quotas of a client id",
        usage=("client NAME",),
        asked="a client id or <default>",
    ),
    _limited(
        word="user",
        name="USER",
        one="a user",
        spoken="users",
        help="quotas of a user, and of its clients",
        usage=("user NAME [client NAME]",),
        asked="the NAME of a user or <default>",
    ),
)

# -- indexes of the table ----------------------------------------------------------------------------------------------

BY_WORD: Mapping[str, EntityType] = {each.word: each for each in ENTITY_TYPES}
BY_NUMBER: Mapping[int, EntityType] = {
    each.number: each for each in sorted(ENTITY_TYPES, key=lambda each: each.number or 0) if each.number is not None
}
"""Kafka's number -> the type with configs."""
LEVEL_SOURCES = frozenset(each.own_source for each in ENTITY_TYPES if each.has_levels)
"""The sources of loggers' levels. Such a source does not tell whether a logger has its own level or inherits one."""


@cache
def unknown(number: int) -> EntityType:
    """Return the record of a type that only newer brokers know; its name has Kafka's number."""
    name = f"UNKNOWN({number})"
    return EntityType(name, name, number, name, name, "", (), name, "configs", Lister.UNKNOWN)


def with_configs() -> tuple[EntityType, ...]:
    """Return the types with configs: first those whose names users choose, then those whose names are brokers' ids."""
    return tuple(sorted((each for each in ENTITY_TYPES if each.number is not None), key=lambda each: each.at_broker))


def of_kafka() -> tuple[EntityType, ...]:
    """Return the types that brokers know; types of services next to the brokers are left out."""
    return tuple(each for each in ENTITY_TYPES if each.is_kafkas)


def with_quotas() -> tuple[EntityType, ...]:
    """Return the types with quotas; the type ``user`` is the first."""
    return tuple(each for each in reversed(ENTITY_TYPES) if each.lister is Lister.QUOTAS)


def in_files() -> tuple[EntityType, ...]:
    """Return the types whose configs are written to files."""
    return tuple(each for each in ENTITY_TYPES if each.number is not None and each.form is not FileForm.NOWHERE)


def in_sections() -> tuple[EntityType, ...]:
    """Return the types whose entities have a section of their own in files, with the keys and values of each entity."""
    return tuple(each for each in ENTITY_TYPES if each.form is FileForm.ENTRIES)


def listed_alone() -> tuple[EntityType, ...]:
    """Return the types that no API but ListConfigResources lists."""
    return tuple(each for each in ENTITY_TYPES if each.lister is Lister.RESOURCES)
