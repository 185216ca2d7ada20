"""Tests of triage's polls: kac reports reads whose answers are lost, refused or denied, until it has read the same
data again. On real brokers the tests measure the seconds until triage names a broker that dies, hangs or returns,
and how certain the verdict is.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from kio.schema.errors import ErrorCode

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_quorum
from console.admin.errors import AdminError, BrokerError, RequestTimedOut
from console.admin.settings import ConnectionSettings
from console.cli.triage import watch_verdicts
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import ClusterSpec
from console.journal.operations import Over, operation_line
from console.model.changes import CreateTopics, NewTopic
from console.model.config import broker_resource
from console.model.failure import Failure
from console.operations.goals import Drain
from console.operations.operation import State, Step
from console.operations.throttle import Throttles
from console.plan.stale_throttles import RATES
from console.session import scheduler, snapshot_reader, triage_polls
from console.session.operating import begin as begin_operation
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from tests.support import worlds
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.real_clusters import KAFKA_3_9, running

T = TypeVar("T")


class Asked:
    """A client that keeps the name of each operation. The operations in `refused` fail, those in `late` time out,
    and those in `moves` advance a clock.
    """

    def __init__(self, client: AdminClient) -> None:
        self._client = client
        self.names: list[str] = []
        self.refused: dict[str, AdminError] = {}
        self.late: dict[str, int] = {}
        """Operation -> n: the operation times out, except each n-th time."""
        self.moves: dict[str, tuple[Hand, float]] = {}

    async def run(self, operation: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        self.names.append(" ".join([operation.__name__, *sorted(options)]))
        if operation.__name__ in self.refused:
            raise self.refused[operation.__name__]
        every = self.late.get(operation.__name__)
        if every and self.names.count(operation.__name__) % every:
            raise RequestTimedOut(Failure("TIMED_OUT", "no answer", "wait"))
        try:
            return await self._client.run(operation, *args, **options)
        finally:
            if operation.__name__ in self.moves:
                hand, seconds = self.moves[operation.__name__]
                hand.now += seconds


cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", 6, 3),
    # Two brokers could not create it.
    worlds.topic("__consumer_offsets", [(1, 2)], internal=True),
)


@asynccontextmanager
async def polling(cluster: ThreadedCluster, **changes: Any) -> AsyncIterator[tuple[Poller, Asked, Session]]:
    settings = worlds.settings(cluster)
    with AdminClient(settings) as client:
        asked = Asked(client)
        session = Session(asked, Context("test", "tests", settings, **changes))
        async with Poller(session) as poller:
            yield poller, asked, session


async def until_raised(poller: Poller) -> AdminError:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await poller.poll()
            except AdminError as error:
                return error
            await poller.rest()


async def test_the_first_poll_reads_each_part_once(cluster: ThreadedCluster) -> None:
    async with polling(cluster) as (poller, asked, _):
        poll = await poller.poll(whole=True)
        assert poll.unread == ()
        first = [name for name in asked.names if name in ("describe_quorum", "list_groups", "describe_log_dirs")]
        assert sorted(first) == ["describe_log_dirs", "describe_quorum", "list_groups"]
        assert asked.names.count("describe_cluster") == 1
        assert asked.names.count("describe_topics") == 1


async def test_all_brokers_are_lost_and_come_back(cluster: ThreadedCluster) -> None:
    async with polling(cluster) as (poller, _, _):
        await poller.poll(whole=True)
        for broker in (1, 2, 3):
            cluster.run(lambda c, id_=broker: c.broker_down(id_))
        error = await until_raised(poller)
        assert "refused" in str(error.failure)
        with pytest.raises(AdminError):
            await poller.poll()
        for broker in (1, 2, 3):
            cluster.run(lambda c, id_=broker: c.broker_up(id_))
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    poll = await poller.poll()
                except AdminError:
                    await poller.rest()
                    continue
                if not poll.silent and not any(broker.fenced for broker in poll.snapshot.cluster.brokers):
                    break
                await poller.rest()


async def test_brokers_that_are_all_late_are_asked_once_more_before_they_are_lost(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this machine is, the time of the first answer is short compared with this one.
    monkeypatch.setattr(triage_polls, "FIRST_ANSWER_SECONDS", 3600.0)
    async with polling(cluster) as (poller, asked, _):
        await poller.poll(whole=True)
        asked.names.clear()
        asked.late["silence"] = 2
        async with asyncio.timeout(PATIENCE):
            while asked.names.count("silence") < 12:
                assert not (await poller.poll()).silent
                await poller.rest()
        asked.late["silence"] = 1_000_000
        assert (await until_raised(poller)).failure.name == "TIMED_OUT"


async def test_a_rest_that_is_over_can_be_interrupted(cluster: ThreadedCluster) -> None:
    """A poller can be cancelled also while it rests for zero seconds, for example by Ctrl-C when each verdict takes
    longer than the interval.
    """
    async with polling(cluster) as (poller, _, _):

        async def interrupted() -> None:
            task.cancel()
            await poller.rest()

        task = asyncio.create_task(interrupted())
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_another_cluster_than_the_contexts(cluster: ThreadedCluster) -> None:
    async with polling(cluster, cluster_id="some-other") as (poller, _, _):
        with pytest.raises(snapshot_reader.Refused, match="some-other"):
            await poller.poll()


async def test_a_broker_whose_port_is_closed(cluster: ThreadedCluster) -> None:
    """If the port of a broker is closed, triage names the broker as likely down at once, although the cluster still
    lists it until its session times out.
    """
    async with polling(cluster) as (poller, _, _):
        observations = begin(await poller.poll(whole=True))
        assert diagnose(observations).is_healthy
        cluster.run(lambda c: c._listeners[3].stop())
        async with asyncio.timeout(PATIENCE):
            while 3 not in (poll := await poller.poll()).refusing:
                await poller.rest()
        (down,) = diagnose(begin(poll)).causes
        assert (down.claim.cause, down.claim.subject.broker, down.claim.certainty) == ("broker-down", 3, "likely")


@pytest.mark.parametrize(
    ("operation", "part"),
    [("list_groups", "groups"), ("describe_log_dirs", "log_dirs"), ("describe_configs", "configs")],
)
async def test_what_failed_once_is_forgotten_when_it_was_read(
    cluster: ThreadedCluster, operation: str, part: str
) -> None:
    async with polling(cluster) as (poller, asked, session):
        asked.refused[operation] = AdminError(Failure("TIMED_OUT", "too late"))
        poll = await poller.poll(whole=True)
        assert [str(each.what) for each in diagnose(begin(poll)).unknowable if "too late" in each.what]
        asked.refused.clear()
        poller.hurry(*poller._turns)
        poll = await poller.poll(whole=True)
        assert diagnose(begin(poll)).unknowable == ()
        assert [each for each in session.snapshot.failures if each.part == part] == []


class Hand:
    """A monotonic clock in seconds, which a test sets by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(("slow", "rests"), [((True,), False), ((True, False, True), False), ((True, True), True)])
