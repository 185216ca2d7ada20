"""Tests of record payloads of a few bytes whose decoding would take gigabytes or hours. Anyone who may write to a topic
can write them.
"""

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from msgspec.structs import replace

from console.admin.decoding_process import SECONDS, DecodingProcess
from console.admin.link import Link
from console.admin.schema_registry import decoder_of
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.model import record_decoding, record_masks, records
from console.model.schemas import MOST_SECONDS, MOST_VALUES, Allowance, NotDecoded, Schema, SchemaKey, SchemaText
from console.session.record_reading import _readable
from tests.support import changing, children, older_brokers, patience, registry_server, worlds

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

NULLS = json.dumps({"type": "array", "items": "null"})
MANY_NULLS = b"\xa0\xb2\x1e\0"
"""The Avro payload of a list of 249,488 nulls."""
WIDE = "".join(f"int64 f{number} = {number + 1};" for number in range(5_000))
WIDE_LIST = f'syntax = "proto3"; message List {{ repeated Wide w = 1; }} message Wide {{ {WIDE} }}'
MANY_WIDE = b"\0" + b"\x0a\0" * 32_000
"""A Protobuf payload of 32,000 messages of two bytes each, each of which takes 40 KB when decoded."""


def peak() -> int:
    """Return the peak resident memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_a_message_of_64_kb_that_takes_a_gigabyte_takes_it_elsewhere() -> None:
    decode = decoder_of(SchemaText("PROTOBUF", WIDE_LIST))
    before = peak()
    heard = _ticks()
    with pytest.raises(NotDecoded, match=r"ended the process|more than 2 s|memory"):
        decode(MANY_WIDE, None)
    assert peak() - before < 64 << 20
    assert heard() < 1.0, "other threads ran meanwhile"
    # Another process decodes the next payload.
    assert decode(b"\0\x0a\2\x08\7", None).startswith(b'{"w":[{"f0":7,')


def _ticks() -> Callable[[], float]:
    """Begin to measure the pauses of this process' other threads. Return a function that ends the measurement and
    returns the longest pause in seconds.
    """
    ends, longest, last = threading.Event(), [0.0], [time.monotonic()]

    def watch() -> None:
        while not ends.wait(0.02):
            now = time.monotonic()
            longest[0], last[0] = max(longest[0], now - last[0]), now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def ended() -> float:
        ends.set()
        thread.join(patience.PATIENCE)
        return longest[0]

    return ended


def record(value: bytes, offset: int = 0) -> records.Record:
    return records.Record("t", 0, offset, -1, None, b"\0\0\0\0\7" + value, (), records.BatchFacts(0))


def read_of(value: bytes, count: int) -> records.RecordsRead:
    return records.RecordsRead(records.Search(("t",)), tuple(record(value, offset) for offset in range(count)))


def decoder(text: str, kind: str = "AVRO", *mask: str) -> record_decoding.RecordDecoder:
    schema = Schema(SchemaKey(7), kind, decoder_of(SchemaText(kind, text)))
    return record_decoding.RecordDecoder(tuple(map(record_masks.mask_path, mask)), lambda _: schema)


@pytest.mark.parametrize(
    ("text", "kind", "payload", "count"),
    [(NULLS, "AVRO", MANY_NULLS, 10_000), (WIDE_LIST, "PROTOBUF", MANY_WIDE, 1_000)],
    ids=["avro", "proto"],
)
def test_thousands_of_them_take_what_one_answer_may(text: str, kind: str, payload: bytes, count: int) -> None:
    of, allowance = decoder(text, kind), Allowance()
    began = time.monotonic()
    shown = _readable(read_of(payload, count), of, allowance)
    # The allowance counts the time of the decoding process, but not its restarts, which depend on the host.
    assert allowance.seconds > -SECONDS
    assert time.monotonic() - began < MOST_SECONDS + patience.PATIENCE
    assert len(shown.records) == count
    whys = [each.value_encoding.why for each in shown.records if each.value_encoding is not None]
    assert sum(not why for why in whys) <= MOST_VALUES // 249_000
    assert whys[-1].endswith("; ask for fewer records")


def test_a_union_of_thousands_is_parsed_once() -> None:
    union = json.dumps([{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(4_900)])
    decode, allowance = decoder_of(SchemaText("AVRO", union)), Allowance()
    for _ in range(100):
        assert decode(b"\xc6\x4c\1", None, allowance) == b'"AQ=="'
    assert allowance.seconds > 0


def test_a_symbol_of_a_megabyte_a_thousand_times() -> None:
    """kac refuses to decode a small payload whose decoded values would be a gigabyte of text."""
    symbol = "A" * 1_000_000
    text = json.dumps({"type": "array", "items": {"type": "enum", "name": "E", "symbols": [symbol]}})
    with pytest.raises(NotDecoded, match=r"MiB|memory"):
        decoder_of(SchemaText("AVRO", text))(b"\xd0\x0f" + bytes(1_000) + b"\0", None)


def test_a_process_that_is_gone_is_started_again() -> None:
    process = DecodingProcess()
    decode = process.decoder(SchemaText("AVRO", '"int"'))
    assert process._process is not None
    process._process.kill()
    process._process.wait()
    assert decode(b"\2", None) == b"1"


def test_who_gives_up_does_not_wait() -> None:
    """Decoding stops soon after another thread ends the allowance of time for it, as Ctrl-C and Esc do."""
    of, allowance = decoder(WIDE_LIST, "PROTOBUF"), Allowance()
    done: list[records.RecordsRead] = []
    thread = threading.Thread(target=lambda: done.append(_readable(read_of(MANY_WIDE, 10_000), of, allowance)))
    thread.start()
    while allowance.seconds == MOST_SECONDS and thread.is_alive():
        time.sleep(0)
    began = time.monotonic()
    allowance.ended = True
    thread.join(patience.PATIENCE)
    assert not thread.is_alive()
    assert time.monotonic() - began < SECONDS
    assert len(done[0].records) < 10_000


def test_what_takes_too_long_to_make_readable_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.session.record_reading.MOST_SECONDS", 0.0)
    shown = _readable(read_of(b"x", 3), record_decoding.RecordDecoder(()), Allowance())
    assert len(shown.records) == 1
    assert shown.notes == ("the first 1 are shown: more than 0 s to make them readable; ask for fewer",)


def test_masks_of_documents_in_texts_end() -> None:
    """A mask hides a secret in JSON documents that are nested in each other as texts. The result is hardly longer than
    the input, although each level doubles the escape characters.
    """
    text = '{"card": "4111"}'
    while len(text) < 1 << 20:
        text = json.dumps({"x": text})
    of = record_decoding.RecordDecoder((record_masks.mask_path("$.**.card"),))
    value = text.encode()
    shown = of.readable(replace(record(b""), value=value), Allowance())
    assert shown.value is not None
    assert b"4111" not in shown.value
    assert len(shown.value) < len(value) + 1_000


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


schemas = worlds.running(registry_server.registry, scope="module")


@pytest.fixture(scope="module")
def cluster(schemas: registry_server.RegistryServer) -> Iterator[ThreadedCluster]:
    numbers = {"nulls": schemas.register("nulls-value", NULLS), "wide": schemas.register("w", WIDE_LIST, "PROTOBUF")}
    with run_in_thread(older_brokers.like("4.4", brokers=1)) as running:
        asyncio.run(_fill(running, numbers))
        yield running


async def _fill(running: ThreadedCluster, numbers: dict[str, int]) -> None:
    link = Link(worlds.settings(running))
    for topic in numbers:
        await changing.make_topic(link, topic, partitions=1, retention_ms="-1")
    await link.close()
    producer = AIOKafkaProducer(bootstrap_servers=running.bootstrap)
    await producer.start()
    for topic, number, payload, count in (
        ("nulls", numbers["nulls"], MANY_NULLS, 2_000),
        ("wide", numbers["wide"], MANY_WIDE, 100),
    ):
        for _ in range(count):
            await producer.send(topic, b"\0" + number.to_bytes(4, "big") + payload, partition=0)
    await producer.stop()


@pytest.mark.parametrize(
    "statement",
    ["records nulls first 2000", "records nulls first 2000 where 'value.x == 1'", "records wide first 100"],
)
def test_ctrl_c_is_heard_while_records_are_decoded(
    cluster: ThreadedCluster, schemas: registry_server.RegistryServer, tmp_path: Path, statement: str
) -> None:
    run, environment = command(cluster, schemas, tmp_path, statement)
    with children.Child(run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        ends = time.monotonic() + patience.PATIENCE
        while not _has_child(process.pid) and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.01)  # only /proc shows the process that decodes
        assert process.poll() is None
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=patience.PATIENCE)
        assert time.monotonic() - began < 2.0
        assert process.returncode == 130


def test_a_search_goes_on_behind_records_that_use_up_the_allowance(
    cluster: ThreadedCluster, schemas: registry_server.RegistryServer, tmp_path: Path
) -> None:
    """A search continues to the end of its range even if each record takes all the time that is allowed for
    decoding.
    """
    statement = "records nulls partition 0 to offset 30 where 'value.x == 1'"
    run, environment = command(cluster, schemas, tmp_path, statement)
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True, timeout=patience.PATIENCE)
    assert "0 records of 30 looked at" in done.stdout


def command(
    cluster: ThreadedCluster, schemas: registry_server.RegistryServer, folder: Path, statement: str
) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment variables of a `kac run` with this statement on the cluster."""
    config = folder / "config.toml"
    config.write_text(
        f'[contexts.c]\nbootstrap.servers = "{cluster.bootstrap}"\n[contexts.c.schemas]\nurl = "{schemas.url}"\n'
    )
    environment = {**os.environ, "KAC_CONFIG": str(config), "XDG_STATE_HOME": str(folder)}
    return [sys.executable, "-m", "console", "run", "-c", "c", "-e", statement], environment


def _has_child(pid: int) -> bool:
    return any(each.read_text().strip() for each in Path(f"/proc/{pid}/task").glob("*/children"))
