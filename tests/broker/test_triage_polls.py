"""Real brokers that die, hang and come back: how soon triage says so, and how sure it is."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_quorum
from console.admin.errors import AdminError
from console.admin.settings import ConnectionSettings
from console.cli.triage import watch_verdicts
from console.contexts.context import Context
from console.model.changes import CreateTopics, NewTopic
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.real_clusters import KAFKA_3_9, running

Found = tuple[str, int | None, str]
"""A cause, its broker, its certainty."""


class Watching:
    """Polls on and on; what each verdict named, with its time by the monotonic clock."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self.observations: Observations | None = None
        self.seen: list[tuple[float, frozenset[Found]]] = []

    async def until(self, holds: Callable[[frozenset[Found]], bool]) -> float:
        """The time at which a verdict named this. Polls without an answer are left out."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    poll = await self.poller.poll()
                except AdminError:
                    await self.poller.rest()
                    continue
                self.observations = begin(poll) if self.observations is None else after(self.observations, poll)
                found = _found(diagnose(self.observations))
                self.seen.append((time.monotonic(), found))
                if holds(found):
                    return self.seen[-1][0]
                await self.poller.rest()


def _found(verdict: Verdict) -> frozenset[Found]:
    return frozenset((c.claim.cause, c.claim.subject.broker, c.claim.certainty.value) for c in verdict.causes)


@pytest.fixture(params=["breakable_cluster", pytest.param("3.9", marks=pytest.mark.long)])
def three(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    """Three brokers of a release, to kill and stop."""
    if request.param == "breakable_cluster":
        yield request.getfixturevalue("own_cluster")
    else:
        yield from running(lambda: KafkaCluster(KAFKA_3_9, brokers=3))


async def test_a_broker_is_killed_comes_back_and_hangs(
    three: KafkaCluster, name: str, record_property: Callable[[str, object], None]
) -> None:
    """Killed: down, likely at once, since its port is closed; certain once it is fenced. Stopped: does not answer."""
    settings = ConnectionSettings(bootstrap=three.addresses)

    def note(what: str, seconds: float) -> None:
        record_property(what, round(seconds, 2))
        print(f"{three.version} {what}: {seconds:.2f} s")

    with AdminClient(settings) as client:
        # Before 4.0 a broker that is away is told from the replicas that it has.
        topic = CreateTopics((NewTopic(name, 6, 3),))
        assert all(each.ok for each in await client.run(send, topic, validate_only=False))
        async with Poller(Session(client, Context("test", "tests", settings))) as poller:
            watching = Watching(poller)
            await watching.until(lambda found: not found)
            await asyncio.to_thread(three.kill, 3)
            killed = time.monotonic()
            likely = await watching.until(lambda found: ("broker-down", 3, "likely") in found)
            certain = await watching.until(lambda found: ("broker-down", 3, "certain") in found)
            note("killed, likely", likely - killed)
            note("killed, certain", certain - killed)
            after_it = [found for at, found in watching.seen if at >= likely]
            assert all(any(each[:2] == ("broker-down", 3) for each in found) for found in after_it), after_it
            await asyncio.to_thread(three.restart, 3)
            await watching.until(lambda found: not any(each[:2] == ("broker-down", 3) for each in found))
            await watching.until(lambda found: not found or {each[0] for each in found} == {"leader-skew"})
            with three.hanging(2):
                stopped = time.monotonic()
                silent = await watching.until(
                    lambda found: any(each[:2] == ("broker-unresponsive", 2) for each in found)
                )
                note("stopped, unresponsive", silent - stopped)
                down = await watching.until(lambda found: ("broker-down", 2, "certain") in found)
                note("stopped, fenced", down - stopped)
            await watching.until(lambda found: not any(each[1] == 2 and each[0] != "leader-skew" for each in found))


async def _judged(addresses: Sequence[tuple[str, int]]) -> Verdict:
    """What ``kac triage --for 5s`` says."""
    options = argparse.Namespace(seconds=5.0, watch=False, expect=[], output="text", prometheus=None)
    settings = ConnectionSettings(bootstrap=tuple(addresses))
    with AdminClient(settings) as client:
        async with Poller(Session(client, Context("test", "tests", settings))) as poller:
            return await watch_verdicts(poller, options)


async def _verdict_of(addresses: Sequence[tuple[str, int]]) -> Verdict:
    """The first verdict that knows what the living brokers know; a busy machine may need more than one poll."""
    async with asyncio.timeout(PATIENCE):
        while True:
            verdict = await _judged(addresses)
            if not any(each.what.startswith(("topics", "cluster", "silent")) for each in verdict.unknowable):
                return verdict


async def _leader(three: KafkaCluster) -> int:
    with AdminClient(ConnectionSettings(bootstrap=three.addresses)) as client:
        return (await client.run(describe_quorum)).leader_id


@pytest.mark.takes(80)
async def test_each_node_is_paused_the_active_controller_first(own_cluster: KafkaCluster) -> None:
    """It is named, by living brokers in whatever order, and by one alone; its pause takes no other answer along."""
    three = own_cluster
    await asyncio.to_thread(three.bring_up)
    first = await _leader(three)
    for node in (first, *(each for each in three.broker_ids if each != first)):
        ordered = three.addresses[node - 1 :] + three.addresses[: node - 1]
        with three.hanging(node):
            for addresses in (ordered, ordered[1:], ordered[1:2]):
                verdict = await _verdict_of(addresses)
                named = {(each.claim.cause, each.claim.subject.broker) for each in verdict.causes}
                assert named & {("broker-unresponsive", node), ("broker-down", node)}, (node, first, verdict)
                assert not verdict.is_healthy
        await asyncio.to_thread(three.await_brokers, three.broker_ids, PATIENCE)
        async with asyncio.timeout(PATIENCE):
            while not (await _judged(three.addresses)).is_healthy:
                pass
