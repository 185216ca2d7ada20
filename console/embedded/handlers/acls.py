"""ACLs: creation, deletion and description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import acls as embedded_acls
from console.embedded import answers, refusals
from console.embedded.context import RequestContext
from console.embedded.refusals import Refusal
from console.embedded.state import MAX_RECORDS
from console.model.acl import CLUSTER_NAME, Acl, AclFilter
from console.model.authorizer import Pattern, address_as_compared, pattern_of, range_of
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

_CLUSTER = AclResourceType.parse("CLUSTER")


async def create_acls(request: Any, context: RequestContext) -> Any:
    """CreateAcls (30), v1-3: adds ACLs (AclApis, AclControlManager).

    Add the ACLs, and return a result for each in the request's order.

    Needs ALTER on the cluster. Adding an existing ACL succeeds.

    Version notes:
    - v1: pattern types (KIP-290).
    - v2: flexible.
    - v3: the resource type USER.
    """
    acls = [_acl(item) for item in request.creations]
    for acl in acls:
        refusals.close_if_unset("CreateAcls", acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    refusal = _refused(context, "ALTER", refusals.CHANGE_WITHOUT_AUTHORIZER)
    if refusal is None and any(_only_filters(acl) for acl in acls):
        refusal = Refusal(ErrorCode.unknown_server_error)
    if refusal is not None:
        return answers.error_answer(request, context.messages, *refusal)
    results = iter(_created(acls, context))
    return answers.each_item(context, request, lambda _item: next(results))


def _refused(context: RequestContext, operation: str, without_authorizer: str) -> Refusal | None:
    """Return the error with which the whole request is refused; None if it is not. without_authorizer: the message in a
    cluster without an authorizer.
    """
    if not context.allowed(operation):
        return refusals.cluster_refused(context, operation)
    if context.cluster.authorizer is None:
        return Refusal(ErrorCode.security_disabled, without_authorizer)
    return None


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


def _only_filters(acl: Acl) -> bool:
    """Return whether an ACL has a value that is valid only in filters: ANY or MATCH."""
    numbers = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    return embedded_acls.ANY in numbers or acl.pattern_type == embedded_acls.MATCH


_ADDED = Refusal(0, "")


def _created(acls: list[Acl], context: RequestContext) -> list[Refusal]:
    state, has_host = context.state, context.cluster.release.number >= _NEEDS_HOST_FROM
    results = [_problem(acl, has_host=has_host) for acl in acls]
    new = {acl for acl, problem in zip(acls, results, strict=True) if problem is None and acl not in state.acls}
    # Kafka's controller handles all ACLs as one change, which may have at most MAX_RECORDS. ACLs that the broker itself
    # refused keep their own errors.
    if len(new) > MAX_RECORDS:
        return [_bad_name(acl) or Refusal(ErrorCode.policy_violation, refusals.TOO_MANY_CHANGES) for acl in acls]
    for acl in _in_order(acls, new):
        state.add_acl(acl)
    return [problem or _ADDED for problem in results]


def _in_order(acls: Iterable[Acl], new: set[Acl]) -> list[Acl]:
    return [acl for acl in dict.fromkeys(acls) if acl in new]


def _bad_name(acl: Acl) -> Refusal | None:
    """Return the reason why a broker refuses an ACL because of its resource, before it forwards the request to the
    controller; None if it does not refuse it.
    """
    if acl.resource_type == _CLUSTER and acl.resource_name != CLUSTER_NAME:
        return Refusal(ErrorCode.invalid_request, refusals.CLUSTER_NAME_ONLY)
    if not acl.resource_name:
        return Refusal(ErrorCode.invalid_request, refusals.EMPTY_RESOURCE_NAME)
    return None


_NO_COLON = (
    "Could not parse principal from `{principal}` "
    "(no colon is present separating the principal type from the principal name)"
)
_NEEDS_HOST_FROM = (4, 4)
"""The first release that checks the hosts of ACLs, and accepts ranges of addresses as hosts."""


def _problem(acl: Acl, *, has_host: bool) -> Refusal | None:
    """Return the reason why an ACL can't be created; None if it can. has_host: whether to refuse an empty host and an
    invalid range of addresses.
    """
    if (bad := _bad_name(acl)) is not None:
        return bad
    for part, number in (
        ("resourceType", acl.resource_type),
        ("patternType", acl.pattern_type),
        ("operation", acl.operation),
        ("permissionType", acl.permission),
    ):
        if not number.known:
            return Refusal(ErrorCode.invalid_request, f"Invalid {part} UNKNOWN")
    if ":" not in acl.principal:
        return Refusal(ErrorCode.invalid_request, _NO_COLON.format(principal=acl.principal))
    if has_host and not acl.host:
        return Refusal(ErrorCode.invalid_request, "Host pattern cannot be null or empty")
    if has_host and "/" in acl.host and range_of(acl.host) is None:
        return Refusal(ErrorCode.invalid_request, f"Invalid CIDR notation '{acl.host}': {_why_no_range(acl.host)}")
    return None


def _why_no_range(host: str) -> str:
    """Return the reason why a range of addresses is invalid, in the words of the Java library that Kafka uses."""
    address, _, length = host.partition("/")
    most = 128 if ":" in address else 32
    if address_as_compared(address) is None or not length.isdecimal():
        return f"Could not parse [{host}]"
    return f"Value [{length}] not in range [0,{most}]"


async def delete_acls(request: Any, context: RequestContext) -> Any:
    """DeleteAcls (31), v1-3: deletes the ACLs that match filters, and returns them (AclApis, AclControlManager).

    Delete the ACLs that match any of the filters, and return the matches of each filter.

    Needs ALTER on the cluster. A filter without matches is not an error.

    Version notes:
    - v1: pattern types (KIP-290).
    - v2: flexible.
    - v3: the resource type USER.
    """
    filters = [embedded_acls.filter_of(item) for item in request.filters]
    for wanted in filters:
        refusals.close_if_unset(
            "DeleteAcls", wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission
        )
    refusal = _refused(context, "ALTER", refusals.CHANGE_WITHOUT_AUTHORIZER)
    if refusal is not None:
        return answers.error_answer(request, context.messages, *refusal)
    results: list[answers.Result] = []
    gone: set[Acl] = set()
    for wanted in filters:
        acls = tuple(embedded_acls.matching_acls(wanted, context.state.acls))
        gone.update(acls)
        if unknown := _unknown(wanted):
            results.append(Refusal(ErrorCode.invalid_request, unknown))
        elif len(gone) > MAX_RECORDS:
            too_many = refusals.rights_messages(context.cluster.release).too_many_deleted
            return answers.error_answer(request, context.messages, *too_many)
        else:
            results.append({"matching_acls": tuple(_matching_acl(acl) for acl in acls)})
    # Remove ACLs only after all filters were checked: Kafka's controller applies the change as one batch, or not at
    # all.
    for acl in gone:
        context.state.remove("acls", acl)
    left = iter(results)
    return answers.each_item(context, request, lambda _item: next(left))


def _unknown(wanted: AclFilter) -> str | None:
    if embedded_acls.is_unknown_pattern(wanted):
        return refusals.UNKNOWN_PATTERN_FILTER
    return refusals.UNKNOWN_ENTRY_FILTER if embedded_acls.is_unknown_entry(wanted) else None


def _matching_acl(acl: Acl) -> Any:
    return {
        "resource_type": acl.resource_type,
        "resource_name": acl.resource_name,
        "pattern_type": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }


async def describe_acls(request: Any, context: RequestContext) -> Any:
    """DescribeAcls (29), v1-3: the ACLs that match a filter (AclApis, StandardAuthorizer).

    Return the matching ACLs by pattern, or one error.

    Needs DESCRIBE on the cluster. A filter with a number that Kafka does not define, such as for a resource type,
    matches no ACL. v4 is a proposal's (`batched_describes`).

    Version notes:
    - v1: pattern types (KIP-290).
    - v2: flexible.
    - v3: the resource type USER.
    """
    wanted = embedded_acls.filter_of(request)
    refusals.close_if_unset(
        "DescribeAcls", wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission
    )
    refusal = _refused(context, "DESCRIBE", refusals.DESCRIBE_WITHOUT_AUTHORIZER)
    if refusal is not None:
        return context.answer(error_code=refusal.code, error_message=refusal.message)
    groups = await by_pattern(embedded_acls.matching_acls(wanted, context.view.acls))
    schema = context.schema
    resources = (acl_resource(schema, pattern, acls) for pattern, acls in groups.items())
    return await answers.long_answer(
        schema.DescribeAclsResponse,
        context.answer(error_message=""),
        answers.each_encoded(schema.DescribeAclsResource, resources),
    )


def acl_resource(schema: Any, pattern: Pattern, acls: Iterable[Acl]) -> Any:
    """Return a response's element with the ACLs of one resource pattern. schema: the module with its classes, kio's or
    a proposal's.
    """
    return schema.DescribeAclsResource(
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        acls=tuple(
            schema.AclDescription(
                principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission
            )
            for acl in acls
        ),
    )


async def by_pattern(acls: Iterable[Acl]) -> Mapping[Pattern, Sequence[Acl]]:
    """Group ACLs by their resource pattern, and yield to other connections meanwhile."""
    groups: dict[Pattern, list[Acl]] = {}
    await answers.with_pauses(acls, lambda acl: groups.setdefault(pattern_of(acl), []).append(acl))
    return groups
