"""Measures the reading of a metadata log: kac's decoder, alone and through Spark, compared with Kafka's
DumpLogSegments, each in a new process.

``python -m benchmarks.kraft [--megabytes 100] [--rounds 3] [--folder DIR]``: needs Java and Kafka's jars. The log is
that of `benchmarks.metadata_log`, kept in DIR; kac makes Arrow batches and drops them, DumpLogSegments prints to
/dev/null. Both must find the same records. A second log of a quarter of the size has one NoOpRecord for each batch;
through Spark most of its time is the start of Spark's workers, so there is no limit for that.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.figures import load, report, report_ratio
from benchmarks.metadata_log import Day, idle, write_log
from benchmarks.processes import Cost, cost_of
from tests.support.kafka_jars import KAFKA_4_3, jars, java

KEY = b"key of the lake"
CHECKED = 100_000
"""Number of records whose payload is also compared."""

GROWTH = (1, 4, 16)
ALONE, SPARK, DUMP = "kac, decoder alone", "kac, through Spark local[2]", "DumpLogSegments"
_RECORD = re.compile(r'\| offset: (\d+) .* payload: (\{"type":"(\w+)".*\})$')


def decode(log: str) -> dict[str, float]:
    """Decode a log to its end. Return, by name, seconds, CPU seconds, the number of records, and the process' peak
    memory in MiB.
    """
    from tests.support.metadata_log import read_log

    start = time.perf_counter(), time.process_time()
    _, batches = read_log([log], KEY, _no_trouble)
    records = sum(batch.num_rows for batch in batches)
    return {**_since(*start), "records": records, "memory": _most_memory()}


def through_spark(log: str) -> dict[str, float]:
    """Read a log as a stream of `kac lake`, and discard all columns. Return, by name, seconds (without the start of the
    session) and the number of records.
    """
    from console.collecting.spark_session import lake_session
    from console.lake.inputs import Inputs, MetadataLog
    from console.lake.plans import MetadataLogs, Settings
    from console.lake.streams import formats
    from console.model.numbers import json_text

    with tempfile.TemporaryDirectory() as folder, lake_session(os.environ, master="local[2]") as spark:
        key = Path(folder, "key")
        key.write_bytes(KEY)
        settings = Settings(folder, Inputs((MetadataLog(log),)), str(key))
        start = time.perf_counter()
        for each in formats():
            spark.dataSource.register(each)
        rows = spark.readStream.format(MetadataLogs.name)
        rows = rows.option("settings", json_text(msgspec.to_builtins(settings)))
        into = rows.load().writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint")
        query = into.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "records": sum(each["numInputRows"] for each in query.recentProgress)}


def _since(wall: float, cpu: float) -> dict[str, float]:
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def fresh(what: str, log: Path) -> tuple[dict[str, float], Cost]:
    """Run a measuring function of this module in a new process. Return its figures, and the cost of the whole process.
    what: the function's name.
    """
    with tempfile.NamedTemporaryFile("r") as told:
        cost = cost_of([sys.executable, "-m", "benchmarks.kraft", "--measure", what, str(log), told.name])
        figures: dict[str, float] = json.load(told)
    return figures, cost


def dump_command(log: Path) -> list[str]:
    """Return the command line of DumpLogSegments with its metadata decoder for a log."""
    files = ",".join(str(path) for path in sorted(log.glob("*.log")))
    tool = "org.apache.kafka.tools.DumpLogSegments"
    return [java(), "-cp", f"{jars(KAFKA_4_3)}/*", tool, "--cluster-metadata-decoder", "--files", files]


def dumped(log: Path) -> Cost:
    """Return the cost of DumpLogSegments on a log, including the start of Java."""
    return cost_of(["sh", "-c", f"exec {shlex.join(dump_command(log))} > /dev/null 2>&1"])


def check(log: Path) -> None:
    """Raise AssertionError unless kac's decoder and DumpLogSegments find the same number of records of each type, and
    equal payloads in the first `CHECKED` records.
    """
    from tests.support.metadata_log import read_log

    ours: collections.Counter[str] = collections.Counter()
    _, batches = read_log([str(log)], KEY, _no_trouble)
    first: list[dict[str, Any]] = []
    for batch in batches:
        ours.update(batch.column("record_type").to_pylist())
        if len(first) < CHECKED:
            first += batch.select(["log_offset", "payload"]).to_pylist()
    theirs: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(dump_command(log), check=True, stdout=output, stderr=subprocess.DEVNULL)
        output.seek(0)
        lines = _dumped(output)
        for mine, (offset, payload) in zip(first, islice(lines, len(first)), strict=True):
            theirs[payload["type"]] += 1
            shown = json.loads(mine["payload"])
            hidden = {name: "[hidden]" for name, value in shown.items() if value == "[hidden]"}
            assert mine["log_offset"] == offset, (mine, offset)
            assert shown == payload["data"] | hidden, (mine, payload)
        theirs.update(payload["type"] for _, payload in lines)
    named = {"".join(part.capitalize() for part in name.split("_")): count for name, count in theirs.items()}
    assert ours == named, (ours, named)
    report("records by type", log=log.parent.name, **dict(ours.most_common()))


def growth(logs: Mapping[int, Path]) -> None:
    """Report time and memory for logs of growing size, as factors of those for the smallest log. logs: size in MiB ->
    the log.
    """
    taken = {times: fresh("decode", log)[0] for times, log in logs.items()}
    for times, figures in taken.items():
        report("growth", times=times, **{name: round(value, 2) for name, value in figures.items()})
        report_ratio(f"time for each byte, {times} : 1", figures["seconds"] / times / taken[1]["seconds"], 1.15)
        report_ratio(f"memory, {times} : 1", figures["memory"] / taken[1]["memory"], 1.25)


def several_times(log: Path, times: int, folder: Path) -> Path:
    """Return a log in `folder` that has the batches of `log` `times` times, with increasing offsets; checksums stay
    valid, because they do not cover a batch's base offset.
    """
    made = folder / f"times-{times}" / log.name
    if made.exists():
        return made
    made.mkdir(parents=True)
    (made.parent / "meta.properties").write_text((log.parent / "meta.properties").read_text())
    data = bytearray((log / f"{0:020}.log").read_bytes())
    starts, at = [], 0
    while at < len(data):
        starts.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    offset = 0
    with (made / f"{0:020}.log").open("wb") as file:
        for _ in range(times):
            for start in starts:
                data[start : start + 8] = offset.to_bytes(8, "big")
                offset += int.from_bytes(data[start + 57 : start + 61], "big")
            file.write(data)
    return made


def _dumped(lines: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for line in lines:
        found = _RECORD.match(line)
        if found:
            # Decode only the payloads that are compared.
            yield int(found[1]), _Lazy(found[2], found[3])


class _Lazy(dict[str, Any]):
    """A payload that is decoded when its fields are read."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(type=kind)
        self._text = text

    def __missing__(self, name: str) -> Any:
        return json.loads(self._text)[name]


