"""The cluster itself: brokers, what they speak, and the KRaft quorum."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

from console.admin.error_codes import failure
from console.admin.errors import AdminError, BadAnswer, BrokerError
from console.admin.link import Link
from console.admin.releases import release_of
from console.admin.retry import until_settled
from console.admin.routing import broker
from console.model.cluster import Broker, BrokerVersion, ClusterInfo, Quorum, QuorumReplica
from console.model.codes import AclOperation
from console.model.failure import Failure

QUORUM_TOPIC = "__cluster_metadata"
_NOT_TOLD = -(2**31)
_NOT_LEADER = 6
_RETRIABLE = frozenset({5, _NOT_LEADER, 7, 41})
_SETTLE_SECONDS = 10.0


async def describe_cluster(link: Link) -> ClusterInfo:
    """Identity, brokers (fenced ones too where the cluster tells of them) and what the principal may do.

    DescribeCluster (KIP-700), or Metadata before Kafka 2.8. Raises AdminError.
    """
    if await link.version("describe_cluster") is None:
        return cluster_from_metadata(await link.call("metadata", _metadata_of_no_topic))
    response = await link.call("describe_cluster", _describe_cluster)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    return cluster_info(response)


def _describe_cluster(kio: ModuleType) -> Any:
    from console.wire.schemas import for_version

    return for_version(
        kio.DescribeClusterRequest, include_cluster_authorized_operations=True, include_fenced_brokers=True
    )


def _metadata_of_no_topic(kio: ModuleType) -> Any:
    from console.wire.schemas import for_version

    return for_version(
        kio.MetadataRequest,
        topics=(),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=False,
    )


def cluster_info(response: Any) -> ClusterInfo:
    """From a DescribeCluster response of any version."""
    brokers = (Broker(b.broker_id, b.host, b.port, b.rack, getattr(b, "is_fenced", False)) for b in response.brokers)
    return ClusterInfo(
        response.cluster_id,
        response.controller_id,
        tuple(sorted(brokers, key=lambda b: b.id)),
        operations(response.cluster_authorized_operations),
    )


def cluster_from_metadata(response: Any) -> ClusterInfo:
    """From a Metadata response, version 1 or higher."""
    brokers = (Broker(b.node_id, b.host, b.port, b.rack) for b in response.brokers)
    return ClusterInfo(
        getattr(response, "cluster_id", None),
        response.controller_id,
        tuple(sorted(brokers, key=lambda b: b.id)),
        operations(getattr(response, "cluster_authorized_operations", _NOT_TOLD)),
    )


def operations(bits: int) -> frozenset[str] | None:
    """The names of AclOperations whose codes are the set bits; None where the broker was silent (KIP-430)."""
    if bits == _NOT_TOLD:
        return None
    return frozenset(AclOperation(code).name for code in range(31) if bits >> code & 1)


async def describe_versions(link: Link) -> dict[int, BrokerVersion]:
    """What each broker speaks. One that does not answer is missing. Raises AdminError where none can be asked."""
    nodes = await link.refresh()
    ids = sorted(nodes.brokers)
    found = await asyncio.gather(*(_version_of(link, broker_id) for broker_id in ids))
    return {broker_id: version for broker_id, version in zip(ids, found, strict=True) if version is not None}


async def _version_of(link: Link, broker_id: int) -> BrokerVersion | None:
    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ApiVersionsRequest, client_software_name="kac", client_software_version="0")

    try:
        response = await link.call("api_versions", ask, to=broker(broker_id))
    except AdminError:
        return None
    return None if response.error_code else broker_version(response)


async def silent_brokers(link: Link, within: float) -> frozenset[int]:
    """The ids of the known brokers that do not answer within so many seconds. Raises AdminError if none does."""
    return frozenset(await link.silence(within))


async def begin_anew(link: Link) -> None:
    """Use new connections from here on: one in use may wait for ever, as after a frame that promises too many bytes."""
    link.begin_anew()


def broker_version(response: Any) -> BrokerVersion:
    """From an ApiVersions response of any version."""
    apis = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    supported = {f.name: (f.min_version, f.max_version) for f in getattr(response, "supported_features", ())}
    finalized = {f.name: f.max_version_level for f in getattr(response, "finalized_features", ())}
    return BrokerVersion(release_of(apis, supported), apis, supported, finalized)


async def describe_quorum(link: Link) -> Quorum:
    """The quorum of the metadata log, with the real controller as its leader (KIP-595, KIP-836).

    Raises Unsupported where the brokers run on ZooKeeper or are older than 3.3, and other AdminErrors.
    """
    await link.require("describe_quorum", 0, "3.3, in KRaft mode")

    def ask(kio: ModuleType) -> Any:
        partition = kio.PartitionData(partition_index=0)
        return kio.DescribeQuorumRequest(topics=(kio.TopicData(topic_name=QUORUM_TOPIC, partitions=(partition,)),))

    response = await until_settled(
        lambda: link.call("describe_quorum", ask),
        lambda answer: _quorum_error(answer)[0] in _RETRIABLE,
        within=_SETTLE_SECONDS,
    )
    code, message = _quorum_error(response)
    if code:
        raise BrokerError(failure(code, message))
    return quorum(response)


def _quorum_error(response: Any) -> tuple[int, str | None]:
    if response.error_code:
        return response.error_code, getattr(response, "error_message", None)
    for topic in response.topics:
        for partition in topic.partitions:
            return partition.error_code, getattr(partition, "error_message", None)
    raise BadAnswer(Failure("BAD_ANSWER", f"the answer to DescribeQuorum has no {QUORUM_TOPIC}", ""))


def quorum(response: Any) -> Quorum:
    """From a DescribeQuorum response of any version. A replica's lag is what it is behind the leader's log end."""
    partition = response.topics[0].partitions[0]
    ends = {voter.replica_id: voter.log_end_offset for voter in partition.current_voters}
    end = ends.get(partition.leader_id, partition.high_watermark)

    def replicas(states: Any) -> tuple[QuorumReplica, ...]:
        found = (
            QuorumReplica(
                state.replica_id,
                state.log_end_offset,
                max(0, end - state.log_end_offset) if state.log_end_offset >= 0 else -1,
                getattr(state, "last_fetch_timestamp", -1),
                getattr(state, "last_caught_up_timestamp", -1),
            )
            for state in states
        )
        return tuple(sorted(found, key=lambda replica: replica.id))

    return Quorum(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        replicas(partition.current_voters),
        replicas(partition.observers),
    )
