"""Tests of resets of a group's offsets from its row in the console: staged, predicted, applied and reverted, on a
screen of 80×24.
"""

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.groups import Member
from console.embedded.spec import ClusterSpec
from tests.support import worlds
from tests.support.group_flows import write
from tests.tui.console_app import Driven, driven_on

cluster = worlds.cluster(
    ClusterSpec(brokers=1),
    worlds.topic("orders", [(1,)], brokers=[1]),
    worlds.group("billing", {("orders", 0): 4}, protocol_type="consumer"),
)


@pytest.fixture(autouse=True)
async def written(cluster: ThreadedCluster) -> None:
    """Write ten records to `orders`."""
    await write(cluster.bootstrap, "orders", {0: 10})


def committed(cluster: ThreadedCluster) -> int:
    return cluster.call(lambda running: running.state.groups["billing"].offsets["orders", 0].offset)


async def test_a_poison_record_is_skipped_from_its_row_and_that_is_taken_back(
    cluster: ThreadedCluster, it: Driven
) -> None:
    await it.press("6", shows="billing")
    await it.press("enter", shows="orders")
    await it.press("s", shows="skip group billing topic orders partition 0")
    await it.press("enter", "7", shows="orders/0  reset from 4 to 5  up to 1 record is never read")
    await it.shows("consumers that assign() partitions are no members")
    await it.press("A", shows="OffsetCommit  1 offset of group billing")
    await it.press("y")
    await it.until(lambda: committed(cluster) == 5)
    await it.shows("applied")
    await it.command("revert 1", shows="orders/0  reset from 5 to 4  up to 1 record is read again")
    await it.press("A", "y")
    await it.until(lambda: committed(cluster) == 4)


async def test_the_keys_of_a_groups_row_begin_its_commands(it: Driven) -> None:
    await it.press("6", shows="billing")
    for key, command in (("e", "reset group billing to"), ("D", "delete group billing")):
        await it.press(key, shows=command)
        await it.press("escape")
    await it.command("delete group billing")
    await it.press("7", shows=("delete, with 1 offset", "1 offset goes with it, of orders"))


async def test_a_line_of_the_plan_opens_its_group_and_its_title_drops_all(it: Driven) -> None:
    await it.press("6", shows="billing")
    await it.command("reset group billing to latest")
    await it.press("7", shows="reset from 4 to 10")
    await it.press("down", "enter", shows="Committed")
    await it.press("7", "s", shows="reset group billing topic orders partition 0 to offset 10")
    await it.press("escape", "R", shows="kafka-consumer-groups --reset-offsets --group billing --topic orders:0")
    await it.press("escape", "g", "x", shows="taken out of the plan: 1 edit of group billing")


async def test_a_member_that_joined_since_is_named_before_anything_is_sent(cluster: ThreadedCluster) -> None:
    def join(running: EmbeddedCluster) -> None:
        group = running.state.groups["billing"]
        group.members["m"] = Member("m", None, "late", "/10.0.0.9", 9.0, 9.0, (("range", b""),))

    async with driven_on(cluster, size=(120, 40)) as it:
        await it.press("6", shows="billing")
        await it.command("reset group billing to latest")
        cluster.call(join)
        await it.press("7", shows="reset from 4 to 10")
        await it.press("A", "y", shows="group billing has a member: late at 10.0.0.9")
        assert committed(cluster) == 4
