"""From the bytes of a request to the bytes of its answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.registry import handler_of
from console.embedded.server.closing import CloseConnection
from console.embedded.server.error_answers import error_answer
from console.embedded.server.session import Session
from console.wire.bounds_check import MalformedFrame
from console.wire.frames import decode_request, encode_body, is_flexible, read_client_id, read_head, response_frame
from console.wire.schemas import Messages, api_name, messages

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

log = logging.getLogger("console.embedded")

API_VERSIONS = 18
_SASL_HANDSHAKE, _SASL_AUTHENTICATE = 17, 36
_TO_BEGIN_WITH = (API_VERSIONS, _SASL_HANDSHAKE)


class Dispatcher:
    """Answers the requests of one broker's connections."""

    def __init__(self, cluster: EmbeddedCluster, broker_id: int) -> None:
        self._cluster = cluster
        self._broker_id = broker_id
        self.clock = cluster.clock

    async def answer(self, session: Session, frame: bytes) -> bytes | None:
        """The response frame, None where the request wants none. Raises CloseConnection."""
        if session.raw_tokens:
            return self._raw_token(session, frame)
        try:
            head = read_head(frame)
            if head.key == API_VERSIONS and not self._tells_versions_in(head.version):
                return await self._unknown_api_versions(head.correlation_id, frame)
            found = self._known(head.key, head.version)
            if not session.authenticated and session.mechanism is None and head.key not in _TO_BEGIN_WITH:
                raise CloseConnection(f"{found.api} came before authentication")
            client_id, offset = read_client_id(frame, flexible=is_flexible(found.request))
            request = decode_request(found.request, frame[offset:])
        except MalformedFrame as error:
            raise CloseConnection(f"can't read a request: {error}") from error
        context = self._context(session, client_id, found)
        return await self._cluster.gate.answer(request, context, found, frame, head.correlation_id, self._handled)

    def _tells_versions_in(self, version: int) -> bool:
        low, high = self._cluster.advertised[API_VERSIONS]
        return low <= version <= high

    def _known(self, key: int, version: int) -> Messages:
        versions = self._cluster.advertised.get(key)
        if versions is None:
            raise CloseConnection(f"API key {key} ({api_name(key) or 'unknown'}) is not served")
        found = messages(key, version) if versions[0] <= version <= versions[1] else None
        if found is None:
            low, high = versions
            raise CloseConnection(f"{api_name(key) or key} version {version} is not served, {low} to {high} are")
        return found

    def _context(self, session: Session, client_id: str, found: Messages) -> RequestContext:
        return RequestContext(
            self._broker_id,
            session.principal or "",
            client_id,
            session.host,
            self._cluster.listener_name,
            found.version,
            found.schema,
            session,
            self._cluster,
        )

    async def _handled(self, request: Any, context: RequestContext, found: Messages) -> Any:
        """The handler's response; a handler that fails is the cluster's own fault, and told as Kafka tells its own."""
        session = context.session
        if not session.authenticated and session.mechanism is not None and found.key != _SASL_AUTHENTICATE:
            session.ending = f"{found.api} came in the middle of authentication"
            return error_answer(request, found, ErrorCode.illegal_sasl_state)
        try:
            return await handler_of(found)(request, context)
        except CloseConnection:
            raise
        except Exception:
            log.exception("broker %d failed to answer %s v%d", self._broker_id, found.api, found.version)
            answer = error_answer(request, found, ErrorCode.unknown_server_error)
            if answer is None:
                raise CloseConnection(f"no answer to {found.api}") from None
            return answer

    async def _unknown_api_versions(self, correlation_id: int, frame: bytes) -> bytes:
        """A version that this release does not have: version 0 says so, and which versions there are (KIP-511)."""
        found = messages(API_VERSIONS, 0)
        assert found is not None
        low, high = self._cluster.advertised[API_VERSIONS]
        own = found.schema.ApiVersion(api_key=API_VERSIONS, min_version=low, max_version=high)
        response = found.response(error_code=ErrorCode.unsupported_version, api_keys=(own,))
        data = response_frame(found.response, correlation_id, encode_body(found.response, response))
        self._cluster.counters.add("api_versions", self._broker_id, "", len(frame) + 4, len(data))
        return data

    def _raw_token(self, session: Session, frame: bytes) -> bytes:
        """A SASL token without a header, answered alike (SaslHandshake v0)."""
        from console.embedded.sasl.exchange import SaslFailure, step

        try:
            token: bytes = step(self._cluster.view_of(self._broker_id), session, frame)
        except SaslFailure as failure:
            raise CloseConnection(f"authentication failed: {failure}") from failure
        session.raw_tokens = not session.authenticated
        return len(token).to_bytes(4, "big") + token
