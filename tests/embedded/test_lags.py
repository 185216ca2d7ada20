"""Tests of lags in records, and of the timestamps of the records at committed offsets."""

import asyncio
import csv
import io
import json
import time
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.record_times import GONE, NO_LEADER, NO_RECORD, first_timestamp, record_times
from console.cli import main as cli
from console.cli.demo import context_of
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import NEVER
from console.embedded import faults, spec
from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.incident import BEHIND, LOADED
from console.model.time_lag import Spot, Written
from console.session.session import Session
from console.tui.app import Console
from screenshots.take import NO_TICKS, seen, shown
from tests.embedded.poisoned import GROUP, POISON, TIME, TOPIC, poisoned, session_on
from tests.embedded.record_batches import START, batch
from tests.support import worlds
from tests.support.patience import PATIENCE

Kac = Callable[..., tuple[int, str, str]]

cluster = worlds.cluster(
    spec.ClusterSpec(brokers=1),
    worlds.topic("orders", 2, brokers=[1]),
    after=lambda cluster: asyncio.run(consume(cluster.bootstrap, {"behind": 3, "caught-up": 10})),
    scope="module",
)
"""A fixture: a cluster with a group that lags by 7 records, and one that has read all records."""


async def consume(bootstrap: str, committed: dict[str, int]) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(10):
            await producer.send_and_wait("orders", b"x", partition=0)
    for group, offset in committed.items():
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            consumer.assign([TopicPartition("orders", 0)])
            await consumer.commit({TopicPartition("orders", 0): offset})
        finally:
            await consumer.stop()


kac = worlds.commands()


def test_groups_are_listed_with_their_lag(kac: Kac) -> None:
    lags = {"behind": 7, "caught-up": 0}
    code, out, _ = kac("run", "-e", "list groups", "--output", "json")
    (answer,) = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {row["name"]: row["lag"] for row in answer["groups"]} == lags
    _, out, _ = kac("groups", "--list", "--output", "csv")
    assert {row["name"]: int(row["lag"]) for row in csv.DictReader(io.StringIO(out))} == lags
    _, out, _ = kac("groups", "--list")
    title, *rows = [line.split() for line in out.splitlines()]
    assert [row[title.index("Lag") - len(title)] for row in rows[:2]] == ["7", "0"]
    assert "records" in out
    _, out, _ = kac("run", "-e", "list groups lag>0")
    assert "behind" in out
    assert "caught-up" not in out


@pytest.mark.parametrize("filters", ["under_replicated=>0", "'under_replicated=>0'", "partitions=x", "nope=1"])
def test_a_filter_that_can_match_nothing_is_an_error(kac: Kac, filters: str) -> None:
    code, out, complaints = kac("run", "-e", f"list topics {filters}")
    assert code in (1, 2)
    assert "match" not in out
    assert complaints.startswith("kac: line 1, column 13: ")


# -- The times of records at committed offsets: requests, and output if a time is unknown ------------------------------

running = worlds.running(poisoned, scope="module")
"""A fixture: a cluster with a group whose committed offset is 3, in partition 0 of a topic whose records have known
timestamps.
"""

link = worlds.link("running", worlds.mend)


async def test_the_record_at_an_offset_says_when_it_was_written(link: Link) -> None:
    spots = [Spot(TOPIC, 0, POISON), Spot(TOPIC, 0, 9), Spot(TOPIC, 1, 2), Spot(TOPIC, 0, 10), Spot("no-such", 0, 0)]
    assert await record_times(link, spots, {}, PATIENCE) == {
        Spot(TOPIC, 0, POISON): Written(POISON, TIME + POISON),
        Spot(TOPIC, 0, 9): Written(9, TIME + 9),
        Spot(TOPIC, 1, 2): Written(2, TIME + 2),  # a batch larger than the requested size
        Spot(TOPIC, 0, 10): Written(10, why=NO_RECORD, until=10),
        Spot("no-such", 0, 0): Written(0, why=NO_LEADER),
    }


async def test_what_is_refused_deleted_and_late(running: ThreadedCluster, link: Link) -> None:
    spot = Spot(TOPIC, 0, POISON)
    running.call(lambda one: one.faults.add(faults.Fault(faults.Fail(29), api="fetch", times=1)))
    refused = Written(POISON, why="Fetch: TOPIC_AUTHORIZATION_FAILED", refused=True)
    assert await record_times(link, [spot], {}, PATIENCE) == {spot: refused}
    running.call(lambda one: one.faults.add(faults.Fault(faults.Fail(1), api="fetch", times=1)))
    assert await record_times(link, [spot], {}, PATIENCE) == {spot: Written(POISON, why=GONE)}
    running.call(lambda one: one.faults.add(faults.Fault(faults.Delay(30), api="fetch", times=1)))
    assert await record_times(link, [spot], {}, 0.5) == {}


def test_gaps_and_markers_are_passed_and_a_batch_that_ends_before_says_where_to_go_on() -> None:
    data = batch(b"a", b"b", b"c", times=(START, START + 10, START + 20))
    assert first_timestamp(data, 1) == Written(1, START + 10)
    assert first_timestamp(data, 3) == 3
    assert first_timestamp(b"", 7) == 7
    assert isinstance(first_timestamp(data[:-3] + b"\xff\xff\xff", 0), Written)


async def test_a_group_that_is_polled_has_its_lag_as_a_time(link: Link) -> None:
    session = session_on(link)
    await session.poll_groups([GROUP], times=100)
    behind = session.snapshot.lag_trends[GROUP].longest_behind
    assert behind.seconds == pytest.approx(time.time() - (TIME + POISON) / 1000, abs=60)
    assert not behind.least
    # The commit is the same, so kac does not read its record again.
    await session.poll_groups([GROUP], times=100)
    assert session.client.asked == 1  # type: ignore[attr-defined]
    assert (session.snapshot.lag_trends[GROUP].longest_behind.seconds or 0) >= (behind.seconds or 0)


