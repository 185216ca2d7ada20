"""From the controller's log to the lake, and to the screen: changes of a real cluster while `kac lake follow` runs.

``python -m benchmarks.follow [--changes 20]``. A broker of its own, `kac lake follow` as a process, the console without
a terminal on its pane History. Each change is timed from the time that the controller wrote into its record: until the
row is in a release of the lake, and until it is on the screen. The clock is one machine's; what looks at the lake is
part of the load.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from benchmarks.figures import load, report, report_ratio
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.history.reader.tables import Change, Tables
from console.history.reader.tail import tail
from console.history.store import Lake
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.codes import SET
from console.model.config import topic_resource
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.tui.console_app import Driven

TOPIC, KEY, FIRST = "followed", "flush.messages", 4_711_000
MOST_SECONDS = 5.0


def main() -> None:
    """Measures and reports."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--changes", type=int, default=20)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, KafkaCluster(brokers=1) as cluster:
        lake = Lake.create(f"{folder}/lake")
        kac = [sys.executable, "-m", "console"]
        of_cluster = ("-b", cluster.bootstrap, "--lake", lake.where)
        controller = ":".join(map(str, cluster.controller_addresses[0]))
        following = [*kac, "lake", "follow", *of_cluster, "--controller", controller]
        os.environ["XDG_STATE_HOME"] = folder
        with (
            AdminClient(ConnectionSettings(cluster.addresses)) as client,
            subprocess.Popen(following, stdout=subprocess.DEVNULL) as process,
        ):
            try:
                asyncio.run(_measured(client, lake, cluster, given.changes))
            finally:
                process.send_signal(signal.SIGINT)


async def _measured(client: AdminClient, lake: Lake, cluster: KafkaCluster, changes: int) -> None:
    await client.run(send, CreateTopics((NewTopic(TOPIC, 1, 1),)), validate_only=False)
    while await asyncio.to_thread(_found, lake, cluster.cluster_id, ":partitions") is None:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    bronze: list[float] = []
    pane: list[float] = []
    settings = ConnectionSettings(cluster.addresses)
    os.environ["KAC_LAKE"] = lake.where
    app = Console(Session(client, Context("followed", "benchmark", settings)), ConsoleSettings())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = Driven(app, pilot, client)
        await screen.press("8")
        await screen.shows("partitions")
        for number in range(1, changes + 1):
            text = str(FIRST + number)
            op = ConfigOp(KEY, SET, text)
            await client.run(send, AlterConfigs({topic_resource(TOPIC): (op,)}), validate_only=False)
            seen = asyncio.create_task(_seen(screen, f"→ {text}"))
            found = None
            while found is None or found.new_value != text:
                await asyncio.sleep(0.02)
                found = await asyncio.to_thread(_found, lake, cluster.cluster_id, KEY)
            bronze.append(time.time() - found.valid_from.timestamp())
            pane.append(await seen - found.valid_from.timestamp())
    for what, seconds in (("to the lake", bronze), ("to the screen", pane)):
        spread = {"median": round(statistics.median(seconds), 2), "max": round(max(seconds), 2)}
        report(f"from the controller's record {what}", seconds=spread, changes=changes, **load())
    report_ratio("the screen's median, of what is allowed", statistics.median(pane) / MOST_SECONDS, 1.0)


async def _seen(screen: Driven, text: str) -> float:
    """When it is on the screen, seconds since 1970."""
    await screen.shows(text)
    return time.time()


def _found(lake: Lake, cluster_id: str, attr: str) -> Change | None:
    """The latest change of the topic's attribute that the lake has."""
    tables = Tables(lake.where)
    try:
        made = [each for each in tail(tables, cluster_id).changes if (each.entity_key, each.attr) == (TOPIC, attr)]
        return made[-1] if made else None
    finally:
        tables.close()


if __name__ == "__main__":
    main()