async def test_one_slow_answer_holds_up_no_later_read(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch, slow: tuple[bool, ...], *, rests: bool
) -> None:
    """kac delays the next read only after two slow answers in a row, because then the cluster is large."""
    hand = Hand()
    monkeypatch.setattr(triage_polls, "time", hand)
    monkeypatch.setattr(scheduler, "time", hand)
    async with polling(cluster) as (poller, asked, _):
        await poller.poll(whole=True)
        for each in slow:
            asked.moves = {"describe_topics": (hand, 1.0)} if each else {}
            poller.hurry("topics")
            await poller.poll(whole=True)
        assert (poller._turns["topics"].due - hand.now > 10) is rests


async def test_a_missing_right_is_unknowable() -> None:
    with run_in_thread(ClusterSpec(brokers=1, super_users=frozenset())) as cluster:
        async with polling(cluster) as (poller, _, _):
            verdict = diagnose(begin(await poller.poll(whole=True)))
    hidden = {each.what.partition(" ")[0].rstrip(":"): each.where for each in verdict.unknowable}
    assert {"log_dirs", "reassignments"} <= hidden.keys()
    assert "DESCRIBE" in hidden["log_dirs"].upper()
    assert "DESCRIBE" in hidden["reassignments"].upper()


async def test_a_refused_part_is_unknowable(cluster: ThreadedCluster) -> None:
    failure = Failure(ErrorCode.cluster_authorization_failed.name.upper(), "", "Ask for DESCRIBE on the cluster.")
    async with polling(cluster) as (poller, asked, _):
        asked.refused["describe_configs"] = BrokerError(failure)
        verdict = diagnose(begin(await poller.poll(whole=True)))
    (hidden,) = (each for each in verdict.unknowable if each.what.startswith("configs"))
    assert hidden.what == "configs: CLUSTER_AUTHORIZATION_FAILED"
    assert hidden.where == failure.remedy


