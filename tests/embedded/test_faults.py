"""Every kind of fault, seen from the wire."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from console.embedded import faults as embedded_faults
from console.embedded.answers import error_answer
from console.embedded.brokers import EmbeddedCluster
from console.embedded.request_pipeline import handled_apis
from console.embedded.state import answering
from console.model.config import topic_resource
from console.wire.frames import decode_body, encode_body
from console.wire.schemas import BY_VERSION, messages
from tests.embedded.raw_client import RawClient, framed, header
from tests.embedded.test_cluster_clients import add_topic
from tests.support.kafka_messages import with_fields
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE
from tests.support.recorded_requests import Recording, load, replay
from tests.wire.samples import sample

ERRORS_OF_DIRECTORIES_ONLY = {("describe_log_dirs", 1), ("describe_log_dirs", 2)}
"""Versions whose answers have no place for an error of the whole request."""


def share_on(module: ModuleType) -> Any:
    """An UpdateFeatures request that takes effect."""
    update = module.FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    return module.UpdateFeaturesRequest(feature_updates=(update,))


def all_topics(module: ModuleType) -> Any:
    return module.MetadataRequest(topics=None)


def some_topics(*names: str) -> Any:
    return lambda m: m.MetadataRequest(
        topics=tuple(m.MetadataRequestTopic(name=name) for name in names), allow_auto_topic_creation=False
    )


async def test_an_error_for_the_third_request_of_one_broker(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(
        embedded_faults.Fault(
            embedded_faults.Fail(ErrorCode.request_timed_out, "later"), "describe_quorum", broker=1, nth=3
        )
    )
    codes = []
    async with RawClient(cluster, 1) as client, RawClient(cluster, 2) as other:
        for _ in range(4):
            answer = await client.ask("describe_quorum", 2, with_fields(topics=[]))
            codes.append((answer.error_code, answer.error_message))
            elsewhere = await other.ask("describe_quorum", 2, with_fields(topics=[]))
            assert elsewhere.error_code == 0
    assert codes == [(0, ""), (0, ""), (7, "later"), (0, "")]


@pytest.mark.parametrize("moment", embedded_faults.Moment)
async def test_a_change_that_took_effect_or_not_before_the_connection_was_cut(
    cluster: EmbeddedCluster, moment: embedded_faults.Moment
) -> None:
    cluster.faults.add(embedded_faults.Fault(embedded_faults.Cut(moment), "update_features", times=1))
    async with RawClient(cluster) as client:
        client.request("update_features", 1, share_on)
        assert await client.rest() == b""
    if moment is embedded_faults.Moment.AFTER:
        assert "share.version" not in cluster.state.features
        assert cluster.counters.total("update_features") == (1, cluster.counters.total().bytes_in, 0)
    else:
        assert cluster.state.features["share.version"] == 2


async def test_half_a_frame(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 0)))
        whole = framed(await client.frame())
        cluster.faults.add(embedded_faults.Fault(embedded_faults.HalfFrame()))
        client.send(framed(header(18, 0)))
        assert await client.rest() == whole[: len(whole) // 2]


async def test_garbage_in_a_frame_and_in_place_of_one(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 0)))
        whole = await client.frame()
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Garbage(), nth=1))
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Garbage(whole_frame=True), nth=2))
        client.send(framed(header(18, 0)))
        spoiled = await client.frame()
        assert (spoiled[:4], len(spoiled)) == (whole[:4], len(whole))
        assert spoiled[4:] != whole[4:]
        client.send(framed(header(18, 0)))
        nonsense = await client.reader.readexactly(len(whole) + 4)
        assert nonsense[:4] != struct.pack(">i", len(whole))


async def test_throttling_is_told_and_holds_the_next_request() -> None:
    async with EmbeddedCluster() as cluster, RawClient(cluster) as client:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Throttle(0.2), "metadata", times=1))
        build = some_topics()
        assert (await client.ask("metadata", 5, build)).throttle_time == timedelta(milliseconds=200)
        began = asyncio.get_running_loop().time()
        assert (await client.ask("metadata", 5, build)).throttle_time == timedelta(0)
        assert asyncio.get_running_loop().time() - began >= 0.15


async def test_a_delay_waits_for_the_clusters_own_time() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster) as client, RawClient(cluster) as other:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.Delay(60.0), times=1))
        client.request("metadata", 1, all_topics)
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        assert (await other.ask("metadata", 1, all_topics)).topics == ()
        clock.advance(60.0)
        assert await client.frame()


async def test_the_controller_moves(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(embedded_faults.Fault(embedded_faults.MoveController(), "describe_quorum"))
    quorum = struct.pack(">hhi", 55, 2, 1) + b"\x00\x01x\x00" + b"\x02\x13__cluster_metadata\x02" + bytes(6) + b"\x00"
    async with RawClient(cluster) as client:
        for leader in (2, 3, 1):
            client.send(framed(quorum))
            assert await client.frame()
            assert cluster.state.controller_id == leader


async def test_a_broker_goes_down_and_comes_back() -> None:
    """It is fenced once its session of 9 s has ended."""
    clock = ManualClock()
    async with EmbeddedCluster(clock=clock) as cluster, RawClient(cluster, 1) as client:
        cluster.faults.add(embedded_faults.Fault(embedded_faults.BrokerDown(2, 20.0), "metadata", times=1))
        cluster.faults.add(embedded_faults.Fault(embedded_faults.BrokerDown(seconds=5.0), "api_versions", times=1))
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        assert answering(cluster.state) == (1, 3)
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
            clock.advance(9.0)
            while cluster.state.alive() != (1, 3):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 3]
        clock.advance(11.0)
        await cluster.settled()
        answer = await client.ask("metadata", 1, all_topics)
        assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]
        client.send(framed(header(18, 0)))
        assert await client.rest() == b""
        async with asyncio.timeout(PATIENCE):
            await clock.asleep()
        assert answering(cluster.state) == (2, 3)


async def test_some_of_a_batch_fail_and_the_others_are_done(cluster: EmbeddedCluster) -> None:
    for name in ("a", "b", "c", "d"):
        add_topic(cluster, name)
    cluster.faults.add(embedded_faults.Fault(embedded_faults.FailSome(29), "metadata", nth=1))
    cluster.faults.add(embedded_faults.Fault(embedded_faults.FailSome(29, names=frozenset({"a"})), "metadata", nth=2))
    async with RawClient(cluster) as client:
        answer = await client.ask("metadata", 5, some_topics("a", "b", "c", "d"))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", 0), ("b", 29), ("c", 0), ("d", 29)]
        answer = await client.ask("metadata", 5, some_topics("a", "b"))
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("a", 29), ("b", 0)]


async def test_somebody_else_changes_the_cluster_first(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(embedded_faults.parse_fault("api=metadata,meanwhile=topic/t/retention.ms=1000,times=1"))
    cluster.faults.add(
        embedded_faults.Fault(
            embedded_faults.Meanwhile(lambda state: state.set_feature("share.version", 0)), "metadata"
        )
    )
    async with RawClient(cluster) as client:
        await client.ask("metadata", 1, all_topics)
    assert cluster.state.configs[topic_resource("t")] == {"retention.ms": "1000"}
    assert "share.version" not in cluster.state.features


def test_the_same_seed_gives_the_same_faults() -> None:
    def run(seed: int) -> list[bool]:
        faults = embedded_faults.Faults(seed)
        faults.add(embedded_faults.Fault(embedded_faults.HalfFrame(), probability=0.5))
        return [bool(faults.meet("metadata", 1, "x")) for _ in range(64)]

    assert run(1) == run(1) != run(2)
    assert 16 < sum(run(1)) < 48


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("api=CreateTopics,error=NOT_CONTROLLER", embedded_faults.Fault(embedded_faults.Fail(41), "create_topics")),
        (
            "api=create-topics,error=87,broker=2,nth=3",
            embedded_faults.Fault(embedded_faults.Fail(87), "create_topics", 2, nth=3),
        ),
        ("error=INVALID_TOPIC_EXCEPTION", embedded_faults.Fault(embedded_faults.Fail(17))),
        ("not-controller,times=2,client=kac", embedded_faults.Fault(embedded_faults.Fail(41), client="kac", times=2)),
        ("delay=500ms,p=0.25", embedded_faults.Fault(embedded_faults.Delay(0.5), probability=0.25)),
        ("cut=after", embedded_faults.Fault(embedded_faults.Cut(embedded_faults.Moment.AFTER))),
        ("half-frame", embedded_faults.Fault(embedded_faults.HalfFrame())),
        ("garbage=frame", embedded_faults.Fault(embedded_faults.Garbage(True))),
        ("throttle=2s", embedded_faults.Fault(embedded_faults.Throttle(2.0))),
        ("move-controller=3", embedded_faults.Fault(embedded_faults.MoveController(3))),
        ("down=2,for=1m", embedded_faults.Fault(embedded_faults.BrokerDown(2, 60.0))),
        ("down", embedded_faults.Fault(embedded_faults.BrokerDown(None, 5.0))),
        (
            "api=alter_configs,fail-some=INVALID_CONFIG",
            embedded_faults.Fault(embedded_faults.FailSome(40), "alter_configs"),
        ),
    ],
)
def test_faults_as_text(text: str, fault: embedded_faults.Fault) -> None:
    assert embedded_faults.parse_fault(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "api=metadata", "api=nothing,half-frame", "half-frame,garbage", "error=NO_SUCH", "delay=soon",
        "cut=sometime", "p=2,half-frame", "nth=0,half-frame", "for=1s,half-frame", "meanwhile=topic", "api=a,api=b",
        "meanwhile=house/a/b=1", "broker=x,half-frame",
    ],
)  # fmt: skip
def test_text_that_is_no_fault(text: str) -> None:
    with pytest.raises(embedded_faults.FaultSyntax):
        embedded_faults.parse_fault(text)


@pytest.mark.parametrize("api", sorted(handled_apis()))
def test_every_api_can_be_answered_with_an_error(api: str) -> None:
    """For each version, with a request full of samples; in the answer the error is found."""
    for version, kinds in BY_VERSION[api].items():
        module_name, _, name = kinds[EntityType.request].partition(":")
        found = messages(_key(api), version)
        assert found is not None
        request = sample(found.request, 1)
        answer = error_answer(request, found, 9999, "why")
        assert answer is not None, (module_name, name)
        body = encode_body(found.response, answer)
        if (api, version) not in ERRORS_OF_DIRECTORIES_ONLY:
            assert struct.pack(">h", 9999) in body, (api, version)
        assert asdict(decode_body(found.response, body)) == asdict(answer)


def _key(api: str) -> int:
    from console.wire.schemas import api_key

    return api_key(api)


async def test_a_recording_is_saved_and_replayed(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    recording = Recording()
    recording.attach(cluster.pipeline)
    async with RawClient(cluster, 1) as client, RawClient(cluster, 3) as other:
        await client.ask("update_features", 1, share_on)
        client.send(framed(header(18, 0)))
        await client.frame()
        await other.ask("metadata", 1, all_topics)
    path = tmp_path / "recording"
    recording.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    entries = load(path)
    assert entries == tuple(recording)
    assert [(entry.api, entry.broker) for entry in entries] == [
        ("update_features", 1),
        ("api_versions", 1),
        ("metadata", 3),
    ]
    async with EmbeddedCluster() as again:
        answers = await replay(entries, again.addresses)
        assert "share.version" not in again.state.features
    assert [answer.response == entry.response for answer, entry in zip(answers, entries, strict=True)][:2] == [
        True,
        True,
    ]
    path.write_text("{}\n")
    with pytest.raises(ValueError, match="line 1"):
        load(path)
