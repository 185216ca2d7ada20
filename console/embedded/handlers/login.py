"""The first requests of a connection: ApiVersions and SASL."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import error_answer
from console.embedded.context import NO_TIME, RequestContext
from console.embedded.handlers.tokens import now_ms
from console.embedded.sasl import SaslFailure, begin
from console.embedded.tokens import Token

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_ZERO_MINIMUM_FROM = 4
_NO_NODE = -1


async def api_versions(request: Any, context: RequestContext) -> Any:
    """ApiVersions (18), v0-5: the supported versions, and the cluster's features (KIP-35, KIP-511, KIP-584, KIP-1242).

    Return the advertised versions and the features, or INVALID_REQUEST for a software name that KIP-511 does not allow.

    The response to a version above the highest is v0, so that any client can begin (KIP-511; `Dispatcher`).

    Version notes:
    - v1: throttle time.
    - v3: flexible; the client's software name and version; features.
    - v4: features with a lowest level of 0.
    - v5: the cluster and node that the client expects; after the login, any other node returns REBOOTSTRAP_REQUIRED.
    """
    name = getattr(request, "client_software_name", None)
    version = getattr(request, "client_software_version", None)
    if code := _refused(request, context, name, version):
        return error_answer(request, context.messages, code)
    schema, cluster = context.schema, context.cluster
    release, view = cluster.release, context.view
    fields: dict[str, Any] = {
        "error_code": 0,
        "api_keys": tuple(
            schema.ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in sorted(cluster.served_by(context.broker_id).items())
        ),
    }
    if context.version >= 3:
        fields["supported_features"] = tuple(
            schema.SupportedFeatureKey(name=name, min_version=low, max_version=high)
            for name, (low, high) in release.supported.items()
            # Leave out features with a lowest level of 0 for older clients, which reject the whole response otherwise.
            if low > 0 or context.version >= _ZERO_MINIMUM_FROM
        )
        fields["finalized_features"] = tuple(
            schema.FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in view.features.items()
        )
        fields["finalized_features_epoch"] = view.offset
    return context.answer(**fields)


def _refused(request: Any, context: RequestContext, name: str | None, version: str | None) -> int:
    """Return the error code with which an ApiVersions request is refused; 0 if it is accepted. name, version: those of
    the client's software; None if the version of the request lacks them.
    """
    if name is not None and not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version or "")):
        return ErrorCode.invalid_request
    cluster, node = getattr(request, "cluster_id", None), getattr(request, "node_id", _NO_NODE)
    if (cluster is None) is not (node == _NO_NODE):
        return ErrorCode.invalid_request
    is_another = (cluster, node) != (context.state.cluster_id, context.broker_id)
    if cluster is not None and is_another and context.session.authenticated:
        return ErrorCode.rebootstrap_required
    return 0


async def sasl_handshake(request: Any, context: RequestContext) -> Any:
    """SaslHandshake (17), v0-1: chooses a mechanism (KIP-43).

    Begin the exchange, and return the enabled mechanisms. Return an error if the client has authenticated already, or
    if the cluster has no SASL.

    Version notes:
    - v0: the tokens follow without request headers.
    - v1: the tokens follow in SaslAuthenticate (KIP-152).
    """
    session, cluster = context.session, context.cluster
    if session.authenticated or cluster.spec.sasl is None:
        return context.answer(error_code=ErrorCode.illegal_sasl_state)
    if request.mechanism not in cluster.mechanisms:
        session.ending = f"the mechanism {request.mechanism[:40]!r} is not enabled"
        return context.answer(error_code=ErrorCode.unsupported_sasl_mechanism, mechanisms=cluster.mechanisms)
    session.mechanism = request.mechanism
    session.exchange = begin(cluster.spec.sasl, request.mechanism, cluster.state.tokens)
    session.raw_tokens = context.version == 0
    return context.answer(mechanisms=cluster.mechanisms)


async def sasl_authenticate(request: Any, context: RequestContext) -> Any:
    """SaslAuthenticate (36), v0-2: one token of the mechanism that SaslHandshake chose (KIP-152).

    Return the broker's token, or an error, after which the connection closes.

    Version notes:
    - v1: the session's lifetime (KIP-368).
    - v2: flexible.

    Differences from Kafka: a session never expires, so its lifetime is 0 and clients don't authenticate again. After a
    login with a delegation token, the lifetime is the token's remaining time.
    """
    session = context.session
    if session.exchange is None:
        message = "SaslAuthenticate request received after successful authentication"
        return context.answer(error_code=ErrorCode.illegal_sasl_state, error_message=message)
    try:
        token = session.authenticate(context.view, request.auth_bytes)
    except SaslFailure as failure:
        session.ending = "authentication failed"
        return context.answer(error_code=ErrorCode.sasl_authentication_failed, error_message=str(failure))
    lifetime = NO_TIME if session.token is None else _left(context, session.token)
    return context.answer(auth_bytes=token, session_lifetime=lifetime)


def _left(context: RequestContext, token: Token) -> timedelta:
    return max(NO_TIME, timedelta(milliseconds=token.expires - now_ms(context)))
