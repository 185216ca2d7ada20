"""Tests of MirrorMaker's records and flows: any bytes are decoded or refused, and records belong to the right flow."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import mirror
from console.model.connect import connector_resource
from console.model.mirror import Beat, Checkpoint, Followed, Heartbeat, Kept, MirrorListing, MirrorRecord, OffsetSync
from console.model.records import BatchFacts, Record
from tests.support import connectors as made
from tests.support import internal_topics
from tests.support.mirror_records import TOPICS, encoded

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT_MS = round(AT.timestamp() * 1000)
names = st.text(st.characters(codec="utf-8"), max_size=20)
offsets = st.integers(-(2**63), 2**63 - 1)
partitions = st.integers(-(2**31), 2**31 - 1)
RECORDS = st.one_of(
    st.builds(Heartbeat, names, names),
    st.builds(Checkpoint, names, names, partitions, offsets, offsets),
    st.builds(OffsetSync, names, partitions, offsets, offsets),
)


def record(topic: str, key: bytes | None, value: bytes | None, at_ms: int = AT_MS) -> Record:
    return Record(topic, 0, 0, at_ms, key, value, (), BatchFacts(0))


def written(one: MirrorRecord, at_ms: int = AT_MS) -> Record:
    return record(TOPICS[type(one)], *encoded(one, at_ms), at_ms)


@given(RECORDS, st.integers(0, 2**62))
def test_what_is_encoded_is_decoded(one: MirrorRecord, at_ms: int) -> None:
    assert mirror.decoded(written(one, at_ms)) == (one, at_ms)


@given(st.sampled_from([*TOPICS.values(), "orders"]), st.none() | st.binary(), st.none() | st.binary())
def test_any_bytes_are_a_record_or_none(topic: str, key: bytes | None, value: bytes | None) -> None:
    found = mirror.decoded(record(topic, key, value))
    assert found is None or encoded(*found)[0] == key


@given(RECORDS, st.data())
def test_a_record_that_is_cut_or_longer_is_none(one: MirrorRecord, data: st.DataObject) -> None:
    key, value = encoded(one, AT_MS)
    cut = data.draw(st.integers(0, len(value) - 1))
    assert mirror.decoded(record(TOPICS[type(one)], key, value[:cut])) is None
    assert mirror.decoded(record(TOPICS[type(one)], key, value + b"\0")) is None


@pytest.mark.parametrize("recording", internal_topics.recorded().mirrors, ids=lambda each: each.version)
def test_what_mirrormaker_wrote_is_what_its_own_classes_say(recording: internal_topics.Recording) -> None:
    """kac's text of recorded records equals the output of Java's formatters, which print toString of Heartbeat,
    Checkpoint and OffsetSync.
    """
    for name, topic in internal_topics.MIRRORED.items():
        found = [mirror.decoded(record(topic, each.key, each.value)) for each in recording.sent if each.topic == topic]
        lines = recording.printed[f"{name} {topic}"].splitlines()
        assert found
        assert [said(*each) for each in found if each is not None] == [line.partition(", meta")[0] for line in lines]


def said(one: MirrorRecord, at_ms: int) -> str:
    match one:
        case Heartbeat(source, target):
            return f"Heartbeat{{sourceClusterAlias={source}, targetClusterAlias={target}, timestamp={at_ms}}}"
        case Checkpoint(group, topic, partition, upstream, downstream):
            return (
                f"Checkpoint{{consumerGroupId={group}, topicPartition={topic}-{partition}, "
                f"upstreamOffset={upstream}, downstreamOffset={downstream}"
            )
        case OffsetSync(topic, partition, upstream, downstream):
            return (
                f"OffsetSync{{topicPartition={topic}-{partition}, upstreamOffset={upstream}, "
                f"downstreamOffset={downstream}}}"
            )


@given(st.lists(st.tuples(RECORDS, st.integers(0, 2**40)), max_size=20), st.data())
def test_records_read_in_parts_give_what_they_give_at_once(
    wrote: list[tuple[MirrorRecord, int]], data: st.DataObject
) -> None:
    records = [written(*each) for each in wrote]
    cut = data.draw(st.integers(0, len(records)))
    assert mirror.with_records(mirror.with_records({}, records[:cut]), records[cut:]) == mirror.with_records(
        {}, records
    )
    newest = mirror.with_records({}, records)
    assert {key: each.record for key, each in newest.items()} == {mirror.key_of(each): each for each, _ in wrote}


def test_the_newest_records_are_kept_and_two_heartbeats_tell_their_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    beat = Heartbeat("east", "west")
    kept = mirror.with_records({}, [written(beat, 1_000), written(Heartbeat("x", "y"), 1_500), written(beat, 4_000)])
    assert kept[beat] == Kept(beat, 4_000, 1_000)
    monkeypatch.setattr(mirror, "MOST_KEPT", 2)
    records = [written(OffsetSync(name, 0, 1, 1)) for name in ("a", "b", "a", "c")]
    assert [*mirror.with_records({}, records)] == [("a", 0), ("c", 0)]


def listing(topics: Mapping[str, Iterable[MirrorRecord]]) -> MirrorListing:
    return MirrorListing(
        {
            topic: Followed({mirror.key_of(each): Kept(each, AT_MS, AT_MS - 1_000) for each in records})
            for topic, records in topics.items()
        },
        {},
    )


def flows(
    topics: Mapping[str, Iterable[MirrorRecord]], *copies: str, at: datetime = AT, **more: object
) -> dict[str, mirror.Flow]:
    known: Mapping[str, mirror.Flow] = more.get("known", {})  # type: ignore[assignment]
    told: list[mirror.MirrorConnector] = more.get("connectors", [])  # type: ignore[assignment]
    return mirror.flows(frozenset({*topics, *copies}), listing(topics), told, known, at)


BEATS: dict[str, list[MirrorRecord]] = {"heartbeats": [Heartbeat("east", "west")]}
POINT = Checkpoint("billing", "east.orders", 0, 7, 5)
SYNC = OffsetSync("orders", 0, 10, 9)


def test_a_flow_has_its_heartbeats_copies_groups_and_syncs() -> None:
    found = flows(
        {
            **BEATS,
            "east.heartbeats": [Heartbeat("west", "east")],
            "east.checkpoints.internal": [POINT],
            "mm2-offset-syncs.east.internal": [SYNC, OffsetSync("heartbeats", 0, 1, 1)],
        },
        "east.orders",
        "orders-of-west",
        "eastern",
    )
    (flow,) = found.values()
    beat = Beat(AT_MS, 1_000, AT)
    assert (flow.name, flow.topics, flow.groups) == ("east->west", ("east.orders",), ["billing"])
    assert (flow.beat, flow.copied, flow.checkpoints) == (beat, beat, ((POINT, AT_MS),))
    assert [sync.topic for sync, _ in flow.syncs] == ["heartbeats", "orders"]
    assert flow.copy_of("orders") == "east.orders"


def test_copies_are_known_by_syncs_of_this_flow_and_by_checkpoints() -> None:
    """kac assigns copies to the right flow by offset syncs and checkpoints, if both clusters have orders and a copy of
    the other's orders, and both flows' topics of syncs have the same name.
    """
    topics = {**BEATS, "mm2-offset-syncs.east.internal": [SYNC]}
    (flow,) = flows(topics, "east.orders", "orders").values()
    assert flow.syncs == ()
    told = mirror.MirrorConnector("main/m", mirror.SOURCE_CLASS, "east", "west", True)
    (flow,) = flows(topics, "east.orders", "orders", connectors=[told]).values()
    assert (len(flow.syncs), flow.connectors) == (1, ("main/m",))
    topics = {
        **BEATS,
        "east.checkpoints.internal": [Checkpoint("g", "orders", 0, 1, 1), Checkpoint("g", "gone", 0, 1, 1)],
    }
    (flow,) = flows(topics, "orders", "other").values()
    assert flow.topics == ("orders",)


def test_which_flows_there_are() -> None:
    # A copy of a copy makes no further flow.
    topics = {**BEATS, "east.heartbeats": [Heartbeat("n", "east")], "east.north.heartbeats": [Heartbeat("x", "north")]}
    assert [*flows(topics, "east.orders")] == ["east->west"]
    assert [*flows({"east.checkpoints.internal": [POINT]}, "east.orders")] == ["east->?"]
    both = {**BEATS, "north.checkpoints.internal": [Checkpoint("g", "north.a", 0, 1, 1)]}
    assert [*flows(both, "north.a")] == ["east->west", "north->west"]
    assert flows({"platform.heartbeats": [], "heartbeats": []}, "platform.orders") == {}
    beats: dict[str, list[MirrorRecord]] = {"heartbeats": [Heartbeat(f"s{n}", "west") for n in range(1_000)]}
    assert len(flows(beats)) == mirror.MOST_FLOWS


def test_an_unchanged_heartbeat_keeps_the_time_of_its_first_sight() -> None:
    first = flows(BEATS, "east.orders")
    later = AT + timedelta(minutes=5)
    (flow,) = flows(BEATS, "east.orders", at=later, known=first).values()
    assert flow.beat == Beat(AT_MS, 1_000, AT)
    beat = Heartbeat("east", "west")
    found = mirror.flows(
        ["heartbeats", "east.orders"],
        MirrorListing({"heartbeats": Followed({beat: Kept(beat, AT_MS + 9)})}, {}),
        [],
        first,
        later,
    )
    assert found["east->west"].beat == Beat(AT_MS + 9, None, later)


@pytest.mark.parametrize(
    ("every_ms", "seconds", "silent"),
    [
        (1_000, 119, False),
        (1_000, 121, True),
        (20_000, 199, False),
        (20_000, 201, True),
        (None, 899, False),
        (None, 901, True),
    ],
)
def test_a_flow_is_silent_after_ten_intervals_and_two_minutes(every_ms: int | None, seconds: int, silent: bool) -> None:
    beat = Beat(AT_MS, every_ms, AT)
    assert mirror.is_silent(beat, AT + timedelta(seconds=seconds)) is silent


def test_the_connectors_of_mirrormaker_are_known_by_class() -> None:
    cluster = made.cluster(made.connector("m"), made.connector("short"), made.connector("other"))
    configs = {
        connector_resource("main", "m"): made.config(
            connector_class=mirror.SOURCE_CLASS, source_cluster_alias="east", target_cluster_alias="west"
        ),
        connector_resource("main", "short"): made.config(connector_class="MirrorHeartbeat"),
        connector_resource("main", "other"): made.config(),
    }
    found = [*mirror.mirror_connectors({"main": cluster}, configs)]
    assert found == [
        mirror.MirrorConnector("main/m", mirror.SOURCE_CLASS, "east", "west", False),
        mirror.MirrorConnector("main/short", mirror.HEARTBEAT_CLASS, "source", "target", False),
    ]


@given(st.lists(st.sampled_from(["heartbeats", "a.heartbeats", "a.checkpoints.internal", "orders", "xheartbeats"])))
def test_topics_are_chosen_by_name(given_names: list[str]) -> None:
    chosen = {"heartbeats", "a.heartbeats", "a.checkpoints.internal"}
    assert {*mirror.mirror_topics(given_names)} == chosen & {*given_names}
