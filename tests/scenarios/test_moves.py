"""Tests of partition reassignments, from the command until the last replica is copied, on embedded clusters and on real
brokers.
"""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from console.admin import changes, partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.link import until_settled
from console.cli import main as cli
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.replicas import caught_up, new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.needs import needs_of_script
from console.language.snapshot_parts import Needs
from console.model import codes, config, parts
from console.model.changes import AlterReassignments, CreateTopics, NewTopic, Status
from console.model.snapshot import Snapshot
from console.operations import goals, planner, throttle
from console.operations.forecast import forecast
from console.operations.goals import Drain
from console.operations.placement import PARTS, placement_of
from console.operations.proposal import Relocation
from console.plan.compile import predict, runbook
from console.plan.diff import diff
from console.plan.edits import CancelMove, MoveReplicas
from console.plan.kafka_tools import STDIN
from console.plan.stale_throttles import stale_throttles
from console.session.reading import read_needs
from console.session.session import Session
from console.triage.symptoms import Subject
from tests.scenarios.test_elections import ran, session_on
from tests.support import changing, kafka_cluster, real_clusters, triage_watch, worlds
from tests.support.worlds import Kac

# ----------------------------------------------------------------------------------------------------------------------
# Moves on an embedded cluster. On real brokers a broker is drained while producers write, and no partition has too few
# replicas in sync


async def test_a_partition_moves_and_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan of a move says which broker copies the partition and which one drops its replica. The revert is another
    move.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=3)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2), (2, 1)], (1, 2, 3)))
        async with session_on(cluster) as session:
            code, out, _ = await ran(session, "move topic orders partition 0 to 3,2; plan", capsys)
            assert re.search(r"move of orders/0 +move +1,2 +3,2 +staged", out)
            assert "broker 3 copies" in out
            assert "broker 1 drops its replica once the others are in sync" in out
            assert "its preferred leader is broker 3 then, not 1" in out
            code, out, _ = await ran(session, "apply --yes", capsys)
            assert code == 0, out
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (3, 2)
            code, out, _ = await ran(session, "move topic orders partition 0 to 3,2", capsys)
            assert "its replicas are there already" in out
            code, out, _ = await ran(session, "revert 1; apply --yes", capsys)
            assert code == 0, out
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 2)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("move topic orders partition 0 to 4", "it has 2 replicas, and would have 1"),
        ("move topic orders partition 0 to 9,1", "broker 9 is not alive"),
        ("move topic orders partition 1 to 1,3", "it moves to 2,3 already"),
        ("move topic orders partition 7 to 1,3", "topic orders has no partition 7"),
    ],
)
async def test_a_move_that_may_not_be_meant_is_refused(
    capsys: pytest.CaptureFixture[str], command: str, why: str
) -> None:
    """A move is refused with its reason if it changes the number of replicas, if a new replica is on a broker that is
    down, or if another tool is already moving the partition.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2), (2, 1)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        assert start_move(cluster, "orders", 1, (2, 3)).code == 0
        async with session_on(cluster) as session:
            code, out, err = await ran(session, command, capsys)
            assert code == 1
            assert why in out + err
            assert not session.plan


async def test_a_move_of_another_tool_that_starts_meanwhile_is_a_conflict(capsys: pytest.CaptureFixture[str]) -> None:
    """If another tool starts to move the partition after kac made its plan, the apply reports a conflict, and does not
    replace that move.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3, 4)))
        await cluster.broker_down(4)
        async with session_on(cluster) as session:
            await ran(session, "move topic orders partition 0 to 3,2", capsys)
            assert start_move(cluster, "orders", 0, (4, 2)).code == 0
            report = await changing.apply_plan(session)
            assert not report.sent
            (conflict,) = report.conflicts
            assert (conflict.was.value, conflict.theirs.value) == ("1,2", "2,1 → 4,2")


