"""Measures a journal of 100,000 changes: the cost of a start and of the history's first page, with segments and with
the single file of former versions, with and without an unfinished change.

``python -m benchmarks.journal [--changes N]``. Each figure comes from a new process on an embedded cluster: the CPU
seconds of the journal's part of a start, of the first page, and of a revert, and the peak memory of the whole process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.figures import load

CHANGES = 100_000
TOPICS = 1_000
AGO = timedelta(days=300)
START, PAGE, MEMORY = 0.3, 0.5, 150
"""Maximum CPU seconds for a start and for the first page, and maximum MiB of the process."""


def lines(changes: int, unfinished: int | None) -> Iterator[bytes]:
    """Yield the lines of a journal of `changes` changes, each of a config of one of a thousand topics. unfinished: the
    number of a change whose answer is missing; None if all have one.
    """
    from console.journal import entries
    from console.model.changes import Status
    from console.model.codes import ConfigSource, ConfigType
    from console.model.config import ConfigEntry, topic_resource
    from console.model.journal_lines import Origin, Request, Sending, Who
    from console.plan.edits import SetConfig
    from console.plan.staged import Staged

    who, origin = Who("User:alice", "alice", "", "10.0.0.7"), Origin("host-1", "run", 4_194_305, "x")
    requests = (Request("IncrementalAlterConfigs", None, (0,)),)
    begin = datetime.now(UTC) - AGO
    for number in range(1, changes + 1):
        at = begin + number * (AGO / (changes + 1))
        edit = SetConfig(topic_resource(f"topic-{number % TOPICS}"), "retention.ms", str(86_400_000 + number))
        source, type_ = ConfigSource.parse("DYNAMIC_TOPIC_CONFIG"), ConfigType.parse("LONG")
        was = ConfigEntry("retention.ms", str(86_399_999 + number), source, type=type_)
        entry = entries.Entry(Staged(edit, was, topic_id="AAAAAAAAAAAAAAAAAAAAAQ"))
        yield entries.intent_line(number, entries.Intent(at, "prod", who, origin, (entry,), requests))
        yield entries.note_line(Sending(number, 0, at))
        if number != unfinished:
            yield entries.note_line(entries.Answered(number, 0, at, {0: entries.Ended(Status.APPLIED)}))


def write(first: Path, changes: int, unfinished: int | None, *, single: bool) -> int:
    """Write a journal, in segments or, with `single`, in one file. Return its size in bytes. first: path of the first
    file. unfinished: as for `lines`.
    """
    from console.journal.segments import SEGMENT_BYTES
    from console.model.journal_lines import segment_path

    first.parent.mkdir(parents=True, exist_ok=True)
    number, written, total = 1, 0, 0
    file = first.open("wb")
    for line in lines(changes, unfinished):
        if not single and written >= SEGMENT_BYTES and b'"kind":"intent"' in line[:30]:
            file.close()
            number, written = number + 1, 0
            path = segment_path(first, number)
            path.parent.mkdir(exist_ok=True)
            file = path.open("wb")
        file.write(line)
        written += len(line)
        total += len(line)
    file.close()
    return total


async def measured(what: str, bootstrap: str, change: int) -> dict[str, float]:
    """Return, by name, the CPU seconds, the seconds, and the peak memory in MiB of one piece of a session's work with
    the journal, on a cluster that is already known.

    what: ``"start"``, ``"page"`` for the first page of the history, or anything else for reading the changes around
    number `change`.
    """
    from console.admin.client import AdminClient
    from console.admin.settings import ConnectionSettings
    from console.answers.history_results import MOST
    from console.contexts.context import Context
    from console.session import journal_changes as past
    from console.session.former_changes import former_changes
    from console.session.journal_changes import read_history_table
    from console.session.session import Session

    host, _, port = bootstrap.rpartition(":")
    client = AdminClient(ConnectionSettings(((host, int(port)),)))
    client.start()
    try:
        session = Session(client, Context("bench", "bench", client.settings), "run")
        await session.read_cluster()
        began, cpu = time.perf_counter(), time.process_time()
        if what == "start":
            await former_changes(session)
        elif what == "page":
            assert len((await read_history_table(await session.journal())).rows) == MOST
        else:
            assert (await past.read_around(await session.journal(), change)).changes[change].number == change
        taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - began}
        return {**taken, "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    finally:
        client.close()


def in_process(what: str, bootstrap: str, change: int, home: Path) -> dict[str, float]:
    """Run `measured` in a new process, and return its figures by name."""
    command = [sys.executable, "-m", "benchmarks.journal", "--measure", what, bootstrap, str(change)]
    environ = {**os.environ, "XDG_STATE_HOME": str(home)}
    found = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(found.stdout)
    return figures


def main() -> None:
    """Measure, and print a line for each figure. Raises SystemExit with code 1 if a figure exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=CHANGES)
    parser.add_argument("--measure", nargs=3, metavar=("WHAT", "BOOTSTRAP", "CHANGE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, bootstrap, change = options.measure
        print(json.dumps(asyncio.run(measured(what, bootstrap, int(change)))))
        return
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec
    from console.journal.file import journal_path

    over = False
    print(f"{options.changes:,} changes; load {load()}")
    with run_in_thread(ClusterSpec(brokers=1)) as cluster, tempfile.TemporaryDirectory() as folder:
        cluster_id = cluster.call(lambda c: c.state.cluster_id)
        for single in (False, True):
            for unfinished in (None, options.changes // 3):
                home = Path(folder, f"{single}-{unfinished}")
                size = write(journal_path(home / "kac", cluster_id), options.changes, unfinished, single=single)
                form = "a single file" if single else "segments"
                print(f"{form}, {size / 1e6:.0f} MB, {'one' if unfinished else 'no'} unfinished change")
                first = in_process("start", cluster.bootstrap, 1, home)
                print(f"  first start   {first['cpu']:6.2f} s CPU {first['wall']:6.2f} s {first['mib']:5.0f} MiB")
                for what, bound in (("start", START), ("page", PAGE), ("around", 10.0)):
                    found = in_process(what, cluster.bootstrap, options.changes // 2, home)
                    line = f"{found['cpu']:6.2f} s CPU {found['wall']:6.2f} s {found['mib']:5.0f} MiB"
                    print(f"  {what:13} {line}")
                    over = over or found["cpu"] > bound or found["mib"] > MEMORY
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
