"""Tests of a context's decode rules, for records without a reference to a schema: as numbers, by schemas in files, by
programs.
"""

import json
import os
import struct
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from console.admin.command_decoder import MOST_STARTS
from console.admin.rule_decoders import rule_decoder
from console.contexts.context import BrokenContext, Context, Surroundings
from console.contexts.own_file import own_text
from console.model.decode_rules import DecodeRule
from console.model.record_decoding import RecordDecoder
from console.model.record_masks import mask_path
from console.model.records import BatchFacts, Record
from console.model.schemas import Allowance

PROTO = """\
syntax = "proto3";
package shop;
import "parts/money.proto";
message Other { string x = 1; }
message Order { string id = 1; Money price = 2; }
"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
AVSC = {
    "type": "record",
    "name": "Payment",
    "fields": [{"name": "id", "type": "long"}, {"name": "card", "type": "string", "aliases": ["pan"]}],
}


def read_context(folder: Path, decode: str) -> Context | BrokenContext:
    """Return the context of a file whose section for decoding is `decode`."""
    text = f'[contexts.prod]\nbootstrap.servers = "b:9092"\n[contexts.prod.decode]\n{decode}\n'
    file = folder / "config.toml"
    file.write_text(text)
    (found,) = own_text(text, file, Surroundings({}, folder, folder)).found.items
    return found


def rules(folder: Path, decode: str) -> tuple[DecodeRule, ...]:
    """Return the decode rules of a file whose section for decoding is `decode`."""
    found = read_context(folder, decode)
    assert isinstance(found, Context), found
    return found.decode


def shown(
    made: tuple[DecodeRule, ...], value: bytes, *, topic: str = "orders", mask: str = "", key: bytes = b""
) -> Record:
    """Return a record with this value, decoded by these rules and masked. mask: path of a field to hide; ``""`` to hide
    none.
    """
    masks = (mask_path(mask),) if mask else ()
    record = Record(topic, 0, 0, 0, key or None, value, (), BatchFacts(0))
    return RecordDecoder(masks, own=(rule_decoder(made),)).readable(record, Allowance())


@pytest.mark.parametrize(
    ("kind", "data", "number"),
    [
        ("int16", struct.pack(">h", -2), "-2"),
        ("int32", struct.pack(">i", 1 << 30), "1073741824"),
        ("int64", struct.pack(">q", -(1 << 62)), "-4611686018427387904"),
        ("float32", struct.pack(">f", 0.1), "0.1"),
        ("float32", b"\x7f\x7f\xff\xff", "3.4028235e+38"),
        ("float32", b"\x00\x00\x00\x01", "1e-45"),
        ("float64", struct.pack(">d", 0.1), "0.1"),
        ("float64", struct.pack(">d", float("nan")), '"NaN"'),
        ("float32", struct.pack(">f", float("-inf")), '"-Infinity"'),
    ],
)
def test_numbers_as_javas_serializers_write_them(tmp_path: Path, kind: str, data: bytes, number: str) -> None:
    made = rules(tmp_path, f'"ord*" = {{ key = "{kind}", value = "{kind}" }}')
    record = shown(made, data, key=data)
    assert record.value_encoding is not None
    assert (record.value_encoding.form, record.value_encoding.sent) == ("number", data)
    assert record.value is not None
    assert json.loads(record.value) == json.loads(number)
    assert record.key == record.value
    assert struct.unpack(">f", struct.pack(">f", float(json.loads(number))))[0] if kind == "float32" else True


def test_the_first_topic_that_fits_counts_for_each_part_and_another_size_stays_hex(tmp_path: Path) -> None:
    made = rules(tmp_path, '"orders-eu" = { key = "int32" }\n"orders-*" = { key = "int64", value = "int16" }')
    record = shown(made, b"\0\7", topic="orders-eu", key=b"\0\0\0\5")
    assert (record.key, record.value) == (b"5", b"7")
    other = shown(made, b"\0\7", topic="payments")
    assert (other.value, other.value_encoding) == (b"\0\7", None)
    record = shown(rules(tmp_path, 'orders.value = "int64"'), b"\0\1\2")
    assert record.value == b"\0\1\2"
    assert record.value_encoding is not None
    assert record.value_encoding.why == f"{tmp_path}/config.toml:4: it has 3 bytes, and int64 has 8"


def test_a_search_looks_for_bytes_only_where_no_rule_is(tmp_path: Path) -> None:
    own = RecordDecoder((), own=(rule_decoder(rules(tmp_path, '"orders-*".key = "int64"')),))
    assert own.is_plain_in(["payments"])
    assert not own.is_plain_in(["payments", "orders-eu"])


def test_protobuf_by_a_file_with_its_imports(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "orders.proto").write_text(PROTO)
    (tmp_path / "parts" / "money.proto").write_text(MONEY)
    made = rules(tmp_path, 'orders.value = { protobuf = { file = "orders.proto", message = "shop.Order" } }')
    record = shown(made, b"\x0a\x02o1\x12\x02\x08\x2a")
    assert record.value_encoding is not None
    assert (record.value_encoding.form, record.value_encoding.schema) == ("protobuf", "orders.proto shop.Order")
    assert record.value is not None
    assert json.loads(record.value) == {"id": "o1", "price": {"cents": 42}}
    masked = shown(made, b"\x0a\x02o1\x12\x02\x08\x2a", mask="$.price.cents")
    assert masked.value is not None
    assert json.loads(masked.value)["price"] == {"cents": "••••"}
    assert masked.value_encoding is not None
    assert masked.value_encoding.sent is None


def test_avro_by_a_file_and_a_mask_that_holds_by_an_alias(tmp_path: Path) -> None:
    (tmp_path / "payment.avsc").write_text(json.dumps(AVSC))
    made = rules(tmp_path, 'orders.value = { avro = "payment.avsc" }')
    data = BytesIO()
    fastavro.schemaless_writer(data, AVSC, {"id": 7, "card": "4711"})
    assert shown(made, data.getvalue()).value == b'{"id":7,"card":"4711"}'
    assert b"4711" not in (shown(made, data.getvalue(), mask="$.pan").value or b"")


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ('{ avro = "none.avsc" }', "none.avsc: No such file or directory; mend the path"),
        ('{ avro = "config.toml" }', "Avro"),
        (
            '{ protobuf = { file = "orders.proto", message = "shop.Missing" } }',
            "its schema has no message of that name",
        ),
        ('{ protobuf = { file = "broken.proto", message = "Order" } }', "its schema is not compiled"),
    ],
)
def test_a_file_that_can_not_be_used_says_why_and_where(tmp_path: Path, form: str, why: str) -> None:
    (tmp_path / "orders.proto").write_text('syntax = "proto3"; package shop; message Order { string id = 1; }')
    (tmp_path / "broken.proto").write_text('syntax = "proto3"; message Order {')
    record = shown(rules(tmp_path, f"orders.value = {form}"), b"\x0a\x01a")
    assert record.value == b"\x0a\x01a"
    assert record.value_encoding is not None
    assert record.value_encoding.why.startswith(f"{tmp_path}/config.toml:4: ")
    assert why in record.value_encoding.why


@pytest.mark.parametrize(
    ("decode", "why"),
    [
        ('orders.value = "int65"', "value is a number (int16, int32, int64, float32, float64), or a table with one of"),
        ("orders.value = { avro = 7 }", "avro is a file in quotes"),
        ('orders.value = { protobuf = "a.proto" }', "protobuf is as { file"),
        ('orders.value = { command = "cat x" }', "command is a list of texts, the program first"),
        ("orders.value = { command = [] }", "command is a list of texts"),
        ('orders.vlaue = "int64"', "did you mean value?"),
        ('orders = "int64"', "orders is a table with key, value or both"),
        ('orders.value = { avro = "a", command = ["b"] }', "value is a number"),
    ],
)
def test_a_wrong_rule_breaks_the_context_with_its_line(tmp_path: Path, decode: str, why: str) -> None:
    found = read_context(tmp_path, decode)
    assert isinstance(found, BrokenContext)
    assert found.problem.startswith(f"{tmp_path}/config.toml:4: ")
    assert why in found.problem


def program(folder: Path, body: str, name: str = "decode") -> str:
    """Write an executable Python program that runs `body` for each input line. Return the section for decoding that
    uses it.
    """
    file = folder / name
    head = "import base64, json, os, sys, time\nfor line in sys.stdin:\n    it = json.loads(line)\n"
    file.write_text(
        f"#!{sys.executable}\n{head}    data = base64.b64decode(it['bytes'])\n    {body}\n    sys.stdout.flush()\n"
    )
    file.chmod(0o700)
    return f'orders.value = {{ command = ["./{name}", "--one"] }}'


def why_not(record: Record) -> str:
    """Return the reason why a value is not decoded."""
    assert record.value_encoding is not None
    return record.value_encoding.why


def test_a_program_gets_bytes_and_answers_with_json(tmp_path: Path) -> None:
    text = "print(json.dumps({'value': {'hex': data.hex(), 'card': 1, 'of': [it['topic'], it['part'], sys.argv[1]]}}))"
    made = rules(tmp_path, program(tmp_path, text))
    record = shown(made, b"\0\xff")
    assert record.value is not None
    assert json.loads(record.value) == {"hex": "00ff", "card": 1, "of": ["orders", "value", "--one"]}
    assert record.value_encoding is not None
    assert (record.value_encoding.form, record.value_encoding.schema) == ("command", "decode")
    assert json.loads(shown(made, b"\0", mask="$.card").value or b"")["card"] == "••••"


def test_a_program_may_refuse_and_goes_on(tmp_path: Path) -> None:
    body = "print(json.dumps({'error': 'no magic'} if data[:1] == b'x' else {'value': os.getpid()}))"
    own = RecordDecoder((), own=(rule_decoder(rules(tmp_path, program(tmp_path, body))),))

    def of(value: bytes) -> Record:
        return own.readable(Record("orders", 0, 0, 0, None, value, (), BatchFacts(0)), Allowance())

    first = of(b"a").value
    assert why_not(of(b"x")) == f"{tmp_path}/config.toml:4: decode: no magic"
    assert of(b"b").value == first, "one process decodes them all"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("print('[1')", "answers neither"),
        ("print(json.dumps({'value': 1}) * 2)", "answers neither"),
        ("print('{}\\n{}')", "answers more than one line"),
        ("sys.exit(3)", "ended"),
        ("time.sleep(60)", "does not answer within"),
        ("print('{\"value\":' + '[' * 3000 + ']' * 3000 + '}')", "answers neither"),
        ("print('x' * (40 << 20))", "answers more than 32 MiB"),
        ("print(json.dumps({'value': len(bytearray(2 << 30))}))", "ended"),
    ],
)
def test_a_program_that_does_something_else(
    tmp_path: Path, body: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.admin.command_decoder.START_SECONDS", 5.0)
    record = shown(rules(tmp_path, program(tmp_path, body)), b"a")
    assert record.value == b"a"
    assert why in why_not(record)


def test_a_program_that_fails_is_not_started_for_ever(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    body = f"open({str(starts)!r}, 'a').write('x'); sys.exit(1)"
    own = RecordDecoder((), own=(rule_decoder(rules(tmp_path, program(tmp_path, body))),))
    for _ in range(MOST_STARTS + 3):
        record = own.readable(Record("orders", 0, 0, 0, None, b"a", (), BatchFacts(0)), Allowance())
    assert starts.read_text() == "x" * MOST_STARTS
    assert "is not started again" in why_not(record)


def test_a_program_ends_with_its_reader(tmp_path: Path) -> None:
    body = "print(json.dumps({'value': os.getpid()}))"
    own: Any = RecordDecoder((), own=(rule_decoder(rules(tmp_path, program(tmp_path, body))),))
    record = own.readable(Record("orders", 0, 0, 0, None, b"a", (), BatchFacts(0)), Allowance())
    number = int(record.value)
    os.kill(number, 0)
    del own
    until_gone(lambda: os.kill(number, 0))


def until_gone(ask: Callable[[], Any]) -> None:
    """Call `ask` until it raises ProcessLookupError. Raises AssertionError after 30 seconds."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        try:
            ask()
        except ProcessLookupError:
            return
    raise AssertionError("it still runs")


def test_what_others_may_change_is_not_run(tmp_path: Path) -> None:
    text = program(tmp_path, "print('{}')")
    made = rules(tmp_path, text)
    (tmp_path / "decode").chmod(0o777)
    assert f"others may write {tmp_path}/decode" in why_not(shown(made, b"a"))
    (tmp_path / "config.toml").chmod(0o666)
    found = read_context(tmp_path, text)
    assert isinstance(found, BrokenContext)
    assert "command: it is not run: others may write" in found.problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_program_or_a_configuration_of_another_user_is_not_run(tmp_path: Path) -> None:
    text = program(tmp_path, "print('{}')")
    made = rules(tmp_path, text)
    os.chown(tmp_path / "decode", 12345, 12345)
    assert f"{tmp_path}/decode belongs to another user" in why_not(shown(made, b"a"))
    (tmp_path / "config.toml").write_text("")
    os.chown(tmp_path / "config.toml", 12345, 12345)
    found = read_context(tmp_path, text)
    assert isinstance(found, BrokenContext)
    assert "command: it is not run" in found.problem
