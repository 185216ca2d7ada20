"""Moves on real brokers: a broker is drained while producers write, and no partition has too few replicas in sync."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from console.admin import partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.link import until_settled
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.needs import needs_of_script
from console.language.snapshot_parts import Needs
from console.model.changes import CreateTopics, NewTopic, Status
from console.model.codes import BROKER, TOPIC
from console.model.snapshot import Snapshot
from console.operations.forecast import forecast
from console.operations.goals import Drain
from console.operations.placement import PARTS, placement_of
from console.operations.planner import propose
from console.operations.proposal import Relocation
from console.operations.throttle import throttle_edits
from console.plan.compile import predict, runbook
from console.plan.diff import diff
from console.plan.edits import MoveReplicas
from console.plan.kafka_tools import STDIN
from console.plan.stale_throttles import stale_throttles
from console.session.reading import read_needs
from console.session.session import Session
from tests.support.applied import apply_plan
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import BOTH, RACKS

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
DRAINED = 3


@pytest.fixture
async def client(racked_cluster: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses[:1]))
    made.start()
    yield made
    made.close()


async def polled(client: AdminClient) -> Session:
    """A session that has read what a placement is made of."""
    session = Session(client, Context("test", "test", client.settings, journal=False))
    await read_needs(session, Needs(parts=PARTS, every=frozenset({TOPIC, BROKER})))
    return session


def replicas_of(snapshot: Snapshot) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(t.name, p.number): p.replicas for t in snapshot.topics.values() for p in t.partitions}


@BOTH
async def test_a_broker_is_drained_under_load(
    racked_cluster: KafkaCluster, client: AdminClient, tmp_path: Path
) -> None:
    """No produce with acks=all fails, no partition is below min ISR at any poll, racks stay, nothing is left."""
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
    proposal = propose(Drain((DRAINED,)), placement)
    said = forecast(proposal, placement, 10**8)
    assert not proposal.held
    assert said.bytes > 0
    assert said.fewer_racks == ()
    (drained,) = (each for each in said.brokers if each.id == DRAINED)
    assert drained.replicas[0] >= 5
    assert drained.replicas[1] == drained.leads[1] == drained.bytes[1] == 0
    assert await valid_beside_kafka(racked_cluster, tmp_path, session.snapshot, proposal.moves)

    throttles = throttle_edits(proposal.moves, proposal.dirs, 5_000_000)
    edits = (*throttles, *(MoveReplicas(each.topic, each.number, each.after) for each in proposal.moves))
    parsed = [parse(command_of(each))[0] for each in edits]
    await read_needs(session, needs_of_script(parsed))
    staged = session.stage([edit for each in parsed for edit in to_edits(each, session.snapshot)])  # type: ignore[arg-type]
    assert tuple(each.edit for each in staged.added) == edits
    wanted = replicas_of(predict(session.snapshot, session.plan))
    commands = runbook(diff(session.plan, session.snapshot), ("--bootstrap-server", racked_cluster.bootstrap))
    (command,) = (each for each in commands if each.words[0] == "kafka-reassign-partitions")
    report = await apply_plan(session)
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
    assert propose(Drain((DRAINED,)), placement_of(session.snapshot)).reached

    file = tmp_path / "moves.json"
    file.write_text(command.stdin)
    assert STDIN in command.words
    words = ("--bootstrap-server", racked_cluster.bootstrap, "--reassignment-json-file", str(file))
    left = stale_throttles(session.snapshot)
    assert {each.edit.target for each in left} == {each.target for each in throttles}
    assert not session.stage([each.edit for each in left]).refused
    await apply_plan(session)
    assert stale_throttles((await polled(client)).snapshot) == ()
    verified = await asyncio.to_thread(racked_cluster.run_tool, REASSIGN, *words, "--verify", "--preserve-throttles")
    assert verified.stdout.count("is completed") == len(proposal.moves), verified.stdout + verified.stderr


def layouts_of(layouts: dict[str, tuple[tuple[int, ...], ...]]) -> dict[tuple[str, int], tuple[int, ...]]:
    return {(name, number): each for name, some in layouts.items() for number, each in enumerate(some)}


async def valid_beside_kafka(
    cluster: KafkaCluster, folder: Path, snapshot: Snapshot, moves: tuple[Relocation, ...]
) -> bool:
    """Whether our proposal holds what kafka-reassign-partitions --generate's does, and copies no more replicas."""
    file = folder / "topics.json"
    names = sorted({each.topic for each in moves})
    file.write_text(json.dumps({"version": 1, "topics": [{"topic": name} for name in names]}))
    rest = [broker for broker in RACKS if broker != DRAINED]
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
            assert len({RACKS[each] for each in replicas}) == len(replicas)
    copied = [sum(len(set(each) - set(before[place])) for place, each in some.items()) for some in (ours, generated)]
    return copied[0] <= copied[1]
