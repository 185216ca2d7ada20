"""The immutable picture of a cluster at a time; a refresh makes a new one that shares what did not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from console.model.acl import Acl
from console.model.cluster import (
    BrokerVersion,
    ClusterInfo,
    Group,
    GroupLag,
    LogDir,
    Quorum,
    Reassignment,
    ScramCredential,
    Topic,
)
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure
from console.model.quota import QuotaEntity, QuotaValues

EMPTY_CLUSTER = ClusterInfo(cluster_id=None, controller_id=-1, brokers=())


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that was read so far. A part that was not read yet is empty and missing from `read_at`.

    configs_from: the broker that described the topics, whose inherited values they show, None if any.
    documentation: (resource type code, key) -> text, asked for once for each key.
    read_at: part ("topics", "quotas", …) -> when it was last read whole, UTC.
    quotas_sparse: there are so many quotas that users' clients are known only of those who were looked at.
    failures: (part, entity text, why) for what could not be read; a pane shows the rest.
    """

    cluster: ClusterInfo = EMPTY_CLUSTER
    versions: Mapping[int, BrokerVersion] = field(default_factory=dict)
    quorum: Quorum | None = None
    topics: Mapping[str, Topic] = field(default_factory=dict)
    configs: Mapping[ConfigResource, ConfigSet] = field(default_factory=dict)
    configs_from: int | None = None
    documentation: Mapping[tuple[int, str], str] = field(default_factory=dict)
    quotas: Mapping[QuotaEntity, QuotaValues] = field(default_factory=dict)
    quotas_sparse: bool = False
    acls: tuple[Acl, ...] = ()
    scram: Mapping[str, tuple[ScramCredential, ...]] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    lags: Mapping[str, GroupLag] = field(default_factory=dict)
    log_dirs: Mapping[int, tuple[LogDir, ...]] = field(default_factory=dict)
    reassignments: tuple[Reassignment, ...] = ()
    read_at: Mapping[str, datetime] = field(default_factory=dict)
    failures: tuple[ReadFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """A part of the cluster that could not be read."""

    part: str
    entity: str
    failure: Failure
