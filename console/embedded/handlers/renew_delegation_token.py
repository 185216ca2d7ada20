"""RenewDelegationToken (39), v1-2: moves a token's expiry, at most to the end of its lifetime (KIP-48).

Needs a login of the connection's own, as the token's owner or one of its renewers. Each renewal is for a day at most
(delegation.token.expiry.time.ms).

Version notes:
- v2: flexible.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.token_requests import Unchanged, not_its_owners, now_ms, over, to_change
from console.embedded.tokens import PERIOD_MS, Token


async def handle(request: Any, context: RequestContext) -> Any:
    """Renew the token with this HMAC, and return when it expires."""
    token = to_change(context, bytes(request.hmac))
    if isinstance(token, Token):
        token = over(context, token) or not_its_owners(context, token) or token
    if isinstance(token, Unchanged):
        return context.answer(error_code=token.code, expiry_timestamp=token.expires)
    period = round(request.renew_period.total_seconds() * 1000)
    expires = min(token.max_time, now_ms(context) + (min(period, PERIOD_MS) if period > 0 else PERIOD_MS))
    context.state.tokens[token.id] = replace(token, expires=expires)
    context.state.touch()
    return context.answer(error_code=ErrorCode.none, expiry_timestamp=expires)
