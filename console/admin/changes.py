"""Sends changes to a cluster: one request, one outcome for each of its targets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

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
from console.model.changes import ChangeRequest, Outcome

SENDERS: Mapping[type[changes.Request], Callable[..., Awaitable[tuple[Outcome, ...]]]] = MappingProxyType(
    {
        changes.CreateTopics: create_topics,
        changes.DeleteTopics: delete_topics,
        changes.CreatePartitions: create_partitions,
        changes.ElectLeaders: elect_leaders,
        changes.AlterReassignments: alter_reassignments,
        changes.AlterReplicaDirs: alter_replica_dirs,
        changes.DeleteRecords: delete_records,
        changes.AbortTransaction: abort_transaction,
        changes.CommitOffsets: commit_offsets,
        changes.DeleteOffsets: delete_offsets,
        changes.AlterShareGroupOffsets: alter_share_group_offsets,
        changes.DeleteShareGroupOffsets: delete_share_group_offsets,
        changes.DeleteGroups: delete_groups,
        changes.CreateAcls: create_acls,
        changes.DeleteAcls: delete_acls,
        changes.AlterScram: alter_scram,
        changes.CreateToken: create_token,
        changes.RenewToken: renew_token,
        changes.ExpireToken: expire_token,
        changes.AlterConfigs: alter_configs,
        changes.AlterQuotas: alter_quotas,
        changes.UpdateFeatures: update_features,
        changes.UnregisterBroker: unregister_broker,
        changes.AddVoter: add_voter,
        changes.RemoveVoter: remove_voter,
    }
)
"""Request -> the function that sends it: (link, request, validate_only=…) -> outcomes."""
_WITH_PROGRESS = (changes.CreateTopics, changes.CreatePartitions)


async def send(
    link: Link, request: ChangeRequest, *, validate_only: bool, on_progress: Progress | None = None
) -> tuple[Outcome, ...]:
    """Send a change, or with `validate_only` have it checked. Returns one outcome for each target, in their order.

    A check that the protocol does not support is UNCHECKED. A change whose answer is lost is never sent again: the
    cluster is described, and the outcome is APPLIED if it has the change, else UNKNOWN.
    on_progress: (partitions with a leader, all partitions) during the wait after a creation or growth.
    Raises AdminError only if nothing was sent. Must not be cancelled: the outcome would be lost.
    """
    watched = {"on_progress": on_progress} if isinstance(request, _WITH_PROGRESS) else {}
    return await SENDERS[type(request)](link, request, validate_only=validate_only, **watched)