def _most_memory() -> float:
    """Return the peak memory of this process in MiB, from /proc, because `getrusage` starts with the parent's peak."""
    (told,) = re.findall(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(told) / 1024


def _no_trouble(trouble: object) -> None:
    raise AssertionError(trouble)


def _written(folder: Path, kind: str, megabytes: int) -> Path:
    where = folder / f"{kind}-{megabytes}"
    if not where.exists():
        write_log(where, megabytes << 20, Day().batches() if kind == "busy" else idle())
    return where / "__cluster_metadata-0"


def measure(folder: Path, megabytes: int, rounds: int) -> None:
    """Read logs with kac's decoder, through Spark and with DumpLogSegments, `rounds` times each, and report the costs.
    megabytes: size of the log in MiB.
    """
    report("machine", **load())
    base = _written(folder, "busy", megabytes // 4)
    busy, quiet = _written(folder, "busy", megabytes), _written(folder, "idle", megabytes // 4)
    for log in (busy, quiet):
        check(log)
        name = log.parent.name
        costs: dict[str, list[Cost]] = {ALONE: [], SPARK: [], DUMP: []}
        inside: dict[str, list[dict[str, float]]] = {ALONE: [], SPARK: []}
        for _ in range(rounds):
            for what, measured in ((ALONE, "decode"), (SPARK, "spark")):
                figures, cost = fresh(measured, log)
                costs[what].append(cost)
                inside[what].append(figures)
            costs[DUMP].append(dumped(log))
        assert inside[ALONE][0]["records"] == inside[SPARK][0]["records"], inside
        middle = {what: sorted(each, key=lambda cost: cost.cpu)[rounds // 2] for what, each in costs.items()}
        for what, cost in middle.items():
            report(f"{name}, whole processes: {what}", **cost.shown())
        within = {what: statistics.median(each["seconds"] for each in of) for what, of in inside.items()}
        cpu = statistics.median(each["cpu"] for each in inside[ALONE])
        report(
            f"{name}, without their start", seconds={what: round(each, 2) for what, each in within.items()}, **load()
        )
        report_ratio(f"{name}: {ALONE} / {DUMP}", within[ALONE] / middle[DUMP].wall, 0.8)
        report_ratio(f"{name}: {ALONE}, CPU / {DUMP}", cpu / middle[DUMP].cpu, 0.8)
        report_ratio(f"{name}: {ALONE}, start included / {DUMP}", middle[ALONE].wall / middle[DUMP].wall, 0.8)
        cold, what = within[SPARK] / middle[DUMP].wall, f"{name}: {SPARK}, cold, session apart / {DUMP}"
        if log is busy:
            report_ratio(what, cold, 1.8)
        else:
            report(what, ratio=round(cold, 3))
    growth({times: several_times(base, times, folder) for times in GROWTH})


def main() -> int:
    """Read the logs with kac and with Kafka's tool, as the options say, and print a line of JSON for each figure.
    Return 0.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kraft", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "LOG", "TO"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        what, log, to = arguments.measure
        Path(to).write_text(json.dumps({"decode": decode, "spark": through_spark}[what](log)))
        return 0
    with tempfile.TemporaryDirectory() as made:
        measure(arguments.folder or Path(made), arguments.megabytes, arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
