"""A program that decodes messages in which a count of elements was replaced by a huge one, and prints how much memory
this takes.

It runs in a process with a memory limit, so that a decoder fails if it reserves memory for a claimed count. The program
does not search for the counts: it writes a huge count at every offset in turn, in the fixed format or as a varint, so
none is missed.
"""

import resource
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from kio.schema.index import api_key_map
from kio.static.constants import EntityType

from console.embedded.group_coordinator import _topics
from console.embedded.group_coordinator import subscription as subscription_of
from console.wire.assignments import assignment_bytes, consumer_assignment
from console.wire.bounds_check import MalformedFrame
from console.wire.config_decoder import ConfigDecoder
from console.wire.frames import decode_body, decode_request
from console.wire.proposals.table import PROPOSED
from console.wire.quota_decoder import decode_quotas
from console.wire.schemas import BY_VERSION, response_type
from console.wire.tagged_fields import encode_varint
from tests.support.requests_of_kafka import request_type
from tests.wire.samples import sample, written


class Message(NamedTuple):
    """The bytes of a message, and the function that decodes it. compact: whether its counts are varints."""

    name: str
    data: bytes
    read: Callable[[bytes], Any]
    compact: bool


OLD = bytes.fromhex("7fffffff")
COMPACT = bytes.fromhex("ffffffff07")
ALLOWED = 2**20
PADDED = 70_000
"""The number of bytes that are appended to a message, more than 64 KiB."""


def responses() -> Iterator[Message]:
    """Yield a sample response of each version of each API, including those that only exist in proposals (KIPs)."""
    for api in api_key_map.values():
        for version, kinds in BY_VERSION[api].items():
            if EntityType.response in kinds:
                yield _response(f"{api} v{version}", response_type(api, version))
    for found in PROPOSED.values():
        yield _response(f"proposed {found.api} v{found.version}", found.response)


def _response(name: str, response: Any) -> Message:
    return Message(name, written(response, sample(response, 0)), partial(decode_body, response), response.__flexible__)


def requests() -> Iterator[Message]:
    """Yield a sample request of each version of each API that an embedded cluster reads, including those that only
    exist in proposals (KIPs).
    """
    for api in api_key_map.values():
        for version, kinds in BY_VERSION[api].items():
            if EntityType.request in kinds:
                yield _request(f"{api} v{version}", request_type(api, version))
    for found in PROPOSED.values():
        yield _request(f"proposed {found.api} v{found.version}", found.request)


def _request(name: str, request: Any) -> Message:
    return Message(name, written(request, sample(request, 0)), partial(decode_request, request), request.__flexible__)


def decoders() -> Iterator[Message]:
    """Yield messages for the decoders that kac has itself, and for the bytes that consumers store in their groups."""
    for version in (1, 2, 3, 4):
        response: Any = response_type("describe_configs", version)
        data = written(response, sample(response, 0))
        yield Message(f"configs v{version}", data, partial(_configs, version), response.__flexible__)
    for version in (0, 1):
        response = response_type("describe_client_quotas", version)
        data = written(response, sample(response, 0))
        yield Message(f"quotas v{version}", data, partial(decode_quotas, version), response.__flexible__)
    yield Message("assignment", assignment_bytes({"orders": (0, 1)}), consumer_assignment, compact=False)
    yield Message("subscription", subscription_of(("orders", "payments")), _topics, compact=False)


def _configs(version: int, data: bytes) -> Any:
    return ConfigDecoder(version).decode(data, {})


def nested() -> Iterator[Message]:
    """Yield responses with arrays in three levels."""
    for api, versions in (("metadata", (1, 13)), ("describe_log_dirs", (1, 4)), ("describe_groups", (4, 6))):
        for version in versions:
            yield _response(f"{api} v{version}", response_type(api, version))


KINDS = {"responses": responses, "requests": requests, "decoders": decoders, "nested": nested}


def inflated(message: Message, kind: str) -> Iterator[bytes]:
    """Yield the message with a huge count at each offset in turn, and with more than 64 KiB appended. For the kind
    `decoders` also yield it without the appended bytes. For `nested` the count is below the number of appended
    bytes.
    """
    claim, width = (COMPACT, 1) if message.compact else (OLD, 4)
    if kind == "nested":
        claim = encode_varint(ALLOWED // 16) if message.compact else struct.pack(">i", ALLOWED // 16)
    for at in range(len(message.data)):
        claimed = message.data[:at] + claim + message.data[at + width :]
        if kind == "decoders":
            yield claimed
        yield claimed + bytes(ALLOWED if kind == "nested" else PADDED)


def main(kind: str, every: str) -> None:
    """Decode the inflated forms of every n-th message of a kind. every: n as text. Print the number of decoded
    messages, and by how many bytes the process grew. Raises AssertionError with the message if a decoder raises
    another error than MalformedFrame.
    """
    before = 0
    messages = 0
    for message in islice(KINDS[kind](), 0, None, int(every)):
        message.read(message.data)
        before = before or _peak()
        for claimed in inflated(message, kind):
            try:
                message.read(claimed)
            except MalformedFrame:
                pass
            except Exception as error:
                raise AssertionError(f"{message.name}: {claimed[:200].hex()}") from error
        messages += 1
    print(messages, _peak() - before)


def _peak() -> int:
    """Return the peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
