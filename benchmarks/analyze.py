"""Measures ``kac analyze`` of 2,000,000 records of a real broker, and compares its counts with DuckDB's counts of the
same records, as kac exports them.

``python -m benchmarks.analyze [--records 2000000] [--bootstrap ADDRESS]``. kac's counts have to equal DuckDB's, and the
numbers of its sketches have to be within the bounds that the sketches state; the time is compared with that of the
export, which reads the same batches. With ``--bootstrap`` the topic of an earlier run is used again.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import figures
from benchmarks.records import PARTITIONS, broker, order, send

TOPIC = "analyzed"
HOT = 0.3
"""The share of the records, 0 to 1, that have the same key, the hot key."""
KEYS = 200_000
"""Number of different keys of the other records, which are chosen at random."""
MOST_TIME = 1.5
"""Maximum ratio of the time of the analysis to the time of the export."""
MOST_CANCELLING = 1.0
"""Maximum seconds from Ctrl-C until the process of an analysis has ended."""


def fill(bootstrap: str, count: int) -> None:
    """Create the topic, and write `count` records: most with a hot or a random key, some with null as key or value, two
    of three with headers, one of a thousand with an earlier timestamp than the record before it.
    """
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    settings = {"compression.type": "lz4", "linger.ms": 50, "batch.size": 1_000_000, "acks": "all"}
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 500_000, **settings})
    draw, began = random.Random(46), round(time.time() * 1000) - count
    for number in range(count):
        key = b"hot" if draw.random() < HOT else b"key-%d" % draw.randrange(KEYS)
        value = None if number % 50 == 0 else order(number)
        headers: list[tuple[str, str | bytes | None]] = [("trace", b"1234")] if number % 3 else []
        at = began + number - (5_000 if number % 1_000 == 0 else 0)
        send(producer, TOPIC, value, None if number % 40 == 1 else key, timestamp=at, headers=headers)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


def ran(bootstrap: str, *words: str) -> tuple[str, float]:
    """Run a command of kac in a new process. Return its output, and the process' seconds from start to end."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "console", words[0], "-b", bootstrap, *words[1:]]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout, time.perf_counter() - began


def cancelled(bootstrap: str) -> float:
    """Send Ctrl-C to a process that analyzes, and return the seconds until its end. Raises RuntimeError if the analysis
    was complete, or had not begun.
    """
    terminal, its = pty.openpty()
    command = [sys.executable, "-m", "console", "analyze", "-b", bootstrap, TOPIC, "--output", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=its) as process:
        os.close(its)
        seen = b""
        while b"looked at" not in seen:
            seen += os.read(terminal, 4_096)
        began = time.perf_counter()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
        took = time.perf_counter() - began
    os.close(terminal)
    found = json.loads(out)
    if found["whole"] or not found["records"]:
        raise RuntimeError("it was not cancelled while it counted")
    return took


def counted(export: Path) -> dict[str, Any]:
    """Count the exported records with DuckDB. Return the counts under the names that ``kac analyze`` uses."""
    import duckdb

    kinds = {"partition": "INT", "offset": "BIGINT", "timestamp": "BIGINT", "headers": "JSON"}
    kinds |= dict.fromkeys(("key", "value"), "VARCHAR")
    base = duckdb.connect()

    def rows(query: str) -> list[Any]:
        return base.execute(query).fetchall()

    base.execute(f"create table exported as select * from read_json('{export}', columns = {kinds})")
    # Compare sizes in bytes with lengths in characters: the values in the export have one byte per character.
    sizes = "coalesce(length(value), 0) + coalesce(length(key), 0) + if(json_array_length(headers) > 0, 9, 0)"
    earlier = 'partition by partition order by "offset" rows between unbounded preceding and 1 preceding'
    late = f"select timestamp < max(timestamp) over ({earlier}) as late from exported"
    ((records, nulls, keyless, headed, distinct),) = rows(
        "select count(*), count(*) - count(value), count(*) - count(key), count_if(json_array_length(headers) > 0), "
        "count(distinct key) from exported"
    )
    ((disordered,),) = rows(f"select count_if(late) from ({late})")
    keys = rows("select key, count(*) from exported where key is not null group by 1")
    partitions = rows("select partition, count(*) from exported group by 1 order by 1")
    ranks = rows(f"select {sizes} as size, count(*) from exported group by 1 order by 1")
    return {
        "records": records,
        "null_values": nulls,
        "without_key": keyless,
        "records_with_headers": headed,
        "out_of_order": disordered,
        "partitions": partitions,
        "distinct": distinct,
        "keys": dict(keys),
        "sizes": ranks,
    }


def compare(found: dict[str, Any], real: dict[str, Any]) -> None:
    """Print each number of kac (`found`) next to DuckDB's (`real`). Raises RuntimeError if an exact number differs, or
    an approximate one is out of its bounds.
    """
    count = real["records"]
    equal = {
        name: (found[name], real[name]) for name in ("records", "null_values", "without_key", "records_with_headers")
    }
    equal["out_of_order"] = found["times"]["out_of_order"], real["out_of_order"]
    equal["partitions"] = [(each["partition"], each["records"]) for each in found["partitions"]], real["partitions"]
    for name, (ours, its) in equal.items():
        figures.report(f"equal: {name}", kac=ours, duckdb=its)
        if ours != its:
            raise RuntimeError(f"{name}: {ours} and {its}")
    distinct = found["different_keys"]
    figures.report("different keys", **distinct, duckdb=real["distinct"])
    figures.report_ratio("error of different keys", abs(distinct["value"] / real["distinct"] - 1), 0.016)
    for each in found["heaviest_keys"]:
        its, bounds = real["keys"][each["key"]], each["records"]
        figures.report(f"heaviest key {each['key']}", **bounds, duckdb=its)
        if not bounds["low"] <= its <= bounds["high"]:
            raise RuntimeError(f"{each['key']}: {its} is outside of {bounds}")
    for name, rank in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
        size = found["sizes"]["record"][name]
        below = sum(number for its, number in real["sizes"] if its < size) / count
        within = sum(number for its, number in real["sizes"] if its <= size) / count
        error = max(0.0, below - rank, rank - within)
        figures.report_ratio(f"error of the rank {name}", error, found["sizes"]["rank_error"])


def main() -> None:
    """Export and analyze the topic, compare the two results, and print a line of JSON for each figure. Raises
    RuntimeError if the analysis is incomplete, or a count is wrong.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--bootstrap", help="of a broker that an earlier run filled")
    options = parser.parse_args()
    figures.report("machine", **figures.load())
    with broker(options.bootstrap) as bootstrap, tempfile.TemporaryDirectory() as folder:
        if options.bootstrap is None:
            fill(bootstrap, options.records)
        export = Path(folder) / "exported.jsonl"
        words = (TOPIC, "--from", "start", "--limit", "0", "--output", "jsonl", "--out", str(export))
        _, exported = ran(bootstrap, "records", *words)
        text, analyzed = ran(bootstrap, "analyze", TOPIC, "--output", "json")
        found = json.loads(text)
        if not found["whole"]:
            raise RuntimeError("the analysis is not whole")
        compare(found, counted(export))
        figures.report_ratio("seconds until a cancelled one has ended", cancelled(bootstrap), MOST_CANCELLING)
        figures.report("seconds", export=round(exported, 1), analyze=round(analyzed, 1))
        figures.report_ratio("analyze / export", analyzed / exported, MOST_TIME)


if __name__ == "__main__":
    main()
