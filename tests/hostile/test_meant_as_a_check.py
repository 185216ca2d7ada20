"""What is meant as a check, or as a read, is sent only where its bytes are one: whatever broker answers by then."""

from __future__ import annotations

import itertools
from contextlib import AbstractAsyncContextManager
from dataclasses import fields, replace
from functools import partial
from types import ModuleType
from typing import Any

import pytest
from kio.static.constants import EntityType

from console.admin.changes import send
from console.admin.errors import NotSendable, ReadOnly
from console.admin.link import CONTROLLER, Link
from console.model.changes import UpdateFeatures
from console.wire.aiokafka_request import READS, AiokafkaRequest
from console.wire.fields import for_version
from console.wire.frames import decode_request
from console.wire.schemas import BY_VERSION, api_key
from tests.hostile.cluster import HostileCluster
from tests.support import worlds
from tests.support.requests_of_kafka import request_type
from tests.wire.samples import sample, written

CHECKED = {
    *("alter_client_quotas", "alter_configs", "create_partitions", "create_topics", "incremental_alter_configs"),
    "update_features",
}
"""The APIs of Kafka that have a form which only checks; the version of the last one is asked for by its field."""
REQUESTS = [
    (api, version)
    for api, versions in sorted(BY_VERSION.items())
    for version in versions
    if isinstance(version, int) and EntityType.response in versions[version]
]
"""Every version of every API that this client can write."""


def encoded(api: str, version: int, **values: Any) -> AiokafkaRequest:
    made = sample(request_type(api, version), 0)
    return AiokafkaRequest(api, version, lambda _: replace(made, **values), encode=partial(written, type(made)))


def test_what_may_change_something_is_told_by_the_bytes() -> None:
    assert len(REQUESTS) > 250
    for api, version in REQUESTS:
        told_by_the_bytes(api, version)


def told_by_the_bytes(api: str, version: int) -> None:
    type_ = request_type(api, version)
    flags = {field.name for field in fields(type_)} & {"validate_only", "allow_auto_topic_creation"}
    for values in itertools.product((False, True), repeat=len(flags)):
        request = encoded(api, version, **dict(zip(flags, values, strict=True)))
        sent = decode_request(type_, request.body)
        if api == "metadata":
            assert request.may_change() == getattr(sent, "allow_auto_topic_creation", True)
        elif api in CHECKED:
            assert request.may_change() != getattr(sent, "validate_only", False)
        else:
            assert not flags
            assert request.may_change() != (api in READS)


def test_no_api_that_reads_is_called_as_one_that_changes() -> None:
    words = (
        "describe",
        "list",
        "fetch",
        "find",
        "api_versions",
        "offset_fetch",
        "offset_for",
        "consumer_group_describe",
    )
    assert all(api.startswith(words) or api.endswith("_describe") for api in READS), "look at what it does"
    assert set(BY_VERSION) >= READS


def linked(cluster: HostileCluster, **settings: Any) -> AbstractAsyncContextManager[Link]:
    return worlds.linked(worlds.settings(cluster, **settings))


def only_version_0_from_the_second_connection_on(cluster: HostileCluster) -> None:
    """As while brokers of two releases run: what is asked for the version is another broker than what gets the
    request."""
    asked = itertools.count()

    def older(_kio: Any, answer: Any) -> Any:
        if not next(asked):
            return answer
        keys = tuple(
            replace(each, max_version=0) if each.api_key == api_key("update_features") else each
            for each in answer.api_keys
        )
        return replace(answer, api_keys=keys)

    cluster.rewrite("api_versions", older)


async def test_a_check_of_features_is_never_sent_in_a_version_that_only_changes(hostile: HostileCluster) -> None:
    only_version_0_from_the_second_connection_on(hostile)
    before = hostile.embedded.call(lambda each: dict(each.state.features))
    wanted = UpdateFeatures({"share.version": 0}, frozenset({"share.version"}))
    async with linked(hostile) as link:
        with pytest.raises(NotSendable, match="update_features in version 0") as refused:
            await send(link, wanted, validate_only=True)
    assert "Nothing was sent" in refused.value.failure.remedy
    assert api_key("update_features") not in {asked.key for asked in hostile.asked}
    assert hostile.embedded.call(lambda each: dict(each.state.features)) == before


@pytest.mark.parametrize("api", sorted({"create_topics", "delete_topics", "offset_commit", "init_producer_id"}))
async def test_a_link_that_reads_refuses_what_changes_whatever_it_is_called(hostile: HostileCluster, api: str) -> None:
    def build(kio: ModuleType) -> Any:
        (type_,) = (getattr(kio, name) for name in dir(kio) if name.endswith("Request") and name[:-7] in camel(api))
        return sample(type_, 0) if api != "create_topics" else for_version(type_, **named(kio), validate_only=False)

    async with linked(hostile, read_only=True) as link:
        with pytest.raises(ReadOnly):
            await link.call(api, build, to=CONTROLLER)
    assert api_key(api) not in {asked.key for asked in hostile.asked}


async def test_metadata_that_makes_topics_is_refused(hostile: HostileCluster) -> None:
    def build(kio: ModuleType) -> Any:
        topic = for_version(kio.MetadataRequestTopic, name="planted", topic_id=None)
        return for_version(
            kio.MetadataRequest,
            topics=(topic,),
            allow_auto_topic_creation=True,
            include_topic_authorized_operations=False,
        )

    async with linked(hostile) as link:
        with pytest.raises(NotSendable, match="metadata"):
            await link.call("metadata", build)
        with pytest.raises(NotSendable, match="metadata"):
            await link.call_apart(next(iter(hostile.addresses.values())), "metadata", build, 10)
    assert "planted" not in hostile.embedded.call(lambda each: set(each.state.topics))


def camel(api: str) -> str:
    return "".join(part.capitalize() for part in api.split("_"))


def named(kio: ModuleType) -> dict[str, Any]:
    return {"topics": (sample(kio.CreatableTopic, 0),), "timeout": sample(kio.CreateTopicsRequest, 0).timeout}
