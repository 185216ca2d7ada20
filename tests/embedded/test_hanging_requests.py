"""Tests of a request that is never answered: it delays no other request, and kac does not report the cluster as
unreachable.
"""

import argparse
import asyncio
import socket
import threading
from contextlib import closing

import pytest
from msgspec.structs import replace

from console.admin import changes, cluster, errors, partitions
from console.admin.client import AdminClient
from console.admin.link import CONTROLLER, Link
from console.admin.settings import Address, ConnectionSettings
from console.answers.triage import UNKNOWN, exit_code, text_lines
from console.cli.triage import watch_verdicts
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Fault, Meanwhile
from console.embedded.spec import ClusterSpec
from console.model.changes import CreateTopics, NewTopic
from console.model.parts import Part
from console.session import scheduler
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.observations import Observations, after, begin
from console.triage.unread import VITAL
from tests.support import worlds
from tests.support.kafka_messages import with_fields
from tests.support.patience import PATIENCE

NEVER = Delay(3600)
FORWARDED = ("describe_quorum", "list_partition_reassignments")

three = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 6, 3))


def hangs(three: ThreadedCluster, api: str, broker: int | None = None) -> None:
    three.call(lambda c: c.faults.add(Fault(NEVER, api=api, broker=broker)))


def settings_of(three: ThreadedCluster) -> ConnectionSettings:
    return ConnectionSettings(parse_bootstrap(three.bootstrap))


def addresses(three: ThreadedCluster) -> tuple[Address, ...]:
    return tuple(parse_bootstrap(three.bootstrap))


async def watched(poller: Poller, until: frozenset[str]) -> Observations:
    """Poll until only the parts `until` are unread, and return the observations."""
    observations = begin(await poller.poll())
    async with asyncio.timeout(PATIENCE):
        while set(observations.last.unread) - until:
            await poller.rest()
            observations = after(observations, await poller.poll())
    return observations


async def test_a_controller_that_hangs_takes_no_other_read_along(three: ThreadedCluster) -> None:
    for api in FORWARDED:
        hangs(three, api)
    async with worlds.poller_on(settings_of(three)) as poller:
        observations = await watched(poller, frozenset({"quorum", "reassignments"}))
    assert set(observations.last.unread) == {"quorum", "reassignments"}
    assert observations.last.silent == frozenset()
    assert len(observations.last.snapshot.topics["orders"].partitions) == 6
    hidden = " ".join(each.what for each in diagnose(observations).unknowable)
    assert "quorum" in hidden
    assert "no answer from" not in hidden


async def test_what_waits_for_the_controller_says_so(three: ThreadedCluster) -> None:
    of_quorum = with_fields(topics=[])
    of_cluster = with_fields(include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=False)
    hangs(three, "describe_quorum")
    hangs(three, "describe_cluster")
    with AdminClient(settings_of(three)) as client:
        with pytest.raises(errors.RequestTimedOut) as waiting:
            await client.run(lambda link: link.call("describe_quorum", of_quorum, to=CONTROLLER, timeout=0.3))
        with pytest.raises(errors.RequestTimedOut) as busy:
            await client.run(lambda link: link.call("describe_cluster", of_cluster, timeout=0.3))
    assert "most of the controllers run" in waiting.value.failure.remedy
    assert "broker's load" in busy.value.failure.remedy


@pytest.mark.parametrize(
    ("api", "read"),
    [("describe_quorum", cluster.describe_quorum), ("list_partition_reassignments", partitions.list_reassignments)],
)
@pytest.mark.parametrize("first", [0, 1, 2])
async def test_what_hangs_at_one_broker_is_asked_of_another(
    three: ThreadedCluster, api: str, read: object, first: int
) -> None:
    """If the first broker does not answer because it waits for a controller that hangs, kac sends the request to
    another broker, which knows the new controller.
    """
    order = (*addresses(three)[first:], *addresses(three)[:first])
    hangs(three, api, broker=first + 1)
    with AdminClient(ConnectionSettings(order)) as client:
        async with asyncio.timeout(PATIENCE):
            await client.run(read)  # type: ignore[arg-type]
            await client.run(read)  # type: ignore[arg-type]


