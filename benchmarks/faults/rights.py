"""Faults of rights: the console's own user may read only a few things."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.faults.fault import Begin, Fault, cause
from benchmarks.faults.laboratory import Laboratory
from console.model.acl import CLUSTER_NAME, Acl
from console.model.changes import CreateAcls, DeleteAcls
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

USER = "alice"


@asynccontextmanager
async def _few_rights(lab: Laboratory) -> AsyncIterator[Begin]:
    acls = (
        acl("DENY", "CLUSTER", CLUSTER_NAME, "DESCRIBE"),
        acl("DENY", "CLUSTER", CLUSTER_NAME, "DESCRIBE_CONFIGS"),
        # If a resource has an ACL, brokers refuse every operation that no ACL allows, including reads of its configs.
        acl("ALLOW", "TOPIC", "*", "DESCRIBE"),
    )

    async def begin() -> None:
        await lab.send(CreateAcls(acls))

    try:
        yield begin
    finally:
        await lab.send(DeleteAcls(acls))


def acl(permission: str, type_: str, name: str, operation: str) -> Acl:
    """Return an ACL for the console's user, on all hosts."""
    return Acl(
        AclResourceType.parse(type_),
        name,
        PatternType.parse("LITERAL"),
        f"User:{USER}",
        "*",
        AclOperation.parse(operation),
        Permission.parse(permission),
    )


FAULTS = (
    Fault(
        name="few rights",
        how="the console's principal may DESCRIBE topics, and not the cluster or any configs",
        make=_few_rights,
        named=(
            cause("access-denied", entity="this console: cluster"),
            cause("access-denied", entity="this console: topic"),
        ),
        stands=True,
        alone=True,
        user=USER,
    ),
)
