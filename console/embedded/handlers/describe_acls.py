"""DescribeAcls (29), v1-3: the ACLs that match a filter (AclApis, StandardAuthorizer).

Needs DESCRIBE on the cluster. A filter with an unknown number matches nothing. v4 is a proposal's
(`batched_describes`).

Version notes:
- v1: pattern types (KIP-290).
- v2: flexible.
- v3: the resource type USER.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.acls import filter_of, matching_acls
from console.embedded.answers import each_encoded, long_answer, with_pauses
from console.embedded.context import RequestContext
from console.embedded.refusals import DESCRIBE_WITHOUT_AUTHORIZER, close_if_unset, cluster_refusal_message
from console.model.acl import Acl
from console.model.authorizer import Pattern, pattern_of


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the matching ACLs by pattern, or one error."""
    wanted = filter_of(request)
    close_if_unset("DescribeAcls", wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission)
    if not context.allowed("DESCRIBE"):
        return _answer(context, ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, "DESCRIBE"))
    if context.cluster.authorizer is None:
        return _answer(context, ErrorCode.security_disabled, DESCRIBE_WITHOUT_AUTHORIZER)
    groups = await by_pattern(matching_acls(wanted, context.view.acls))
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
