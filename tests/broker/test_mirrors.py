"""A real MirrorMaker between two real clusters: kac reads at the target what MirrorMaker and Kafka say there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient as KafkaAdmin

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context, parse_bootstrap
from console.model import mirror as model
from console.model.parts import Part
from console.present.mirrors import checkpoint_rows, sync_rows
from console.session.connector_reads import read_mirrored_ends
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.observations import after, begin
from tests.support.connect_cluster import until
from tests.support.kafka_jars import KAFKA_4_3
from tests.support.mirror_maker import GROUP, NAME, SOURCE, TOPIC, MirrorMaker, mirror_jars, with_clusters
from tests.support.paces import poll_often
from tests.support.patience import PATIENCE
from tests.support.real_clusters import or_skip

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.takes(90)]
COPY = f"{SOURCE}.{TOPIC}"
WRITTEN, COMMITTED = 10, 6


@pytest.fixture(scope="module")
def mirror() -> Iterator[MirrorMaker]:
    with or_skip():
        mirror_jars(KAFKA_4_3)
    more = {f"{NAME}.offset-syncs.topic.location": "target", f"{NAME}.sync.group.offsets.enabled": "true"}
    with with_clusters(more=more) as running:
        yield running


def translated(bootstrap: str) -> dict[int, int]:
    """The offsets that MirrorMaker itself committed for the group at the target, by partition."""
    asked = ConsumerGroupTopicPartitions(GROUP, [TopicPartition(COPY, each) for each in (0, 1)])
    admin = KafkaAdmin({"bootstrap.servers": bootstrap})
    found = admin.list_consumer_group_offsets([asked])[GROUP].result(PATIENCE)
    return {each.partition: each.offset for each in found.topic_partitions if each.offset >= 0}


def ends(bootstrap: str, topic: str) -> dict[int, int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "looks"})
    found = {each: consumer.get_watermark_offsets(TopicPartition(topic, each), PATIENCE)[1] for each in (0, 1)}
    consumer.close()
    return found


def copied(mirror: MirrorMaker) -> bool:
    try:
        return ends(mirror.target, COPY) == dict.fromkeys((0, 1), WRITTEN)
    except KafkaException:  # the topic is not there yet
        return False


async def test_flows_are_what_mirrormaker_wrote_and_one_that_stops_is_named(
    mirror: MirrorMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.write(WRITTEN)
    until(lambda: copied(mirror), "the records are copied")
    mirror.commit(COMMITTED)
    until(lambda: translated(mirror.target) == dict.fromkeys((0, 1), COMMITTED), "the group's offsets are translated")

    with AdminClient(ConnectionSettings(parse_bootstrap(mirror.target))) as client:
        session = Session(client, Context("west", "tests", client.settings, journal=False))
        await session.read_topics()
        await session.read_whole(Part.MIRRORS)
        await session.keep(read_mirrored_ends(client, session.snapshot))
        flow = session.snapshot.mirrors[NAME]
        assert flow.topics == (COPY,)
        assert flow.beat is not None
        assert flow.copied is not None
        now = session.clock.now()
        assert model.age(flow.beat.at_ms, now) < PATIENCE  # type: ignore[operator]
        assert flow.beat.every_ms is not None
        assert 500 <= flow.beat.every_ms < 10_000
        mine = {each.checkpoint.partition: each for each in checkpoint_rows(session.snapshot)}
        assert {each: row.checkpoint.downstream for each, row in mine.items()} == translated(mirror.target)
        assert {row.checkpoint.upstream for row in mine.values()} == {COMMITTED}
        assert {row.lag for row in mine.values()} == {WRITTEN - COMMITTED}
        syncs = {row.sync.partition: row for row in sync_rows(session.snapshot) if row.sync.topic == TOPIC}
        assert {row.topic for row in syncs.values()} == {COPY}
        # All was copied from the first record on: both offsets of a record are the same.
        assert all(row.sync.upstream == row.sync.downstream < WRITTEN for row in syncs.values())

        mirror.stop()
        monkeypatch.setattr(model, "_LEAST_SILENCE", 5.0)
        poll_often(monkeypatch, 1.0, Part.MIRRORS)
        async with Poller(session) as poller:
            observations = begin(await poller.poll())
            while "mirror-stopped" not in {each.claim.cause for each in diagnose(observations).causes}:
                assert observations.watched.total_seconds() < PATIENCE
                await poller.rest()
                observations = after(observations, await poller.poll())
        (row,) = (each for each in diagnose(observations).causes if each.claim.cause == "mirror-stopped")
        assert row.claim.title.startswith(f"mirror {NAME}: no heartbeat of MirrorMaker for ")
        assert row.explains == {"mirror-silent": 1}
