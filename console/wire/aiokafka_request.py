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
"""The APIs whose requests change nothing at the broker. One exception: FindCoordinator creates the coordinators'
internal topic if it is missing (see `admin.groups.find_coordinators`).
"""


class RawResponse(NamedTuple):
    """A response whose body is not decoded yet."""

    api: str
    version: int
    body: bytes
    """The bytes after the response header."""

    @property
    def throttle_ms(self) -> int:
        """The milliseconds for which the broker reads no further request of this client, because the client exceeded a
        quota; 0 if it is not throttled, or for an API without an entry in `THROTTLE_FIRST`.
        """
        first = THROTTLE_FIRST.get(self.api)
        return max(0, int.from_bytes(self.body[:4], signed=True)) if first is not None and self.version >= first else 0


class Exchange(NamedTuple):
    """One request and its response as bytes, both without the four bytes of their length."""

    key: int
    version: int
    request: bytes
    response: bytes


class _Encoded(NamedTuple):
    data: bytes

    def encode(self) -> bytes:
        return self.data


class AiokafkaRequest:
    """An encoded request in one version of its API. `sent` becomes True right before its bytes are written to the
    socket.

    It replaces aiokafka's ``Request`` and ``RequestStruct``. Its ``str`` is only the name of the API, because aiokafka
    logs requests. The constructor raises Unencodable, and any error that the function in `asked` raises.
    """

    def __init__(
        self,
        api: str,
        version: int,
        asked: Asked,
        record: Callable[[Exchange], None] | None = None,
        encode: Callable[[RequestPayload], bytes] = encode_payload,
    ) -> None:
        """Encode a request.

        Args:
            api: kio's name of the API.
            asked: the fields of the request, or a function that makes the request from kio's module.
            record: function called with the request and its response; None to record nothing.
            encode: function that encodes the payload, as `encode_payload` does.
        """
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
        """Return whether the request may change something at a broker: its API is not in `READS`, and its bytes don't
        mark it as validate-only. A Metadata request may change something too unless it forbids the creation of the
        topics that it names.
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
        """Return the encoded request header with this correlation id and client id."""
        self._header = encode_header(self._payload, correlation_id, client_id)
        return _Encoded(self._header)

    def encode(self) -> bytes:
        """Return the encoded payload, and set `sent`, because aiokafka writes the payload at once."""
        self.sent = True
        return self._body

    def response(self, frame: memoryview) -> tuple[int, RawResponse]:
        """Split a response frame: return its correlation id and the response, which is a copy of the frame's bytes.

        The body stays encoded: the caller decodes it, so that a malformed body can't break the connection. Raises
        MalformedFrame if the header is truncated.
        """
        correlation_id, body = split_frame(frame, flexible=self._is_flexible)
        if self._record is not None:
            exchange = Exchange(self._payload.__api_key__, self.version, self._header + self._body, bytes(frame))
            self._record(exchange)
        return correlation_id, RawResponse(self.api, self.version, bytes(body))
