"""ElectLeaders (KIP-183, KIP-460; ReplicationControlManager, with ZooKeeper KafkaController)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.topics.electing import PREFERRED, UNCLEAN, elect, elect_all
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import DONE, EXPIRED, Refusal, cluster_refused
from console.wire.schemas import for_version

Results = Iterable[tuple[str, Iterable[tuple[int, Refusal]]]]


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-2. Null partitions are all of them: those that need no election are left out; KRaft names their topics."""
    release, kind = context.cluster.release, getattr(request, "election_type", PREFERRED)
    top = DONE
    if not context.allowed("ALTER"):
        refused = cluster_refused(context, "ALTER")
        top = refused if release.kraft else Refusal(refused.code)
    elif release.kraft and request.timeout.total_seconds() <= 0:
        top = EXPIRED
    elif kind not in (PREFERRED, UNCLEAN):
        unknown = Refusal(ErrorCode.invalid_request, topic_messages(release).elect_type.format(kind=kind))
        top = unknown if release.kraft else Refusal(ErrorCode.unknown_server_error)
    asked = request.topic_partitions
    if asked is not None and not release.kraft:
        asked = _merged(asked)
    results: Results = ()
    if top.code:
        results = [(name, [(index, top) for index in parts]) for name, parts in _pairs(asked or ())]
    elif asked is None:
        results = [(name, parts) for name, parts in elect_all(context.state, kind) if parts or release.kraft]
    else:
        results = [
            (name, [(index, elect(context.state, kind, name, index)) for index in parts])
            for name, parts in _pairs(asked)
        ]
    return _answer(context, top.code, results)


def _pairs(asked: Any) -> Iterable[tuple[str, Iterable[int]]]:
    return asked if isinstance(asked, list) else [(topic.topic, topic.partitions) for topic in asked]


def _merged(asked: Any) -> list[tuple[str, Iterable[int]]]:
    """Each partition once: ZooKeeper's controller takes them as a set."""
    topics: dict[str, dict[int, None]] = {}
    for topic in asked:
        topics.setdefault(topic.topic, {}).update(dict.fromkeys(topic.partitions))
    return list(topics.items())


def _answer(context: RequestContext, code: int, results: Results) -> Any:
    schema = context.schema
    return for_version(
        schema.ElectLeadersResponse,
        throttle_time=NO_TIME,
        error_code=code,
        replica_election_results=tuple(
            schema.ReplicaElectionResult(
                topic=name,
                partition_result=tuple(
                    schema.PartitionResult(partition_id=index, error_code=refusal.code, error_message=refusal.message)
                    for index, refusal in parts
                ),
            )
            for name, parts in results
        ),
    )
