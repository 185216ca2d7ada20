"""Every message that is read from a peer, with each count in it inflated; prints how many bytes of memory it took.

Run as a program, in a process with a limit of memory: a reader that reserves what is claimed ends it. Counts are not
looked for: a huge one is put at every offset in turn, in the old form and in the compact one, so none is missed.
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
    """A whole message and what reads it. compact: whether its counts are varints."""

    name: str
    data: bytes
    read: Callable[[bytes], Any]
    compact: bool


OLD = bytes.fromhex("7fffffff")
COMPACT = bytes.fromhex("ffffffff07")
ALLOWED = 2**20
PADDED = 70_000
"""Bytes: more than 64 KiB."""


def responses() -> Iterator[Message]:
    """Every response of Kafka's and of the proposals."""
    for api in api_key_map.values():
        for version, kinds in BY_VERSION[api].items():
            if EntityType.response in kinds:
                yield _response(f"{api} v{version}", response_type(api, version))
    for found in PROPOSED.values():
        yield _response(f"proposed {found.api} v{found.version}", found.response)


def _response(name: str, response: Any) -> Message:
    return Message(name, written(response, sample(response, 0)), partial(decode_body, response), response.__flexible__)


def requests() -> Iterator[Message]:
    """The same of the requests that an embedded cluster reads."""
    for api in api_key_map.values():
        for version, kinds in BY_VERSION[api].items():
            if EntityType.request in kinds:
                yield _request(f"{api} v{version}", request_type(api, version))
    for found in PROPOSED.values():
        yield _request(f"proposed {found.api} v{found.version}", found.request)


def _request(name: str, request: Any) -> Message:
    return Message(name, written(request, sample(request, 0)), partial(decode_request, request), request.__flexible__)


def decoders() -> Iterator[Message]:
    """The same of our own decoders, and of what consumers write into their groups."""
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
    """Responses with arrays in arrays in arrays."""
    for api, versions in (("metadata", (1, 13)), ("describe_log_dirs", (1, 4)), ("describe_groups", (4, 6))):
        for version in versions:
            yield _response(f"{api} v{version}", response_type(api, version))


KINDS = {"responses": responses, "requests": requests, "decoders": decoders, "nested": nested}


def inflated(message: Message, kind: str) -> Iterator[bytes]:
    """The message with a huge count at each offset, with its own end and with one beyond 64 KiB; of `nested` with a
    count that the bytes behind it allow."""
    claim, width = (COMPACT, 1) if message.compact else (OLD, 4)
    if kind == "nested":
        claim = encode_varint(ALLOWED // 16) if message.compact else struct.pack(">i", ALLOWED // 16)
    for at in range(len(message.data)):
        claimed = message.data[:at] + claim + message.data[at + width :]
        if kind == "decoders":
            yield claimed
        yield claimed + bytes(ALLOWED if kind == "nested" else PADDED)


def main(kind: str, every: str) -> None:
    """Read them all, or one of so many; prints how many messages there were, and by how many bytes the process grew."""
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
    """Bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
