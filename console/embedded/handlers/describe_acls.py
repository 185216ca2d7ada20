"""DescribeAcls: the ACLs that a filter finds (AclApis, StandardAuthorizer)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.rights.acl_filters import filter_of, found
from console.embedded.rights.acl_groups import by_pattern
from console.embedded.rights.acl_numbers import close_if_unset
from console.embedded.rights.messages import DESCRIBE_WITHOUT_AUTHORIZER, refusal
from console.embedded.server.long_answers import each_encoded, long_answer
from console.embedded.state.acl_table import Pattern
from console.model.acl import Acl


async def handle(request: Any, context: RequestContext) -> Any:
    """v1-3. A filter with a number that has no name finds nothing. Needs DESCRIBE on the cluster."""
    wanted = filter_of(request)
    close_if_unset("DescribeAcls", wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission)
    if not context.allowed("DESCRIBE"):
        return _answer(context, ErrorCode.cluster_authorization_failed, refusal(context, "DESCRIBE"))
    if context.cluster.authorizer is None:
        return _answer(context, ErrorCode.security_disabled, DESCRIBE_WITHOUT_AUTHORIZER)
    groups = await by_pattern(found(wanted, context.view.acls))
    schema = context.schema
    resources = (_resource(schema, pattern, acls) for pattern, acls in groups.items())
    return await long_answer(
        schema.DescribeAclsResponse, _answer(context, 0, ""), each_encoded(schema.DescribeAclsResource, resources)
    )


def _answer(context: RequestContext, code: int, message: str) -> Any:
    return context.schema.DescribeAclsResponse(
        throttle_time=NO_TIME, error_code=code, error_message=message, resources=()
    )


def _resource(schema: Any, pattern: Pattern, acls: Iterable[Acl]) -> Any:
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
