"""Tests of the pane of events: changes by others and by this console, their details, and how they are reverted."""

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig, UnsetQuota
from tests.support import worlds
from tests.tui.console_app import Driven, driven_on
from widgets.row_table import RowTable

AUDIT = topic_resource("identity.audit")
ALICE = QuotaEntity.of({"user": "alice"})


cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("identity.audit", 6, 3),
    lambda running: running.state.alter_config(AUDIT, {"retention.ms": "-1"}),
)


async def watched(it: Driven) -> None:
    """Open the pane of events, and wait until the console has read each kind of data once."""
    await it.press("comma", shows="nothing has changed since")
    await it.until(lambda: not it.app.journal.events.gaps())


async def test_a_change_of_another_client_is_taken_back(cluster: ThreadedCluster, it: Driven) -> None:
    await watched(it)
    cluster.call(lambda c: c.state.alter_config(AUDIT, {"retention.ms": "3600000"}))
    await it.press("3", "comma")  # the pane of configs reads the configs at once
    await it.app.session.read_configs([AUDIT])
    await it.shows("topic identity.audit retention.ms")
    line = it.line("topic identity.audit retention.ms")
    assert not line.strip().lstrip("▸").startswith("!"), "no rule warns of an hour in an empty topic"
    assert " ∞ " in line
    assert "1 h" in line
    assert "not kac" in line
    assert "was -1 (no limit); became 3600000 (1 h)" in it.text
    assert "seen between" in it.text
    await it.press("enter")
    await it.until(lambda: bool(it.app.session.plan.staged))
    assert it.edits == [SetConfig(AUDIT, "retention.ms", "-1")]


async def test_a_change_that_a_rule_warns_of_is_marked(cluster: ThreadedCluster, it: Driven) -> None:
    await watched(it)
    cluster.call(lambda c: c.state.alter_config(AUDIT, {"unclean.leader.election.enable": "true"}))
    await it.app.session.read_configs([AUDIT])
    await it.shows("unclean.leader.election.enable")
    assert it.line("not kac").strip().lstrip("▸").startswith("!")


async def without_broker_3(cluster: ThreadedCluster, it: Driven) -> None:
    """Stop broker 3 after the console has read each kind of data, and wait until the pane shows that its replicas left
    the ISR.
    """
    await watched(it)
    cluster.run(lambda c: c.broker_down(3))
    await it.app.session.read_cluster()
    await it.app.session.read_topics()
    await it.shows("broker 3 ISR, identity.audit")


async def test_a_broker_that_went_and_came_is_one_line(cluster: ThreadedCluster, it: Driven) -> None:
    await without_broker_3(cluster, it)
    cluster.run(lambda c: c.broker_up(3))
    await it.app.session.read_cluster()
    await it.app.session.read_topics()
    await it.shows("broker 3 came and went, 2 changes")
    await it.until(lambda: "broker 3 ISR" not in it.text)
    assert it.line("broker 3 came and went").strip().lstrip("▸").startswith("!")


async def test_a_change_of_this_console_has_its_author(it: Driven) -> None:
    await watched(it)
    await it.command("set user alice producer_byte_rate=1048576")
    await it.press("7", "A", "y", shows="applied")
    await it.press("comma", shows="user alice producer_byte_rate")
    assert "not kac" not in it.line("user alice producer_byte_rate")
    assert "change 1" in it.text
    await it.press("enter")
    await it.until(lambda: bool(it.app.session.plan.staged))
    assert it.edits == [UnsetQuota(ALICE, "producer_byte_rate")]


async def test_from_a_cause_to_its_events_and_back(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, size=(120, 40)) as it:
        await watched(it)
        cluster.call(lambda c: c.state.alter_quota(ALICE, {"producer_byte_rate": 1024.0}))
        cluster.run(lambda c: c.broker_killed(3))
        await it.app.session.read_quotas()
        await it.shows("user alice producer_byte_rate")
        await it.press("full_stop", shows="broker 3 is down")
        cluster.call(lambda c: c.fence(3))
        await it.press("H", shows=("events of broker 3", "broker 3 ISR, identity.audit (6 partitions)"))
        assert "user alice" not in it.text
        await it.press("escape", shows="broker 3 is down")


async def test_kinds_the_filter_and_what_has_no_way_back(cluster: ThreadedCluster, it: Driven) -> None:
    await without_broker_3(cluster, it)
    await it.filter("leader")
    await it.until(lambda: "ISR" not in it.text)
    await it.press("enter", shows="leaders are elected")
    await it.press("escape")
    await it.press("tab", "tab", shows=("topics, configs", "Tab shows others"))


async def test_the_newest_is_followed_until_the_cursor_leaves_it(cluster: ThreadedCluster, it: Driven) -> None:
    """New events are added at the top. If the cursor is on the first row, it stays on the newest event; otherwise the
    pane shows how many new events are hidden above.
    """
    await watched(it)
    table: RowTable = it.app.view.table  # type: ignore[attr-defined]

    async def change(number: int) -> None:
        cluster.call(lambda c: c.state.alter_quota(ALICE, {"producer_byte_rate": float(number)}))
        await it.app.session.read_quotas()
        await it.until(lambda: len(table.rows) == number)

    for number in range(1, 31):
        await change(number)
    assert table.cursor_index == 0
    assert "newer" not in it.text
    await it.press("j")
    stays = table.cursor_key
    for number in (31, 32):
        await change(number)
    await it.shows("2 newer ↑")
    assert table.cursor_key == stays
    await it.press("g")
    await it.until(lambda: "newer" not in it.text)
    await change(33)
    assert table.cursor_index == 0
    assert "newer" not in it.text

    # If the cursor came to a row by itself, the first Enter only names the row.
    await it.press("enter", shows="again stages its way back")
    assert not it.app.session.plan.staged
    await it.press("enter")
    await it.until(lambda: len(it.app.session.plan.staged) == 1)

    # If the user's own filter moved the cursor, the first Enter stages.
    first = it.app.session.plan.staged
    await it.press("slash")
    await it.type("20", "enter", "enter")
    await it.until(lambda: it.app.session.plan.staged != first)
