"""Tests of ``analyze``: its counts equal those of the exported records, it ends soon after Ctrl-C, and it hides masked
values.
"""

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient as ConfluentAdmin
from confluent_kafka.cimpl import NewTopic

from console.admin.record_search import LAST_SECONDS, Halt
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.faults import Delay, Fault
from console.embedded.spec import ClusterSpec
from console.language.verbs.analyze import Analyze
from console.model.record_masks import MASKED, mask_path
from console.model.topic_analysis import Analysed
from console.session.session import Session
from console.session.snapshot_reader import Refused
from console.session.topic_analyzing import analyze, analyzed, kept
from tests.support import worlds
from tests.support.children import Child
from tests.support.patience import PATIENCE
from tests.support.registry_server import RegistryServer, registry

COUNT = 50_000
CONFIG = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}
NOW = round(time.time() * 1000)


@contextmanager
def filled() -> Iterator[ThreadedCluster]:
    """Provide a cluster with three brokers and the topic `mixed`: six partitions, a hot key, null keys and values,
    headers, two schemas, odd timestamps and a gap in the offsets.
    """
    with run_in_thread(ClusterSpec(brokers=3)) as cluster:
        fill(cluster.bootstrap, COUNT)
        yield cluster


def fill(bootstrap: str, count: int) -> None:
    """Create the topic `mixed` and write `count` records to it."""
    admin = ConfluentAdmin({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("mixed", 6, 1, config=CONFIG)])["mixed"].result()
    settings = {"compression.type": "lz4", "linger.ms": 50, "partitioner": "murmur2_random"}
    producer = Producer({"bootstrap.servers": bootstrap, "queue.buffering.max.messages": 200_000, **settings})
    draw = random.Random(46)
    for number in range(count):
        key = b"hot" if draw.random() < 0.45 else b"key-%d" % draw.randrange(20_000)
        value = b"\0\0\0\0" + bytes([5 + (number % 7 == 0)]) + b"x" * draw.randrange(20, 400)
        at = NOW - (count - number) * 500 - (3_600_000 if number < count // 2 else 0)
        at -= 90_000 if number % 997 == 0 else 0
        at = NOW + 86_400_000 if number % 9_973 == 5 else at
        headers = [("trace", b"1234")] if number % 3 else []
        key_or_none = None if draw.random() < 0.02 else key
        value_or_none = None if number % 50 == 0 else value
        while True:
            try:
                producer.produce("mixed", value_or_none, key_or_none, timestamp=at, headers=headers)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()


mixed = worlds.running(filled, scope="module")
schemas = worlds.running(registry)
kac = worlds.commands("mixed")


def analysis(ran: worlds.Ran) -> dict[str, Any]:
    """Parse the JSON of an analysis from a command's output."""
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.takes(40)
@pytest.mark.slow
def test_counts_equal_those_of_the_exported_records(kac: worlds.Kac, tmp_path: Path) -> None:
    """The counts of ``kac analyze`` equal those that DuckDB finds in the records that ``kac records`` exports."""
    import duckdb

    export = tmp_path / "mixed.jsonl"
    ran = kac("records", "mixed", "--from", "start", "--limit", "0", "--output", "jsonl", "--out", str(export))
    assert ran.code == 0, ran.complaints
    found = analysis(kac("analyze", "mixed", "--output", "json"))
    kinds = {"partition": "INT", "offset": "BIGINT", "timestamp": "BIGINT", "headers": "JSON"}
    kinds |= dict.fromkeys(("key", "value", "value_base64"), "VARCHAR")
    table = f"read_json('{export}', columns = {kinds})"

    def one(expression: str, where: str = "true") -> Any:
        ((value,),) = duckdb.sql(f"select {expression} from {table} where {where}").fetchall()
        return value

    assert found["whole"]
    assert found["records"] == one("count(*)") == COUNT
    assert found["null_values"] == one("count(*)", "value is null and value_base64 is null") > 0
    assert found["without_key"] == one("count(*)", "key is null") > 0
    assert found["records_with_headers"] == one("count(*)", "json_array_length(headers) > 0") > 0
    (header,) = found["headers"]
    assert (header["name"], header["records"]) == ("trace", found["records_with_headers"])
    by_partition = duckdb.sql(f"select partition, count(*) from {table} group by 1 order by 1").fetchall()
    assert [(each["partition"], each["records"]) for each in found["partitions"]] == by_partition
    distinct = one("count(distinct key)")
    assert found["different_keys"]["low"] <= distinct <= found["different_keys"]["high"]
    by_key = f"select key, count(*) from {table} where key is not null group by 1 order by 2 desc"
    heaviest = duckdb.sql(by_key).fetchall()
    assert found["heaviest_keys"][0]["key"] == heaviest[0][0] == "hot"
    real = dict(heaviest)
    for each in found["heaviest_keys"]:
        assert each["records"]["low"] <= real[each["key"]] <= each["records"]["high"]
    assert found["times"]["in_the_future"] == one("count(*)", f"timestamp > {NOW + 3_600_000}") > 0
    earlier = 'partition by partition order by "offset" rows between unbounded preceding and 1 preceding'
    late = f"timestamp < max(timestamp) over ({earlier})"
    usual = f"select {late} as late from {table} where timestamp < {NOW + 3_600_000}"
    ((disordered,),) = duckdb.sql(f"select count(*) from ({usual}) where late").fetchall()
    assert found["times"]["out_of_order"] == disordered > 0
    (gap,) = found["times"]["gaps"]
    spans = [round(datetime.fromisoformat(gap[end]).timestamp() * 1000) for end in ("after", "until")]
    assert one("count(*)", f"timestamp > {spans[0]} and timestamp < {spans[1]}") == 0
    assert one("count(*)", f"timestamp in ({spans[0]}, {spans[1]})") >= 2
    schemas = {each["schema"]: each["records"] for each in found["schemas"]}
    assert sum(schemas.values()) == COUNT - found["null_values"]
    assert set(schemas) == {"id 5", "id 6"}


def test_a_sample_says_what_it_estimates(kac: worlds.Kac) -> None:
    found = analysis(kac("analyze", "mixed", "--sample", "10%", "--output", "json"))
    assert not found["whole"]
    assert found["records"] < COUNT * 0.11
    assert abs(found["records_in_all"] / COUNT - 1) < 0.02
    hot = found["heaviest_keys"][0]
    assert hot["key"] == "hot"
    assert abs(hot["share"] - 0.44) < 0.03
    assert found["times"]["gaps"] is None
    text = kac("analyze", "mixed", "--sample", "10%").out
    assert "a sample of 10 %" in text
    assert "gaps in time are known only if all records are read" in text


def test_only_the_last_records_are_read(kac: worlds.Kac) -> None:
    found = analysis(kac("analyze", "mixed", "--last", "1h", "--output", "json"))
    # One record in eight is of the last hour. Each partition is read from its first such record on, and in three
    # partitions a record of tomorrow comes far before.
    assert COUNT / 8 < found["records"] < COUNT
    assert found["whole"]
    assert datetime.fromisoformat(found["times"]["last"]) <= datetime.now(UTC)


async def _found(session: Session, statement: Analyze) -> Analysed:
    return await analyzed(session.records, statement, session.clock)


@contextmanager
def opened(cluster: ThreadedCluster, **changes: Any) -> Iterator[Session]:
    """Yield a session on a cluster, with the registry ``schemas``. changes: other fields of its context."""
    with worlds.session_on(worlds.settings(cluster, schemas=changes.pop("schemas", None)), **changes) as session:
        yield session


async def test_it_is_cancelled_within_a_second_and_keeps_what_it_counted(mixed: ThreadedCluster) -> None:
    slow = Fault(Delay(30.0), api="fetch", broker=1)
    halt, asked, found = Halt(), 0.0, None
    mixed.call(lambda each: each.faults.add(slow))
    try:
        with opened(mixed) as session:
            async with aclosing(analyze(session.records, Analyze("mixed"), session.clock, halt)) as results:
                async for found in results:
                    if found.facts.records and not asked:
                        asked = time.monotonic()
                        halt.ask()
            took = time.monotonic() - asked
    finally:
        mixed.call(lambda each: each.faults.remove(slow))
    assert found is not None
    assert asked
    assert took < 1.0 + LAST_SECONDS, "the search's last second is for results that wait"
    assert 0 < found.facts.records < COUNT
    assert found.facts.progress.stopped == "asked"
    assert not found.facts.is_whole


async def test_where_records_are_never_read_none_is_counted(mixed: ThreadedCluster) -> None:
    with opened(mixed, records="never") as session, pytest.raises(Refused, match="never"):
        await _found(session, Analyze("mixed", sample=10.0))


async def test_a_missing_extra_is_named(mixed: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasketches", None)
    with opened(mixed) as session, pytest.raises(Refused, match="not installed") as refused:
        await _found(session, Analyze("mixed", sample=10.0))
    assert "[analyze]" in refused.value.failure.remedy


async def test_the_snapshot_gets_no_contents(mixed: ThreadedCluster) -> None:
    with opened(mixed) as session:
        found = await _found(session, Analyze("mixed", sample=10.0))
        session.learn(kept(found))
        assert session.snapshot.analyses == {"mixed": found.facts}
    assert (found.keys[0], found.headers) == (b"hot", (b"trace",))
    assert "hot" not in repr(found.facts)
    assert "trace" not in repr(found.facts)


async def test_records_of_each_schema_are_decoded(mixed: ThreadedCluster, schemas: RegistryServer) -> None:
    pytest.importorskip("fastavro")
    schemas.register("letters-value", '{"type": "string"}')
    producer = Producer({"bootstrap.servers": mixed.bootstrap})
    for value in [b"\0\0\0\0\1\2a"] * 5 + [b"\0\0\0\0\1\x63"] + [b"\0\0\0\0\7x"] * 2:
        producer.produce("letters", value)
    producer.flush()
    with opened(mixed, schemas=schemas.settings) as session:
        found = await _found(session, Analyze("letters"))
    one, missing = found.facts.schemas
    assert (one.schema, one.records, one.tried, one.failed) == ("id 1", 6, 6, 1)
    assert (missing.schema, missing.records, missing.tried, missing.failed) == ("id 7", 2, 2, 2)
    assert missing.why


@pytest.mark.parametrize("output", ["text", "json"])
async def test_hidden_contents_are_named_only_if_asked_for(mixed: ThreadedCluster, output: str) -> None:
    for words, named in (("", False), (" --reveal", True)):
        out, code = await worlds.script(mixed, f"analyze topic mixed sample 10%{words}", output, records="hidden")
        assert code == 0
        assert ("trace" in out) == named
        assert ("hot" in out) == named
        assert ("• 3 bytes" in out) == (not named and output == "text"), "sizes and shares are no contents"


async def test_a_masked_field_of_a_key_is_not_named(mixed: ThreadedCluster) -> None:
    masks = (mask_path("$.card"),)
    secret = b'{"card": "4711", "id": 1}'
    producer = Producer({"bootstrap.servers": mixed.bootstrap})
    for _ in range(3):
        producer.produce("cards", b"v", secret)
    producer.flush()
    out, code = await worlds.script(mixed, "analyze topic cards", "json", mask=masks)
    assert code == 0
    assert "4711" not in out
    assert json.loads(json.loads(out)["heaviest_keys"][0]["key"]) == {"card": MASKED, "id": 1}


def test_ctrl_c_prints_what_was_counted(mixed: ThreadedCluster) -> None:
    command = [sys.executable, "-m", "console", "analyze", "-b", mixed.bootstrap, "mixed", "--rate", "20kB/s"]
    terminal, its = pty.openpty()
    environ = {**os.environ, "PYTHONPATH": str(worlds.ROOT)}
    with Child([*command, "--output", "json"], stdout=subprocess.PIPE, stderr=its, env=environ) as child:
        os.close(its)
        seen = b""
        while b"looked at" not in seen:
            seen += os.read(terminal, 4_096)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE)
        seen += os.read(terminal, 4_096)
    os.close(terminal)
    assert child.returncode == 130
    assert b"ended by Ctrl-C" in seen
    found = json.loads(out)
    assert (found["whole"], found["stopped"]) == (False, True)
    assert 0 < found["records"] < COUNT
