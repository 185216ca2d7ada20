"""The proposals' formats byte by byte, written from their texts: no stranger speaks them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from console.wire.frames import encode_header, with_open_codes
from console.wire.proposals import batched_describes as batched_quotas
from console.wire.proposals import kip4 as kip4_topics
from console.wire.proposals.table import PROPOSED
from tests.wire.proposals_golden import Bytes, batched, kip4, kip21, kip133, kip248

_CASES = [*kip4.CASES, *kip21.CASES, *kip133.CASES, *kip248.CASES, *batched.CASES]


@pytest.mark.parametrize(("message", "golden"), _CASES, ids=[type(message).__qualname__ for message, _ in _CASES])
def test_bytes(message: Any, golden: Bytes) -> None:
    expected = bytes.fromhex(" ".join(part for part, _ in golden))
    kind = with_open_codes(type(message))
    buffer = BytesIO()
    entity_writer(kind)(buffer, message)
    assert buffer.getvalue().hex(" ") == expected.hex(" ")
    read, size = entity_reader(kind)(expected, 0)
    assert size == len(expected)
    assert repr(read) == repr(message)


def test_every_message_has_its_bytes() -> None:
    covered = {type(message) for message, _ in _CASES}
    assert {kind for m in PROPOSED.values() for kind in (m.request, m.response)} <= covered


@pytest.mark.parametrize(
    ("message", "header"),
    [
        (
            kip4_topics.DeleteTopicsRequest(topics=(), timeout=0),
            [("2711", "key 10001"), ("0000", "v0"), ("00000007", "correlation id"), ("0001 63", "client id c")],
        ),
        (
            batched_quotas.DescribeClientQuotasRequest(strict=False, filters=()),
            [
                ("0030", "key 48"),
                ("0002", "v2"),
                ("00000007", "correlation id"),
                ("0001 63", "client id c, never compact"),
                ("00", "no tagged fields: header v2"),
            ],
        ),
    ],
)
def test_headers(message: Any, header: Bytes) -> None:
    assert encode_header(message, 7, "c") == bytes.fromhex(" ".join(part for part, _ in header))