async def test_the_number_of_replicas_changes_where_it_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """`resize` may change the number of replicas; the runbook has the new replicas in a file for
    kafka-reassign-partitions.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=3)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3)))
        async with session_on(cluster) as session:
            await ran(session, "move topic orders partition 0 to 1,2,3 resize", capsys)
            assert [each.edit for each in session.plan.staged] == [MoveReplicas("orders", 0, (1, 2, 3), True)]
            (command,) = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", "h:1"))
            assert command.words[:1] == ("kafka-reassign-partitions",)
            assert json.loads(command.stdin)["partitions"] == [
                {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}
            ]
            report = await changing.apply_plan(session)
            assert [each.status for result in report.results for each in result.outcomes] == [Status.APPLIED]
            await cluster.settled()
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 2, 3)


async def stuck(cluster: EmbeddedCluster) -> None:
    """Begin to move orders/0 from broker 1 to brokers 2 and 3 while broker 3 is down. Broker 2 copies the partition,
    then broker 1 goes down, so the move can't end.
    """
    cluster.state.put_topic(new_topic("orders", [(1,)], (1, 2, 3, 4)))
    await cluster.broker_down(3)
    assert start_move(cluster, "orders", 0, (2, 3)).code == 0
    topic = cluster.state.topics["orders"]
    copied = caught_up(topic.partitions[0], 2, cluster.state.alive())
    cluster.state.put_topic(replace(topic, partitions=(copied,)))
    await cluster.broker_down(1)
    assert cluster.state.topics["orders"].partitions[0].isr == (2,)


async def test_a_move_back_to_none_that_is_in_sync_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """If none of the former replicas is in sync, kac and the brokers refuse to cancel the move. kac names the replicas
    that have to come back first.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        assert "unclean leader election" in (start_move(cluster, "orders", 0, None).message or "")
        async with session_on(cluster) as session:
            code, out, err = await ran(session, "cancel move topic orders partition 0", capsys)
            assert code == 1, out
            assert "none of the replicas before the move is in sync (1)" in out + err
            assert not session.plan


async def test_where_brokers_would_take_it_the_loss_is_typed(capsys: pytest.CaptureFixture[str]) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        cluster.state.alter_config(config.topic_resource("orders"), {"unclean.leader.election.enable": "true"})
        async with session_on(cluster) as session:
            await ran(session, "cancel move topic orders partition 0", capsys)
            code, out, err = await ran(session, "apply --yes", capsys)
            assert code == 3
            assert "unclean-loss" in out + err
            assert "what only broker 2 has is lost" in out + err
            assert cluster.state.topics["orders"].partitions[0].adding
            code, out, err = await ran(session, "apply --yes --accept unclean-loss=orders/0", capsys)
            assert code == 0, out + err
            assert cluster.state.topics["orders"].partitions[0].replicas == (1,)
            assert cluster.state.topics["orders"].partitions[0].leader < 0


