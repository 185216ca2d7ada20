"""``kac lake demo``: a day of three clusters in a lake of its own, taken in and built, to try everything on."""

from __future__ import annotations

import argparse
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.contexts.lake_place import LAKE, lake_place
from console.doors.opening import DONE, FAILED, complain, open_log_file
from console.terminal import put

if TYPE_CHECKING:
    from console.history.store import Lake
    from console.lake.demo.make import Demo
    from console.lake.demo.story import Recorded
    from console.lake.progress import Shown

NAME = "demo-lake"
_PARTITIONS = "2"
"""Shuffles of so little are dearer the more pieces they have."""


def run_lake_demo(options: argparse.Namespace) -> int:
    """0 made and built, 1 failed; the lake's own errors otherwise."""
    from console.doors.lake_jobs import with_spark
    from console.lake.demo.make import make
    from console.lake.progress import shown

    open_log_file()
    where = place(options)
    try:
        with shown() as progress:
            made = make(
                where, datetime.now(UTC), lambda said, done, of: progress.count("demo", done, of, said), _broker
            )
    except OSError as error:
        complain(f"the demo can't be written to {where}: {error.strerror or error}")
        return FAILED
    size = sum(file.stat().st_size for each in made.clusters for file in each.request_logs.values())
    code = with_spark(options, made.lake.where, _take_in_and_build, lambda _: size)
    if code == DONE:
        put(_how_to_go_on(made))
    return code


def _broker(folder: Path) -> Recorded:
    """A real one, where Java and Kafka are there. Raises NoBroker."""
    from console.lake.demo.real_broker import find_kafka, record_broker

    return record_broker(find_kafka(os.environ), folder)


def place(options: argparse.Namespace) -> str:
    """Of ``--lake``, else beside where lakes are: the demo does not go into anybody's own lake."""
    named = getattr(options, "lake", None)
    data = {name: os.environ[name] for name in ("XDG_DATA_HOME",) if name in os.environ}
    return str(named or Path(lake_place(None, data, None, Path.home())).with_name(NAME))


def _take_in_and_build(spark: Any, lake: Lake, shown: Shown) -> int:
    from console.history.jobs.build import build
    from console.history.jobs.ingest import ingest
    from console.lake.sources import FILE, read_sources

    spark.conf.set("spark.sql.shuffle.partitions", _PARTITIONS)
    file = Path(lake.where) / FILE
    sources = read_sources(file.read_text(encoding="utf-8"), str(file), Path(lake.where))
    ingest(spark, lake, sources.inputs(), shown.step)
    build(spark, lake, progress=shown.step)
    return DONE


def _how_to_go_on(made: Demo) -> str:
    from console.language.posix import shell_line

    lake = made.lake.where
    demo = shell_line("kac", "demo", "--scenario", "fleet", "--still", "--state", str(made.state))
    clusters = ", ".join(f"{each.name} ({each.cluster_id})" for each in made.clusters)
    without = f"No real broker was recorded beside them: {made.unrecorded}.\n" if made.unrecorded else ""
    return (
        f"In {lake}, up to now: {clusters}.\n{without}To look at it:\n"
        f"  {LAKE}={shell_line(lake)} {demo}\n"
        + "".join(f"  {shell_line('kac', verb, '--lake', lake)}\n" for verb in ("history", "drift", "usage"))
    )