async def test_no_record_is_asked_for_where_none_may_be_read(link: Link) -> None:
    session = session_on(link, records=NEVER)
    await session.poll_groups([GROUP], times=100)
    assert session.client.asked == 0  # type: ignore[attr-defined]
    assert session.snapshot.lag_trends[GROUP].longest_behind.seconds is None


def test_groups_and_topics_are_filtered_by_it(running: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    def listed(kind: str, *filters: str) -> list[dict[str, object]]:
        command = " ".join(("list", kind, *filters))
        code = cli.run(["run", "-b", running.bootstrap, "--output", "json", "-e", command])
        written = capsys.readouterr()
        assert code == 0, written.err
        found: list[dict[str, object]] = json.loads(written.out)[kind]
        return found

    (found,) = listed("groups", "lag_seconds>1h")
    assert found["name"] == GROUP
    assert found["lag_seconds"] == pytest.approx(time.time() - (TIME + POISON) / 1000, abs=60)
    assert found["lag_seconds_is_part"] is False
    assert listed("groups", "lag_seconds>3000d") == []
    (topic,) = listed("topics", "lag_seconds>1h")
    assert (topic["name"], topic["groups"]) == (TOPIC, 1)
    (unasked,) = listed("groups")
    assert unasked["lag_seconds"] is None


def test_the_text_of_groups_has_it_as_well(running: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-b", running.bootstrap, "-e", "list groups lag_seconds>1h"]) == 0
    title, row = (line.split() for line in capsys.readouterr().out.splitlines()[:2])
    days, unit = row[title.index("Behind") - len(title) - 1 :][:2]
    assert title[title.index("Lag") + 1] == "Behind"
    assert (float(days), unit) == (pytest.approx((time.time() - (TIME + POISON) / 1000) / 86_400, abs=0.6), "d")


# -- Frequent questions: who reads a topic, and which topics are the largest -------------------------------------------

demo = worlds.cluster(spec.clusters_of("incident", spec.ClusterSpec())["incident"], scope="module")


def asked(demo: ThreadedCluster, statement: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.run(["run", "-b", demo.bootstrap, "--output", "json", "-e", statement]) == 0
    answer = json.loads(capsys.readouterr().out)
    return [row["name"] for row in answer[statement.split()[1]]]


def test_who_reads_a_topic(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(demo, f"list groups topic={LOADED}", capsys) == [BEHIND]
    others = asked(demo, f"list groups topic!={LOADED}", capsys)
    everyone = asked(demo, "list groups", capsys)
    assert sorted([*others, BEHIND]) == sorted(everyone)
    assert asked(demo, "list groups topic=nobody.reads.*", capsys) == []


def test_a_topic_is_compared_as_a_text(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-b", demo.bootstrap, "-e", "list groups topic>3"]) == 1
    assert "topic=GLOB and topic!=GLOB compare texts" in capsys.readouterr().err


def test_the_largest_topics_come_first(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    names = asked(demo, "list topics size>0", capsys)
    with AdminClient(context_of("incident", demo.bootstrap, 1).settings) as client:
        import asyncio

        session = Session(client, context_of("incident", demo.bootstrap, 1))

        async def on_disk() -> dict[str, int]:
            await session.read_cluster()
            await session.read_log_dirs()
            held: dict[str, int] = {}
            for dirs in session.snapshot.log_dirs.values():
                for each in dirs:
                    for name, size in each.sizes.items():
                        held[name] = held.get(name, 0) + size
            return held

        held = asyncio.run(on_disk())
    assert len(names) > 5
    assert [held[name] for name in names] == sorted((held[name] for name in names), reverse=True)
    assert {name for name, size in held.items() if size} == set(names)
    assert asked(demo, f"list topics size>={held[names[2]]}", capsys) == names[:3]


def test_without_a_filter_on_size_no_size_is_read(demo: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "-b", demo.bootstrap, "--output", "json", "-e", f"list topics {LOADED}"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["topics"]
    assert "size" not in row


async def test_both_are_a_key_away_in_a_narrow_terminal(demo: ThreadedCluster) -> None:
    context = context_of("incident", demo.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(Session(client, context), ConsoleSettings(refresh=NO_TICKS), contexts=Given([context]))
        async with app.run_test(size=(80, 24)) as pilot:
            for key in ("2", *"/", *LOADED, "enter"):
                await pilot.press({"/": "slash", ".": "full_stop"}.get(key, key))
            await seen(app, LOADED, pilot.pause)
            await pilot.press("c")
            await seen(app, f"list groups topic={LOADED}", pilot.pause)
            await seen(app, BEHIND, pilot.pause)
            await pilot.press("escape", "escape", "Z")
            await seen(app, "Size▾", pilot.pause)
            assert "GiB" in shown(app)


@pytest.mark.parametrize("given", ["password=x", "SCRAM-SHA-512=x", "scram=?", "scram.password=@/no/such/file"])
def test_a_password_is_no_quota_and_the_line_that_sets_one_is_named(
    demo: ThreadedCluster, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a password is given as a quota, kac refuses it and names the statement that sets a password. It neither
    asks for the password nor reads a file before.
    """
    assert cli.run(["run", "-b", demo.bootstrap, "-e", f"set user alice {given}"]) == 1
    said = capsys.readouterr().err
    assert "a password is set by: scram set alice SCRAM-SHA-512 password=?" in said
    assert "has no quota" in said
