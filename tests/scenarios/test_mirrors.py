"""Tests of MirrorMaker's flows: on embedded clusters with records in MirrorMaker's format, and with a real MirrorMaker
between two real clusters.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from console.admin import mirror as reads
from console.admin.client import AdminClient
from console.admin.mirror import describe_mirrors
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import NEVER, Context, parse_bootstrap
from console.contexts.own_file import CONFIG
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model import mirror as model
from console.model.mirror import Checkpoint, OffsetSync
from console.model.parts import Part
from console.present.mirrors import checkpoint_rows, sync_rows
from console.session.connector_reads import read_mirrored_ends
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.observations import after, begin
from console.tui.app import Console
from tests.support import connect_cluster, kafka_jars, paces, real_clusters, worlds
from tests.support.mirror_maker import GROUP, NAME, SOURCE, TOPIC, MirrorMaker, mirror_jars, with_clusters
from tests.support.mirror_records import BEAT, COPIED, TOPICS, write
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

COPY = "east.orders"
POINTS = [
    Checkpoint("billing", COPY, 0, 9, 7),
    Checkpoint("billing", COPY, 1, 3, 3),
    Checkpoint("shipping", COPY, 0, 1, 1),
]


def _mirrored(cluster: ThreadedCluster) -> None:
    now = round(time.time() * 1000)
    write(cluster.bootstrap, [(BEAT, now - each * 1_000) for each in (602, 601, 600)])
    write(cluster.bootstrap, [(BEAT, now - 700_000)], COPIED)
    older = POINTS[0]._replace(downstream=5)
    write(cluster.bootstrap, [(older, now - 90_000), *((each, now - 60_000) for each in POINTS)])
    write(cluster.bootstrap, [(OffsetSync("orders", 0, 10, 8), now - 50_000)])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(12):
        producer.produce(COPY, f"{number}", partition=0)
    producer.produce("heartbeats", b"no heartbeat", b"of MirrorMaker's")
    assert not producer.flush(PATIENCE)


mirrored = worlds.cluster(
    ClusterSpec(brokers=1),
    *(worlds.topic(name, 1, 1, brokers=(1,)) for name in (*TOPICS.values(), COPIED)),
    worlds.topic(COPY, 2, 1, brokers=(1,)),
    after=_mirrored,
    scope="module",
)
bare = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("heartbeats", 1, 1, brokers=(1,)), scope="module")
client = worlds.client("mirrored")


def told(capsys: pytest.CaptureFixture[str], cluster: ThreadedCluster, *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert cli.run(["mirrors", "-b", cluster.bootstrap, *words, "--output", "json"]) == 0
    rows, _ = json.loads(capsys.readouterr().out).values()
    return list(rows)


def test_a_flow_is_listed_with_its_ages_copies_and_groups(
    mirrored: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    (row,) = told(capsys, mirrored)
    assert (row["mirror"], row["source"], row["target"], row["state"]) == ("east->west", "east", "west", "silent")
    assert (row["topics"], row["groups"], row["connectors"]) == (1, 2, [])
    ages = [row[f"{each}_seconds"] for each in ("heartbeat", "came_through", "checkpoint", "sync")]
    assert all(least <= age < least + PATIENCE for age, least in zip(ages, (600, 700, 60, 50), strict=True))
    assert told(capsys, mirrored, "--mirror", "north->*") == []


def test_the_newest_checkpoints_and_syncs_are_listed_with_what_came_after_them(
    mirrored: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = told(capsys, mirrored, "groups")
    columns = ("group", "topic", "partition", "upstream", "downstream", "lag")
    assert [tuple(row[each] for each in columns) for row in rows] == [
        ("billing", COPY, 0, 9, 7, 5),
        ("billing", COPY, 1, 3, 3, 0),
        ("shipping", COPY, 0, 1, 1, 11),
    ]
    assert [row["partition"] for row in told(capsys, mirrored, "groups", "--group", "ship*")] == [0]
    (row,) = told(capsys, mirrored, "topics")
    assert (row["topic"], row["upstream"], row["downstream"], row["since"]) == (COPY, 10, 8, 4)


def test_a_cluster_without_flows_says_where_they_would_be(
    bare: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["mirrors", "-b", bare.bootstrap]) == 0
    assert "no flow of MirrorMaker 2" in capsys.readouterr().out
    assert cli.run(["mirrors", "-b", bare.bootstrap, "topics"]) == 0
    assert "offset-syncs.topic.location" in capsys.readouterr().out


def test_an_option_of_another_action_is_refused(bare: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mirrors", "-b", bare.bootstrap, "topics", "--group", "g"]) == 2
    assert "--group" in capsys.readouterr().err


def test_a_context_that_forbids_records_knows_the_flow_by_its_topics(
    mirrored: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[contexts.dev]\n"bootstrap.servers" = "{mirrored.bootstrap}"\nrecords = "{NEVER}"\n')
    file.chmod(0o600)
    monkeypatch.setenv(CONFIG, str(file))
    monkeypatch.delattr(reads, "_fetch")
    assert cli.run(["mirrors", "-c", "dev", "--output", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["mirrors"]
    assert (row["mirror"], row["state"], row["heartbeat_seconds"]) == ("east->?", "unknown", None)


async def test_later_reads_go_on_where_the_last_one_ended(
    client: AdminClient, mirrored: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(client, Context("dev", "tests", client.settings))
    await session.read_topics()
    await session.read_whole(Part.MIRRORS)
    (first,) = session.snapshot.mirrors.values()
    assert first.beat is not None
    asked = []
    fetch = reads._fetch

    async def spied(link: Any, topic: Any, offset: int, within: float) -> Any:
        asked.append((topic.name, offset))
        return await fetch(link, topic, offset, within)

    monkeypatch.setattr(reads, "_fetch", spied)
    now = round(time.time() * 1000)
    write(mirrored.bootstrap, [(BEAT, now)], COPIED)
    await session.read_whole(Part.MIRRORS)
    (then,) = session.snapshot.mirrors.values()
    assert then.copied is not None
    assert then.copied.at_ms == now
    assert (then.beat, then.checkpoints) == (first.beat, first.checkpoints)
    assert asked == [(COPIED, 1)]


async def test_a_long_topic_is_read_from_near_its_end(
    client: AdminClient, mirrored: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "TAIL", 2)
    session = Session(client, Context("dev", "tests", client.settings))
    await session.read_topics()
    topic = session.snapshot.topics[TOPICS[Checkpoint]]
    found = (await client.run(describe_mirrors, [topic])).topics[topic.name]
    assert [each.record for each in found.kept.values()] == POINTS[1:]
    assert found.is_part


async def test_a_topic_that_is_not_read_in_time_is_told(
    client: AdminClient, mirrored: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "SECONDS", -1.0)
    session = Session(client, Context("dev", "tests", client.settings))
    await session.read_topics()
    found = await client.run(describe_mirrors, [session.snapshot.topics["heartbeats"]])
    assert found.failures["heartbeats"].name == "TIMED_OUT"
    assert found.failures["heartbeats"].message.startswith("topic heartbeats: it was read up to offset 0 of 4 within")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_the_flows_are_a_part_of_the_pane_of_connectors(
    client: AdminClient, mirrored: ThreadedCluster, size: tuple[int, int]
) -> None:
    session = Session(client, Context("dev", "tests", client.settings))
    app = Console(session, ConsoleSettings(start_pane="topics", refresh=0.2))
    async with app.run_test(size=size) as pilot:
        it = Driven(app, pilot, client)
        await it.press("ctrl+n", shows="MM2")
        await it.press("shift+tab", shows="east->west")
        assert "silent" in it.line("▸east->west")
        assert "1 flow silent" in it.text
        await it.press("enter", shows="mirror east->west")
        await it.shows(f"billing  {COPY}-0: 9 is 7 here, 5 records behind it here")
        await it.press("escape", shows="MM2")
        await it.press("exclamation_mark", shows="east->west")


# -- the lag behind the source -----------------------------------------------------------------------------------------


def _sources(cluster: ThreadedCluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(20):
        producer.produce("orders", f"{number}", partition=0)
    producer.produce("orders", "0", partition=1)
    assert not producer.flush(PATIENCE)
    write(cluster.bootstrap, [(OffsetSync("orders", 0, 16, 11), 1_000)], "mm2-offset-syncs.west.internal")


def _beats(cluster: ThreadedCluster) -> None:
    write(cluster.bootstrap, [(BEAT, 1_000)])
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(12):
        producer.produce(COPY, f"{number}", partition=0)
    assert not producer.flush(PATIENCE)


source = worlds.cluster(
    ClusterSpec(brokers=1),
    worlds.topic("orders", 2, 1, brokers=(1,)),
    worlds.topic("mm2-offset-syncs.west.internal", 1, 1, brokers=(1,)),
    after=_sources,
    scope="module",
)
without_syncs = worlds.cluster(
    ClusterSpec(brokers=1),
    worlds.topic("heartbeats", 1, 1, brokers=(1,)),
    worlds.topic(COPY, 2, 1, brokers=(1,)),
    after=_beats,
    scope="module",
)


@pytest.fixture
def contexts(source: ThreadedCluster, bare: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    clusters = {"east": source, "bare": bare}
    parts = [f'[contexts.{name}]\n"bootstrap.servers" = "{each.bootstrap}"\n' for name, each in clusters.items()]
    file.write_text(
        "".join(parts) + f'[contexts.shut]\n"bootstrap.servers" = "{source.bootstrap}"\nrecords = "{NEVER}"\n'
    )
    file.chmod(0o600)
    monkeypatch.setenv(CONFIG, str(file))


@pytest.mark.usefixtures("contexts")
def test_the_lag_is_by_the_offset_syncs_of_either_cluster(
    mirrored: ThreadedCluster, without_syncs: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """kac computes a mirror's lag from the offset syncs in the target or in the source, which has 20 records. The
    target's newest sync maps source offset 10 to 8, and the target's end offset is 12, so all records below
    source offset 14 are copied. The source's sync maps 16 to 11, so all records below 17 are copied.
    """
    for target, copied in ((mirrored, 14), (without_syncs, 17)):
        rows = told(capsys, target, "lag", "--source-context", "east")
        assert [[row[each] for each in ("topic", "partition", "end", "copied", "lag")] for row in rows] == [
            [COPY, 0, 20, copied, 20 - copied],
            [COPY, 1, 1, None, None],
        ]


@pytest.mark.usefixtures("contexts")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--source-context"),
        (["--source-context", "nowhere"], "nowhere"),
        (["--source-context", "bare"], "context bare has no topic that east->west copies: is it east?"),
        (["--source-context", "shut"], "forbids reading records"),
        (["--source-context", "east", "--mirror", "north->west"], "one of the flows: east->west"),
    ],
)
def test_a_lag_that_can_not_be_known_says_why(
    mirrored: ThreadedCluster, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert cli.run(["mirrors", "-b", mirrored.bootstrap, "lag", *words]) == 2
    assert says in capsys.readouterr().err


# -- a real MirrorMaker between two real clusters: kac reads the values that MirrorMaker and Kafka show at the target --

REAL_COPY = f"{SOURCE}.{TOPIC}"
STEP = 5


@pytest.fixture(scope="module")
def mirror() -> Iterator[MirrorMaker]:
    with real_clusters.or_skip():
        mirror_jars(kafka_jars.KAFKA_4_3)
    more = {f"{NAME}.offset-syncs.topic.location": "target", f"{NAME}.sync.group.offsets.enabled": "true"}
    with with_clusters(more=more) as running:
        yield running


def translated(bootstrap: str) -> dict[int, int]:
    """Return partition -> the offset that MirrorMaker committed for the group in the target cluster; empty if the group
    has no coordinator there.
    """
    # Do not use librdkafka's admin client: it crashes if the coordinator does not exist yet.
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
    try:
        found = consumer.committed([TopicPartition(REAL_COPY, each) for each in (0, 1)], 5)
    except KafkaException:  # the first group of a cluster waits for its coordinator
        return {}
    finally:
        consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}


def written_and_read(mirror: MirrorMaker) -> bool:
    """Write more records to the source, and commit their end offsets for the group. Return whether MirrorMaker has
    committed offsets for the group in both partitions of the target.

    MirrorMaker copies only records that were written after its start, and translates only offsets of records that it
    copied.
    """
    mirror.write(STEP)
    mirror.commit(mirror.written)
    return translated(mirror.target).keys() == {0, 1}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.takes(90)
async def test_flows_are_what_mirrormaker_wrote_and_one_that_stops_is_named(
    mirror: MirrorMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect_cluster.until(lambda: written_and_read(mirror), "the group's offsets are translated", 2 * PATIENCE)

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
        assert flow.topics == (REAL_COPY,)
        assert flow.beat is not None
        assert flow.copied is not None
        assert (model.age(flow.beat.at_ms, session.clock.now()) or 0) < PATIENCE
        assert flow.beat.every_ms is not None
        assert 500 <= flow.beat.every_ms < 20_000
        syncs = {row.sync.partition: row for row in sync_rows(session.snapshot) if row.sync.topic == TOPIC}
        assert {row.topic for row in syncs.values()} == {REAL_COPY}
        consumer = Consumer({"bootstrap.servers": mirror.target, "group.id": "looks"})
        for number, row in points.items():
            end = consumer.get_watermark_offsets(TopicPartition(REAL_COPY, number), PATIENCE)[1]
            assert row.lag == end - row.checkpoint.downstream
            # All records of the source are copied: the last offset of the group at the source was translated.
            assert model.copied_up_to(syncs[number].sync, end) == mirror.written
        consumer.close()

        mirror.stop()
        monkeypatch.setattr(model, "_LEAST_SILENCE", 5.0)
        paces.poll_often(monkeypatch, 1.0, Part.MIRRORS)
        async with Poller(session) as poller:
            observations = begin(await poller.poll())
            while "mirror-stopped" not in {each.claim.cause for each in diagnose(observations).causes}:
                assert observations.watched.total_seconds() < PATIENCE
                await poller.rest()
                observations = after(observations, await poller.poll())
        (found,) = (each for each in diagnose(observations).causes if each.claim.cause == "mirror-stopped")
        assert found.claim.title.startswith(f"mirror {NAME}: no heartbeat of MirrorMaker for ")
        assert found.explains == {"mirror-silent": 1}
