"""A kio request in the form that aiokafka's connections take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from console.wire.fields import Asked, payload
from console.wire.frames import (
    decode_request,
    encode_header,
    encode_payload,
    has_flexible_response_header,
    split_frame,
)
from console.wire.schemas import api_name, request_module

if TYPE_CHECKING:
    from kio.static.protocol import RequestPayload


THROTTLE_FIRST = {
    **dict.fromkeys(("consumer_group_describe", "create_partitions", "describe_client_quotas", "describe_cluster"), 0),
    **dict.fromkeys(("describe_topic_partitions", "incremental_alter_configs", "list_partition_reassignments"), 0),
    **dict.fromkeys(("delete_topics", "describe_acls", "describe_configs", "describe_groups", "describe_log_dirs"), 1),
    **dict.fromkeys(("find_coordinator", "list_groups"), 1),
    **dict.fromkeys(("create_topics", "list_offsets"), 2),
    **dict.fromkeys(("metadata", "offset_fetch"), 3),
    "fetch": 4,
}
"""Frequently called APIs -> the first version whose responses begin with the throttle time."""

READS = frozenset(
    {
        *("api_versions", "consumer_group_describe", "describe_acls", "describe_client_quotas", "describe_cluster"),
        *("describe_configs", "describe_delegation_token", "describe_groups", "describe_log_dirs"),
        *("describe_producers", "describe_quorum", "describe_share_group_offsets", "describe_topic_partitions"),
        *("describe_transactions", "describe_user_scram_credentials", "fetch", "fetch_snapshot", "find_coordinator"),
        *("list_config_resources", "list_groups", "list_offsets", "list_partition_reassignments", "list_transactions"),
        *("offset_fetch", "offset_for_leader_epoch", "share_group_describe", "streams_group_describe"),
    }
)
"""APIs that change nothing, except that FindCoordinator creates the coordinators' topic if it is missing: see
`admin.groups.find_coordinators`."""


class RawResponse(NamedTuple):
    """A response that is not decoded yet."""

    api: str
    version: int
    body: bytes
    """The bytes after the response header."""

    @property
    def throttle_ms(self) -> int:
        """The milliseconds for which the broker takes no further request, as the client is above its quota; 0 if
        unknown.
        """
        first = THROTTLE_FIRST.get(self.api)
        return max(0, int.from_bytes(self.body[:4], signed=True)) if first is not None and self.version >= first else 0


class Exchange(NamedTuple):
    """One request and its response as bytes, without their lengths."""

    key: int
    version: int
    request: bytes
    response: bytes


class _Encoded(NamedTuple):
    data: bytes

    def encode(self) -> bytes:
        return self.data


class AiokafkaRequest:
    """An encoded request at one version. `sent` turns True right before its bytes are written.

    It replaces aiokafka's ``Request`` and ``RequestStruct``. Its text is only the API, since aiokafka logs requests.
    The constructor raises the errors of a function in `asked`, and Unencodable.
    """

    def __init__(
        self,
        api: str,
        version: int,
        asked: Asked,
        record: Callable[[Exchange], None] | None = None,
        encode: Callable[[RequestPayload], bytes] = encode_payload,
    ) -> None:
        """Make a request. encode: function that encodes the payload, as `encode_payload` does."""
        self.api = api
        self.version = version
        self.sent = False
        self._payload = payload(request_module(api, version), api, asked)
        self._is_flexible = has_flexible_response_header(api, self._payload)
        self._body = encode(self._payload)
        self._header = b""
        self._record = record

    @property
    def body(self) -> bytes:
        """The encoded payload, without header."""
        return self._body

    def may_change(self) -> bool:
        """Return whether the request may change something at a broker: its API is not among `READS`, and its bytes do
        not mark it as validate-only. Metadata creates the topics that it names, unless it forbids that.
        """
        sent: Any = self._payload
        api = api_name(sent.__api_key__)
        if api == "metadata":
            return bool(sent.topics) and getattr(sent, "allow_auto_topic_creation", True)
        return api not in READS and not getattr(decode_request(type(sent), self._body), "validate_only", False)

    def __repr__(self) -> str:
        return f"<{self.api} v{self.version}>"

    def prepare(self, _versions: object) -> AiokafkaRequest:
        """Return the request itself: its version is already chosen."""
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Encoded:
        """Return the encoded header."""
        self._header = encode_header(self._payload, correlation_id, client_id)
        return _Encoded(self._header)

    def encode(self) -> bytes:
        """Return the encoded payload. aiokafka writes it at once."""
        self.sent = True
        return self._body

    def response(self, frame: memoryview) -> tuple[int, RawResponse]:
        """Return the correlation id of a response frame and the response, which does not share the frame's memory.

        The caller decodes the body, so that a malformed body can't break the connection.
        Raises MalformedFrame.
        """
        correlation_id, body = split_frame(frame, flexible=self._is_flexible)
        if self._record is not None:
            exchange = Exchange(self._payload.__api_key__, self.version, self._header + self._body, bytes(frame))
            self._record(exchange)
        return correlation_id, RawResponse(self.api, self.version, bytes(body))
