"""Tests of ApiVersions: the listed APIs and versions, and the answer to an unknown version."""

import struct
from typing import Any

import pytest

from console.embedded.spec import since
from tests.contract.differences import NOT_SERVED
from tests.contract.target import Target
from tests.support.kafka_messages import with_fields
from tests.support.requests_of_kafka import readable_versions

PRODUCE, UNSUPPORTED_VERSION = 0, 35


def api_versions(target: Target, version: int) -> dict[str, Any]:
    """Send ApiVersions in this version, and return the answer. It differs between clusters, so call this function with
    a target of one cluster.
    """
    software = {"client_software_name": "contract", "client_software_version": "1"}
    return target.ask("api_versions", version, with_fields(**software))  # type: ignore[no-any-return]


def ranges(answer: dict[str, Any]) -> dict[int, tuple[int, int]]:
    return {each["api_key"]: (each["min_version"], each["max_version"]) for each in answer["api_keys"]}


def test_what_is_told(target: Target) -> None:
    """The embedded cluster lists the same APIs as the real one, without those that it does not serve, with the versions
    that kio can read.
    """
    sides = [ranges(api_versions(side, 3)) for side in target.sides()]
    embedded = sides[-1]
    not_served = since(NOT_SERVED, target.release)
    assert not embedded.keys() & not_served
    if target.real is None:
        return
    real = sides[0]
    assert real.keys() - embedded.keys() == not_served
    for key, (low, high) in embedded.items():
        readable = readable_versions(key)
        assert readable is not None
        # Brokers list Produce from version 0 on, which they do not serve, for librdkafka (KAFKA-18659).
        least = real[key][0] if key == PRODUCE else max(real[key][0], readable[0])
        assert (low, high) == (least, min(real[key][1], readable[1])), key


def test_an_unknown_version_of_it(target: Target) -> None:
    """The answer to an unknown version of ApiVersions has the format of version 0 and error 35 (UNSUPPORTED_VERSION);
    the connection stays open.
    """
    for side in target.sides():
        frame = struct.pack(">hhih", 18, 99, 7, -1) + b"\x00"
        answer = side.embedded.exchange(frame)
        assert struct.unpack(">ih", answer[:6]) == (7, UNSUPPORTED_VERSION)
        (count,) = struct.unpack(">i", answer[6:10])
        listed = {struct.unpack(">hhh", answer[10 + 6 * place : 16 + 6 * place])[0] for place in range(count)}
        assert 18 in listed


@pytest.mark.parametrize("frame", [struct.pack(">hhih", 9999, 0, 7, -1), struct.pack(">hhih", 3, 99, 7, -1)])
def test_an_unknown_api_ends_the_connection(target: Target, frame: bytes) -> None:
    for side in target.sides():
        assert side.embedded.exchange(frame) == b""