async def test_what_was_not_read_is_judged_before_it_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    """If kac has not read the topic's configs, it still stages the cancellation, as one that may lose records. The
    apply judges the cancellation again, and does not send it: the move goes on.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        await stuck(cluster)
        async with session_on(cluster) as session:
            await session.read_cluster()
            await session.read_topics()
            await session.read_whole(parts.Part.REASSIGNMENTS)
            session.stage([CancelMove("orders", 0)])
            assert session.plan
            await ran(session, "apply --yes --accept unclean-loss=orders/0", capsys)
            assert cluster.state.topics["orders"].partitions[0].adding == (2, 3)


async def test_a_cancellation_with_a_replica_in_sync_has_no_risk(capsys: pytest.CaptureFixture[str]) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 4)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        assert start_move(cluster, "orders", 0, (2, 3)).code == 0
        await cluster.broker_down(4)
        async with session_on(cluster) as session:
            code, out, err = await ran(session, "cancel move topic orders partition 0; apply --yes", capsys)
            assert code == 0, out + err
            assert cluster.state.topics["orders"].partitions[0].replicas == (1, 4)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            "move topic orders partition 0 to 3,4",
            "broker 3 stays and is not in sync: before Kafka 4.3 the move does not",
        ),
        ("move topic orders partition 0 to 3 resize", "broker 3 stays and is not in sync: the move does not end"),
        ("move topic orders partition 0 to 3,1", ""),  # a new order of the replicas takes effect at once
        ("move topic orders partition 0 to 1,4", ""),
    ],
)
async def test_a_replica_that_stays_and_is_down_is_said(
    capsys: pytest.CaptureFixture[str], command: str, said: str
) -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=4)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 3)], (1, 2, 3, 4)))
        await cluster.broker_down(3)
        async with session_on(cluster) as session:
            _, out, err = await ran(session, f"{command}; plan", capsys)
            assert len(session.plan.staged) == 1, out + err
            text = " ".join((out + err).split())
            assert said in text
            assert bool(said) is ("stays and is not in sync" in text)


@pytest.mark.parametrize(("release", "ends"), [("3.9", False), ("4.4", True)])
async def test_a_move_that_waits_for_a_replica_that_stays(release: str, *, ends: bool) -> None:
    """Before Kafka 4.3 a move ends only when the replicas that stay are in sync too, so it does not end while one of
    them is down. From 4.3 on it ends.
    """
    async with EmbeddedCluster(ClusterSpec(brokers=3, versions=release)) as cluster:
        cluster.state.put_topic(new_topic("orders", [(1, 2)], (1, 2, 3)))
        await cluster.broker_down(2)
        assert start_move(cluster, "orders", 0, (2, 3)).code == 0
        await cluster.settled()
        partition = cluster.state.topics["orders"].partitions[0]
        if ends:
            assert (partition.replicas, partition.isr, partition.adding) == ((2, 3), (3,), ())
            return
        assert (partition.replicas, partition.adding, partition.removing) == ((2, 3, 1), (3,), (1,))
        assert set(partition.isr) == {1, 3}
        async with triage_watch.watching(worlds.settings(cluster)) as it:
            await it.names("reassignment-stalled", Subject(topic="orders", partition=0))
        await cluster.broker_up(2)
        partition = cluster.state.topics["orders"].partitions[0]
        assert (partition.replicas, set(partition.isr), partition.adding) == ((2, 3), {2, 3}, ())


# -- on real brokers --------------------------------------------------------------------------------------------------


REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"

DRAINED = 3

client = worlds.client("racked_cluster", known=1)


async def polled(client: AdminClient) -> Session:
    """Return a session that has read all data that a placement of replicas needs."""
    session = Session(client, Context("test", "test", client.settings, journal=False))
    await read_needs(session, Needs(parts=PARTS, every=frozenset({codes.TOPIC, codes.BROKER})))
    return session


def replicas_of(snapshot: Snapshot) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(t.name, p.number): p.replicas for t in snapshot.topics.values() for p in t.partitions}


@real_clusters.BOTH
async def test_a_broker_is_drained_under_load(
    racked_cluster: kafka_cluster.KafkaCluster, client: AdminClient, tmp_path: Path
) -> None:
    """While kac drains a broker, no produce with acks=all fails, and no poll finds a partition below its min ISR. In
    the end the racks are kept, and no throttle or reassignment is left.
    """
    layouts = {"orders": ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4)), "audit": ((3, 2), (2, 3))}
    made = CreateTopics(
        tuple(
            NewTopic(name, assignments=assignments, configs={"min.insync.replicas": str(len(assignments[0]) - 1)})
            for name, assignments in layouts.items()
        )
    )
    assert all(each.ok for each in await client.run(send, made, validate_only=False))
    stop = asyncio.Event()
    produced, below = 0, []

    async def produce() -> None:
        nonlocal produced
        producer = AIOKafkaProducer(bootstrap_servers=racked_cluster.bootstrap, acks="all")
        await producer.start()
        try:
            while not stop.is_set() or produced < 200:
                for name in layouts:
                    await producer.send_and_wait(name, b"x" * 20_000)
                    produced += 1
        finally:
            await producer.stop()

    async def sample() -> None:
        while not stop.is_set():
            listing = await client.run(topics.describe_topics, list(layouts))
            for topic in listing.topics.values():
                least = len(layouts[topic.name][0]) - 1
                below.extend((topic.name, each) for each in topic.partitions if len(each.isr) < least)
            await asyncio.sleep(0.05)

    load = asyncio.gather(produce(), sample())

    async def written() -> int:
        return produced

    await until_settled(written, lambda count: count < 100, within=120, attempts=1200)
    session = await polled(client)
    placement = placement_of(session.snapshot)
    proposal = planner.propose(Drain((DRAINED,)), placement)
    said = forecast(proposal, placement, 10**8)
    assert not proposal.held
    assert said.bytes > 0
    assert said.fewer_racks == ()
    (drained,) = (each for each in said.brokers if each.id == DRAINED)
    assert drained.replicas[0] >= 5
    assert drained.replicas[1] == drained.leads[1] == drained.bytes[1] == 0
    assert await valid_beside_kafka(racked_cluster, tmp_path, session.snapshot, proposal.moves)

    throttles = throttle.throttle_edits(proposal.moves, proposal.dirs, 5_000_000)
    edits = (*throttles, *(MoveReplicas(each.topic, each.number, each.after) for each in proposal.moves))
    parsed = [parse(command_of(each))[0] for each in edits]
    await read_needs(session, needs_of_script(parsed))
    staged = session.stage([edit for each in parsed for edit in to_edits(each, session.snapshot)])  # type: ignore[arg-type]
    assert tuple(each.edit for each in staged.added) == edits
    wanted = replicas_of(predict(session.snapshot, session.plan))
    commands = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", racked_cluster.bootstrap))
    (command,) = (each for each in commands if each.words[0] == "kafka-reassign-partitions")
    report = await changing.apply_plan(session)
    assert {each.status for result in report.results for each in result.outcomes} == {Status.APPLIED}

    async def moving() -> int:
        return len(await client.run(partitions.list_reassignments))

    assert await until_settled(moving, bool, within=120, attempts=1200) == 0
    stop.set()
    await load
    assert below == []
    assert produced >= 200
    session = await polled(client)
    now = replicas_of(session.snapshot)
    for move in proposal.moves:
        assert now[move.topic, move.number] == move.after == wanted[move.topic, move.number][: len(move.after)]
    assert all(DRAINED not in replicas for replicas in now.values())
    assert all(placement.racks(now[place]) >= placement.racks(each) for place, each in layouts_of(layouts).items())
    assert planner.propose(Drain((DRAINED,)), placement_of(session.snapshot)).reached

    file = tmp_path / "moves.json"
    file.write_text(command.stdin)
    assert STDIN in command.words
    words = ("--bootstrap-server", racked_cluster.bootstrap, "--reassignment-json-file", str(file))
    left = stale_throttles(session.snapshot)
    assert {each.edit.target for each in left} == {each.target for each in throttles}
    assert not session.stage([each.edit for each in left]).refused
    await changing.apply_plan(session)
    assert stale_throttles((await polled(client)).snapshot) == ()
    verified = await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *words, "--verify", "--preserve-throttles")
    assert verified.stdout.count("is completed") == len(proposal.moves), verified.stdout + verified.stderr


def layouts_of(layouts: dict[str, tuple[tuple[int, ...], ...]]) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(name, number): each for name, some in layouts.items() for number, each in enumerate(some)}


async def valid_beside_kafka(
    cluster: kafka_cluster.KafkaCluster, folder: Path, snapshot: Snapshot, moves: tuple[Relocation, ...]
) -> bool:
    """Return whether kac's proposal copies at most as many replicas as the proposal of kafka-reassign-partitions
    --generate. Raises AssertionError unless both proposals keep the number of replicas and put them on different
    racks, and neither uses the drained broker.
    """
    file = folder / "topics.json"
    names = sorted({each.topic for each in moves})
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": name} for name in names]}))
    rest = [broker for broker in real_clusters.RACKS if broker != DRAINED]
    words = ("--generate", "--topics-to-move-json-file", str(file), "--broker-list", ",".join(map(str, rest)))
    done = await asyncio.to_thread(cluster.run_tool, REASSIGN, "--bootstrap-server", cluster.bootstrap, *words)
    theirs = json.loads(done.stdout.strip().splitlines()[-1])["partitions"]
    before = replicas_of(snapshot)
    generated = {(each["topic"], each["partition"]): tuple(each["replicas"]) for each in theirs}
    ours = {place: each for place, each in before.items() if place in generated}
    ours |= {(each.topic, each.number): each.after for each in moves}
    for proposed in (generated, ours):
        for place, replicas in proposed.items():
            assert set(replicas) <= set(rest)
            assert len(set(replicas)) == len(replicas) == len(before[place])
            assert len({real_clusters.RACKS[each] for each in replicas}) == len(replicas)
    copied = [sum(len(set(each) - set(before[place])) for place, each in some.items()) for some in (ours, generated)]
    return copied[0] <= copied[1]


# -- `kac moves`: its plan, its forecast, and the effect of its script -------------------------------------------------

PLACES = ((1, 2), (3, 1), (2, 3), (3, 2))

cluster = worlds.cluster(ClusterSpec(brokers=4), worlds.topic("orders", PLACES, brokers=(1, 2, 3, 4)))

kac = worlds.commands()


def settled_replicas(cluster: ThreadedCluster) -> list[tuple[int, ...]]:
    """Wait until no reassignment of topic orders is running; return the broker ids of each partition's replicas."""

    async def settled(embedded: EmbeddedCluster) -> list[tuple[int, ...]]:
        await embedded.settled()
        return [each.replicas for each in embedded.state.topics["orders"].partitions]

    return cluster.run(settled)


