"""When the records at committed offsets were written: what is asked, what is said where that is not known."""

from __future__ import annotations

import json
import time

import pytest

from console.admin.link import Link
from console.admin.record_times import GONE, NO_LEADER, NO_RECORD, first_timestamp, record_times
from console.cli import main as cli
from console.contexts.context import NEVER
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Delay, Fail, Fault
from console.model.time_lag import Spot, Written
from tests.embedded.poisoned import GROUP, POISON, TIME, TOPIC, poisoned, session_on
from tests.embedded.record_batches import START, batch
from tests.support import worlds
from tests.support.patience import PATIENCE

running = worlds.running(poisoned, scope="module")
"""A group stands at offset 3 of partition 0 of a topic, whose records were written at known times."""

link = worlds.link("running", worlds.mend)


async def test_the_record_at_an_offset_says_when_it_was_written(link: Link) -> None:
    spots = [Spot(TOPIC, 0, POISON), Spot(TOPIC, 0, 9), Spot(TOPIC, 1, 2), Spot(TOPIC, 0, 10), Spot("no-such", 0, 0)]
    assert await record_times(link, spots, {}, PATIENCE) == {
        Spot(TOPIC, 0, POISON): Written(POISON, TIME + POISON),
        Spot(TOPIC, 0, 9): Written(9, TIME + 9),
        Spot(TOPIC, 1, 2): Written(2, TIME + 2),  # a batch that is larger than what is asked for
        Spot(TOPIC, 0, 10): Written(10, why=NO_RECORD, until=10),
        Spot("no-such", 0, 0): Written(0, why=NO_LEADER),
    }


async def test_what_is_refused_deleted_and_late(running: ThreadedCluster, link: Link) -> None:
    spot = Spot(TOPIC, 0, POISON)
    running.call(lambda one: one.faults.add(Fault(Fail(29), api="fetch", times=1)))
    refused = Written(POISON, why="Fetch: TOPIC_AUTHORIZATION_FAILED", refused=True)
    assert await record_times(link, [spot], {}, PATIENCE) == {spot: refused}
    running.call(lambda one: one.faults.add(Fault(Fail(1), api="fetch", times=1)))
    assert await record_times(link, [spot], {}, PATIENCE) == {spot: Written(POISON, why=GONE)}
    running.call(lambda one: one.faults.add(Fault(Delay(30), api="fetch", times=1)))
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
    # The commit stands: its record is not asked for again.
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
