"""Tests of clusters with many topics: the console computes over all topics outside of the event loop, and the screen
shows the same as for few topics, a moment later.
"""

import pytest
from textual.app import App

from console.embedded.replicas import striped
from console.embedded.spec import ClusterSpec
from console.model.quota import QuotaEntity
from console.session import rate_reading, snapshot_reader
from console.tui.panes import only_trouble, quotas, table, usage
from console.tui.reading import start
from tests.support import worlds
from tests.tui.console_app import Driven, driven
from tests.tui.console_app import cluster as model_cluster
from tests.tui.model_client import ModelClient

ALL = "exclamation_mark"


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limit so that one topic counts as many."""
    for module in (rate_reading, snapshot_reader, only_trouble, quotas, usage, table):
        monkeypatch.setattr(module, "MANY", 0)


cluster = worlds.cluster(
    ClusterSpec(brokers=3),
    worlds.topic("orders", 6, 3),
    worlds.topic("safe", striped([1, 2], 4, 2), brokers=[1, 2, 3]),
    worlds.topic("wide", striped([1, 2], 9, 2), brokers=[1, 2, 3]),
    down=(3,),
)
"""Provide a cluster with three topics, in which broker 3 is down. Only the topic `orders` has replicas on this
broker.
"""


async def test_rows_are_put_in_order_and_in_their_own_again(it: Driven) -> None:
    await it.press("2", shows="safe")

    def names() -> list[str]:
        return [word for line in it.rows for word in line.split() if word in ("orders", "safe", "wide")]

    assert names() == ["orders", "safe", "wide"]
    await it.press("P")
    await it.until(lambda: names() == ["wide", "orders", "safe"])
    await it.press("P")
    await it.until(lambda: names() == ["safe", "orders", "wide"])
    await it.press("P")
    await it.until(lambda: names() == ["orders", "safe", "wide"])


async def test_what_is_in_trouble_is_looked_for_and_nothing_is_claimed_before(it: Driven) -> None:
    await it.press("2", shows="safe")
    trouble = it.app.view.trouble
    assert trouble.found.topics == frozenset()
    assert trouble.calm("nothing is in trouble here", "") == "looking for what is in trouble…"
    await it.until(lambda: trouble.found.topics == {"orders"})
    await it.press(ALL)
    await it.until(lambda: "safe" not in it.text)
    assert "1 of 3" in it.lines[2]
    await it.filter("saf", shows="nothing is in trouble here and passes /saf")


async def test_rates_are_summed_up(it: Driven) -> None:
    await it.press("2", shows="safe")
    rates = it.app.session.rates
    await it.until(lambda: rates.totals.rates is it.app.session.snapshot.rates and bool(rates.totals.tallies))
    await it.press("1", shows="active controller")
    await it.until(lambda: rates.is_summed_up(it.app.session.snapshot))


async def test_quotas_are_put_in_order() -> None:
    made = model_cluster()
    made.quotas |= {QuotaEntity.of({"user": f"user-{n}"}): {"request_percentage": 5.0} for n in range(9)}
    async with driven(ModelClient(made)) as it:
        await it.press("4", shows="user user-8")
        users = [line.split()[-1] for line in it.lines if "user user-" in line and "effective" not in line]
        assert len(users) == 9
        await it.filter("user-3")
        await it.until(lambda: "user-8" not in it.text)
        assert "user user-3" in it.text


async def test_a_worker_says_nothing_of_what_it_works_on() -> None:
    class Cluster:
        def __repr__(self) -> str:
            raise AssertionError("100,000 topics as text")

        async def work(self) -> None:
            pass

    app: App[None] = App()
    async with app.run_test():
        await start(app, Cluster().work, group="g", name="n").wait()
