"""DeleteAcls (31), v1-3: deletes the ACLs that match filters, and returns them (AclApis, AclControlManager).

Needs ALTER on the cluster. A filter without matches is not an error.

Version notes:
- v1: pattern types (KIP-290).
- v2: flexible.
- v3: the resource type USER.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import refusals
from console.embedded.acls import filter_of, is_unknown_entry, is_unknown_pattern, matching_acls
from console.embedded.context import RequestContext
from console.embedded.state import MAX_RECORDS
from console.model.acl import Acl, AclFilter


class _Result(NamedTuple):
    acls: tuple[Acl, ...] = ()
    code: int = 0
    message: str | None = None


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete the ACLs that match any of the filters, and return for each filter those that it matched."""
    filters = [filter_of(item) for item in request.filters]
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


def _results(filters: list[AclFilter], context: RequestContext) -> list[_Result]:
    if not context.allowed("ALTER"):
        return [
            _Result((), ErrorCode.cluster_authorization_failed, refusals.cluster_refusal_message(context, "ALTER"))
        ] * len(filters)
    if context.cluster.authorizer is None:
        return [_Result((), ErrorCode.security_disabled, refusals.CHANGE_WITHOUT_AUTHORIZER)] * len(filters)
    too_many = refusals.rights_messages(context.cluster.release).too_many_deleted
    results: list[_Result] = []
    gone: set[Acl] = set()
    for wanted in filters:
        acls = tuple(matching_acls(wanted, context.state.acls))
        gone.update(acls)
        if unknown := _unknown(wanted):
            results.append(_Result((), ErrorCode.invalid_request, unknown))
        elif len(gone) > MAX_RECORDS:
            return [_Result((), *too_many)] * len(filters)
        else:
            results.append(_Result(acls))
    # Removed after all filters have been checked: the change is one batch of the controller, or none at all.
    for acl in gone:
        context.state.remove("acls", acl)
    return results


def _unknown(wanted: AclFilter) -> str | None:
    if is_unknown_pattern(wanted):
        return refusals.UNKNOWN_PATTERN_FILTER
    return refusals.UNKNOWN_ENTRY_FILTER if is_unknown_entry(wanted) else None


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
