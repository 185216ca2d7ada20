"""Measures the time from a change in the controller's log until it is in the lake, and on the screen, while `kac lake
run` runs.

``python -m benchmarks.follow [--changes 20]``: needs Java and Kafka's jars. It runs a broker, `kac lake run` with the
controller's log as a source, and the console without a terminal on its pane History. A change's time is measured from
the timestamp of its record until a reader sees the row in the lake, and until the row is on the screen. All run on one
machine's clock; the reading of the lake is part of the load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path

from benchmarks.figures import load, report, report_ratio
from benchmarks.processes import Watched, kac, watched
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.lake.lake import Lake
from console.lake.schema import HISTORY
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, NewTopic
from console.model.codes import SET
from console.model.config import topic_resource
from console.session.session import Session
from console.tui.app import Console
from tests.support.kafka_cluster import KafkaCluster
from tests.support.lake_reading import rows_in
from tests.tui.console_app import Driven

TOPIC, KEY, FIRST = "followed", "flush.messages", 4_711_000
MOST_SECONDS = 10.0
BATCH_CPU = 6.0
PATIENCE = 300.0


def main() -> None:
    """Run the broker, the lake and the console, make the changes, and print a line of JSON for each figure."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.follow", description=__doc__)
    options.add_argument("--changes", type=int, default=20)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, KafkaCluster(brokers=1) as cluster:
        _configure(Path(folder), cluster)
        lake = Lake.create(f"{folder}/lake")
        controllers = [f"{host}:{port}" for host, port in cluster.controller_addresses]
        sources = {"id": cluster.cluster_id, "context": "followed", "controllers": controllers}
        Path(lake.where, "sources.yaml").write_text(json.dumps({"version": "1", "clusters": [sources]}))
        with (
            AdminClient(ConnectionSettings(cluster.addresses)) as client,
            watched(kac("lake", "run", "--lake", lake.where, "--master", "local[2]")) as running,
        ):
            asyncio.run(_measured(client, lake, cluster, running, given.changes))
            running.process.send_signal(signal.SIGTERM)
            report("kac lake run, the whole session", **running.wait().shown())


def _configure(folder: Path, cluster: KafkaCluster) -> None:
    """Write a configuration file with the context that the lake's sources name; the user's own files are not read."""
    file = folder / "kac/config.toml"
    file.parent.mkdir()
    file.touch(mode=0o600)
    file.write_text(f'[contexts.followed]\n"bootstrap.servers" = "{cluster.bootstrap}"\n')
    os.environ |= {"XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder), "KAC_LAKE": f"{folder}/lake"}


async def _measured(client: AdminClient, lake: Lake, cluster: KafkaCluster, running: Watched, changes: int) -> None:
    await client.run(send, CreateTopics((NewTopic(TOPIC, 1, 1),)), validate_only=False)
    await _until_there(lake, running, ":partitions", "1")
    in_lake: list[float] = []
    on_screen: list[float] = []
    settings = ConnectionSettings(cluster.addresses)
    app = Console(Session(client, Context("followed", "benchmark", settings)), ConsoleSettings())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = Driven(app, pilot, client)
        await screen.press("8")
        await screen.shows("partitions")
        before = running.cost()
        for number in range(1, changes + 1):
            text = str(FIRST + number)
            op = ConfigOp(KEY, SET, text)
            await client.run(send, AlterConfigs({topic_resource(TOPIC): (op,)}), validate_only=False)
            seen = asyncio.create_task(_seen(screen, f"→ {text}"))
            written = await _until_there(lake, running, KEY, text)
            in_lake.append(time.time() - written)
            on_screen.append(await seen - written)
        spent = (running.cost() - before).cpu / changes
    for what, seconds in (("to the lake", in_lake), ("to the screen", on_screen)):
        spread = {"median": round(statistics.median(seconds), 2), "max": round(max(seconds), 2)}
        report(f"from the controller's record {what}", seconds=spread, changes=changes, **load())
    report_ratio("from the controller's record to the screen, median s", statistics.median(on_screen), MOST_SECONDS)
    report_ratio("CPU s of the application a change", spent, BATCH_CPU)


async def _seen(screen: Driven, text: str) -> float:
    """Wait until a text is on the screen. Return the time when it was seen, seconds since 1970. Raises TimeoutError
    after `PATIENCE` seconds.
    """
    deadline = time.monotonic() + PATIENCE
    while text not in screen.text:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{text} is not on the screen:\n{screen.text}")
        await screen.pilot.pause(0.02)
    return time.time()


async def _until_there(lake: Lake, running: Watched, attr: str, value: str) -> float:
    """Wait until the lake has this value for the topic's attribute. Return the timestamp of its record, seconds since
    1970.

    Raises TimeoutError after `PATIENCE` seconds, or SystemExit if the application ends before.
    """
    where = f"entity_key = '{TOPIC}' AND attr = '{attr}' AND new_value = '{value}' AND is_current"
    deadline = time.monotonic() + PATIENCE
    while True:
        found = await asyncio.to_thread(rows_in, lake, HISTORY, "valid_from", where)
        if found:
            at: datetime = found[0][0]
            return at.timestamp()
        if running.process.poll() is not None:
            raise SystemExit("kac lake run has ended")
        if time.monotonic() > deadline:
            raise TimeoutError(f"{attr} is not {value} in the lake after {PATIENCE:g} s")
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    main()
