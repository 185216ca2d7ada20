"""Tests of the panes of groups: trends of their lag, partitions without progress, members and their target assignments,
on an embedded cluster and a model.
"""

import time
from datetime import UTC, datetime, timedelta

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.group_kinds import NEWER, PAYMENTS, SCORES
from console.embedded.scenarios.quiet import GROUPS
from console.embedded.spec import ClusterSpec
from console.model.cluster import Group, GroupLag, GroupMember, PartitionLag
from console.session import snapshot_reader
from console.tui.panes.groups import GroupView
from tests.embedded.poisoned import GROUP, POISON, TIME, poisoned
from tests.support import worlds
from tests.tui.console_app import Driven, cluster, driven, driven_on
from tests.tui.model_client import ModelClient

WIDE = (140, 40)
NARROW = (80, 24)


kinds = worlds.cluster(ClusterSpec(scenario="groups"), scope="module")


class Clock:
    """A clock whose time is `seconds` seconds after the beginning of 2026."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)


@pytest.fixture
def clock() -> Clock:
    """Provide a clock that sets the times of polls: a trend needs polls over six seconds, a partition counts as stuck
    after twenty.
    """
    return Clock()


def row(topic: str, number: int, committed: int, end: int, member: str = "m-1") -> PartitionLag:
    return PartitionLag(topic, number, committed, end, max(0, end - committed), member)


async def polled_with(it: Driven, clock: Clock, seconds: float, lag: GroupLag) -> None:
    """Set the clock to this time and the group `billing` to this lag, and wait until a poll has read it."""
    clock.seconds = seconds
    it.app.session.clock = snapshot_reader.Clock(clock, time.monotonic)
    it.client.groups["billing"] = lag
    await it.until(lambda: it.app.session.snapshot.lags.get("billing") == lag)
    at = clock().timestamp()
    await it.until(lambda: it.app.session.snapshot.lag_trends["billing"].last.at == at)


async def test_groups_of_all_kinds_with_their_lag_and_who_should_have_a_partition(kinds: ThreadedCluster) -> None:
    async with driven_on(kinds, WIDE) as it:
        await it.press("6")
        for name, (newer, _, _) in NEWER.items():
            await it.shows(name)
            words = it.line(name).split()
            assert words[1:3] == [newer.state, newer.type], words
            await it.until(lambda n=name, group=newer: f" {len(group.members)} " in it.line(n))
        for name, _, clients, _ in GROUPS:
            assert it.line(name).split()[1:3] == ["Stable" if clients else "Empty", "classic"]
        await it.until(lambda: "·" not in " ".join(it.line("order-events").split()[:5]))
        await it.press("6", shows="order-events")
        await it.press("slash")
        await it.type("order-events", "enter", "enter", shows="Reconciling  3 members  2 not at the target")
        await it.shows("orders-2@10.0.4.12")
        eighth = next(line for line in it.lines if "checkout.orders  " in line and " 8 " in line)
        assert eighth.split()[-2:] == ["orders-2@10.0.4.12", "orders-3@10.0.4.13"]
        first = next(line for line in it.lines if "checkout.orders" in line and " 1 " in line)
        assert first.split()[-1] == "orders-1@10.0.4.11"


async def test_a_share_groups_partition_has_several_members_and_a_streams_group_its_tasks(
    kinds: ThreadedCluster,
) -> None:
    async with driven_on(kinds, WIDE) as it:
        await it.press("6")
        await it.command("groups refund", shows="refund-workers")
        await it.press("enter", shows="worker-1@10.0.4.11 +1")
        await it.command("groups fraud-scores")
        await it.shows("Reconciling")  # text of its row; the filter contains the group's name
        await it.press("enter", shows=("task 0_0", "subtopology 0 reads checkout.payments"))
        await it.shows("keeps its stores in fraud-scores-score-store-changelog")
        await it.shows("active scores-1@10.0.5.11", "standby scores-2@10.0.5.12")
        await it.press("end", shows="task 0_23")
        await it.shows("warm-up scores-2@10.0.5.12", "active, to be taken by scores-2@10.0.5.12")
        await it.command("groups order-events")
        await it.press("enter", shows="orders-2@10.0.4.12")
        assert not any("subtopology" in line for line in it.lines)
        await it.command("describe group fraud-scores", shows="11 active, 2 standby, 1 warm-up")
        await it.shows("1 not at the target", "epoch 12  topology 2", "Changelogs")
        assert it.line("score-store-changelog").split() == ["0", PAYMENTS, SCORES]
        assert "+1 -1" in it.line("scores-2")


async def test_a_stuck_partition_is_marked_and_its_row_has_the_committed_offset(clock: Clock) -> None:
    client = ModelClient(cluster(), groups={"billing": GroupLag((row("orders", 0, 5, 9), row("orders", 1, 0, 1)))})
    async with driven(client, WIDE) as it:
        await it.press("6", shows="billing")
        for second in range(2, 31, 4):
            lag = GroupLag((row("orders", 0, 5, 9 + 10 * second), row("orders", 1, 10 * second, 10 * second)))
            await polled_with(it, clock, second, lag)
        await it.shows("1 stuck")
        await it.until(lambda: it.line("billing").split()[-8:] == ["304", "≥", "28", "s", "grows", "+10", "1", "1"])
        await it.press("enter")
        await it.until(lambda: "stuck" in it.line("  309  "))
        assert it.line("  309  ").split()[2:10] == ["5", "309", "304", "≥", "28", "s", "stuck", "+10"]
        assert isinstance(it.app.view, GroupView)
        assert it.app.view.row() == row("orders", 0, 5, 309)


async def test_partitions_stand_next_to_each_other_where_they_are_more_than_the_lines() -> None:
    lag = GroupLag(tuple(row("orders", number, 0, 100 - number) for number in range(20)))
    async with driven(ModelClient(cluster(), groups={"billing": lag}), (120, 24)) as it:
        await it.press("6", shows="orders/19")
        # By descending lag, one row after the other.
        assert it.line("orders/0 ").index("orders/0 ") < it.line("orders/0 ").index("orders/1 ")
        assert "…" not in it.line("orders/19")
    async with driven(ModelClient(cluster(), groups={"billing": lag}), (120, 50)) as it:
        await it.press("6", shows="orders/19")
        assert "orders/1 " not in it.line("orders/0 "), "there is a line for each"


async def test_a_lag_that_shrinks_says_how_long_it_takes(clock: Clock) -> None:
    client = ModelClient(cluster(), groups={"billing": GroupLag((row("orders", 0, 0, 10_000),))})
    async with driven(client, WIDE) as it:
        await it.press("6", shows="billing")
        await it.until(lambda: "10,000" in it.line("billing"))
        for second in range(2, 21, 2):
            await polled_with(it, clock, second, GroupLag((row("orders", 0, 100 * second, 10_000 + 50 * second),)))
        await it.shows("shrinks")
        await it.until(
            lambda: it.line("billing").split()[3:12] == ["1", "9,000", "≥", "18", "s", "shrinks", "-50", "3", "min"]
        )


async def test_hostile_names_and_counts() -> None:
    """The console draws a group with 100,000 partitions, 10,000 members and control characters in all names, on small
    and large screens.
    """
    evil = "\x1b[31m\u202e[bold]\x07"
    places = tuple((f"t{evil}", number) for number in range(100_000))
    members = tuple(
        GroupMember(
            f"m{evil}{n}", f"c{evil}", f"/h{evil}", places[n * 10 : n * 10 + 10], target=places[n * 10 : n * 10 + 9]
        )
        for n in range(10_000)
    )
    group = Group(f"g{evil}", f"S{evil}", f"t{evil}", f"p{evil}", 1, members, 2**31 - 1, 7, f"a{evil}")
    lag = GroupLag(tuple(PartitionLag(t, n, 2**62, 2**63 - 1, 2**63 - 1 - 2**62, f"m{evil}") for t, n in places))
    client = ModelClient(cluster(), groups={group.name: lag}, described={group.name: group})
    async with driven(client, NARROW) as it:
        for size in (NARROW, WIDE):
            await it.pilot.resize_terminal(*size)
            await it.press("6", shows="g\\x1b[31m")
            assert len(it.lines) == size[1]
            await it.until(lambda: group.name in it.app.session.snapshot.lags)
            await it.press("enter", shows="t\\x1b[31m")
            await it.press("home")
            await it.until(lambda: "99999" not in it.text)
            await it.press("G", shows="99999")
            assert not any(char in it.text for char in "\x1b\u202e\x07")


standing = worlds.running(poisoned)
"""Provide a cluster with a group whose next record was written long ago."""


async def test_a_group_that_is_opened_says_when_the_record_was_written_that_waits(standing: ThreadedCluster) -> None:
    async with driven_on(standing, start_pane="groups", shows=GROUP) as it:
        await it.press("enter")
        await it.until(lambda: "d behind" in it.lines[2] and "≥" not in it.lines[2])
        (behind,) = it.app.session.snapshot.lag_trends[GROUP].behind.values()
        assert behind.seconds == pytest.approx(time.time() - (TIME + POISON) / 1000, abs=60)