def test_a_script_drains_a_broker(kac: Kac, cluster: ThreadedCluster) -> None:
    """The script that `kac moves` prints stages the same moves as its text, its JSON and its file for Kafka's tool.
    After the apply, a second plan is empty.
    """
    said = kac("moves", "drain", "3")
    assert said.code == 0
    assert "3 partitions" in said.out
    assert "kac run -f -" in said.out
    data = json.loads(kac("moves", "drain", "3", "--output", "json").out.splitlines()[0])
    file = json.loads(kac("moves", "drain", "3", "--output", "kafka").out)
    wanted = {each["partition"]: tuple(each["replicas"]) for each in file["partitions"]}
    assert sorted(wanted) == [1, 2, 3]
    assert {each["partition"]: tuple(each["to"]) for each in data["moves"]} == wanted
    script = kac("moves", "drain", "3", "--script").out
    assert script.splitlines()[0].startswith("move topic orders partition 1 to ")
    assert kac("run", "-e", f"{script}\napply --yes").code == 0
    now = settled_replicas(cluster)
    assert all(3 not in replicas for replicas in now)
    assert {number: now[number] for number in wanted} == wanted
    assert "no replica has to move" in kac("moves", "drain", "3").out


def test_a_throttle_ends_by_itself_and_is_in_the_journal_before(kac: Kac, cluster: ThreadedCluster) -> None:
    """A script with a throttle sets rates on the brokers that copy or are copied from, and lists of throttled
    replicas on the topic. The journal has the time at which each of these settings is to be reverted, and `kac
    due` lists the settings.
    """
    script = kac("moves", "drain", "3", "--throttle", "50MB/s", "--script").out
    assert kac("run", "-e", f"{script}\napply --yes").code == 0
    configs = cluster.call(lambda c: {name: dict(found) for name, found in c.state.configs.items()})
    lists = configs[config.topic_resource("orders")]
    assert lists["leader.replication.throttled.replicas"] == "1:3,1:1,2:2,2:3,3:3,3:2"
    moved = settled_replicas(cluster)
    copies = [f"{number}:{new}" for number, replicas in enumerate(moved) for new in set(replicas) - set(PLACES[number])]
    assert lists["follower.replication.throttled.replicas"].split(",") == copies
    for broker in (1, 2, 3, 4):
        assert configs[config.broker_resource(broker)]["follower.replication.throttled.rate"] == "50000000"
    due = json.loads(kac("due", "--output", "json").out.splitlines()[0])
    assert len(due["due"]) == 10
    change = str(due["due"][0]["change"])
    assert kac("run", "-e", f"revert {change}; plan").code in (0, 3)


