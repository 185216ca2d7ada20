"""A setting of another client that this host takes back: triage knows it, and never offers the value again."""

from __future__ import annotations

import asyncio

import pytest

from console.cli import main as cli
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.model.parts import Part
from tests.support import worlds
from tests.support.paces import poll_often
from tests.support.triage_watch import bootstrap, watching

ORDERS = topic_resource("orders")
KEY, BAD = "max.message.bytes", "2000"

cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))


async def test_what_was_taken_back_here_is_known(cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    poll_often(monkeypatch, 0.2, Part.CONFIGS)
    addresses = cluster.call(lambda running: running.addresses)
    async with watching(bootstrap(addresses.values()), journal=True) as it:

        def value() -> str | None:
            known = it.observations and it.observations.last.snapshot.configs.get(ORDERS)
            entry = known.get(KEY) if known else None
            return entry.value if entry is not None else None

        await it.until(lambda _: value() is not None, "configs")
        cluster.call(lambda running: running.state.alter_config(ORDERS, {KEY: BAD}))
        await it.until(lambda _: value() == BAD, "the change")
        await it.poll_times(4)  # authors are searched each second
        assert not it.facts.taken_back
        command = f"unset topic orders {KEY}; apply --yes"
        assert await asyncio.to_thread(cli.run, ["run", "-b", cluster.bootstrap, "-e", command]) == 0
        await it.until(lambda _: it.facts.taken_back == {(ORDERS, KEY, BAD)}, "what was taken back")
        cluster.call(lambda running: running.state.alter_config(ORDERS, {KEY: BAD}))
        await it.until(lambda _: value() == BAD, "the change, again")
        await it.until(lambda _: not it.facts.taken_back, "somebody else set it again")
