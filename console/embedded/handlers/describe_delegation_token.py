"""DescribeDelegationToken (41), v1-3: tokens with their HMACs (KIP-48).

Needs a login of the connection's own. A principal sees tokens that it owns, asked for or may renew, and others with
DESCRIBE on the token.

Version notes:
- v2: flexible.
- v3: who asked for it.
"""

from __future__ import annotations

from typing import Any

from console.embedded.context import RequestContext
from console.embedded.token_requests import kept, refused
from console.embedded.tokens import Token
from console.wire.fields import for_version


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the tokens of some owners, or all that may be seen."""
    code = refused(context)
    owners = (
        None if request.owners is None else {f"{each.principal_type}:{each.principal_name}" for each in request.owners}
    )
    found = [] if code else [token for token in kept(context).values() if owners is None or token.owner in owners]
    return context.answer(
        error_code=code, tokens=tuple(_described(context, token) for token in found if _may_see(context, token))
    )


def _may_see(context: RequestContext, token: Token) -> bool:
    asking = context.principal
    return token.may_be_seen_by(asking) or context.allowed("DESCRIBE", "DELEGATION_TOKEN", token.id)


def _described(context: RequestContext, token: Token) -> Any:
    schema = context.schema
    type_, _, name = token.owner.partition(":")
    asked_type, _, asked_name = token.requester.partition(":")
    return for_version(
        schema.DescribedDelegationToken,
        principal_type=type_,
        principal_name=name,
        token_requester_principal_type=asked_type,
        token_requester_principal_name=asked_name,
        issue_timestamp=token.issued,
        expiry_timestamp=token.expires,
        max_timestamp=token.max_time,
        token_id=token.id,
        hmac=token.hmac,
        renewers=tuple(
            schema.DescribedDelegationTokenRenewer(principal_type=kind, principal_name=who)
            for kind, _, who in (each.partition(":") for each in token.renewers)
        ),
    )
