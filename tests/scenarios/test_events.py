"""Tests of ``kac events``, which prints changes of a cluster as they happen.

kac names the author of a change only if kac made it on this host. On real brokers, 4.3 and 3.9, the console shows a
change by kafka-configs as another client's, and Enter reverts it.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context, parse_bootstrap
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fault
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.changes import CreateTopics, NewTopic
from console.model.config import CLUSTER_DEFAULT, own_value, topic_resource
from console.model.parts import FOR_EVENTS
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.kinds.voters import LeaveQuorum
from console.present.events import line, what_text
from console.session import event_feed, event_reversal
from console.session.event_reads import FEW, EventReads, gaps, unseen_since
from console.session.session import Session
from console.triage.events import Event, Kind
from console.tui.app import Console
from tests.support import worlds
from tests.support.children import Child
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 6, 3))


class Watching:
    """A running process of `kac events`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def next(self) -> dict[str, Any]:
        """Wait for the next event that the process prints, and return it as JSON."""
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def until(self, text: str) -> None:
        """Wait until a line of standard error contains `text`. Raises AssertionError if standard error ends before
        that.
        """
        assert self._process.stderr is not None
        for said in self._process.stderr:
            if text in said:
                return
        raise AssertionError(f"it ended without {text!r}")


@contextmanager
def watching(bootstrap: str, said: str = "watching for") -> Iterator[Watching]:
    command = [sys.executable, "-m", "console", "events", "-b", bootstrap, "--output", "json", "--for", f"{PATIENCE}s"]
    with Child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            it = Watching(process)
            it.until(said)
            yield it
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def test_what_others_change_is_printed_as_it_happens(cluster: ThreadedCluster) -> None:
    with watching(cluster.bootstrap) as it:
        cluster.run(lambda c: c.broker_down(3))
        seen: dict[str, dict[str, Any]] = {}
        while len(seen) < 3:
            event = it.next()
            seen[event["kind"]] = event
        assert (seen["broker"]["what"], seen["broker"]["became"]) == ("broker 3", "fenced")
        assert seen["broker"]["trouble"]
        assert (seen["isr"]["what"], seen["isr"]["count"]) == ("broker 3 ISR, orders (6 partitions)", 6)
        assert seen["isr"]["since"] <= seen["isr"]["at"]
        assert seen["leader"]["who"] is None


def test_a_config_of_few_topics_is_seen_within_seconds_and_how_often_is_said(cluster: ThreadedCluster) -> None:
    with watching(cluster.bootstrap, "Each config is looked at every 5 s") as it:
        cluster.call(partial(_set_retention, "7200000"))
        while (event := it.next())["kind"] != "config":
            pass
        assert event["became"] == "7200000"


