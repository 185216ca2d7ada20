"""A console that brokers throttle says so, and is not called healthy by what it read before."""

from __future__ import annotations

from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Fault, Throttle
from console.embedded.spec import ClusterSpec
from console.triage.symptoms import Subject
from tests.support import worlds
from tests.support.triage_watch import bootstrap, found, watching

cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1))
HERE = Subject(entity="this console")


async def test_by_how_much_it_is_throttled(cluster: ThreadedCluster) -> None:
    addresses = cluster.call(lambda running: running.addresses)
    async with watching(bootstrap(addresses.values())) as it:
        verdict = await it.until(lambda verdict: verdict.is_healthy, "all parts")
        assert found(verdict, "console-throttled", HERE) is None
        cluster.call(lambda running: running.faults.add(Fault(Throttle(0.4))))
        named = await it.names("console-throttled", HERE)
        assert "ms of each second" in named.claim.evidence[0].fact
        assert it.verdict is not None
        assert not it.verdict.is_healthy
        assert not any(each.edits for each in named.claim.next)