async def test_one_address_is_asked_again_on_another_connection(three: ThreadedCluster) -> None:
    """If a request gets no answer, kac repeats it on another connection to the same address: the broker's earlier
    requests wait for a controller that hangs, later ones go to the new controller.
    """
    three.call(lambda c: c.faults.add(Fault(NEVER, api="describe_quorum", times=1)))
    with AdminClient(ConnectionSettings(addresses(three)[:1])) as client:
        async with asyncio.timeout(PATIENCE):
            assert (await client.run(cluster.describe_quorum)).leader_id in (1, 2, 3)


async def test_a_change_that_hangs_holds_up_no_read(three: ThreadedCluster) -> None:
    arrived = threading.Event()
    three.call(lambda c: c.faults.add(Fault(Meanwhile(lambda _: arrived.set()), api="create_topics")))
    hangs(three, "create_topics")
    with AdminClient(settings_of(three)) as client:
        await client.run(cluster.describe_cluster)
        change = client.submit(changes.send, CreateTopics((NewTopic("new", 1, 1),)), validate_only=False)
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(arrived.wait, PATIENCE)
            assert len((await client.run(cluster.describe_cluster)).brokers) == 3
        change.cancel()


async def test_a_broker_that_hangs_is_known_soon_after_the_others_answered(three: ThreadedCluster) -> None:
    """Once other brokers have answered, kac waits much less time for a broker that hangs than if no broker has
    answered.
    """
    address = addresses(three)[2]
    three.run(lambda c: c._listeners[3].stop())
    with closing(socket.create_server(address, reuse_port=False)), AdminClient(settings_of(three)) as client:

        async def asked(link: Link) -> tuple[frozenset[int], float]:
            began = asyncio.get_running_loop().time()
            return await cluster.silent_brokers(link, 10 * PATIENCE), asyncio.get_running_loop().time() - began

        silent, seconds = await client.run(asked)
    assert silent == {3}
    assert seconds < PATIENCE


async def test_without_an_answer_about_its_brokers_no_cluster_is_healthy(three: ThreadedCluster) -> None:
    async with worlds.poller_on(settings_of(three)) as poller:
        whole = await poller.poll(whole=True)
        assert diagnose(begin(whole)).is_healthy
    for part in Part:
        for lacking in ({"unread": (part,)}, {"late": (part,)}):
            verdict = diagnose(begin(replace(whole, **lacking)))
            assert not verdict.is_healthy
            assert exit_code(verdict) == UNKNOWN
            first, *rest = text_lines(verdict, 10)
            assert first.startswith(f"unknown: {part.noun}")
            assert any("in what was read: no symptom in 10 seconds" in line for line in rest) is (part not in VITAL)


async def test_no_cluster_is_healthy_while_any_part_is_withheld(three: ThreadedCluster) -> None:
    """For each part of the snapshot that triage reads: without an answer, or with only an old one, the verdict is not
    healthy.
    """
    with AdminClient(settings_of(three)) as client:
        session = Session(client, Context("test", "tests", client.settings))
        async with Poller(session) as poller:
            await poller.poll(whole=True)
            names = [part.name for part in poller.parts]
        for name in names:
            async with Poller(Session(client, Context("test", "tests", client.settings))) as poller:
                poller.parts = tuple(
                    part._replace(read=asyncio.Event().wait) if part.name == name else part for part in poller.parts
                )
                if name == Part.CLUSTER:  # without the cluster there is no verdict
                    with pytest.raises(TimeoutError):
                        await asyncio.wait_for(poller.poll(), 0.5)
                    continue
                verdict = diagnose(begin(await poller.poll()))
                assert name in verdict.unread
                assert not verdict.is_healthy


async def test_a_part_that_is_read_no_more_is_unknown(three: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "LATE", -60.0)
    async with worlds.poller_on(settings_of(three)) as poller:
        verdict = diagnose(begin(await poller.poll(whole=True)))
        assert verdict.unread == tuple(part for part in Part if part in {each.name for each in poller.parts})
        assert not verdict.is_healthy


async def test_the_only_address_hangs() -> None:
    options = argparse.Namespace(seconds=1.0, watch=False, expect=[], output="text", prometheus=None)
    with closing(socket.create_server(("127.0.0.1", 0))) as hanging:
        async with worlds.poller_on(ConnectionSettings((hanging.getsockname(),))) as poller:
            with pytest.raises(errors.RequestTimedOut, match=f"asked at 127.0.0.1:{hanging.getsockname()[1]}"):
                await watch_verdicts(poller, options)
