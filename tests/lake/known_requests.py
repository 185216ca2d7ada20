"""A request log, the rows that it must give, computed by hand, and functions that write and read such logs."""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from console.lake.requests.lines import Damaged, Line, one_line
from console.lake.requests.log_files import BrokerLog, Part, opened_as_planned, parts_of, plan, read_part
from tests.lake.request_lines import alter_configs, alter_scram, fetch, metadata, produce

ODD_CLIENT = 'we "quote" \\ and {"requestApiKeyName":"FETCH"} thïs\t☃'
SALT, SALTED = "c2FsdC1wbGFudGVk", "c2FsdGVkLXBsYW50ZWQ="
BEFORE = [
    produce(100, 200, local_ms=1.5),
    produce(300, local_ms=2.0, throttle_ms=40).later(0.4),
    produce(50, error=6, local_ms=0.5, throttle_ms=10).later(1),
    produce(70, client_id=ODD_CLIENT, response=""),
    produce(1000, forwarded=True),
    fetch(11, 22),
    fetch(33, old=True),
    fetch(1 << 40, replica=2),
    fetch(1 << 40, replica=2, old=True),
    fetch(5, error=1),
    fetch(),
    metadata(),
    metadata(error=3, client_id=""),
    alter_configs([("retention.ms", 0, "86400000"), ("cleanup.policy", 2, "compact")]),
    alter_configs([("retention.ms", 0, "86400000"), ("cleanup.policy", 2, "compact")], forwarded=True),
    alter_scram("carol", SALT, SALTED, principal="User:admin"),
]
MORE = [produce(7, local_ms=1.0, throttle_ms=41), fetch(8).later(3600)]
S0, S1 = (datetime(2026, 11, 21, 10, 0, second, tzinfo=UTC) for second in (0, 1))


def expected() -> set[tuple[Any, ...]]:
    """Return the rows, computed by hand: second, principal, client id, API, requests, errors, bytes in, bytes out,
    local time, throttled requests, longest throttle time.
    """
    a, admin = "User:alice", "User:admin"
    return {
        (S0, a, "app", "PRODUCE", 2, 0, 600, 0, 3.5, 40, 40),
        (S1, a, "app", "PRODUCE", 1, 1, 50, 0, 0.5, 10, 10),
        (S0, a, ODD_CLIENT, "PRODUCE", 1, 0, 70, 0, 1.5, 0, 0),
        (S0, a, "app", "FETCH", 4, 1, 0, 71, 6.0, 0, 0),
        (S0, a, "app", "METADATA", 1, 0, 0, 0, 1.5, 0, 0),
        (S0, a, "", "METADATA", 1, 1, 0, 0, 1.5, 0, 0),
        (S0, a, "app", "INCREMENTAL_ALTER_CONFIGS", 1, 0, 0, 0, 1.5, 0, 0),
        (S0, admin, "app", "ALTER_USER_SCRAM_CREDENTIALS", 1, 0, 0, 0, 1.5, 0, 0),
    }


def log(path: Path, content: bytes, *, broker: int = 1, zone: str = "UTC") -> BrokerLog:
    """Write a file, compressed if its name ends in `.gz`, and return a broker's request log that covers the whole file.
    zone: the time zone of its lines."""
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return BrokerLog("lkc-1", broker, plan([str(path)], {}).spans, zone)


def lines_in(place: int, text: bytes) -> list[Line | Damaged]:
    """Return all lines of a block of bytes, each parsed alone. place: the offset of the block in its file."""
    made = []
    for line in text.split(b"\n"):
        made.append(one_line(place, line))
        place += len(line) + 1
    return [line for line in made if line is not None]


def lines_of(part: Part) -> list[Line | Damaged]:
    """Return all lines of a part of a request log, in order."""
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        return [line for at, text in file.blocks(part.start, part.end) for line in lines_in(at, text)]


def rows_of(part: Part, kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind in a part of a request log. kind: `second`, `alter` or `quarantined`."""
    return [row for batch in read_part(part) for row in batch.column(kind).to_pylist() if row is not None]


def all_rows(logs: list[BrokerLog], kind: str, at_most: int = 1 << 26) -> list[dict[str, Any]]:
    """Return the rows of one kind in request logs, which are read in parts of at most `at_most` bytes. kind: see
    `rows_of`.
    """
    return [row for part in parts_of(logs, at_most) for row in rows_of(part, kind)]


def noise() -> bytes:
    """Return text that is in the file of a request log but is no request: lines of other loggers, a stack trace, and
    damaged lines.
    """
    cut = produce(1).line[:-60].encode() + b"\n"
    inside = produce(1).line.replace('"principal":', '"principal"').encode()
    return (
        b"[2026-11-21 10:00:00,000] INFO [broker] started (kafka.server.KafkaServer)\n"
        b"java.io.IOException: gone\n\tat kafka.Foo.bar(Foo.java:3)\n" + cut + inside + produce(1).line[90:].encode()
    )