def test_what_was_not_read_in_the_time_is_said_at_the_end(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """If brokers do not describe the configs of topics before `kac events` ends, it says at the end that it has not
    read these configs.
    """
    cluster.call(lambda c: c.faults.add(Fault(Delay(PATIENCE), api="describe_configs")))
    assert cli.run(["events", "-b", cluster.bootstrap, "--for", "2s"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("kac: reading everything once")
    assert "not read in that time, so changes of it are not in this: " in said
    assert said.endswith("configs of 4 of 4 topics and brokers\n")


def test_since_when_configs_can_not_have_been_seen_is_known() -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    looked = {topic_resource("a"): now - timedelta(seconds=30), topic_resource("b"): now}
    assert unseen_since(Snapshot(configs_at=looked), now) == now - timedelta(seconds=30)
    assert unseen_since(Snapshot(configs_at={topic_resource("b"): now}), now) is None


def test_no_broker_answers() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        gone = running.bootstrap
    assert cli.run(["events", "-b", gone, "--for", "1s"]) == 1


QUICK = dict.fromkeys(FOR_EVENTS, 0.1)


class Followed:
    """A session, with its event feed. `next` waits for the next event, and raises TimeoutError after `PATIENCE`
    seconds.
    """

    def __init__(self, session: Session, feed: event_feed.EventFeed, made: asyncio.Queue[Event]) -> None:
        self.session = session
        self.feed = feed
        self._made = made

    async def next(self) -> Event:
        return await asyncio.wait_for(self._made.get(), PATIENCE)


@asynccontextmanager
async def followed(bootstrap: str) -> AsyncIterator[Followed]:
    client = AdminClient(ConnectionSettings(parse_bootstrap(bootstrap)))
    client.start()
    session = Session(client, Context("test", "tests", client.settings))
    made: asyncio.Queue[Event] = asyncio.Queue()

    def keep(some: Sequence[Event]) -> None:
        for each in some:
            made.put_nowait(each)

    feed = event_feed.EventFeed(session, keep)
    ready = asyncio.Event()
    session.subscribe(lambda _: None if gaps(session.snapshot, client.settings, datetime.now(UTC)) else ready.set())
    work = [asyncio.create_task(each) for each in (feed.run(), EventReads(session, QUICK).run())]
    try:
        await asyncio.wait_for(ready.wait(), PATIENCE)
        yield Followed(session, feed, made)
    finally:
        for each in work:
            each.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        client.close()


def _set_retention(value: str, running: EmbeddedCluster) -> None:
    running.state.alter_config(topic_resource("orders"), {"retention.ms": value})


async def test_the_configs_of_many_topics_are_read_at_a_slow_pace(cluster: ThreadedCluster) -> None:
    with worlds.session_on(cluster, "console") as session:
        reads = EventReads(session, FOR_EVENTS)
        await session.read_topics()
        assert reads.configs_every == 5
        cluster.call(lambda c: [c.state.put_topic(new_topic(f"t{n}", striped([1], 1, 1), [1])) for n in range(FEW)])
        await session.read_topics()
        assert reads.configs_every == 50


async def test_configs_quotas_and_their_author(cluster: ThreadedCluster) -> None:
    """For changes of configs and quotas, the event of a change by `kac run` has an author, and the event of a change
    by another client has none.
    """
    async with followed(cluster.bootstrap) as it:
        cluster.call(lambda c: c.state.alter_quota(QuotaEntity.of({"user": "alice"}), {"producer_byte_rate": 1024.0}))
        event = await it.next()
        assert line(event)[9:] == "  user alice producer_byte_rate  – → 1 KiB/s  not kac"
        command = "set user alice producer_byte_rate=2048; set topic orders retention.ms=1h; apply --yes"
        assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
        seen = {event.kind: event for event in (await it.next(), await it.next())}
        assert all(each.author is not None and each.author.number == 1 for each in seen.values())
        assert not seen[Kind.CONFIG].trouble, "no rule of plans warns of an hour"
        # Another client sets the same values again: the earlier change by kac is not the author.
        for value in ("7200000", "3600000"):
            cluster.call(partial(_set_retention, value))
            event = await it.next()
            assert (event.became, event.author) == (value, None)


async def test_what_topics_inherit_is_one_event(cluster: ThreadedCluster) -> None:
    async with followed(cluster.bootstrap) as it:
        cluster.call(lambda c: c.state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": "7200000"}))
        cluster.call(lambda c: c.state.alter_config(topic_resource("orders"), {"segment.ms": "3600000"}))
        seen = {what_text(event): event for event in (await it.next(), await it.next())}
        assert seen["broker <default> log.retention.ms"].became == "7200000"
        assert seen["topic orders segment.ms"].since is not None
        assert it.feed.record.events[-1] in seen.values()


async def test_who_votes_and_who_leads(cluster: ThreadedCluster) -> None:
    """There is an event when `kac run` removes a voter of the quorum, when another client adds it again, and when the
    quorum's leader changes.
    """
    cluster.call(lambda c: c.state.set_feature("kraft.version", 1))
    async with followed(cluster.bootstrap) as it:
        command = "remove voter 3; apply --yes --accept no-spare-voter"
        assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
        event = await it.next()
        directory = event.places[0].about.directory_id  # type: ignore[union-attr]
        assert what_text(event) == f"voter 3 with directory {directory}"
        assert (event.was, event.became, event.author is not None) == ("votes", None, True)
        cluster.call(lambda c: c.state.no_voters.discard(3))
        event = await it.next()
        assert (event.kind, event.became, event.author) == (Kind.VOTER, "votes", None)
        (wish,) = event_reversal.way_back(event, Snapshot())
        assert wish.edit == LeaveQuorum(3, directory)
        cluster.call(lambda c: c.state.move_controller(2))
        assert line(await it.next())[9:] == "  active controller  node 1 → node 2  –"


# -- on real brokers --------------------------------------------------------------------------------------------------


CONFIGS = "kafka.admin.ConfigCommand"


@pytest.fixture(params=["plain_cluster", pytest.param("kafka39", marks=pytest.mark.long)])
def real(request: pytest.FixtureRequest) -> KafkaCluster:
    found: KafkaCluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
async def screen(real: KafkaCluster, name: str) -> AsyncIterator[Driven]:
    """Yield the console on a cluster with one topic. It shows the view of events, and has read each watched kind of
    data once.
    """
    settings = ConnectionSettings(real.addresses)
    with AdminClient(settings) as client:
        outcomes = await client.run(changes.send, CreateTopics((NewTopic(name, 1, 1),)), validate_only=False)
        assert all(outcome.ok for outcome in outcomes)
        app = Console(Session(client, Context("events", "test", settings)), ConsoleSettings(refresh=1.0))
        async with app.run_test(size=(120, 40)) as pilot:
            it = Driven(app, pilot, client)
            await it.press("comma")
            await it.until(lambda: app.journal.events.record is not None and not app.journal.events.gaps())
            yield it


def _events(it: Driven, name: str) -> list[str]:
    record = it.app.journal.events.record
    return [what_text(event) for event in record.events if name in what_text(event)] if record is not None else []


@pytest.mark.takes(50)
async def test_another_clients_change_ours_and_the_way_back(screen: Driven, real: KafkaCluster, name: str) -> None:
    def kafka_configs(type_: str, value: str) -> None:
        real.run_admin_tool(CONFIGS, "--alter", "--entity-type", type_, "--entity-name", name, "--add-config", value)

    await asyncio.to_thread(kafka_configs, "topics", "retention.ms=3600000")
    await asyncio.to_thread(kafka_configs, "users", "consumer_byte_rate=1048576")
    await screen.shows(f"topic {name} retention.ms")
    await screen.shows(f"user {name} consumer_byte_rate")
    assert "not kac" in screen.line(f"user {name} consumer_byte_rate")
    assert "not kac" in screen.line(f"topic {name} retention.ms")

    await screen.command(f"set topic {name} segment.ms=7200000")
    await screen.press("7", "A")
    await screen.shows("IncrementalAlterConfigs")
    await screen.press("y")
    await screen.shows("applied")
    await screen.press("comma")
    await screen.shows(f"topic {name} segment.ms")
    assert "not kac" not in screen.line(f"topic {name} segment.ms")

    await screen.press("slash")
    await screen.type("retention.ms")
    await screen.press("enter", "g")
    await screen.shows("was –; became 3600000 (1 h)")
    await screen.press("enter")
    await screen.until(lambda: bool(screen.app.session.plan.staged))
    await screen.press("7", "A")
    await screen.shows("IncrementalAlterConfigs")
    await screen.press("y")
    await screen.shows("applied")
    await screen.app.session.read_configs([topic_resource(name)])
    entry = screen.app.session.snapshot.configs[topic_resource(name)].get("retention.ms")
    assert own_value(entry, topic_resource(name)) is None
    await screen.until(lambda: _events(screen, name).count(f"topic {name} retention.ms") == 2)
