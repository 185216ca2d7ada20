"""Sends changes to a cluster: one request, one outcome for each of its targets."""

from __future__ import annotations

from console.admin.acls import create_acls, delete_acls
from console.admin.cluster import unregister_broker
from console.admin.configs import alter_configs
from console.admin.features import update_features
from console.admin.groups import (
    alter_share_group_offsets,
    commit_offsets,
    delete_groups,
    delete_offsets,
    delete_share_group_offsets,
)
from console.admin.link import Link
from console.admin.partitions import alter_reassignments, delete_records, elect_leaders
from console.admin.quotas import alter_quotas
from console.admin.replicas import alter_replica_dirs
from console.admin.scram import alter_scram
from console.admin.tokens import create_token, expire_token, renew_token
from console.admin.topics import Progress, create_partitions, create_topics, delete_topics
from console.admin.transactions import abort_transaction
from console.admin.voters import add_voter, remove_voter
from console.model import changes
from console.model.changes import (
    AccessChange,
    ChangeRequest,
    ClusterChange,
    GroupChange,
    Outcome,
    PartitionChange,
    TopicChange,
)


async def send(
    link: Link, request: ChangeRequest, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Send a change, or with `validate_only` have it checked. Returns one outcome for each target, in their order.

    A check that the protocol does not support is UNCHECKED. A change whose answer is lost is never sent again: the
    cluster is described, and the outcome is APPLIED if it has the change, else UNKNOWN.
    on_progress: (partitions with a leader, all partitions) during the wait after a creation or growth.
    Raises AdminError only if nothing was sent. Must not be cancelled: the outcome would be lost.
    """
    if isinstance(request, TopicChange):
        return await _send_topics(link, request, validate_only, on_progress)
    if isinstance(request, PartitionChange):
        return await _send_partitions(link, request, validate_only)
    if isinstance(request, GroupChange):
        return await _send_groups(link, request, validate_only)
    if isinstance(request, AccessChange):
        return await _send_access(link, request, validate_only)
    return await _send_cluster(link, request, validate_only)


async def _send_topics(
    link: Link, request: TopicChange, validate_only: bool, on_progress: Progress | None
) -> tuple[Outcome, ...]:
    match request:
        case changes.CreateTopics():
            return await create_topics(link, request, validate_only=validate_only, on_progress=on_progress)
        case changes.DeleteTopics():
            return await delete_topics(link, request, validate_only=validate_only)
        case changes.CreatePartitions():
            return await create_partitions(link, request, validate_only=validate_only, on_progress=on_progress)


async def _send_partitions(link: Link, request: PartitionChange, validate_only: bool) -> tuple[Outcome, ...]:
    match request:
        case changes.ElectLeaders():
            return await elect_leaders(link, request, validate_only=validate_only)
        case changes.AlterReassignments():
            return await alter_reassignments(link, request, validate_only=validate_only)
        case changes.AlterReplicaDirs():
            return await alter_replica_dirs(link, request, validate_only=validate_only)
        case changes.DeleteRecords():
            return await delete_records(link, request, validate_only=validate_only)
        case changes.AbortTransaction():
            return await abort_transaction(link, request, validate_only=validate_only)


async def _send_groups(link: Link, request: GroupChange, validate_only: bool) -> tuple[Outcome, ...]:
    match request:
        case changes.CommitOffsets():
            return await commit_offsets(link, request, validate_only=validate_only)
        case changes.DeleteOffsets():
            return await delete_offsets(link, request, validate_only=validate_only)
        case changes.AlterShareGroupOffsets():
            return await alter_share_group_offsets(link, request, validate_only=validate_only)
        case changes.DeleteShareGroupOffsets():
            return await delete_share_group_offsets(link, request, validate_only=validate_only)
        case changes.DeleteGroups():
            return await delete_groups(link, request, validate_only=validate_only)


async def _send_access(link: Link, request: AccessChange, validate_only: bool) -> tuple[Outcome, ...]:
    match request:
        case changes.CreateAcls():
            return await create_acls(link, request, validate_only=validate_only)
        case changes.DeleteAcls():
            return await delete_acls(link, request, validate_only=validate_only)
        case changes.AlterScram():
            return await alter_scram(link, request, validate_only=validate_only)
        case changes.CreateToken():
            return await create_token(link, request, validate_only=validate_only)
        case changes.RenewToken():
            return await renew_token(link, request, validate_only=validate_only)
        case changes.ExpireToken():
            return await expire_token(link, request, validate_only=validate_only)


async def _send_cluster(link: Link, request: ClusterChange, validate_only: bool) -> tuple[Outcome, ...]:
    match request:
        case changes.AlterConfigs():
            return await alter_configs(link, request, validate_only=validate_only)
        case changes.AlterQuotas():
            return await alter_quotas(link, request, validate_only=validate_only)
        case changes.UpdateFeatures():
            return await update_features(link, request, validate_only=validate_only)
        case changes.UnregisterBroker():
            return await unregister_broker(link, request, validate_only=validate_only)
        case changes.AddVoter():
            return await add_voter(link, request, validate_only=validate_only)
        case changes.RemoveVoter():
            return await remove_voter(link, request, validate_only=validate_only)
