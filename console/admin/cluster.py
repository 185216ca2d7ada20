"""Reads about the cluster itself: brokers with their API versions and registrations, the KRaft quorum, log
directories.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin import errors
from console.admin.delivery import Sender, Senders
from console.admin.gc_pause import gc_paused
from console.admin.halving import parted
from console.admin.link import (
    CONTROLLERS_OF_CLUSTER,
    ELECTION_SECONDS,
    Link,
    aside,
    broker,
    decode,
    import_partition_decoders,
    metadata,
    until_settled,
)
from console.admin.link_errors import no_such_broker
from console.model import cluster as model_cluster
from console.model.changes import BrokerTarget, Status, UnregisterBroker
from console.model.codes import AclOperation
from console.model.failure import Failure
from console.model.identity import uuid_text
from console.wire.fields import Fields

if TYPE_CHECKING:
    from console.wire.aiokafka_request import RawResponse
    from console.wire.partition_decoders import DirAnswer

_SHOWS_FENCED = 2
"""The first version of DescribeCluster that can return fenced brokers (KIP-1073)."""
QUORUM_TOPIC = "__cluster_metadata"
_OPERATIONS_OMITTED = -(2**31)
_QUORUM_UNSETTLED = frozenset(
    {
        ErrorCode.leader_not_available,
        ErrorCode.not_leader_or_follower,
        ErrorCode.request_timed_out,
        ErrorCode.not_controller,
    }
)
_SETTLE_SECONDS = 10.0
_READING_ATTEMPTS = 12
"""Maximum number of DescribeCluster requests to controllers that refuse them because they have just started. Such a
controller still reads the metadata log, which takes a second or two.
"""


async def describe_cluster(link: Link) -> model_cluster.ClusterInfo:
    """Return the cluster's id, its brokers (with fenced ones, if the cluster reports these), and the operations that
    the principal may do.

    Send DescribeCluster (KIP-700), or Metadata to brokers before Kafka 2.8. On a connection to controllers, the result
    has the controllers in place of brokers (KIP-919). The link keeps the first id that it gets, and from then on sends
    changes only to the cluster with this id. Raises AdminError.
    """
    if link.settings.controllers:
        info = await _describe_controllers(link)
        link.routes.cluster_id = link.routes.cluster_id or info.cluster_id
        return info
    if await link.version("describe_cluster") is None:
        api = "metadata"
        info = cluster_from_metadata(await link.call(api, metadata(rights=True)))
    else:
        api = "describe_cluster"
        response = await link.call(api, {"include_cluster_authorized_operations": True, "include_fenced_brokers": True})
        errors.check(response)
        info = cluster_info(response)
    if not info.brokers:
        raise errors.names_no_broker(api)
    link.routes.cluster_id = link.routes.cluster_id or info.cluster_id
    return info


async def _describe_controllers(link: Link) -> model_cluster.ClusterInfo:
    # A controller that has just started may not have read the log, and does not know yet that it may answer clients.
    response = await until_settled(
        partial(link.call, "describe_cluster", CONTROLLERS_OF_CLUSTER),
        lambda answer: answer.error_code == ErrorCode.unsupported_version,
        within=ELECTION_SECONDS,
        attempts=_READING_ATTEMPTS,
    )
    errors.check(response)
    if not response.brokers:
        raise errors.names_no_broker("describe_cluster", asked=link.settings.asked)
    found = cluster_info(response)
    return replace(found, brokers=(), controllers=found.brokers, shows_fenced=False)


def cluster_info(response: Any) -> model_cluster.ClusterInfo:
    """Convert a DescribeCluster response of any version to the model."""
    brokers = (
        model_cluster.Broker(b.broker_id, b.host, b.port, b.rack, getattr(b, "is_fenced", False))
        for b in response.brokers
    )
    return model_cluster.ClusterInfo(
        response.cluster_id,
        response.controller_id,
        tuple(sorted(brokers, key=lambda b: b.id)),
        operations(response.cluster_authorized_operations),
        shows_fenced=response.__version__ >= _SHOWS_FENCED,
    )


def cluster_from_metadata(response: Any) -> model_cluster.ClusterInfo:
    """Convert a Metadata response, of version 1 or higher, to the model of the cluster."""
    brokers = (model_cluster.Broker(b.node_id, b.host, b.port, b.rack) for b in response.brokers)
    return model_cluster.ClusterInfo(
        getattr(response, "cluster_id", None),
        response.controller_id,
        tuple(sorted(brokers, key=lambda b: b.id)),
        operations(getattr(response, "cluster_authorized_operations", _OPERATIONS_OMITTED)),
    )


def operations(bits: int) -> frozenset[str] | None:
    """Return the names of the AclOperations in a bit field; None if the broker did not send the field (KIP-430)."""
    if bits == _OPERATIONS_OMITTED:
        return None
    return frozenset(AclOperation(code).name for code in range(31) if bits >> code & 1)


async def describe_versions(link: Link) -> dict[int, model_cluster.BrokerVersion]:
    """Return broker id -> its API versions; brokers that don't answer are missing. Raises AdminError if no broker can
    be reached.
    """
    nodes = await link.refresh()
    ids = sorted(nodes.brokers)
    found = await asyncio.gather(*(_version_of(link, broker_id) for broker_id in ids))
    return {broker_id: version for broker_id, version in zip(ids, found, strict=True) if version is not None}


async def _version_of(link: Link, broker_id: int) -> model_cluster.BrokerVersion | None:
    try:
        response = await link.call("api_versions", ASK_VERSIONS, to=broker(broker_id))
    except errors.AdminError:
        return None
    return None if response.error_code else broker_version(response)


ASK_VERSIONS: Fields = {"client_software_name": "kac", "client_software_version": "0"}
"""The fields of an ApiVersions request."""


async def silent_brokers(link: Link, within: float) -> frozenset[int]:
    """Return the ids of the known brokers that do not answer within `within` seconds. Raises AdminError if no broker
    answers.
    """
    return frozenset((await link.silence(within)).silent)


async def silence(link: Link, within: float) -> model_cluster.Silence:
    """Return the known brokers that do not answer within `within` seconds, with subsets: those whose hosts refuse
    connections, those that close connections at once, and those that refuse the login. Also return the seconds that
    each of the other brokers took to answer. Raises AdminError if no broker answers.
    """
    found, took = await link.silence(within)

    def those(kind: type[errors.AdminError]) -> frozenset[int]:
        return frozenset(id_ for id_, why in found.items() if isinstance(why, kind))

    return model_cluster.Silence(
        frozenset(found),
        those(errors.NothingListens),
        those(errors.ClosedAtOnce),
        those(errors.AuthenticationFailed),
        took,
    )


async def count_throttled(link: Link) -> int:
    """Return the number of responses since the last call in which brokers reported that they throttle kac."""
    return link.sender.count_throttled()


async def throttled_ms(link: Link) -> int:
    """Return the total milliseconds for which brokers have throttled this client so far."""
    return link.sender.throttled_ms


async def reconnect(link: Link) -> None:
    """Use new connections from now on, because an open one may never answer again, for example after a frame with a
    wrong length.
    """
    link.reconnect()


def broker_version(response: Any) -> model_cluster.BrokerVersion:
    """Convert an ApiVersions response of any version to the model."""
    from console.model.releases import likely_release

    apis = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    supported = {f.name: (f.min_version, f.max_version) for f in getattr(response, "supported_features", ())}
    finalized = {f.name: f.max_version_level for f in getattr(response, "finalized_features", ())}
    epoch = int(getattr(response, "finalized_features_epoch", -1))
    return model_cluster.BrokerVersion(likely_release(apis, supported), apis, supported, finalized, epoch)


async def describe_quorum(link: Link) -> model_cluster.Quorum:
    """Return the quorum of the metadata log; its leader is the active controller (KIP-595, KIP-836).

    Raises Unsupported for brokers with ZooKeeper or before Kafka 3.3, and other AdminErrors.
    """
    await link.require("describe_quorum", 0, "3.3, in KRaft mode")

    topic = {"topic_name": QUORUM_TOPIC, "partitions": [{"partition_index": 0}]}

    async def ask() -> Any:
        answer = await link.ask_controller("describe_quorum", {"topics": [topic]})
        if link.settings.controllers and _quorum_error(answer)[0] in _QUORUM_UNSETTLED:
            await link.refresh()  # another controller may lead since
        return answer

    limit = ELECTION_SECONDS if link.settings.controllers else _SETTLE_SECONDS
    response = await until_settled(ask, lambda answer: _quorum_error(answer)[0] in _QUORUM_UNSETTLED, within=limit)
    code, message = _quorum_error(response)
    if code in _QUORUM_UNSETTLED and link.settings.controllers:
        raise no_such_broker(-1, (), controllers=True)  # the leader has resigned, and no other one was elected yet
    if code:
        raise errors.BrokerError(errors.failure(code, message))
    found = quorum(response)
    return found if not link.settings.controllers else with_observers_endpoints(found, (await link.nodes()).brokers)


def with_observers_endpoints(
    found: model_cluster.Quorum, controllers: Mapping[int, tuple[str, int]]
) -> model_cluster.Quorum:
    """Return the quorum with the endpoints of its observers added, because the leader returns only the voters'
    endpoints. The listener of an observer gets the name of the voters' listener.

    Args:
        controllers: node id -> host and port, for each registered controller.
    """
    known = {each.id for each in found.endpoints}
    listener = next((each.listener for each in found.endpoints if each.id == found.leader_id), "")
    observers = [each.id for each in found.observers if each.id in controllers and each.id not in known]
    if not observers or not listener:
        return found
    more = (model_cluster.VoterEndpoint(id_, listener, *controllers[id_]) for id_ in observers)
    return replace(found, endpoints=(*found.endpoints, *more))


def _quorum_error(response: Any) -> tuple[int, str | None]:
    if response.error_code:
        return response.error_code, getattr(response, "error_message", None)
    for topic in response.topics:
        for partition in topic.partitions:
            return partition.error_code, getattr(partition, "error_message", None)
    raise errors.BadAnswer.of(f"the answer to DescribeQuorum has no {QUORUM_TOPIC}")


def quorum(response: Any) -> model_cluster.Quorum:
    """Convert a DescribeQuorum response of any version to the model. A replica's lag is the number of offsets from its
    log end to the leader's.
    """
    partition = response.topics[0].partitions[0]
    ends = {voter.replica_id: voter.log_end_offset for voter in partition.current_voters}
    end = ends.get(partition.leader_id, partition.high_watermark)

    def replicas(states: Any) -> tuple[model_cluster.QuorumReplica, ...]:
        found = (
            model_cluster.QuorumReplica(
                state.replica_id,
                state.log_end_offset,
                max(0, end - state.log_end_offset) if state.log_end_offset >= 0 else -1,
                getattr(state, "last_fetch_timestamp", -1),
                getattr(state, "last_caught_up_timestamp", -1),
                _directory_id(getattr(state, "replica_directory_id", None)),
            )
            for state in states
        )
        return tuple(sorted(found, key=lambda replica: replica.id))

    return model_cluster.Quorum(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        replicas(partition.current_voters),
        replicas(partition.observers),
        tuple(
            model_cluster.VoterEndpoint(node.node_id, listener.name, listener.host, listener.port)
            for node in getattr(response, "nodes", ())
            for listener in node.listeners
        ),
    )


def _directory_id(uuid: UUID | None) -> str:
    """Return a directory id in Kafka's text form; ``""`` if the quorum does not know the directory."""
    return "" if uuid is None or not uuid.int else uuid_text(uuid)


