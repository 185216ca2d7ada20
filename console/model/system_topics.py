"""Topics that contain the state of other systems: the system that owns a topic, and the damage if the topic is changed.
Pure.

Kafka's own topics have fixed names. Topics with configurable names are recognized by the usual names. If ordinary
topics may have such a name too, kac also requires the cleanup.policy and the number of partitions that the owner
requires.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from msgspec import Struct

from console.model.coordinators import OFFSETS, SHARES, TRANSACTIONS

REMOTE_LOG_METADATA, CLUSTER_METADATA = "__remote_log_metadata", "__cluster_metadata"
COMPACT, DELETE = "compact", "delete"
_OF_STREAMS = ("-changelog", "-repartition", "-subscription-registration-topic", "-subscription-response-topic")
"""Suffixes of topics that a Streams application creates (StreamsResetter.isInternalTopic)."""


class SystemTopic(Struct, frozen=True):
    """The owner of a topic that contains a system's state, and what must not be done to the topic."""

    owner: str
    """The name of the system for operators."""
    lost: str
    """The consequence of deleting or emptying the topic, as a clause."""
    grown: str = ""
    """The consequence of adding partitions, as a clause; ``""`` if there is none."""
    policy: str = ""
    """The item that the topic's cleanup.policy must contain, because records would be lost otherwise; ``""`` for no
    requirement.
    """
    keeps: bool = False
    """Whether the topic must keep all records: any retention would delete records that its owner needs."""


_KAFKAS_OWN = {
    OFFSETS: SystemTopic(
        "Kafka's group coordinators",
        "every group loses its offsets, and reads everything again or skips what it has not read",
        "groups belong to other partitions then, and once brokers restart most are without their offsets",
        COMPACT,
    ),
    TRANSACTIONS: SystemTopic(
        "Kafka's transaction coordinators",
        "transactional producers lose their ids and epochs, and open transactions can't end",
        "transactional ids belong to other partitions then, and open transactions can't end",
        COMPACT,
    ),
    SHARES: SystemTopic(
        "Kafka's share coordinators",
        "every share group loses which records were delivered, and delivers them again or never",
        "share groups belong to other partitions then, and are without what they have delivered",
        DELETE,
        keeps=True,
    ),
    REMOTE_LOG_METADATA: SystemTopic(
        "Kafka's remote storage",
        "no broker finds a segment in remote storage any more: all records there are lost",
        "brokers refuse another number than remote.log.metadata.topic.num.partitions when they start, and no record "
        "in remote storage can be read then",
        DELETE,
        keeps=True,
    ),
    CLUSTER_METADATA: SystemTopic("Kafka's controllers", "the cluster itself is lost", "the cluster itself is lost"),
}

CONNECT = "Kafka Connect"
_CONNECT_CONFIGS = SystemTopic(
    CONNECT,
    "its workers lose all connectors and their configs",
    "its workers refuse to start: this topic has one partition",
    COMPACT,
)
_CONNECT_OFFSETS = SystemTopic(
    CONNECT,
    "source connectors begin again, and copy everything once more or skip what came meanwhile",
    "old and new offsets of a connector may come to lie in different partitions, and the old ones may win",
    COMPACT,
)
_CONNECT_STATUS = SystemTopic(CONNECT, "its workers forget which connectors are paused or failed", policy=COMPACT)
REGISTRY = SystemTopic(
    "the schema registry",
    "every schema and its id are lost: no record that was written with them can be decoded",
    "the registry refuses to start: this topic has one partition",
    COMPACT,
)
_JOURNAL = SystemTopic(
    "the schema registry (Apicurio)", "every artifact and its id are lost, unless a snapshot has them", keeps=True
)
_CHANGELOG = SystemTopic(
    "a Kafka Streams application",
    "the application loses the state that is not on its own disks",
    "the application refuses to start: it has as many partitions as the topics that it is made from",
    COMPACT,
)
_REPARTITION = SystemTopic(
    "a Kafka Streams application",
    "the application loses what it has not processed, and stops",
    "the application refuses to start: it has as many partitions as the topics that it is made from",
    DELETE,
    keeps=True,
)
MIRROR_SYNCS = SystemTopic(
    "MirrorMaker 2",
    "offsets of groups can't be translated until new records are copied: groups that fail over read again",
    "MirrorMaker reads the first partition alone: translations in the others are not found",
    COMPACT,
)
MIRROR_HEARTBEATS = SystemTopic("MirrorMaker 2", "it is not seen any more which clusters are copied", policy=COMPACT)
_CRUISE_CONTROL = SystemTopic("Cruise Control", "it has no load of the past, and balances nothing until it knows it")
_KSQL_COMMANDS = SystemTopic(
    "ksqlDB",
    "every stream, table and query of this ksqlDB is lost",
    "ksqlDB reads the first partition alone: commands in the others are not carried out",
    DELETE,
    keeps=True,
)
_SCHEMA_HISTORY = SystemTopic(
    "Debezium",
    "its connector can't start again without a new snapshot: it does not know the tables' schemas at its position",
    "the changes of schemas lose their order: this topic has one partition",
    DELETE,
    keeps=True,
)
_CONFLUENT = SystemTopic("Confluent's services", "licenses, role bindings, links or metrics of these services are lost")
_REDPANDA = SystemTopic("Redpanda", "the audit log, transforms or another state of Redpanda itself is lost")
_MSK = SystemTopic("Amazon MSK", "the service does not see any more whether its brokers work")
_MSK_CONNECT = SystemTopic("MSK Connect", "its connectors begin again, and copy everything once more", policy=COMPACT)
_STRIMZI = SystemTopic("Strimzi's operators", "what the operators keep of topics and of the cluster's health is lost")


