"""Tests of tiered topics in the console: their partitions show offsets in remote storage, and other topics show nothing
about it.
"""

from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from tests.scenarios.test_tiered import seed
from tests.support import worlds
from tests.tui.console_app import driven_on

cluster = worlds.cluster(ClusterSpec(brokers=1), seed)


async def test_partitions_and_describe(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster, (200, 60)) as it:
        await it.command("topics cold")
        await it.press("enter", "tab", shows=("Partition", "tiered to 999, local from 800", "none tiered"))
        await it.command("topics plain")
        await it.press("enter", "tab", shows=("plain", "Partition"))
        assert "tiered" not in it.text
        await it.command("describe topic cold", shows="To copy from")
        words = next(line for line in it.lines if "1,000" in line or " 1000 " in line).split()
        assert {"800", "999"} <= {word.replace(",", "") for word in words}