def test_what_has_to_wait_is_named_and_has_its_exit_code(kac: Kac, cluster: ThreadedCluster) -> None:
    cluster.run(lambda c: c.broker_down(4))
    said = kac("moves", "topic", "orders", "to", "4,3")
    assert said.code == 4
    why = "4 partitions can't move: factor 2 needs 2 other brokers, 1 can take replicas (orders/0, orders/1 and 2 more)"
    assert said.out.splitlines().count(why) == 1, said.out
    script = kac("moves", "topic", "orders", "to", "4,3", "--script")
    assert (script.code, script.out) == (4, "")
    assert why in script.complaints
    held = json.loads(kac("moves", "topic", "orders", "to", "4,3", "--output", "json").out.splitlines()[1])["held"]
    assert [each["partition"] for each in held] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("drain", 2, "expected drain ID"),
        ("drain 3,3", 2, "a broker is named twice"),
        ("drain all", 2, "is not a whole number"),
        ("replace 3 with 4", 2, "expected drain ID"),
        ("replace 3 by 9", 1, "broker 9 is not in the cluster"),
        ("replication none 2", 1, "there is no topic none"),
        ("drain 3 dir", 2, "drain ID dir PATH"),
        ("drain 3 dir /nowhere", 1, "broker 3 has no log directory /nowhere; it has "),
        ("--run", 2, "a goal is missing"),
        ("--throttle 1MB/s", 2, "goes with a goal"),
        ("--operation 3", 2, "add --throttle"),
        ("--give-up", 2, "--give-up needs --operation"),
        ("--operation 9 --give-up", 1, "no operation 9 is open"),
        ("drain 3 --continue", 2, "take no goal"),
        ("--cancel 9", 1, "no operation 9 is open"),
        ("back 9 --run --yes", 1, "has no operation 9"),
    ],
)
def test_what_is_no_goal_or_does_not_go_together_is_refused(kac: Kac, words: str, code: int, why: str) -> None:
    ran = kac("moves", *words.split())
    assert ran.code == code
    assert why in ran.complaints


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        (["drain", "1,2"], goals.Drain((1, 2))),
        (["replace", "1", "by", "2"], goals.Replace(1, 2)),
        (["balance"], goals.Balance()),
        (["topic", "a b", "to", "1,2"], goals.MoveTopic("a b", (1, 2))),
        (["replication", "t", "3"], goals.Replicate("t", 3)),
        (["drain", "1", "dir", "/a b"], goals.DrainDir(1, "/a b")),
        (["topic", "a b", "broker", "1", "to", "dir", "/a b"], goals.MoveIntoDir("a b", 1, "/a b")),
        (["topic", "t", "partition", "0", "broker", "1", "to", "dir", "/a"], goals.MoveIntoDir("t", 1, "/a", 0)),
    ],
)
def test_a_goal_is_read_as_it_is_written(words: list[str], goal: goals.Goal) -> None:
    assert goals.goal_of(words) == goal
    assert str(goal).split() == " ".join(words).split()