async def test_watching_says_when_no_broker_answers(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    metrics = tmp_path / "kac.prom"
    options = argparse.Namespace(seconds=0.0, watch=True, expect=[], output="text", prometheus=metrics)
    printed = ""

    async def shows(text: str) -> None:
        nonlocal printed
        async with asyncio.timeout(PATIENCE):
            while text not in (printed := printed + capsys.readouterr().out):  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async with polling(cluster) as (poller, _, _):
        watching = asyncio.create_task(watch_verdicts(poller, options))
        await shows("healthy")
        for broker in (1, 2, 3):
            cluster.run(lambda c, id_=broker: c.broker_down(id_))
        await shows("no broker answers: ")
        assert "kac_triage_up 0" in metrics.read_text()
        for broker in (1, 2, 3):
            cluster.run(lambda c, id_=broker: c.broker_up(id_))
        await shows("brokers answer again")
        assert printed.count("no broker answers") == 1
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_without_brokers_there_is_no_verdict(cluster: ThreadedCluster) -> None:
    options = argparse.Namespace(seconds=0.0, watch=False, expect=[], output="text", prometheus=None)
    async with polling(cluster) as (poller, _, _):
        assert (await watch_verdicts(poller, options)).is_healthy
        for broker in (1, 2, 3):
            cluster.run(lambda c, id_=broker: c.broker_down(id_))
        await until_raised(poller)
        with pytest.raises(AdminError):
            await watch_verdicts(poller, options)


async def test_throttles_of_an_operation_are_no_leftovers_until_they_are(cluster: ThreadedCluster) -> None:
    """Triage does not name an operation's throttles as leftovers while the operation works, nor between its end and
    the next read of the configs. After this read, triage names the throttles that are still set.
    """
    cluster.call(lambda c: c.state.alter_config(broker_resource(1), {RATES[0]: "5000"}))
    async with polling(cluster) as (poller, _, session):

        async def causes(*parts: str) -> list[str]:
            for part in parts:
                poller.hurry(part)
            return [each.claim.cause for each in diagnose(begin(await poller.poll(whole=True))).causes]

        assert await causes() == ["replication-throttled"]
        number, now = await begin_operation(session, Drain((3,)), 5_000), datetime.now(UTC)
        journal = await session.journal()
        journal.note(operation_line(number, now, Step(now, now, sets=Throttles(5_000, ((1, RATES[0]),)))))
        assert await causes("reassignments") == []
        journal.note(operation_line(number, now, Over(State.DONE)))
        assert await causes("reassignments") == []
        assert await causes("configs") == ["replication-throttled"]


# -- on real brokers --------------------------------------------------------------------------------------------------


Found = tuple[str, int | None, str]
"""A cause of a verdict: (name of the cause, broker id or None, certainty)."""


class Watching:
    """Polls a cluster, and keeps the causes of each verdict with their time, seconds of the monotonic clock."""

    def __init__(self, poller: Poller) -> None:
        self.poller = poller
        self.observations: Observations | None = None
        self.seen: list[tuple[float, frozenset[Found]]] = []

    async def until(self, holds: Callable[[frozenset[Found]], bool]) -> float:
        """Poll until `holds` returns true for the causes of a verdict; return the time of this verdict, seconds of the
        monotonic clock. Skip polls that get no answer. Raises TimeoutError after `PATIENCE` seconds.
        """
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
    """Provide a real cluster of three brokers of a release, which the tests kill and pause."""
    if request.param == "breakable_cluster":
        yield request.getfixturevalue("own_cluster")
    else:
        yield from running(lambda: KafkaCluster(KAFKA_3_9, brokers=3))


@pytest.mark.broker
@pytest.mark.takes(40)
async def test_a_broker_is_killed_comes_back_and_hangs(
    three: KafkaCluster, name: str, record_property: Callable[[str, object], None]
) -> None:
    """Triage names a killed broker as down: likely at once, because its port is closed, and certain when it is fenced.
    It names a paused broker as not responding.
    """
    settings = worlds.settings(three)

    def note(what: str, seconds: float) -> None:
        record_property(what, round(seconds, 2))
        print(f"{three.version} {what}: {seconds:.2f} s")

    with AdminClient(settings) as client:
        # Before 4.0 kac knows of a missing broker only by its replicas.
        topic = CreateTopics((NewTopic(name, 6, 3),))
        assert all(each.ok for each in await client.run(send, topic, validate_only=False))
        async with Poller(Session(client, Context("test", "tests", settings))) as poller:
            watching = Watching(poller)
            # Another test may have killed a broker of the cluster, whose leaders come back minutes later.
            await watching.until(lambda found: {each[0] for each in found} <= {"leader-skew"})
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
            await watching.until(lambda found: {each[0] for each in found} <= {"leader-skew"})
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
    """Return the verdict of ``kac triage --for 5s`` with these bootstrap servers."""
    options = argparse.Namespace(seconds=5.0, watch=False, expect=[], output="text", prometheus=None)
    async with worlds.poller_on(ConnectionSettings(bootstrap=tuple(addresses))) as poller:
        return await watch_verdicts(poller, options)


async def _verdict_of(addresses: Sequence[tuple[str, int]]) -> Verdict:
    """Return the first verdict that has all data which the running brokers can give. A busy machine may need more than
    one poll. Raises TimeoutError after `PATIENCE` seconds.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            verdict = await _judged(addresses)
            if not any(each.what.startswith(("topics", "cluster", "silent")) for each in verdict.unknowable):
                return verdict


async def _leader(three: KafkaCluster) -> int:
    with AdminClient(worlds.settings(three)) as client:
        return (await client.run(describe_quorum)).leader_id


@pytest.mark.long
async def test_each_node_is_paused_the_active_controller_first(own_cluster: KafkaCluster) -> None:
    """Triage names a paused node as down or not responding, whether the bootstrap servers begin with the paused
    node, lack only this node, or are only one other node. After the node runs again, the verdict is healthy.
    """
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