class _Named(NamedTuple):
    """A pattern of topic names, and the system that owns such topics."""

    pattern: re.Pattern[str]
    what: SystemTopic
    shaped: bool = False
    """Whether ordinary topics may have such a name too, so that a topic is the system's only if it is compacted."""
    single: bool = False
    """Whether a topic is the system's only if it has a single partition."""


def _named(pattern: str, what: SystemTopic, *, shaped: bool = False, single: bool = False) -> _Named:
    return _Named(re.compile(pattern), what, shaped, single)


INTERNAL = SystemTopic("the brokers", "what they keep for themselves in it is lost", "they may not find what they keep")
"""The description of a topic that brokers mark as internal, if kac knows nothing else about it."""

_NAMED = (
    _named(r"_schemas(_.+)?|_schema_encoders", REGISTRY),
    _named(r"_?kafkasql-(journal|snapshots)", _JOURNAL),
    _named(r"mm2-configs\..+\.internal", _CONNECT_CONFIGS),
    _named(r"mm2-offsets\..+\.internal", _CONNECT_OFFSETS),
    _named(r"mm2-status\..+\.internal", _CONNECT_STATUS),
    _named(r"mm2-offset-syncs\..+\.internal|.+\.checkpoints\.internal", MIRROR_SYNCS),
    _named(r"(.+\.)?heartbeats", MIRROR_HEARTBEATS, shaped=True, single=True),
    _named(r"(.+[._-])?(connect(-cluster)?|mirrormaker2-cluster)[._-]configs?", _CONNECT_CONFIGS, shaped=True),
    _named(r"(.+[._-])?(connect(-cluster)?|mirrormaker2-cluster)[._-]offsets?", _CONNECT_OFFSETS, shaped=True),
    _named(r"(.+[._-])?(connect(-cluster)?|mirrormaker2-cluster)[._-]status(es)?", _CONNECT_STATUS, shaped=True),
    _named(r"__amazon_msk_connect_.+", _MSK_CONNECT),
    _named(r"__amazon_msk_.+", _MSK),
    _named(r".*__?(Kafka)?CruiseControl[A-Z][A-Za-z]+", _CRUISE_CONTROL),
    _named(r"strimzi\.cruisecontrol\.[a-z]+", _CRUISE_CONTROL),
    _named(r"__strimzi[-_].+", _STRIMZI),
    _named(r"_confluent-ksql-.+_command_topic", _KSQL_COMMANDS),
    _named(r"(?=.+?-(KSTREAM|KTABLE)-.).+-changelog", _CHANGELOG),
    _named(r"(?=.+?-(KSTREAM|KTABLE)-.).+-repartition", _REPARTITION),
    _named(
        r"(schema-?history|dbhistory)[._-].+|schema-changes\..+|.+[._-](schema-?history|dbhistory)",
        _SCHEMA_HISTORY,
        single=True,
    ),
    _named(r"__?confluent[-_.].+", _CONFLUENT),
    _named(r"_redpanda\..+|_redpanda_e2e_probe", _REDPANDA),
)
_ANY_NAMED = re.compile(rf"\A(?:{'|'.join(f'(?:{each.pattern.pattern})' for each in _NAMED)})")
"""Matches every name that one of the patterns matches; few of 100,000 topics have such a name."""


def system_topic(
    name: str, partitions: int | None = None, policy: str | None = None, groups: Collection[str] = ()
) -> SystemTopic | None:
    """Return the description of the topic if a system keeps its state there; None for an ordinary topic.

    Args:
        name: the name of the topic.
        partitions: the number of its partitions; None if unknown, so that it is not checked.
        policy: the cleanup.policy of the topic; None if it was not read, so that it is not checked.
        groups: the groups of the cluster. A Streams application is a group, and its topics' names begin with the
            group's name.
    """
    if (own := _KAFKAS_OWN.get(name)) is not None:
        return own
    # Match the combined pattern first: a cluster may have 100,000 topics, and the screen calls this for each.
    for each in _NAMED if _ANY_NAMED.fullmatch(name) is not None else ():
        if each.pattern.fullmatch(name) is not None and _has_shape(each, partitions, policy):
            return each.what
    if may_be_of_application(name) and any(name[:at] in groups for at, char in enumerate(name) if char == "-"):
        return _REPARTITION if name.endswith("-repartition") else _CHANGELOG
    return None


def _has_shape(named: _Named, partitions: int | None, policy: str | None) -> bool:
    # A team may call a topic of its own connect-configs; Connect's worker refuses a topic of that name that is not
    # compacted.
    compacted = not named.shaped or policy is None or COMPACT in policy
    return compacted and (not named.single or partitions in (None, 1))


def is_kafkas_own(name: str) -> bool:
    """Return whether coordinators, remote storage or controllers keep their records in the topic. kac never deletes
    such a topic as superfluous, adds no partitions to it, and deletes no records of it.
    """
    return name in _KAFKAS_OWN


def is_spared(name: str, *, internal: bool) -> bool:
    """Return whether a deletion of several topics at once leaves out this topic, so that it can only be deleted by its
    full name.

    Args:
        internal: whether brokers mark it as internal.
    """
    return internal or is_kafkas_own(name)


def may_be_of_application(topic: str) -> bool:
    """Return whether a topic's name ends like those that a Streams application creates for itself. It then belongs to
    the application if the name begins with the name of a group.
    """
    return topic.endswith(_OF_STREAMS)


def is_of_application(topic: str, application: str) -> bool:
    """Return whether a topic has a name that the given Streams application gives to topics which it creates for
    itself.
    """
    return topic.startswith(f"{application}-") and may_be_of_application(topic)