def test_a_goal_is_run_and_listed(kac: Kac, cluster: ThreadedCluster) -> None:
    """`kac moves --run` asks for a confirmation, works until it has reached the goal, and leaves no throttle; `kac
    moves` then lists the operation.
    """
    assert kac("moves", "drain", "3", "--run").code == 1
    ran = kac("moves", "drain", "3", "--throttle", "50MB/s", "--run", "--yes")
    assert ran.code == 0, ran
    assert "operation 1 (drain 3) is done" in ran.complaints
    assert all(3 not in replicas for replicas in settled_replicas(cluster))
    assert not any("throttled" in key for found in cluster.call(configs_of).values() for key in found)
    listed = [json.loads(line) for line in kac("moves", "--output", "json").out.splitlines()]
    (operation,) = listed[0]["operations"]
    assert (operation["operation"], operation["goal"], operation["state"]) == (1, "drain 3", "done")
    assert listed[1]["moves"] == []
    back = kac("moves", "back", "1", "--run", "--yes")
    assert back.code == 0, back
    assert settled_replicas(cluster) == list(PLACES)
    assert kac("moves", "--continue").code == 0


def configs_of(cluster: EmbeddedCluster) -> dict[str, dict[str, str]]:
    return {resource.name: dict(found) for resource, found in cluster.state.configs.items()}


