"""Read the targets of edits into a session's snapshot, before the edits are staged and after they were applied.

For topics, configs, quotas, ACLs and users, it also reads entities that the edits affect indirectly; for other types it
keeps the result of `describe_again`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from console.model.acl import Acl
from console.model.changes import ScramUser, TopicTarget
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.parts import Part
from console.model.quota import QuotaEntity, filter_for_entity
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.session.describe_again import SINGLY, Home, reader, touched
from console.session.snapshot_reader import Refused, read_quotas_of

if TYPE_CHECKING:
    from console.session.session import Session

log = logging.getLogger(__name__)


async def read_again(session: Session, edits: Iterable[Edit]) -> bool:
    """Read the targets of edits into the session. If the cluster-wide default config is a target, also read the brokers
    that inherit it. No error is raised: refusals become failures in the snapshot, a lost connection is logged, and
    nothing is read if another cluster answers.

    Returns:
        Whether all targets were read; if not, the session still has values of an earlier read.
    """
    from console.admin.errors import AdminError

    try:
        # Check the cluster first, so that nothing is read from another cluster that took over the addresses.
        await session.read_cluster()
        for type_, targets in touched(edits).items():
            if type_ is TopicTarget:
                names = [target.name for target in targets]
                await session.read_topics(names)
                await session.read_configs([topic_resource(name) for name in names if name in session.snapshot.topics])
            elif type_ is ConfigResource:
                await session.read_configs(_with_heirs(targets, session.snapshot))
            elif type_ is QuotaEntity:
                # Read only these entities if the others are known already: a cluster may have a million.
                if len(targets) <= SINGLY and Part.QUOTAS in session.snapshot.read_at:
                    await session.keep(
                        read_quotas_of(session.client, [filter_for_entity(entity) for entity in targets])
                    )
                else:
                    await session.read_quotas()
            elif type_ is Acl:
                await session.read_acls()
            elif type_ is ScramUser:
                await session.read_whole(Part.SCRAM)
            elif type_ is not Home:  # Home: an edit depends on the topic without changing it
                session.learn(await reader(type_)(session.client, session.snapshot, targets))
    except (AdminError, Refused) as error:
        log.warning("could not read again what was touched: %s", error.failure)
        return False
    return True


def _with_heirs(resources: Iterable[ConfigResource], known: Snapshot) -> list[ConfigResource]:
    """Return the resources. If they include the cluster-wide default, add all brokers (or all controllers, on a
    connection to controllers), because a broker without its own value shows the inherited one in its configs.
    """
    wanted = dict.fromkeys(resources)
    if any(resource.is_cluster_default for resource in wanted):
        nodes = known.cluster.brokers or known.cluster.controllers
        wanted |= dict.fromkeys(broker_resource(node.id) for node in nodes)
    return list(wanted)
