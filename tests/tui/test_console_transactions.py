"""Tests of the pane of transactions: it shows and explains hanging transactions, and stages their end. It refuses to
end a transaction that does not hang, with the reason.
"""

import pytest

from console.embedded.brokers import ThreadedCluster
from console.embedded.scenarios.transactions import HANGING, HEALTHY, LATE, YOUNG
from console.embedded.spec import ClusterSpec, clusters_of
from console.plan.edits import EndTransaction
from tests.support import worlds
from tests.tui.console_app import driven_on

hanging = worlds.cluster(clusters_of("transactions", ClusterSpec())["transactions"])
"""Provide a cluster with two hanging transactions, a young one and two healthy ones."""


def stable_offset(cluster: ThreadedCluster) -> tuple[int, int]:
    """Return (last stable offset, end offset) of the partition with the first hanging transaction."""

    def both(running: object) -> tuple[int, int]:
        log = running.state.logs[HANGING]  # type: ignore[attr-defined]
        return log.stable, log.end

    return cluster.call(both)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_hangs_comes_first(hanging: ThreadedCluster, size: tuple[int, int]) -> None:
    async with driven_on(hanging, size=size, shows="checkout.orders") as it:
        await it.command("transactions", shows="2 hang")
        words = [word for line in it.rows for word in ("hangs", "young", "healthy") if f" {word}" in line]
        assert words == ["hangs", "hangs", "young", "healthy", "healthy", "healthy"]
        assert " 1,202 " in it.line(str(LATE))
        assert "orders-app-2" in it.line(str(LATE))
        await it.command("transactions hangs", shows="2 of 6")
        await it.press("escape", "escape", shows="Part")


async def test_a_hanging_one_is_explained_staged_and_ended(hanging: ThreadedCluster) -> None:
    async with driven_on(hanging, shows="checkout.orders") as it:
        await it.command("transactions", shows=str(LATE))
        await it.press("j", "enter", shows=("no marker will come", "1,202 offsets that consumers with read_committed"))
        await it.press("escape", "x")
        await it.until(lambda: len(it.app.session.plan) == 1)
        (staged,) = it.app.session.plan.staged
        assert staged.edit == EndTransaction(*HANGING, LATE)
        await it.press("7", shows=("transaction-aborted", "nothing brings it back"))
        before = stable_offset(hanging)
        assert before[0] < before[1]
        await it.press("A", shows="no way back")
        await it.press(*"accept", "enter")
        assert stable_offset(hanging) == before, "only its partition, typed, sends it"
        await it.press("escape", "A", shows="Type checkout.orders/3")
        await it.type("checkout.orders/3", "enter", shows="applied")
        assert stable_offset(hanging)[0] == stable_offset(hanging)[1] == before[1] + 1


async def test_others_are_refused_with_the_reason(hanging: ThreadedCluster) -> None:
    async with driven_on(hanging, shows="checkout.orders") as it:
        await it.command("transactions", shows=str(YOUNG))
        await it.press("j", "j", "x", shows="too young to be called hanging")
        await it.press("G", "x", shows="it does not hang")
        await it.command(f"abort transaction topic checkout.payments partition 0 producer {HEALTHY}")
        await it.shows("it does not hang")
        assert not it.app.session.plan.staged


async def test_the_transactions_of_a_topic(hanging: ThreadedCluster) -> None:
    async with driven_on(hanging, shows="checkout.orders") as it:
        await it.command("topics payments", shows="1 of")
        await it.press("ctrl+t", shows=("transactions  topic checkout.payments", "payments-export"))
        assert "checkout.orders" not in it.text
        await it.press("escape", shows="Name")


async def test_brokers_are_asked_only_while_it_is_shown(hanging: ThreadedCluster) -> None:
    async with driven_on(hanging, shows="checkout.orders") as it:
        assert not it.app.session.snapshot.transactions
        await it.press("1", shows="zone-a")
        assert not it.app.session.snapshot.transactions
