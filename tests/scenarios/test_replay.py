"""Tests of replays of flight records, of embedded and real brokers: a replay gives the same verdicts as the live
polls.
"""

import asyncio
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nights.kept import record_of
from benchmarks.nights.said import NIGHT
from console.admin.changes import send
from console.admin.recorded import InstantLoop
from console.cli import main as cli
from console.embedded.brokers import run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.flight.anonymous import Anonymous
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.pseudonyms import Pseudonyms
from console.model import codes, config
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.cluster import GroupLag
from console.session.replay import Replay
from console.triage.diagnosis import Verdict
from console.wire.answer_parts import likeness
from console.wire.assignments import consumer_assignment
from console.wire.frames import decode_body
from console.wire.schemas import messages
from tests.support import changing, kafka_cluster, kafka_jars, worlds
from tests.support.recorded_polls import SHORT_SESSIONS, compare, timeless, watched

LIST_OFFSETS, DESCRIBE_GROUPS = 2, 15


def test_replay_gives_the_live_verdicts(tmp_path: Path) -> None:
    """A replay of a record gives the same verdicts as the live polls, during which a broker was killed and started
    again.
    """
    file = tmp_path / "a.flight"
    with run_in_thread(ClusterSpec(brokers=3, static_configs=SHORT_SESSIONS)) as cluster:
        cluster.call(lambda c: c.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3])))

        def step(number: int) -> None:
            if number == 2:
                cluster.run(lambda c: c.broker_killed(3))
            if number == 5:
                cluster.run(lambda c: c.broker_up(3))

        live = asyncio.run(watched(cluster.bootstrap, file, 9, step))
    compare(live, file)
    named = {cause.claim.cause for verdict in live for cause in verdict.causes}
    assert "broker-down" in named


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Verdict]]:
    """Provide a flight record of the scenario `incident`, and the verdicts of the live polls."""
    from console.embedded.spec import clusters_of

    file = tmp_path_factory.mktemp("record") / "incident.flight"
    (spec,) = clusters_of("incident", ClusterSpec(brokers=3, live=True)).values()
    with run_in_thread(spec) as cluster:
        live = asyncio.run(watched(cluster.bootstrap, file, 12, lambda _: None))
    return file, live


def test_replay_of_the_incident_gives_the_live_verdicts(incident: tuple[Path, list[Verdict]]) -> None:
    file, live = incident
    compare(live, file)
    assert len({cause.claim.cause for verdict in live for cause in verdict.causes}) > 3


