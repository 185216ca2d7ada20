"""What a broker does as the coordinator of groups (GroupCoordinatorService)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from console.embedded.groups.group import Group
from console.embedded.state.coordinators import coordinator_of
from console.embedded.waiting import event_or_time

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster
    from console.embedded.context import RequestContext

_LOOKS_AT_INSTANCES_FROM = (3, 0)
_READS_ITS_LOG_FROM = (4, 0)
_INITIAL_DELAY = "group.initial.rebalance.delay.ms"
_INITIAL_DELAY_DEFAULT = "3000"


def refused(context: RequestContext, group_id: str, operation: str = "READ") -> int:
    """Why this broker does nothing with the group for this principal; 0 where it does."""
    if not context.allowed(operation, "GROUP", group_id):
        return ErrorCode.group_authorization_failed
    if not group_id:
        return ErrorCode.invalid_group_id
    return 0 if coordinator_of(context.view.topics, group_id) == context.broker_id else ErrorCode.not_coordinator


def found_or_made(context: RequestContext, group_id: str) -> Group:
    """The group; a new one, which is empty, where there is none."""
    groups = context.state.groups
    if group_id not in groups:
        delay = context.cluster.spec.static_configs.get(_INITIAL_DELAY, _INITIAL_DELAY_DEFAULT)
        newer = context.cluster.release.number >= _LOOKS_AT_INSTANCES_FROM
        groups[group_id] = Group(group_id, int(delay) / 1000, newer)
    return groups[group_id]


def told(context: RequestContext, group_id: str) -> Group | None:
    """The group, as far as it is told of: since 4.0, whose coordinators read what they wrote, a new group is seen once
    it is written (GroupMetadataManager.classicGroup by the last committed offset; measured on 4.3)."""
    group = context.state.groups.get(group_id)
    if group is None or (context.cluster.release.number >= _READS_ITS_LOG_FROM and not group.written):
        return None
    return group


def watch(cluster: EmbeddedCluster, group: Group) -> None:
    """See to it that its members' sessions and its rebalances end in time."""
    if not group.watched:
        group.watched = True
        cluster.run(_pass_time(cluster, group))


async def _pass_time(cluster: EmbeddedCluster, group: Group) -> None:
    try:
        while (deadline := group.next_deadline) is not None:
            group.changed.clear()
            await event_or_time(group.changed, cluster.clock, deadline)
            group.pass_time(cluster.clock.time())
    finally:
        group.watched = False
    groups = cluster.state.groups
    if not (group.members or group.written) and groups.get(group.id) is group:  # nobody came: it never was
        del groups[group.id]
