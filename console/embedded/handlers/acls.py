"""ACLs: creating, deleting and describing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import acls as embedded_acls
from console.embedded import refusals
from console.embedded.answers import each_encoded, long_answer, with_pauses
from console.embedded.context import RequestContext
from console.embedded.refusals import DESCRIBE_WITHOUT_AUTHORIZER, close_if_unset, cluster_refusal_message
from console.embedded.state import MAX_RECORDS
from console.model.acl import CLUSTER_NAME, Acl, AclFilter
from console.model.authorizer import Pattern, address_as_compared, pattern_of, range_of
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

_CLUSTER = AclResourceType.parse("CLUSTER")


class _Created(NamedTuple):
    code: int = 0
    message: str | None = ""


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


def _refused(acls: list[Acl], context: RequestContext) -> list[_Created] | None:
    """Return the one error for all ACLs, None if each has its own result."""
    if not context.allowed("ALTER"):
        return [
            _Created(ErrorCode.cluster_authorization_failed, refusals.cluster_refusal_message(context, "ALTER"))
        ] * len(acls)
    if context.cluster.authorizer is None:
        return [_Created(ErrorCode.security_disabled, refusals.CHANGE_WITHOUT_AUTHORIZER)] * len(acls)
    if any(_only_filters(acl) for acl in acls):
        return [_Created(ErrorCode.unknown_server_error, None)] * len(acls)
    return None


def _only_filters(acl: Acl) -> bool:
    """Return whether the ACL has ANY or MATCH, which are valid in filters only."""
    numbers = (acl.resource_type, acl.pattern_type, acl.operation, acl.permission)
    return embedded_acls.ANY in numbers or acl.pattern_type == embedded_acls.MATCH


def _created(acls: list[Acl], context: RequestContext) -> list[_Created]:
    state, has_host = context.state, context.cluster.release.number >= _NEEDS_HOST_FROM
    results = [_problem(acl, has_host=has_host) for acl in acls]
    new = {acl for acl, problem in zip(acls, results, strict=True) if problem is None and acl not in state.acls}
    # All ACLs are one change of the controller, which writes at most MAX_RECORDS; what the broker itself refused keeps
    # its own error.
    if len(new) > MAX_RECORDS:
        return [_bad_name(acl) or _Created(ErrorCode.policy_violation, refusals.TOO_MANY_CHANGES) for acl in acls]
    for acl in _in_order(acls, new):
        state.add_acl(acl)
    return [problem or _Created() for problem in results]


def _in_order(acls: Iterable[Acl], new: set[Acl]) -> list[Acl]:
    return [acl for acl in dict.fromkeys(acls) if acl in new]


def _bad_name(acl: Acl) -> _Created | None:
    """Check what the broker checks before it forwards to the controller."""
    if acl.resource_type == _CLUSTER and acl.resource_name != CLUSTER_NAME:
        return _Created(ErrorCode.invalid_request, refusals.CLUSTER_NAME_ONLY)
    if not acl.resource_name:
        return _Created(ErrorCode.invalid_request, refusals.EMPTY_RESOURCE_NAME)
    return None


_NO_COLON = (
    "Could not parse principal from `{principal}` "
    "(no colon is present separating the principal type from the principal name)"
)
_NEEDS_HOST_FROM = (4, 4)
"""The first release that checks hosts, as it takes ranges of addresses."""


def _problem(acl: Acl, *, has_host: bool) -> _Created | None:
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
            return _Created(ErrorCode.invalid_request, f"Invalid {part} UNKNOWN")
    if ":" not in acl.principal:
        return _Created(ErrorCode.invalid_request, _NO_COLON.format(principal=acl.principal))
    if has_host and not acl.host:
        return _Created(ErrorCode.invalid_request, "Host pattern cannot be null or empty")
    if has_host and "/" in acl.host and range_of(acl.host) is None:
        return _Created(ErrorCode.invalid_request, f"Invalid CIDR notation '{acl.host}': {_why_no_range(acl.host)}")
    return None


def _why_no_range(host: str) -> str:
    """Return why a range is invalid, as the library that Kafka uses for ranges says it."""
    address, _, length = host.partition("/")
    most = 128 if ":" in address else 32
    if address_as_compared(address) is None or not length.isdecimal():
        return f"Could not parse [{host}]"
    return f"Value [{length}] not in range [0,{most}]"


class _Deleted(NamedTuple):
    acls: tuple[Acl, ...] = ()
    code: int = 0
    message: str | None = None


async def delete_acls(request: Any, context: RequestContext) -> Any:
    """DeleteAcls (31), v1-3: deletes the ACLs that match filters, and returns them (AclApis, AclControlManager).

    Delete the ACLs that match any of the filters, and return for each filter those that it matched.

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
    schema = context.schema
    return context.answer(
        filter_results=tuple(
            schema.DeleteAclsFilterResult(
                error_code=result.code,
                error_message=result.message,
                matching_acls=tuple(_matching_acl(schema, acl) for acl in result.acls),
            )
            for result in _results(filters, context)
        )
    )