# Log directories (KIP-113, KIP-827).


async def describe_log_dirs(
    link: Link, brokers: Iterable[int] | None = None, topics: Mapping[str, Sequence[int]] | None = None
) -> model_cluster.LogDirListing:
    """Return the log directories of brokers. For a broker that does not answer, the result has a failure. Raises
    AdminError if the cluster is unreachable.

    Args:
        brokers: the ids of the brokers; None for all.
        topics: topic -> the partitions to describe; None for all.
    """
    ids = sorted((await link.refresh()).brokers) if brokers is None else list(dict.fromkeys(brokers))
    turn = asyncio.Lock()
    with gc_paused():
        answers = await asyncio.gather(*(_log_dirs_of_broker(link, broker_id, topics, turn) for broker_id in ids))
    return model_cluster.LogDirListing(*parted(dict(zip(ids, answers, strict=True))))


_NO_DIRS = Failure(
    "NO_LOG_DIRS",
    "the answer names no log directory",
    "Brokers answer so without DESCRIBE on CLUSTER kafka-cluster, and services that keep their disks to themselves.",
)


async def _log_dirs_of_broker(
    link: Link, broker_id: int, topics: Mapping[str, Sequence[int]] | None, turn: asyncio.Lock
) -> tuple[model_cluster.LogDir, ...] | Failure:
    """Return the log directories of a broker, or the failure to read them. turn: a lock held while decoding, since the
    replicas of 100,000 topics temporarily take 100 MB, and threads would not decode faster in parallel.
    """
    to, prepare = broker(broker_id), import_partition_decoders
    named = None
    if topics is not None:
        named = [{"topic": name, "partitions": tuple(numbers)} for name, numbers in topics.items()]
    try:
        raw = await link.call_raw("describe_log_dirs", {"topics": named}, to=to, prepare=prepare)
        async with turn:
            return await aside(len(raw.body), partial(_dirs_of, raw))
    except errors.AdminError as error:
        return error.failure


