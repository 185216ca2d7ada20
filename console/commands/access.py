"""ACL statements as bindings, and which operations a resource has."""

from __future__ import annotations

from collections.abc import Mapping

from console.commands.entities import ACL_CLUSTER
from console.commands.errors import CommandError
from console.commands.statements import Access
from console.model.acl import CLUSTER_NAME, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType

LITERAL, PREFIXED = PatternType(3), PatternType(4)

OPERATIONS_OF: Mapping[AclResourceType, tuple[str, ...]] = {
    AclResourceType(2): (
        "ALL",
        "READ",
        "WRITE",
        "CREATE",
        "DELETE",
        "ALTER",
        "DESCRIBE",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
    ),
    AclResourceType(3): ("ALL", "READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    ACL_CLUSTER: (
        "ALL",
        "CREATE",
        "ALTER",
        "DESCRIBE",
        "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS",
        "ALTER_CONFIGS",
        "IDEMPOTENT_WRITE",
    ),
    AclResourceType(5): ("ALL", "WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"),
    AclResourceType(6): ("ALL", "DESCRIBE"),
    AclResourceType(7): ("ALL", "CREATE_TOKENS", "DESCRIBE_TOKENS"),
}
"""What brokers ask for on each type of resource (AclEntry.supportedOperations)."""


def acls_of(statement: Access) -> tuple[Acl, ...]:
    """A binding for each operation. Raises CommandError for an operation that the resource has not, unless it is to be
    taken away: a broker stores such a binding, and never asks for it."""
    legal = OPERATIONS_OF[statement.resource_type]
    for operation in statement.operations:
        if operation.name not in legal and not statement.revoke:
            what = statement.resource_type.name.lower().replace("_", "-")
            message = f"Kafka never asks for {operation.name} on a {what}"
            raise CommandError(message, f"one of {', '.join(legal)}", statement.operations_span)
    return tuple(_acl(statement, operation) for operation in statement.operations)


def _acl(statement: Access, operation: AclOperation) -> Acl:
    return Acl(
        statement.resource_type,
        CLUSTER_NAME if statement.resource_name is None else statement.resource_name,
        PREFIXED if statement.prefixed else LITERAL,
        statement.principal,
        statement.host,
        operation,
        statement.permission,
    )
