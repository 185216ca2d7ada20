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
from console.embedded.token_requests import now_ms, to_change


async def handle(request: Any, context: RequestContext) -> Any:
    """Set when the token with this HMAC expires; a negative period removes it."""
    token, code, expires = to_change(context, bytes(request.hmac)), ErrorCode.none, -1
    if isinstance(token, ErrorCode):
        code = token
    else:
        period = round(request.expiry_time_period.total_seconds() * 1000)
        expires = now_ms(context)
        if period < 0:
            del context.state.tokens[token.id]
        else:
            expires = min(token.max_time, expires + period)
            context.state.tokens[token.id] = replace(token, expires=expires)
        context.state.touch()
    return context.answer(error_code=code, expiry_timestamp=expires)
