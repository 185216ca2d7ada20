"""A real MirrorMaker between two real clusters: kac reads at the target what MirrorMaker and Kafka say there."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

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

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.long, pytest.mark.takes(90)]
"""Its short form is tests/embedded/test_mirrors.py, on records in MirrorMaker's form."""
COPY = f"{SOURCE}.{TOPIC}"
STEP = 5


@pytest.fixture(scope="module")
def mirror() -> Iterator[MirrorMaker]:
    with or_skip():
        mirror_jars(KAFKA_4_3)
    more = {f"{NAME}.offset-syncs.topic.location": "target", f"{NAME}.sync.group.offsets.enabled": "true"}
    with with_clusters(more=more) as running:
        yield running


def translated(bootstrap: str) -> dict[int, int]:
    """The offsets that MirrorMaker itself committed for the group at the target, by partition."""
    # Not by librdkafka's client for administrators: it crashes if the coordinator is not there yet.
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        found = consumer.committed([TopicPartition(COPY, each) for each in (0, 1)], 5)
    except KafkaException:  # the first group of a cluster waits for its coordinator
        return {}
    finally:
        consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}


def written_and_read(mirror: MirrorMaker) -> bool:
    """Write more records, and commit all of them for the group; return whether MirrorMaker committed for it since.

    MirrorMaker copies what comes after its start, and translates what it copied itself.
    """
    mirror.write(STEP)
    mirror.commit(mirror.written)
    return translated(mirror.target).keys() == {0, 1}


async def test_flows_are_what_mirrormaker_wrote_and_one_that_stops_is_named(
    mirror: MirrorMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: written_and_read(mirror), "the group's offsets are translated", 2 * PATIENCE)

    with AdminClient(ConnectionSettings(parse_bootstrap(mirror.target))) as client:
        session = Session(client, Context("west", "tests", client.settings, journal=False))
        await session.read_topics()
        deadline = time.monotonic() + PATIENCE
        while True:
            await session.read_whole(Part.MIRRORS)
            await session.keep(read_mirrored_ends(client, session.snapshot))
            points = {each.checkpoint.partition: each for each in checkpoint_rows(session.snapshot)}
            here = {number: each.checkpoint.downstream for number, each in points.items()}
            if here == translated(mirror.target) and {each.checkpoint.upstream for each in points.values()} == {
                mirror.written
            }:
                break
            assert time.monotonic() < deadline, (here, translated(mirror.target), mirror.written)
        flow = session.snapshot.mirrors[NAME]
        assert flow.topics == (COPY,)
        assert flow.beat is not None
        assert flow.copied is not None
        assert (model.age(flow.beat.at_ms, session.clock.now()) or 0) < PATIENCE
        assert flow.beat.every_ms is not None
        assert 500 <= flow.beat.every_ms < 20_000
        syncs = {row.sync.partition: row for row in sync_rows(session.snapshot) if row.sync.topic == TOPIC}
        assert {row.topic for row in syncs.values()} == {COPY}
        consumer = Consumer({"bootstrap.servers": mirror.target, "group.id": "looks"})
        for number, row in points.items():
            end = consumer.get_watermark_offsets(TopicPartition(COPY, number), PATIENCE)[1]
            assert row.lag == end - row.checkpoint.downstream
            # All that the source has is copied by now: the group's last offset there was translated.
            assert model.copied_up_to(syncs[number].sync, end) == mirror.written
        consumer.close()

        mirror.stop()
        monkeypatch.setattr(model, "_LEAST_SILENCE", 5.0)
        poll_often(monkeypatch, 1.0, Part.MIRRORS)
        async with Poller(session) as poller:
            observations = begin(await poller.poll())
            while "mirror-stopped" not in {each.claim.cause for each in diagnose(observations).causes}:
                assert observations.watched.total_seconds() < PATIENCE
                await poller.rest()
                observations = after(observations, await poller.poll())
        (found,) = (each for each in diagnose(observations).causes if each.claim.cause == "mirror-stopped")
        assert found.claim.title.startswith(f"mirror {NAME}: no heartbeat of MirrorMaker for ")
        assert found.explains == {"mirror-silent": 1}
