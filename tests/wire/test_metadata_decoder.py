"""Topics of Metadata responses: our own decoder gives what kio's gives, or leaves the answer to it."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from console.admin.errors import error_name
from console.admin.topics import topic_listing
from console.model.cluster import Topic
from console.wire.fields import for_version
from console.wire.frames import decode_body, encode_body
from console.wire.metadata_decoder import VERSIONS, decode_topics
from console.wire.schemas import response_type
from tests.support import kafka_messages


def kio(version: int) -> Any:
    return import_module(f"kio.schema.metadata.v{version}.response")


def partition(version: int, number: int, nodes: int = 3, error: int = 0, leader: int = 1) -> Any:
    replicas = tuple(range(1, nodes + 1))
    return for_version(
        kio(version).MetadataResponsePartition,
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=number % 3,
        replica_nodes=replicas,
        isr_nodes=replicas[: nodes - number % 2],
        offline_replicas=replicas[nodes - number % 2 :],
    )


def topic(version: int, name: str, *partitions: Any, error: int = 0, id_: int = 7, internal: bool = False) -> Any:
    return for_version(
        kio(version).MetadataResponseTopic,
        error_code=error,
        name=name,
        topic_id=UUID(int=id_) if id_ else None,
        is_internal=internal,
        partitions=partitions,
        topic_authorized_operations=-(2**31),
    )


def response(version: int, *topics: Any, brokers: int = 2) -> bytes:
    nodes = [(n, f"b{n}", 9092, None if n % 2 else f"rack-{n}") for n in range(1, brokers + 1)]
    made = kafka_messages.response(
        kio(version),
        throttle_time=0.3,
        brokers=nodes,
        cluster_id="cluster",
        controller_id=1,
        topics=topics,
        cluster_authorized_operations=0,
        error_code=0,
    )
    return encode_body(type(made), made)


def by_kio(version: int, body: bytes) -> dict[str, Topic]:
    return dict(topic_listing(decode_body(response_type("metadata", version), body)).topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_are_as_kio_decodes_them(version: int) -> None:
    chance = random.Random(version)
    topics = [
        topic(
            version,
            "t" * chance.choice((1, 126, 127, 249)) + f"ü{number}",
            *(
                partition(
                    version,
                    place,
                    chance.choice((1, 3, 5)),
                    chance.choice((0, 0, 0, ErrorCode.leader_not_available)),
                    chance.choice((-1, 1, 2, 70_000)),
                )
                for place in chance.sample(range(200), chance.choice((0, 1, 1, 2, 130)))
            ),
            id_=chance.choice((0, 1, chance.getrandbits(128))),
            internal=chance.random() < 0.2,
        )
        for number in range(60)
    ]
    body = response(version, *topics)
    found = decode_topics(version, body, error_name)
    assert found is not None
    assert list(found.items()) == list(by_kio(version, body).items())
    assert len(found) == 60
    assert decode_topics(version, response(version), error_name) == {}


_LISTS = (
    (),
    (partition(13, 0),),
    (partition(13, 0), partition(13, 1)),
    (partition(13, 0, leader=2), partition(13, 1)),
    (partition(13, 1), partition(13, 0)),
    (partition(13, 0, 5), partition(13, 1)),
)
"""Some begin alike, some are as long as another."""


@given(st.lists(st.sampled_from(_LISTS), max_size=40))
def test_lists_of_partitions_that_stand_again_are_the_same(lists: list[tuple[Any, ...]]) -> None:
    body = response(13, *(topic(13, f"t{number}", *each) for number, each in enumerate(lists)))
    assert decode_topics(13, body, error_name) == by_kio(13, body)


def test_equal_parts_are_one_object() -> None:
    body = response(13, *(topic(13, f"t{n}", partition(13, 0), partition(13, 1)) for n in range(9)))
    found = list((decode_topics(13, body, error_name) or {}).values())
    assert len({id(each.partitions) for each in found}) == 1
    first, second = found[0].partitions
    assert first.replicas is first.isr is second.replicas
    again = list((decode_topics(13, body, error_name) or {}).values())
    assert all(one.name is other.name for one, other in zip(found, again, strict=True))


def test_what_is_seldom_is_left_to_kio() -> None:
    good = topic(13, "good", partition(13, 0))
    bodies = {
        "a topic that may not be described": response(
            13, good, topic(13, "other", error=ErrorCode.topic_authorization_failed)
        ),
        "no brokers": response(13, good, brokers=0),
        "an error of the whole answer": response(13, good)[:-3] + b"\x00\x2a\x00",
        "a tagged field of a newer broker": response(13, good)[:-1] + b"\x01\x63\x02ab",
        "bytes behind the end": response(13, good) + b"\x00",
    }
    assert decode_topics(13, response(13, good), error_name) == by_kio(13, response(13, good))
    for why, body in bodies.items():
        assert decode_topics(13, body, error_name) is None, why
    assert decode_topics(8, response(8, topic(8, "old", partition(8, 0))), error_name) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_no_garbage_is_taken_for_topics(version: int) -> None:
    """What is cut off or changed is left to kio, or read as kio reads it."""
    body = response(version, *(topic(version, f"t{n}", partition(version, 0), partition(version, 1)) for n in range(3)))
    for end in range(len(body)):
        assert decode_topics(version, body[:end], error_name) is None
    for place in range(len(body)):
        for value in (0, 1, 0x7F, 0x80, 0xFF):
            spoiled = body[:place] + bytes((value,)) + body[place + 1 :]
            found = decode_topics(version, spoiled, error_name)
            assert found is None or found == by_kio(version, spoiled), (place, value)