def test_an_anonymous_record_has_the_same_causes_and_no_name(
    incident: tuple[Path, list[Verdict]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdict on an anonymous record has the same causes, brokers, partitions and numbers of symptoms as that on
    the original, but pseudonyms in place of names of topics and groups.
    """
    file, live = incident
    hidden = anonymous(file, tmp_path, Pseudonyms())
    _, plain, _ = triage(capsys, "--replay", str(file), "--output", "json")
    _, nameless, _ = triage(capsys, "--replay", str(hidden), "--output", "json")
    assert told(nameless) == told(plain)
    topics = live[-1].causes and {cause.claim.subject.topic for cause in live[-1].causes} - {None}
    assert topics
    assert not [name for name in topics if name and not name.startswith("__") and name in nameless]


def test_an_anonymous_record_says_who_reads_what(incident: tuple[Path, list[Verdict]], tmp_path: Path) -> None:
    """In an anonymous record, members of classic groups have the same partitions as in the original, in topics with
    pseudonyms.
    """
    file, _ = incident
    names = Pseudonyms()
    hidden = anonymous(file, tmp_path, names)

    def named(place: tuple[str, int]) -> tuple[str, int]:
        return names.name(place[0]), place[1]

    plain, without = assigned(file), assigned(hidden)
    assert plain
    assert without == {names.name(member): set(map(named, places)) for member, places in plain.items()}


def test_nothing_is_asked_of_a_broker_in_two_orders(incident: tuple[Path, list[Verdict]]) -> None:
    """kac never sends two requests for the same offsets, in different orders, to one broker. In an anonymous record,
    whose topics are in another order, a replay could not tell their answers apart.
    """
    reader = FlightReader(incident[0])
    asked = {reader.asked(index) for index in range(len(reader))}
    offsets = [each for each in asked if each.api_key == LIST_OFFSETS]
    alike = {(each.host, each.port, likeness(each.api_key, each.version, each.request)) for each in offsets}
    assert len(offsets) == len(alike) > 3


def test_lags_of_a_group_with_other_partitions_are_replayed_from_the_read_that_got_them() -> None:
    """After a group's member got three new partitions, each replayed lag has all six partitions, and changes with each
    recorded read of commits. kac then no longer sends the former request for end offsets, and reads the commits only
    every three seconds.
    """
    reader = FlightReader(record_of("new_partitions_from_the_end", NIGHT, kafka_jars.KAFKA_4_3))
    taken = next(at for at, held in _held(reader) if len(held) == 6)

    async def lags() -> list[tuple[int, GroupLag]]:
        replay = Replay.of(reader, "night")
        times = [each for each in replay.times if each < taken + 10_000]
        polls = [(at, await replay.poll_at(at)) for at in times]
        await replay.close()
        return [(at, poll.snapshot.lags["ledger"]) for at, poll in polls if "ledger" in poll.snapshot.lags]

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        seen = runner.run(lags())
    then = [lag for at, lag in seen if at >= taken + 1000]
    assert then
    assert all(len(lag.partitions) == 6 for lag in then)
    assert {each.member for each in then[-1].partitions} == {each.member for each in then[0].partitions} != {""}
    assert len({lag.partitions for lag in then}) > 2, "each read of commits gives another lag"
    assert all(each.committed <= each.end for _, lag in seen for each in lag.partitions)


def _held(reader: FlightReader) -> Iterator[tuple[int, set[tuple[str, int]]]]:
    """Yield, for each answer of DescribeGroups, its time and the (topic, partition) pairs that all members of the
    described groups have.
    """
    for answer in reader.answers():
        kafka = messages(answer.api_key, answer.version)
        if answer.api_key == DESCRIBE_GROUPS and answer.problem is None and kafka is not None:
            response: Any = decode_body(kafka.response, answer.body)
            members = (member for group in response.groups for member in group.members)
            yield answer.at_ms, {place for each in members for place in consumer_assignment(each.member_assignment)}


def anonymous(file: Path, folder: Path, names: Pseudonyms) -> Path:
    """Write a copy of the whole record with pseudonyms in place of names into the folder, and return its path."""
    hidden, reader = folder / "anonymous.flight", FlightReader(file)
    sink = Anonymous(FlightWriter(hidden, names.header(reader.header)), names)
    for answer in reader.answers():
        sink.add(answer)
    sink.close()
    assert sink.dropped == 0
    return hidden


def assigned(file: Path) -> dict[str, set[tuple[str, int]]]:
    """Return member id -> the (topic, partition) pairs that this group member has in a record."""
    found: dict[str, set[tuple[str, int]]] = {}
    for answer in FlightReader(file).answers():
        kafka = messages(answer.api_key, answer.version)
        if answer.api_key == DESCRIBE_GROUPS and answer.problem is None and kafka is not None:
            response: Any = decode_body(kafka.response, answer.body)
            for member in (member for group in response.groups for member in group.members):
                found.setdefault(member.member_id, set()).update(consumer_assignment(member.member_assignment))
    return found


def told(data: str) -> list[tuple[object, ...]]:
    """Return the causes of a verdict in JSON as sorted tuples: cause, certainty, broker and partition (-1 if it has
    none), the keys of the subject, and the number of symptoms that the cause explains. The tuples have no names
    of topics, groups or clients.
    """
    return sorted(
        (
            each["cause"],
            each["certainty"],
            each["subject"].get("broker", -1),
            each["subject"].get("partition", -1),
            sorted(each["subject"]),
            sum(each["explains"].values()),
        )
        for each in json.loads(data)["causes"]
    )


def triage(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.run(["triage", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


def stood(live: list[Verdict]) -> set[str]:
    """Return the ids of the causes that are in both of the last two live verdicts, because a cause from the very
    last answers may be missing in the record.
    """
    return set.intersection(*({each["id"] for each in timeless(one)["causes"]} for one in live[-2:]))


def test_triage_of_a_record(incident: tuple[Path, list[Verdict]], capsys: pytest.CaptureFixture[str]) -> None:
    file, live = incident
    code, out, _ = triage(capsys, "--replay", str(file), "--output", "json")
    assert {each["id"] for each in json.loads(out)["causes"]} >= stood(live)
    assert code in (4, 5)
    at = live[3].at.astimezone()
    code, early, _ = triage(capsys, "--replay", str(file), "--output", "json", "--at", at.isoformat())
    named = [(each["id"], each["certainty"], each["explains"]) for each in json.loads(early)["causes"]]
    assert named == [(each["id"], each["certainty"], each["explains"]) for each in timeless(live[3])["causes"]]


def test_each_change_of_the_verdict_is_printed(
    incident: tuple[Path, list[Verdict]], capsys: pytest.CaptureFixture[str]
) -> None:
    file, live = incident
    _, out, _ = triage(capsys, "--replay", str(file), "--watch")
    lines = out.splitlines()
    assert sum("  +  " in line for line in lines) >= len(stood(live))
    backwards = [(before[:8], after[:8]) for before, after in pairwise(lines) if after[:8] < before[:8]]
    assert len(backwards) <= 1, backwards  # the clock may pass midnight once


def test_a_time_before_the_record(incident: tuple[Path, list[Verdict]], capsys: pytest.CaptureFixture[str]) -> None:
    file, _ = incident
    code, _, err = triage(capsys, "--replay", str(file), "--at", "2020-01-01T00:00")
    assert (code, "the record begins at" in err) == (2, True)
    code, _, err = triage(capsys, "--replay", str(file), "--at", "yesterday")
    assert (code, "is no time" in err) == (2, True)
    code, _, err = triage(capsys, "--at", "03:11")
    assert (code, "--replay" in err) == (2, True)


def test_what_is_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no record")
    for file in (other, tmp_path / "missing"):
        code, out, err = triage(capsys, "--replay", str(file))
        assert (code, out, err.count("\n")) == (1, "", 1)


# -- on real brokers --------------------------------------------------------------------------------------------------


TOPIC = "replayed"


@pytest.mark.takes(25)
async def test_replay_gives_the_live_verdicts_of_real_brokers(
    own_cluster: kafka_cluster.KafkaCluster, tmp_path: Path
) -> None:
    """A replay gives the same verdicts as the live polls of real brokers, during which a broker was killed and started
    again while a topic had a min ISR above its number of replicas.
    """
    settings = worlds.settings(own_cluster)
    async with worlds.linked(settings) as link:
        assert await changing.applied(link, CreateTopics((NewTopic(TOPIC, 6, 3),)))
        impossible = AlterConfigs({config.topic_resource(TOPIC): (ConfigOp("min.insync.replicas", codes.SET, "4"),)})
        await send(link, impossible, validate_only=False)

    def step(number: int) -> None:
        if number == 3:
            own_cluster.kill(3)
        if number == 16:
            own_cluster.bring_up()

    file = tmp_path / "real.flight"
    live = await watched(own_cluster.bootstrap, file, 24, step)
    named = {(each.claim.cause, each.claim.subject.broker) for verdict in live for each in verdict.causes}
    assert ("broker-down", 3) in named
    assert "min-isr-impossible" in {cause for cause, _ in named}
    await asyncio.to_thread(compare, live, file)  # `compare` runs its own event loop