def _dirs_of(raw: RawResponse) -> tuple[model_cluster.LogDir, ...]:
    """Decode a DescribeLogDirs response. Call this in a thread: with 100,000 topics it would block the screen.

    Raises:
        AdminError: the broker refused the request, or returned no directory.
    """
    from console.wire.partition_decoders import decode_log_dirs

    answers = decode_log_dirs(raw.version, raw.body)
    if answers is None:
        response = decode(raw)
        errors.check(response)
        answers = dir_answers(response)
    if not answers:
        # Every broker has a directory. Before v3, a broker answers without an error and without directories if the
        # principal lacks the right.
        raise errors.BrokerError(_NO_DIRS)
    found = log_dirs(answers)
    for log_dir in found:
        _ = log_dir.size
    return found


def is_disk(path: str) -> bool:
    """Return whether a path that a broker lists as a log directory is on a disk. Brokers also list other storage, as
    ``remote://bucket``, but no replica can be moved there.
    """
    scheme, found, _ = path.partition("://")
    return not found or not all(each.isalnum() or each in "+.-" for each in scheme)


def dir_answers(response: Any) -> list[DirAnswer]:
    """Convert a DescribeLogDirs response that kio decoded, of any version, to the form of kac's own decoder."""
    from console.wire.partition_decoders import DirAnswer

    return [
        DirAnswer(
            result.error_code,
            result.log_dir,
            [
                (sys.intern(topic.name), p.partition_index, p.partition_size, p.offset_lag, p.is_future_key)
                for topic in result.topics
                for p in topic.partitions
            ],
            getattr(result, "total_bytes", -1),
            getattr(result, "usable_bytes", -1),
            getattr(result, "is_cordoned", False),
        )
        for result in response.results
    ]


