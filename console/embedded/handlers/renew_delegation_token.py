"""RenewDelegationToken (39), v1-2: moves a token's expiry, at most to the end of its lifetime (KIP-48).

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
from console.embedded.tokens import PERIOD_MS


async def handle(request: Any, context: RequestContext) -> Any:
    """Renew the token with this HMAC, and return when it expires."""
    token, code, expires = to_change(context, bytes(request.hmac)), ErrorCode.none, -1
    if isinstance(token, ErrorCode):
        code = token
    else:
        period = round(request.renew_period.total_seconds() * 1000)
        expires = min(token.max_time, now_ms(context) + (period if period >= 0 else PERIOD_MS))
        context.state.tokens[token.id] = replace(token, expires=expires)
        context.state.touch()
    return context.answer(error_code=code, expiry_timestamp=expires)
