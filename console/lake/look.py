"""A look at a cluster: everything that the lake keeps of it, read once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.model.codes import CLIENT_METRICS, GROUP, ResourceType
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.refresh import GONE
from console.model.snapshot import Snapshot

if TYPE_CHECKING:
    from console.admin.link import Link
    from console.commands.session import Session

BY_NAME = 1_000
"""Topics that are asked for by name in one request."""
_LISTS_GROUPS = 1
"""The version of ListConfigResources from which on brokers list more than client metrics (KIP-1142)."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a cluster answered.

    at: when the last answer had come. listed: the types, of those that Metadata does not list, whose resources are all
    in the snapshot. unlisted: why those of the others are not. unsure: topics that were there at the last look and are
    not listed any more, though the brokers do not say that they are gone. lost: parts of the snapshot, by the names of
    `Snapshot.read_at`, that were not answered in time or not in a form that can be read.
    """

    snapshot: Snapshot
    at: datetime
    listed: frozenset[ResourceType] = frozenset()
    unlisted: Mapping[ResourceType, Failure] = field(default_factory=dict)
    unsure: Mapping[str, Failure] = field(default_factory=dict)
    lost: Mapping[str, Failure] = field(default_factory=dict)


async def look_at(session: Session, known_topics: Callable[[str], Collection[str]] = lambda _: ()) -> Look:
    """Read it. known_topics: the topics that a cluster of this id had at the last look.

    What single parts refuse is in the snapshot's failures. Raises AdminError where the cluster can't be reached or is
    lost, Refused where it is another than the context says.
    """
    await session.read_cluster()
    await session.read_topics()
    parts = {
        "versions": session.read_versions,
        "quotas": session.read_quotas,
        "scram": session.read_scram,
        "acls": session.read_acls,
    }
    # One after the other: a broker answers a connection's requests in their order, and one may take very long.
    lost = {part: failure for part, read in parts.items() if (failure := await _failure_of(read())) is not None}
    version = await session.client.run(_listing_version)
    unlisted = _unlisted(version)
    wanted = [type_ for type_ in (GROUP, CLIENT_METRICS) if type_ not in unlisted]
    named = await session.list_resources(wanted) if wanted else ()
    refused = next((each.failure for each in session.snapshot.failures if each.part == "resources"), None)
    if refused is not None:
        unlisted |= dict.fromkeys(wanted, refused)
    snapshot = session.snapshot
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    topics = [topic_resource(name) for name in snapshot.topics]
    await session.read_configs([*topics, *brokers, CLUSTER_DEFAULT, *named], at_once=True)
    missing = set(known_topics(snapshot.cluster.cluster_id or "")) - snapshot.topics.keys()
    unsure = await _unsure(session, sorted(missing))
    listed = frozenset(type_ for type_ in wanted if type_ not in unlisted)
    return Look(session.snapshot, datetime.now(UTC), listed, unlisted, unsure, lost)


async def _failure_of(read: Awaitable[None]) -> Failure | None:
    """Read a part: why it was not answered, though the cluster is there. Raises Unreachable where it is not."""
    from console.admin.errors import BadAnswer, Disconnected, RequestTimedOut

    try:
        await read
    except (RequestTimedOut, Disconnected, BadAnswer) as error:
        return error.failure
    return None


async def _listing_version(link: Link) -> int | None:
    return await link.version("list_config_resources")


def _unlisted(version: int | None) -> dict[ResourceType, Failure]:
    def why(what: str, since: str) -> Failure:
        return Failure("UNSUPPORTED", f"brokers before Kafka {since} do not list the {what} that have configs")

    if version is None:
        return {GROUP: why("groups", "4.1"), CLIENT_METRICS: why("client metrics", "3.7")}
    return {GROUP: why("groups", "4.1")} if version < _LISTS_GROUPS else {}


async def _unsure(session: Session, names: list[str]) -> dict[str, Failure]:
    """Those whom the brokers do not call unknown: a listing leaves out what the principal may not see, in silence."""
    from console.admin import topics

    unsure: dict[str, Failure] = {}
    for start in range(0, len(names), BY_NAME):
        asked = names[start : start + BY_NAME]
        listing = await session.client.run(topics.describe_topics, asked)
        unsure |= {name: failure for name, failure in listing.failures.items() if failure.name not in GONE}
        unsure |= dict.fromkeys(listing.topics, Failure("CHANGED", "it was created while the cluster was looked at"))
    return unsure
