"""ExpireDelegationToken (40), v1-2: has a token expire after a period, or at once (KIP-48).

Needs a login of the connection's own, as the token's owner or one of its renewers.

Version notes:
- v2: flexible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.token_requests import Unchanged, not_its_owners, now_ms, over, to_change
from console.embedded.tokens import Token


async def handle(request: Any, context: RequestContext) -> Any:
    """Set when the token with this HMAC expires; a negative period removes it."""
    token, now = to_change(context, bytes(request.hmac)), now_ms(context)
    period = round(request.expiry_time_period.total_seconds() * 1000)
    if isinstance(token, Token):
        token = not_its_owners(context, token) or (over(context, token) if period >= 0 else None) or token
    if isinstance(token, Unchanged):
        return context.answer(error_code=token.code, expiry_timestamp=token.expires)
    expires = min(token.max_time, now + period) if period >= 0 else now
    if period < 0:
        del context.state.tokens[token.id]
    else:
        context.state.tokens[token.id] = replace(token, expires=expires)
    context.state.touch()
    return context.answer(error_code=ErrorCode.none, expiry_timestamp=expires)