def _results(filters: list[AclFilter], context: RequestContext) -> list[_Deleted]:
    if not context.allowed("ALTER"):
        return [
            _Deleted((), ErrorCode.cluster_authorization_failed, refusals.cluster_refusal_message(context, "ALTER"))
        ] * len(filters)
    if context.cluster.authorizer is None:
        return [_Deleted((), ErrorCode.security_disabled, refusals.CHANGE_WITHOUT_AUTHORIZER)] * len(filters)
    too_many = refusals.rights_messages(context.cluster.release).too_many_deleted
    results: list[_Deleted] = []
    gone: set[Acl] = set()
    for wanted in filters:
        acls = tuple(embedded_acls.matching_acls(wanted, context.state.acls))
        gone.update(acls)
        if unknown := _unknown(wanted):
            results.append(_Deleted((), ErrorCode.invalid_request, unknown))
        elif len(gone) > MAX_RECORDS:
            return [_Deleted((), *too_many)] * len(filters)
        else:
            results.append(_Deleted(acls))
    # Removed after all filters have been checked: the change is one batch of the controller, or none at all.
    for acl in gone:
        context.state.remove("acls", acl)
    return results


def _unknown(wanted: AclFilter) -> str | None:
    if embedded_acls.is_unknown_pattern(wanted):
        return refusals.UNKNOWN_PATTERN_FILTER
    return refusals.UNKNOWN_ENTRY_FILTER if embedded_acls.is_unknown_entry(wanted) else None


def _matching_acl(schema: Any, acl: Acl) -> Any:
    return schema.DeleteAclsMatchingAcl(
        error_code=0,
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


async def describe_acls(request: Any, context: RequestContext) -> Any:
    """DescribeAcls (29), v1-3: the ACLs that match a filter (AclApis, StandardAuthorizer).

    Return the matching ACLs by pattern, or one error.

    Needs DESCRIBE on the cluster. A filter with an unknown number matches nothing. v4 is a proposal's
    (`batched_describes`).

    Version notes:
    - v1: pattern types (KIP-290).
    - v2: flexible.
    - v3: the resource type USER.
    """
    wanted = embedded_acls.filter_of(request)
    close_if_unset("DescribeAcls", wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission)
    if not context.allowed("DESCRIBE"):
        return _answer(context, ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, "DESCRIBE"))
    if context.cluster.authorizer is None:
        return _answer(context, ErrorCode.security_disabled, DESCRIBE_WITHOUT_AUTHORIZER)
    groups = await by_pattern(embedded_acls.matching_acls(wanted, context.view.acls))
    schema = context.schema
    resources = (acl_resource(schema, pattern, acls) for pattern, acls in groups.items())
    return await long_answer(
        schema.DescribeAclsResponse, _answer(context, 0, ""), each_encoded(schema.DescribeAclsResource, resources)
    )


def _answer(context: RequestContext, code: int, message: str) -> Any:
    return context.answer(error_code=code, error_message=message, resources=())


def acl_resource(schema: Any, pattern: Pattern, acls: Iterable[Acl]) -> Any:
    """Return an element of the response. schema: kio's module, or the proposal's, which has the same names."""
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
    """Return the ACLs by pattern. Pauses for other connections."""
    groups: dict[Pattern, list[Acl]] = {}
    await with_pauses(acls, lambda acl: groups.setdefault(pattern_of(acl), []).append(acl))
    return groups