class Died(BaseException):
    """Raised to end a run of kac without cleanup, as kill -9 ends a process."""


def test_leftovers_say_what_an_operation_owns(
    kac: Kac, cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kac leftovers` names the operation that owns a throttle. A throttle that the journal does not have is listed
    with an unknown owner, and the script that `kac leftovers` prints removes only this throttle.
    """
    send = changes.send

    async def dies(link: Any, request: Any, **rest: Any) -> Any:
        """Raise Died after the throttles are set, before the first reassignment request is sent."""
        if isinstance(request, AlterReassignments) and not rest["validate_only"]:
            raise Died
        return await send(link, request, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "send", dies)
        with pytest.raises(Died):
            kac("moves", "drain", "3", "--throttle", "50MB/s", "--run", "--yes")
    cluster.call(
        lambda c: c.state.alter_config(config.topic_resource("others"), {"leader.replication.throttled.replicas": "*"})
    )
    cluster.call(lambda c: c.state.put_topic(new_topic("others", ((1, 2),), (1, 2, 3, 4))))
    found = json.loads(kac("leftovers", "--output", "json").out.splitlines()[-1])["leftovers"]
    owners = {each["entity"]: each["operation"] for each in found}
    assert owners.pop("topic others") is None
    assert set(owners.values()) == {1}
    script = kac("leftovers", "--script").out.splitlines()
    assert len(script) == 1
    assert "others" in script[0]
    assert kac("moves", "--continue").code == 0
    (left,) = json.loads(kac("leftovers", "--output", "json").out)["leftovers"]
    assert left["entity"] == "topic others"


@pytest.mark.parametrize("words", [["drain", "3", "--run", "--yes"], ["drain", "3", "--run"], ["--cancel", "1"]])
def test_a_context_wants_its_name_typed_also_with_yes(
    cluster: ThreadedCluster,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contexts = tmp_path / "config.toml"
    servers = f'"bootstrap.servers" = "{cluster.bootstrap}"\n'
    contexts.write_text(f"[contexts.prod]\n{servers}confirm = true\n[contexts.lab]\n{servers}")
    monkeypatch.setenv("KAC_CONFIG", str(contexts))
    assert cli.run(["moves", "-c", "prod", *words]) == 1
    assert "context prod wants its name typed, and there is no terminal" in capsys.readouterr().err
    assert settled_replicas(cluster) == list(PLACES)
    assert not cluster.call(lambda c: [key for configs in c.state.configs.values() for key in configs if "thr" in key])
