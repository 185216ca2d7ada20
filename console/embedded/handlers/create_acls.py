"""CreateAcls (30), v1-3: adds ACLs (AclApis, AclControlManager).

Needs ALTER on the cluster. Adding an existing ACL succeeds.

Version notes:
- v1: pattern types (KIP-290).
- v2: flexible.
- v3: the resource type USER.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import refusals
from console.embedded.acls import ANY, MATCH
from console.embedded.context import RequestContext
from console.embedded.state import MAX_RECORDS
from console.model.acl import CLUSTER_NAME, Acl
from console.model.authorizer import address_as_compared, range_of
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

_CLUSTER = AclResourceType.parse("CLUSTER")


class _Result(NamedTuple):
    code: int = 0
    message: str | None = ""


async def handle(request: Any, context: RequestContext) -> Any:
    """Add the ACLs, and return a result for each in the request's order."""
    acls = [_acl(item) for item in request.creations]
    for acl in acls:
        refusals.close_if_unset("CreateAcls", acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    results = _refused(acls, context) or _created(acls, context)
    schema = context.schema
    return context.answer(
        results=tuple(
            schema.AclCreationResult(error_code=result.code, error_message=result.message) for result in results
        )
    )


def _acl(item: Any) -> Acl:
    return Acl(
        AclResourceType(item.resource_type),
        item.resource_name,
        PatternType(item.resource_pattern_type),
        item.principal,
        item.host,
        AclOperation(item.operation),
        Permission(item.permission_type),
    )


def _refused(acls: list[Acl], context: RequestContext) -> list[_Result] | None:
    """Return the one error for all ACLs, None if each has its own result."""
    if not context.allowed("ALTER"):
        return [
            _Result(ErrorCode.cluster_authorization_failed, refusals.cluster_refusal_message(context, "ALTER"))
        ] * len(acls)
    if context.cluster.authorizer is None:
        return [_Result(ErrorCode.security_disabled, refusals.CHANGE_WITHOUT_AUTHORIZER)] * len(acls)
    if any(_only_filters(acl) for acl in acls):
        return [_Result(ErrorCode.unknown_server_error, None)] * len(acls)
    return None


def _only_filters(acl: Acl) -> bool:
    """Return whether the ACL has ANY or MATCH, which are valid in filters only."""
    numbers = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    return ANY in numbers or acl.pattern_type == MATCH


def _created(acls: list[Acl], context: RequestContext) -> list[_Result]:
    state, has_host = context.state, context.cluster.release.number >= _NEEDS_HOST_FROM
    results = [_problem(acl, has_host=has_host) for acl in acls]
    new = {acl for acl, problem in zip(acls, results, strict=True) if problem is None and acl not in state.acls}
    # All ACLs are one change of the controller, which writes at most MAX_RECORDS; what the broker itself refused keeps
    # its own error.
    if len(new) > MAX_RECORDS:
        return [_bad_name(acl) or _Result(ErrorCode.policy_violation, refusals.TOO_MANY_CHANGES) for acl in acls]
    for acl in _in_order(acls, new):
        state.add_acl(acl)
    return [problem or _Result() for problem in results]


def _in_order(acls: Iterable[Acl], new: set[Acl]) -> list[Acl]:
    return [acl for acl in dict.fromkeys(acls) if acl in new]


def _bad_name(acl: Acl) -> _Result | None:
    """Check what the broker checks before it forwards to the controller."""
    if acl.resource_type == _CLUSTER and acl.resource_name != CLUSTER_NAME:
        return _Result(ErrorCode.invalid_request, refusals.CLUSTER_NAME_ONLY)
    if not acl.resource_name:
        return _Result(ErrorCode.invalid_request, refusals.EMPTY_RESOURCE_NAME)
    return None


_NO_COLON = (
    "Could not parse principal from `{principal}` "
    "(no colon is present separating the principal type from the principal name)"
)
_NEEDS_HOST_FROM = (4, 4)
"""The first release that checks hosts, as it takes ranges of addresses."""


def _problem(acl: Acl, *, has_host: bool) -> _Result | None:
    """Return why this ACL can't be created, None if it can. has_host: it has to name a host, or a valid range."""
    if (bad := _bad_name(acl)) is not None:
        return bad
    for part, number in (
        ("resourceType", acl.resource_type),
        ("patternType", acl.pattern_type),
        ("operation", acl.operation),
        ("permissionType", acl.permission),
    ):
        if not number.known:
            return _Result(ErrorCode.invalid_request, f"Invalid {part} UNKNOWN")
    if ":" not in acl.principal:
        return _Result(ErrorCode.invalid_request, _NO_COLON.format(principal=acl.principal))
    if has_host and not acl.host:
        return _Result(ErrorCode.invalid_request, "Host pattern cannot be null or empty")
    if has_host and "/" in acl.host and range_of(acl.host) is None:
        return _Result(ErrorCode.invalid_request, f"Invalid CIDR notation '{acl.host}': {_why_no_range(acl.host)}")
    return None


def _why_no_range(host: str) -> str:
    """Return why a range is invalid, as the library that Kafka uses for ranges says it."""
    address, _, length = host.partition("/")
    most = 128 if ":" in address else 32
    if address_as_compared(address) is None or not length.isdecimal():
        return f"Could not parse [{host}]"
    return f"Value [{length}] not in range [0,{most}]"
