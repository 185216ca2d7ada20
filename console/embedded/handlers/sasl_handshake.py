"""SaslHandshake (17), v0-1: chooses a mechanism (KIP-43).

Version notes:
- v0: the tokens follow without request headers.
- v1: the tokens follow in SaslAuthenticate (KIP-152).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.sasl import begin


async def handle(request: Any, context: RequestContext) -> Any:
    """Begin the exchange, and return the mechanisms; an error after authentication, and without SASL."""
    session, cluster = context.session, context.cluster
    response = context.schema.SaslHandshakeResponse
    if session.authenticated or cluster.spec.sasl is None:
        return response(error_code=ErrorCode.illegal_sasl_state, mechanisms=())
    if request.mechanism not in cluster.mechanisms:
        session.ending = f"the mechanism {request.mechanism[:40]!r} is not enabled"
        return response(error_code=ErrorCode.unsupported_sasl_mechanism, mechanisms=cluster.mechanisms)
    session.mechanism = request.mechanism
    session.exchange = begin(cluster.spec.sasl, request.mechanism, cluster.state.tokens)
    session.raw_tokens = context.version == 0
    return response(error_code=0, mechanisms=cluster.mechanisms)
