"""Tests of the pane Now: it shows a cause as long as it lasts, and from its row the user can go to the evidence or
stage the fix.
"""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import Delay, Fault
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.config import broker_resource, topic_resource
from console.triage.causes import brokers
from console.tui.tour import Tour
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on

THROTTLE = "leader.replication.throttled.rate"


cluster = worlds.cluster(ClusterSpec(brokers=3), worlds.topic("orders", 6, 3))


async def test_a_healthy_cluster_says_what_was_looked_at(it: Driven) -> None:
    await it.press("full_stop", shows="healthy: 3 brokers, 1 topic")
    await it.press("F", shows="there is nothing under the cursor")


MOST_KEYS = 8
"""The most keys that the user may need from the alarm to the applied fix."""


def throttled(running: EmbeddedCluster) -> None:
    running.state.alter_config(broker_resource(2), {THROTTLE: "1024"})


def impossible(running: EmbeddedCluster) -> None:
    running.state.put_topic(new_topic("cards", striped([1, 2, 3], 2, 2), [1, 2, 3]))
    running.state.alter_config(topic_resource("cards"), {"min.insync.replicas": "3"})


TROUBLES = {
    "broker 2: a throttle is left over": throttled,
    "cards: min ISR 3, 2 replicas": impossible,
}
SKEW = "broker 3 does not lead 2 partitions"


@pytest.mark.parametrize("title", [*TROUBLES, SKEW])
async def test_from_the_alarm_to_green(cluster: ThreadedCluster, title: str) -> None:
    """One of three causes is selected, its fix is staged and applied, and its row disappears. All this takes at most
    `MOST_KEYS` keys.
    """
    for trouble in TROUBLES.values():
        cluster.call(trouble)
    cluster.run(lambda running: running.broker_down(3))
    cluster.run(lambda running: running.broker_up(3))
    keys: list[str] = []
    async with driven_on(cluster, start_pane="now") as it:

        async def press(*more: str) -> None:
            keys.extend(more)
            await it.press(*more)

        for each in (*TROUBLES, SKEW):
            await it.shows(each)
        rows = [line for line in it.lines if "WARN" in line or "HIGH" in line]
        assert len(rows) == 3
        at, wanted = (next(n for n, line in enumerate(rows) if part in line) for part in ("▸", title))
        await press(*("j" if wanted > at else "k") * abs(wanted - at))
        await it.until(lambda: f"── {title}" in it.text)
        await it.shows("F stages")
        await press("F")
        await it.until(lambda: "Plan*" in it.text)
        await press("7", "A")
        await it.shows("y checks the plan")
        await press("y")
        await it.shows("applied")
        await press("full_stop")
        await it.until(lambda: title not in it.text)
        await it.shows("2 troubles")
    assert len(keys) <= MOST_KEYS


async def test_enter_goes_to_the_evidence_and_escape_back(cluster: ThreadedCluster) -> None:
    cluster.call(impossible)
    async with driven_on(cluster, start_pane="now", shows="cards: min ISR 3, 2 replicas") as it:
        await it.press("enter", shows="min.insync.replicas")
        await it.until(lambda: it.line("min.insync.replicas").startswith("▸"))
        await it.press("escape", shows="cards: min ISR 3, 2 replicas")


