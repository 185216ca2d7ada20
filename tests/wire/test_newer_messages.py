"""Messages of a newer Kafka than kio's (console.wire.newer): as its own definitions say, and as its brokers do."""

from __future__ import annotations

import sys
from dataclasses import fields
from types import ModuleType
from typing import Any, get_type_hints

import pytest

from console.wire.frames import decode_body, encode_body, encode_payload
from console.wire.newer import NEWER
from console.wire.schemas import api_key, messages, request_module, response_type, version_range
from tests.support import kafka_jars, requests_of_kafka
from tests.support import record_newer_messages as recorded
from tests.support.kafka_messages import with_fields

KIO_HAS = [("api_versions", 3), ("api_versions", 4), ("delete_groups", 1), ("delete_groups", 2),
           ("streams_group_describe", 0), ("describe_cluster", 2), ("list_groups", 5)]  # fmt: skip
"""Versions that both have: with and without tags, structures and numbers."""


@pytest.fixture(scope="module")
def apis() -> dict[int, recorded.Api]:
    try:
        return recorded.definitions(kafka_jars.RELEASES[kafka_jars.NEWEST])
    except kafka_jars.BrokersUnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.broker
@pytest.mark.slow
def test_what_is_kept_is_what_the_jar_says() -> None:
    kept = {path.name: path.read_text() for path in recorded.FOLDER.glob("*.py")}
    assert kept == recorded.texts(), "run: python -m tests.support.record_newer_messages"


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize(("api", "version"), KIO_HAS)
def test_they_are_declared_as_kio_declares_its_own(
    apis: dict[int, recorded.Api], api: str, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ModuleType("made")
    monkeypatch.setitem(sys.modules, "made", made)
    exec(recorded.module_text(apis[api_key(api)], version, whole=True), vars(made))
    found = messages(api_key(api), version)
    assert found is not None
    for theirs in (found.request, found.response):
        assert shape(getattr(made, theirs.__name__)) == shape(theirs)


def shape(entity: Any, *, is_part: bool = False) -> Any:
    """All that kio reads and writes an entity by: of a part of a message that does not include the message's own."""
    types = get_type_hints(entity, include_extras=True)
    own = {
        each.name: (each.metadata, each.default if "tag" in each.metadata else None, nested(types[each.name]))
        for each in fields(entity)
    }
    message = () if is_part else (entity.__api_key__, entity.__header_schema__)
    return (entity.__name__, entity.__version__, entity.__flexible__, *message, entity.__type__, own)


def nested(type_: Any) -> Any:
    if hasattr(type_, "__dataclass_fields__"):
        return shape(type_, is_part=True)
    return [nested(part) for part in type_.__args__] if hasattr(type_, "__args__") else type_


def test_a_version_that_is_refused_by_name_is_known_after_kios() -> None:
    assert {api: max(versions) for api, versions in NEWER.items()} == {api: version_range(api)[1] for api in NEWER}
    assert requests_of_kafka.readable_versions(api_key("api_versions")) == (0, 5)


# What a broker of 4.4.0 was asked, and what it answered.

ASKED = [
    (
        "api_versions", 5, "046b6163023117" + "78" * 22 + "0000000100",
        with_fields(client_software_name="kac", client_software_version="1", cluster_id="x" * 22, node_id=1),
    ),
    (
        "delete_groups", 3, "03086e6f74686572650a672d73747265616d7300",
        with_fields(groups_names=["nothere", "g-streams"]),
    ),
    (
        "streams_group_describe", 1, "020a672d73747265616d73010100",
        with_fields(group_ids=["g-streams"], include_authorized_operations=True, include_topology_description=True),
    ),
]  # fmt: skip
REFUSED = "0081010000000000"
NOT_DELETED = "00000000030a672d73747265616d7300100000086e6f74686572650045000000"
STREAMS = (
    "00000000020000000a672d73747265616d730a41737369676e696e6700000002000000010100000001020230020374310101"
    "01000002174141414141414141414141414141414141414141414100000001000009636f6e74726163740b2f3132372e302e"
    "302e31000000010270ff0101010101010001010100000000000d48ff0107737469636b790000"
)


@pytest.mark.parametrize(("api", "version", "body", "build"), ASKED)
def test_a_request_is_what_brokers_take(api: str, version: int, body: str, build: Any) -> None:
    assert encode_payload(build(request_module(api, version))).hex() == body


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [("api_versions", 5, REFUSED), ("delete_groups", 3, NOT_DELETED), ("streams_group_describe", 1, STREAMS)],
)
def test_an_answer_is_read_as_brokers_write_it(api: str, version: int, body: str) -> None:
    response = response_type(api, version)
    assert encode_body(response, decode_body(response, bytes.fromhex(body))).hex() == body


def test_what_they_say() -> None:
    refused = decode_body(response_type("api_versions", 5), bytes.fromhex(REFUSED))
    assert (refused.error_code, refused.api_keys) == (129, ())
    results = decode_body(response_type("delete_groups", 3), bytes.fromhex(NOT_DELETED)).results
    assert [(each.group_id, each.error_code, each.error_message) for each in results] == [
        ("g-streams", 16, None),
        ("nothere", 69, None),
    ]
    (group,) = decode_body(response_type("streams_group_describe", 1), bytes.fromhex(STREAMS)).groups
    assert (group.group_state, group.assignor_name, group.topology_description_status) == ("Assigning", "sticky", 1)
