"""Tests of the pane of lint's findings, and of their row in the pane Now, on a cluster with a few risks."""

import pytest

from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import RACKS, ClusterSpec
from console.lint.acceptance import Acceptance
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig
from console.tui import watch
from tests.support import worlds
from tests.support.lint_cases import FILE
from tests.tui.console_app import driven_on

cluster = worlds.cluster(ClusterSpec(brokers=3, racks=RACKS, static_configs=FILE), worlds.topic("orders", 6, 3))


def wrong(running: EmbeddedCluster) -> None:
    """Add two topics with a risk to the cluster: one with a single replica, and one whose min.insync.replicas equals
    its number of replicas.
    """
    running.state.put_topic(new_topic("cards", striped([1, 2, 3], 2, 1), [1, 2, 3]))
    running.state.put_topic(new_topic("carts", striped([1, 2, 3], 2, 3), [1, 2, 3]))
    running.state.alter_config(topic_resource("carts"), {"min.insync.replicas": "3"})
    running.state.alter_config(topic_resource("cards"), {"min.insync.replicas": "1"})


SIZES = [(80, 24), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_findings_are_listed_opened_and_mended(cluster: ThreadedCluster, size: tuple[int, int]) -> None:
    cluster.call(wrong)
    async with driven_on(cluster, size, start_pane="now") as it:
        await it.press("tab", shows="1 high  1 warning")
        rows = [line for line in it.lines if "likely" in line and "topic " in line]
        assert [("topic cards" in rows[0], "HIGH" in rows[0]), ("topic carts" in rows[1], "WARN" in rows[1])] == [
            (True, True),
            (True, True),
        ]
        assert it.line("topic cards").startswith("▸")
        await it.shows("single-replica: a topic with partitions of one replica", "F opens", "replication topic cards 3")
        await it.shows("Why", "It can't be written or read", "Source", "#topicconfigs_min.insync.replicas")
        if size[0] == 200:
            assert "set topic carts" in it.line("topic carts")
        await it.press("F", shows="replication topic cards 3")
        await it.press("escape", "j", shows="F stages")
        await it.press("F")
        await it.until(lambda: it.edits == [SetConfig(topic_resource("carts"), "min.insync.replicas", "2")])
        await it.press("enter")
        await it.until(lambda: "min.insync.replicas" in it.text and "Configs" in it.text)
        await it.press("escape", shows="1 high  1 warning")
        await it.press("tab", shows="watched since")


async def test_a_filter_and_the_key_of_trouble_choose_rows(cluster: ThreadedCluster) -> None:
    cluster.call(wrong)
    async with driven_on(cluster, start_pane="now") as it:
        await it.press("tab", shows="1 high  1 warning")
        await it.filter("min-isr-equals")
        await it.until(lambda: "topic carts" in it.text and "topic cards" not in it.text)
        await it.press("escape", shows="topic cards")


async def test_accepted_findings_stand_below_with_their_reason(cluster: ThreadedCluster) -> None:
    cluster.call(wrong)
    lint = (Acceptance("single-replica", "topic car*", "it is made again each night", "contexts.toml:3"),)
    async with driven_on(cluster, start_pane="now", lint=lint) as it:
        await it.press("tab", shows="1 warning  1 accepted")
        rows = [line for line in it.lines if "topic car" in line and "likely" in line]
        assert "topic carts" in rows[0]
        assert "ok" in rows[1]
        await it.press("j", shows="it is made again each night (contexts.toml:3)")
        assert "F opens" not in it.text


async def test_a_cluster_in_good_order_says_how_many_rules_looked_and_which_could_not(
    cluster: ThreadedCluster,
) -> None:
    async with driven_on(cluster, start_pane="now") as it:
        await it.press("tab", shows=("none found anything", "could not look: token-expiring"))


async def test_now_counts_them_in_one_row_that_is_no_trouble(
    cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "FIRST_AFTER", 0.1)
    cluster.call(wrong)
    async with driven_on(cluster, start_pane="now", shows=("no trouble", "lint: 2 findings, 1 high, 1 warning")) as it:
        assert "Now!" not in it.text
        await it.shows("single-replica, min-isr-equals-factor", "healthy: 3 brokers, 3 topics")
        await it.press("F", shows="Enter lists them")
        await it.press("exclamation_mark", shows="only trouble")
        await it.until(lambda: "lint: 2" not in it.text)
        await it.press("escape", shows="lint: 2")
        await it.press("enter", shows="1 high  1 warning")


async def test_what_a_finding_is_about_has_a_place(cluster: ThreadedCluster) -> None:
    """Enter on a finding about a quota opens the pane of quotas; Enter on a finding about a feature opens the pane
    of features.
    """

    def more(running: EmbeddedCluster) -> None:
        running.state.alter_quota(QuotaEntity.of({"user": "alice"}), {"producer_byte_rate": 1.0})

    cluster.call(more)
    async with driven_on(cluster, start_pane="now") as it:
        await it.press("tab", shows="user alice")
        await it.press("enter")
        await it.until(lambda: it.app.navigator.place.view == "quotas")
