"""Counts that a peer claims and does not send: nothing is reserved for them."""

from __future__ import annotations

import asyncio
import struct

import pytest

from tests.hostile.cluster import HostileCluster
from tests.hostile.consumer import HostileConsumer
from tests.hostile.inflated import ALLOWED
from tests.hostile.limited import died_of_a_signal, run_kac, run_python
from tests.support.patience import PATIENCE

CLAIM = bytes.fromhex("0000 7fffffff")
"""The version of an assignment, and 2,147,483,647 topics that do not follow."""


def test_an_assignment_that_claims_two_billion_topics_is_no_assignment(hostile: HostileCluster) -> None:
    consumer = HostileConsumer(hostile.addresses[1], "victim", subscription=CLAIM, assignment=CLAIM)
    asyncio.run(consumer.join())
    result = run_kac("groups", "-b", hostile.bootstrap, "--describe", "--group", "victim")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 0
    assert "hostile" in result.stdout
    asyncio.run(consumer.leave())


def test_a_huge_count_of_synonyms_is_an_answer_that_can_not_be_read(hostile: HostileCluster) -> None:
    def claimed(asked: object, body: bytes) -> bytes:
        # v4: throttle time, one result, no error, null message, type, name "1", one entry: name, value, …, synonyms
        head = struct.pack(">i", 0) + b"\x02" + struct.pack(">h", 0) + b"\x00" + b"\x04" + b"\x021"
        return head + b"\x02" + b"\x02k\x02v\x00\x05\x00" + b"\xff\xff\xff\xff\x07"

    hostile.rewrite_body("describe_configs", claimed)
    result = run_kac("brokers", "-b", hostile.bootstrap, "--describe", "--broker", "1")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 1
    assert "the array synonyms has 2147483646 elements" in result.stdout


def test_a_padded_metadata_with_a_huge_count(hostile: HostileCluster) -> None:
    def claimed(asked: object, body: bytes) -> bytes:
        # v13: throttle time, a broker, whose claimed racks are padding, and two billion topics behind the controller
        return struct.pack(">i", 0) + b"\x01" + b"\x00" + struct.pack(">i", 1) + b"\xff\xff\xff\xff\x07" + bytes(70_000)

    hostile.rewrite_body("metadata", claimed)
    result = run_kac("topics", "-b", hostile.bootstrap, "--list")
    assert not died_of_a_signal(result), result.stderr
    assert result.returncode == 1
    assert "can't be read" in result.stderr + result.stdout


@pytest.mark.parametrize(
    ("kind", "every", "at_least"),
    [
        pytest.param("responses", 5, 60, marks=pytest.mark.slow),
        pytest.param("requests", 5, 60, marks=pytest.mark.slow),
        pytest.param("responses", 1, 300, marks=pytest.mark.long),
        pytest.param("requests", 1, 300, marks=pytest.mark.long),
        ("decoders", 1, 8),
        ("nested", 1, 6),
    ],
)
def test_no_count_in_any_message_reserves_what_did_not_come(kind: str, every: int, at_least: int) -> None:
    """A limit on address space, as `ulimit -v`; and what the process grew by is a small multiple of a message."""
    result = run_python("-m", "tests.hostile.inflated", kind, str(every), timeout=12 * PATIENCE)
    assert result.returncode == 0, result.stderr[-2000:]
    messages, grown = map(int, result.stdout.split())
    assert messages >= at_least
    assert grown <= 64 * ALLOWED
