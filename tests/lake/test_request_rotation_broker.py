"""A test of a real broker that rotates and compresses its request log during repeated reads: each line is read once."""

import gzip
import re
import threading
from collections import Counter
from glob import glob
from typing import Any

import pytest
from kafka import KafkaProducer  # type: ignore[import-untyped]

from console.lake.inputs import RequestLog, UnreadableInput
from console.lake.plans import plan_broker_logs
from console.lake.requests.lines import Line
from console.lake.requests.log_files import LogChangedError, parts_of
from tests.lake.known_requests import lines_of
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import lent

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.timeout(900)]

MESSAGES = 1500
_JSON = re.compile(rb"Completed request:(\{.*\}) \(kafka\.request\.logger\)\n")

cluster = lent(lambda: KafkaCluster(brokers=1, request_log=True, rotate_at="30KB"))


def test_every_line_once_while_a_broker_rotates_and_packs(cluster: KafkaCluster) -> None:
    pattern = f"{cluster.directory}/broker-1/request.log*"
    log = RequestLog((pattern,), "c", 1)
    remembered: dict[str, Any] = {}
    taken: Counter[bytes] = Counter()
    done = threading.Event()

    def produce() -> None:
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", linger_ms=0)
        try:
            for number in range(MESSAGES):
                producer.send("rotating", bytes([number % 256]) * 100).get(timeout=60)
        finally:
            producer.close()
            done.set()

    def run() -> None:
        """Read as a source does: either all new lines, or none if the read fails."""
        nonlocal remembered
        planned = plan_broker_logs(remembered, [log])
        rows = [line for part in parts_of(planned.logs, 20_000) for line in lines_of(part)]
        whole = [line for line in rows if isinstance(line, Line)]
        assert len(whole) == len(rows), [line for line in rows if line not in whole]
        taken.update(line.json for line in whole)
        remembered = {**remembered, **planned.remember}

    busy = threading.Thread(target=produce)
    busy.start()
    runs = failed = 0
    while not done.is_set():
        runs += 1
        try:
            run()
        except (LogChangedError, UnreadableInput):  # a file during its compression is incomplete
            failed += 1
    busy.join()
    cluster.kill(1)
    run()
    there = sorted(glob(pattern))  # noqa: PTH207 - as the source does it
    assert len(there) > 20, "the log was rotated"
    assert runs - failed > 3
    logged: Counter[bytes] = Counter()
    for path in there:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:  # noqa: PTH123 - as gzip has it
            logged.update(_JSON.findall(file.read()))
    assert taken == logged
    assert sum(logged.values()) > MESSAGES
