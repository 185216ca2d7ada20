"""Checks of brokers: which APIs they lack, and whether the right broker answers at each advertised address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from console.answers.checks import Check, Health
from console.model.entity_types import ENTITY_TYPES
from console.model.failure import WRONG_BROKER
from console.model.nodes import shared_addresses

if TYPE_CHECKING:
    from console.admin.link import Link
    from console.model.cluster import Broker

WITHOUT = (
    # An API that the console uses, and the features that need the API.
    ("describe_cluster", "rights on the cluster, fenced brokers"),
    ("describe_configs", "configs"),
    ("incremental_alter_configs", "change of one key alone: a resource's overrides are replaced together"),
    ("describe_log_dirs", "disks, sizes of replicas and topics, bytes of moves"),
    ("describe_acls", "ACLs"),
    ("create_acls", "new ACLs"),
    ("delete_acls", "revoked ACLs"),
    ("describe_client_quotas", "quotas"),
    ("alter_client_quotas", "changes to quotas"),
    ("describe_user_scram_credentials", "SCRAM users"),
    ("alter_user_scram_credentials", "changes to SCRAM users"),
    ("list_partition_reassignments", "moves that run"),
    ("alter_partition_reassignments", "moves of replicas"),
    ("alter_replica_log_dirs", "moves between a broker's disks"),
    ("elect_leaders", "elections"),
    ("create_topics", "new topics"),
    ("delete_topics", "deletions of topics"),
    ("create_partitions", "growing topics"),
    ("delete_records", "deletions of records"),
    ("list_groups", "groups"),
    ("describe_groups", "members of groups"),
    ("delete_groups", "deletions of groups"),
    ("offset_delete", "deletions of committed offsets"),
    ("describe_quorum", "quorum, active controller, and its clock"),
    ("describe_producers", "producers, and which transactions hang"),
    ("list_transactions", "list of transactions"),
    ("describe_transactions", "states of transactions"),
    (
        "list_config_resources",
        f"list of {' and of '.join(each.spoken for each in reversed(ENTITY_TYPES) if each.listed)} with configs",
    ),
)


def shared_address_checks(brokers: Sequence[Broker]) -> Iterator[Check]:
    """Yield a failed check for each address that several brokers advertise: only one of them can listen on it."""
    for address, ids in shared_addresses(brokers, {}).items():
        remedy = "clients reach one of them alone: correct advertised.listeners of the others"
        yield Check(f"address {address}", Health.BAD, f"advertised by brokers {', '.join(map(str, ids))}", remedy)


async def answered_by_others(link: Link, ids: Sequence[int]) -> list[Check]:
    """Return a failed check for each of these brokers at whose advertised address another broker answers. The other
    broker is recognized because it refuses to describe the configs of a broker that it is not; without the right to
    describe configs the result is empty.
    """
    from console.admin.configs import describe_configs
    from console.model.config import broker_resource

    listing = await describe_configs(link, [broker_resource(each) for each in ids], keys=["node.id"])
    return [
        Check(f"broker {resource.name}", Health.BAD, why.message, why.remedy)
        for resource, why in listing.failures.items()
        if why.name == WRONG_BROKER
    ]


async def missing_apis(link: Link) -> list[Check]:
    """Return a check of health NOTE for each API that the brokers lack, with kac's features that need it."""
    from console.admin.errors import Unsupported
    from console.wire.schemas import FIRST_RELEASE, api_key

    apis = await link.advertised()
    return [
        Check(
            f"API {api}",
            Health.NOTE,
            f"missing; without it: no {costs}",
            Unsupported(api, FIRST_RELEASE.get(api, ""), apis).failure.message,
        )
        for api, costs in WITHOUT
        if api_key(api) not in apis
    ]