def log_dirs(answers: Iterable[DirAnswer]) -> tuple[model_cluster.LogDir, ...]:
    """Return the log directories on disks, sorted by path. An offline directory has a failure."""
    return tuple(
        model_cluster.LogDir(
            each.path,
            model_cluster.ReplicaSizes(sorted(each.replicas)),
            each.total_bytes,
            each.usable_bytes,
            errors.failure(each.code) if each.code else None,
            each.cordoned,
        )
        for each in sorted(answers, key=lambda each: each.path)
        if is_disk(each.path)
    )


# Registrations of brokers with the controller (KIP-500): their removal.


class _Unregistering(Sender[UnregisterBroker, BrokerTarget]):
    """Unregisters a broker from the cluster. The controller also accepts a running broker, which then shuts down."""

    needs = "3.0, in KRaft mode"
    right = "unregistering a broker needs ALTER on the cluster"

    def targets(self) -> tuple[BrokerTarget]:
        return (BrokerTarget(self.request.broker_id),)

    def fields(self, _targets: Sequence[BrokerTarget]) -> Fields:
        return {"broker_id": self.request.broker_id}

    async def describe_again(self, targets: Sequence[BrokerTarget]) -> dict[BrokerTarget, Status]:
        return dict.fromkeys(targets, await unregistered(self.link, self.request.broker_id))


SENDERS: Senders = {UnregisterBroker: _Unregistering}


async def unregistered(link: Link, broker_id: int) -> Status:
    """Return NOT_APPLIED if the cluster lists the broker. Otherwise return APPLIED, or UNKNOWN before Kafka 4.0,
    where the cluster lists only running brokers.
    """
    cluster = await describe_cluster(link)
    if any(broker.id == broker_id for broker in cluster.brokers):
        return Status.NOT_APPLIED
    return Status.APPLIED if cluster.shows_fenced else Status.UNKNOWN
