"""Reads into a session what edits touch: before they are staged, and after they were applied."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from console.model.acl import Acl
from console.model.changes import ScramUser, TopicTarget
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.quota import QuotaEntity, filter_for_entity
from console.plan.edits import Edit
from console.session.describe_again import READERS, SINGLY, Home, touched
from console.session.snapshot_reader import Refused

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)


async def read_again(session: Session, edits: Iterable[Edit]) -> None:
    """Read into the session what edits touch; for the cluster default, the brokers too. Never raises: a failure to read
    is in the snapshot's failures. Nothing is read from another cluster than before."""
    from console.admin.errors import AdminError

    try:
        await session.read_cluster()
        for type_, targets in touched(edits).items():
            if (into := WHOLE.get(type_)) is not None:
                await into(session, targets)
            else:
                reader = READERS[type_]
                session.learn(await reader.read(session.client, session.snapshot, targets), *reader.parts)
    except (AdminError, Refused) as error:
        log.warning("could not read again what was touched: %s", error.failure)


async def _topics(session: Session, targets: Sequence[TopicTarget]) -> None:
    """The topics, and the configs of those that exist."""
    names = [target.name for target in targets]
    await session.read_topics(names)
    await session.read_configs([topic_resource(name) for name in names if name in session.snapshot.topics])


async def _nothing(_session: Session, _targets: Sequence[Home]) -> None:
    """What the edits leave alone is not read afterwards."""


async def _configs(session: Session, resources: Sequence[ConfigResource]) -> None:
    """The configs; for the cluster default those of the brokers, too."""
    snapshot = session.snapshot
    wanted = dict.fromkeys(resources)
    if any(resource.is_cluster_default for resource in resources):
        wanted |= dict.fromkeys(broker_resource(broker.id) for broker in snapshot.cluster.brokers)
    await session.read_configs(list(wanted))


async def _quotas(session: Session, entities: Sequence[QuotaEntity]) -> None:
    """These alone if the others are known already: there may be a million."""
    if len(entities) <= SINGLY and "quotas" in session.snapshot.read_at:
        await session.read_quotas_of([filter_for_entity(entity) for entity in entities])
    else:
        await session.read_quotas()


async def _acls(session: Session, _bindings: Sequence[Acl]) -> None:
    await session.read_acls()


async def _scram(session: Session, _targets: Sequence[ScramUser]) -> None:
    await session.read_scram()


WHOLE: Mapping[type, Callable[[Session, Sequence[Any]], Awaitable[None]]] = {
    TopicTarget: _topics,
    Home: _nothing,
    ConfigResource: _configs,
    QuotaEntity: _quotas,
    Acl: _acls,
    ScramUser: _scram,
}
"""Type of target -> what reads it where more than what edits touch is read. Of the others, what `describe_again` reads
is kept."""