async def test_possible_causes_stand_below_and_are_not_counted(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    cluster.call(lambda running: running.faults.add(Fault(Delay(3600), api="api_versions", broker=3)))
    shown = ("1 sure, 1 possible  1 warning", "Now!1")
    async with driven_on(cluster, start_pane="now", request_timeout=3.0, shows=shown) as it:
        await it.shows("broker 3 does not answer")
        sure, guess = it.line("WARN"), it.line("CRIT")
        assert it.lines.index(sure) < it.lines.index(guess)
        assert " certain " in sure
        assert " possible " in guess


async def test_the_fix_comes_first_and_says_whether_it_is_refused(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now", shows=("── broker 2: a throttle is left over", "F stages")) as it:
        title = next(n for n, line in enumerate(it.lines) if "── broker 2: a throttle is left over" in line)
        assert "F stages" in it.lines[title + 1]
        assert "refused: " not in it.text
        assert it.text.count("Ruled out") <= 1
    async with driven_on(cluster, start_pane="now", read_only=True) as it:
        await it.shows("F stages", "refused: this context is read-only")


async def test_a_muted_cause_is_no_alarm_and_stays_muted_for_the_next_console(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    cluster.call(throttled)
    cluster.call(impossible)
    async with driven_on(cluster, start_pane="now", shows=("2 troubles  1 high  1 warning", "Now!2")) as it:
        await it.until(lambda: it.line("cards: min ISR").startswith("▸"))
        await it.press("m", shows=("1 trouble  1 warning  1 muted", "Now!1"))
        rows = [number for number, line in enumerate(it.lines) if "min ISR 3, 2" in line or "is left over" in line]
        assert "cards" in it.lines[rows[1]]
        assert "mute" in it.lines[rows[1]], "below the others"
    assert (tmp_path / "kac" / "muted.json").stat().st_mode & 0o777 == 0o600
    async with driven_on(cluster, start_pane="now", shows="1 trouble  1 warning  1 muted") as it:
        await it.press("G", "m", shows=("2 troubles  1 high  1 warning", "counted again"))
    async with driven_on(cluster, start_pane="now") as it:
        await it.shows("2 troubles  1 high  1 warning")


@pytest.mark.parametrize("key", ["escape", "question_mark"])
async def test_the_tour_of_the_demo_goes_away_for_good(cluster: ThreadedCluster, tmp_path: Path, key: str) -> None:
    cluster.call(throttled)
    seen = tmp_path / "kac" / "tour-seen"
    async with driven_on(cluster, start_pane="topics") as it:
        it.app.triage.tour = Tour(seen)
        await it.press("full_stop", shows="1 trouble")
        await it.shows("F stages what mends it, 7 shows the plan, A sends it; ⏎ the evidence, Esc back.")
        await it.press(key)
        await it.until(lambda: "7 shows the plan" not in it.text)
        assert ("keys: now" in it.text) == (key == "question_mark"), "the key does what it does"
        await it.press("escape", "2", "full_stop", shows="1 trouble")
        assert "7 shows the plan" not in it.text
        await it.until(seen.exists)
    assert not Tour(seen).is_shown


async def test_what_was_known_is_stale_when_no_broker_answers(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now", shows="1 trouble  1 warning") as it:
        for broker in (1, 2, 3):
            cluster.run(lambda running, id_=broker: running.broker_down(id_))
        await it.shows("! STALE since")
        await it.until(lambda: it.text.count("STALE since") == 2)
        assert "a throttle is left over" in it.text
        for broker in (1, 2, 3):
            cluster.run(lambda running, id_=broker: running.broker_up(id_))
        await it.until(lambda: "STALE" not in it.text)
        await it.shows("live")


async def test_a_broker_goes_down_while_it_is_watched(
    cluster: ThreadedCluster, it: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brokers, "AWAY", timedelta(0))  # a drain is offered after 10 minutes
    await it.press("full_stop", shows="healthy")
    cluster.run(lambda running: running.broker_killed(3))
    await it.shows("broker 3 is down")
    cluster.call(lambda running: running.fence(3))
    line = it.line("broker 3 is down")
    assert "CRIT" in line
    assert "start" not in line, "it began while the console watched"
    await it.shows("6 under-replicated")
    assert "its process, host, disk, network" in it.line("Look at")
    await it.press("g")  # marks the row as seen: for a moment it may have been six unexplained partitions
    await it.shows("F opens")
    await it.press("F", shows=": drain broker 3")
    await it.press("escape", "enter", shows="active controller")
    cluster.run(lambda running: running.broker_up(3))
    await it.press("full_stop")
    await it.until(lambda: "broker 3 is down" not in it.text)
    await it.press("y", shows="sent to the terminal: # Kafka:")


async def test_a_key_changes_nothing_for_a_row_that_the_cursor_fell_on(cluster: ThreadedCluster) -> None:
    """If another client resolves the cause under the cursor, so that the cursor is on another row, the next key only
    says so; the key after it acts on this row.
    """
    cluster.call(impossible)
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now", shows="2 troubles") as it:
        await it.until(lambda: it.line("cards: min ISR").startswith("▸"))
        cluster.call(lambda running: running.state.remove_topic("cards"))
        await it.until(lambda: "cards: min ISR" not in it.text)
        await it.until(lambda: it.line("a throttle is left over").startswith("▸"))
        assert "F stages" not in it.text
        await it.press("F", shows="gone: cards: min ISR")
        assert "Plan*" not in it.text
        await it.shows("F stages")
        await it.press("F")
        await it.until(lambda: "Plan*" in it.text)


async def test_the_cursor_is_on_the_worst_cause_until_it_is_moved(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now") as it:
        await it.until(lambda: it.line("a throttle is left over").startswith("▸"))
        cluster.call(impossible)
        await it.until(lambda: it.line("cards: min ISR").startswith("▸"))
        await it.press("F")  # the new cause was on the screen for too short a time to be read
        await it.shows("a worse cause came, and the cursor is on it now")
        assert "Plan*" not in it.text
        await it.press("j")
        await it.until(lambda: it.line("a throttle is left over").startswith("▸"))
        cluster.run(lambda running: running.broker_killed(3))
        await it.shows("broker 3 is down")
        assert it.line("a throttle is left over").startswith("▸")
        await it.press("F")
        await it.until(lambda: "Plan*" in it.text)


async def test_a_key_that_moves_shows_that_what_came_was_seen(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now") as it:
        await it.until(lambda: it.line("a throttle is left over").startswith("▸"))
        cluster.call(impossible)
        await it.until(lambda: it.line("cards: min ISR").startswith("▸"))
        await it.press("j", "k", "F")
        await it.until(lambda: "Plan*" in it.text)


async def test_a_key_that_moves_shows_that_the_row_was_seen(cluster: ThreadedCluster) -> None:
    cluster.call(impossible)
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now") as it:
        await it.until(lambda: it.line("cards: min ISR").startswith("▸"))
        cluster.call(lambda running: running.state.remove_topic("cards"))
        await it.until(lambda: "cards: min ISR" not in it.text)
        await it.press("j", "F")
        await it.until(lambda: "Plan*" in it.text)


async def test_the_cursor_stays_with_what_has_another_name_now(cluster: ThreadedCluster) -> None:
    """The cursor stays on the row of a reassignment when the broker to which it moves goes down: the cause then gets
    another name, and another cause is added above it.
    """
    cluster.call(throttled)
    cluster.call(lambda running: running.state.put_topic(new_topic("moved", [(1, 2)], [1, 2, 3])))
    cluster.call(in_a_move)
    async with driven_on(cluster, start_pane="now", shows="moved/0 moves to 3, from 2") as it:
        await it.press("G")
        await it.until(lambda: it.line("moved/0 moves").startswith("▸"))
        cluster.run(lambda running: running.broker_killed(3))
        await it.shows("broker 3 is down")
        cluster.call(lambda running: running.fence(3))
        await it.until(lambda: it.line("moved/0 moves to 3, which is down").startswith("▸"))
        await it.shows("F stages   cancel it")
        await it.press("F")
        await it.until(lambda: "Plan*" in it.text)


async def test_the_worst_cause_has_the_cursor_also_when_the_one_before_has_another_name(
    cluster: ThreadedCluster,
) -> None:
    cluster.call(lambda running: running.state.put_topic(new_topic("moved", [(1, 2)], [1, 2, 3])))
    cluster.call(in_a_move)
    async with driven_on(cluster, start_pane="now") as it:
        await it.until(lambda: it.line("moved/0 moves to 3, from 2").startswith("▸"))
        cluster.run(lambda running: running.broker_killed(3))
        await it.shows("broker 3 is down")
        cluster.call(lambda running: running.fence(3))
        await it.shows("moved/0 moves to 3, which is down")
        await it.until(lambda: it.line("broker 3 is down").startswith("▸"))


def in_a_move(running: EmbeddedCluster) -> None:
    """Begin to move the partition moved/0 from broker 2 to 3; nothing is copied yet."""
    topic = running.state.topics["moved"]
    moving = topic.partitions[0]._replace(replicas=(1, 3, 2), adding=(3,), removing=(2,))
    running.state.put_topic(replace(topic, partitions=(moving,)))


async def test_what_has_no_known_beginning_says_when_it_was_seen_first(cluster: ThreadedCluster) -> None:
    cluster.call(throttled)
    async with driven_on(cluster, start_pane="now", shows="a throttle is left over") as it:
        first = re.search(r"WARN +(\d\d:\d\d:\d\d) ", it.line("a throttle is left over"))
        assert first is not None, it.text
        await it.shows(f"unknown: first seen {first[1]}")
