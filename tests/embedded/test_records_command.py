"""Tests of records on the command line and in scripts."""

import base64
import csv
import io
import json
import logging
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from console.admin.link import Link
from console.admin.newest_batches import counted, newest_batches
from console.admin.topics import describe_topics
from console.cli import main as cli
from console.contexts.context import NEVER
from console.embedded.brokers import ThreadedCluster
from console.embedded.faults import Fail, Fault
from console.embedded.scenarios.quiet import FAILED_ORDERS
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from console.model.record_masks import mask_path
from console.model.records import NewestBatches
from console.plan import risk_rules
from console.plan.edits import SetConfig
from console.plan.risks import risks
from console.session.plan_facts import read_for_risks
from tests.embedded.poisoned import HOSTILE, POISON, TOPIC, poisoned, session_on
from tests.embedded.record_batches import batch
from tests.support import worlds
from tests.support.children import Child
from tests.support.patience import PATIENCE

poison = worlds.running(poisoned, scope="module")
"""A fixture: a cluster with the topic `orders`: partition 0 has ten records, of which one is not JSON; partition 1 has
hostile text.
"""
many = worlds.cluster(ClusterSpec(scenario="quiet"), scope="module")
"""A fixture: a cluster with the topic `FAILED_ORDERS`: 400 records in each of three partitions."""
on_poison = worlds.commands("poison")
on_many = worlds.commands("many")
COUNT = 1_200


def lines(ran: worlds.Ran) -> list[dict[str, Any]]:
    """Parse the records that a command printed as JSON lines."""
    return [json.loads(line) for line in ran.out.splitlines()]


def offsets(ran: worlds.Ran) -> list[int]:
    return [each["offset"] for each in lines(ran)]


@contextmanager
def process(cluster: ThreadedCluster, *words: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``kac records`` in a separate process until the end of the block, and yield the process."""
    environ = {**os.environ, "PYTHONPATH": str(worlds.ROOT)}
    command = [sys.executable, "-m", "console", "records", "-b", cluster.bootstrap, *words]
    with Child(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, **more) as started:
        yield started
        started.kill()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--last", "2"], [8, 9]),
        (["--from", "7", "--limit", "2"], [7, 8]),
        (["--from", "2", "--to", "5"], [2, 3, 4]),
        (["--from", "start", "--to", "2"], [0, 1]),
        (["--from", "2026-09-21T14:13:20.008Z"], [8, 9]),
        (["--to", "2026-09-21T14:13:20.002Z"], [0, 1]),
        (["--group", "billing", "--limit", "1"], [POISON]),
        (["--key", "key-[12]"], [1, 2]),
        (["--key", "key-4"], [4]),
        (["--text", "poison"], [POISON]),
        (["--where", "value.items[0].price >= 8"], [8, 9]),
        (["--where", 'headers.trace == "t-5" && size > 10'], [5]),
        (["--latest-by-key", "--limit", "0"], [*range(10)]),
        (["--limit", "0"], [*range(10)]),
    ],
)
def test_the_options_are_the_words_of_the_statement(on_poison: worlds.Kac, words: list[str], found: list[int]) -> None:
    ran = on_poison("records", "orders", "--partition", "0", "--output", "jsonl", *words)
    assert (ran.code, offsets(ran)) == (0, found), ran.complaints


def test_tombstones_of_several_topics(on_poison: worlds.Kac) -> None:
    ran = on_poison("records", "ord*,orders", "--without", "value", "--output", "jsonl")
    (gone,) = lines(ran)
    assert (gone["topic"], gone["partition"], gone["key"], gone["value"]) == ("orders", 1, "gone", None)
    ran = on_poison("records", "nothing-*")
    assert (ran.code, ran.out) == (1, "")
    assert "no topic matches nothing-*" in ran.complaints


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--only"], "--only goes with --key"),
        (["--field", "key"], "go with --output raw"),
        (["--output", "raw", "--field", "topic"], "value, key or header:NAME"),
        (["--output", "json", "--follow"], "use --output jsonl"),
        (["--out", "file"], "--out goes with --output jsonl, csv or raw"),
        (["--per-second", "5"], "goes with --follow"),
        (["--rate", "fast"], "--rate:"),
        (["--where", "value.x ==="], "where 'value.x ==='"),
        (["--from", "yesterday"], "is no time"),
        (["--to", "end", "--follow"], "not 'follow'"),
        (["--last", "many"], "how many"),
    ],
)
def test_wrong_options_do_nothing(on_poison: worlds.Kac, words: list[str], said: str) -> None:
    ran = on_poison("records", "orders", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.complaints


def test_a_wrong_condition_is_marked_where_it_is_wrong(on_poison: worlds.Kac) -> None:
    ran = on_poison("records", "orders", "--where", "value.x == 1 && valeu.y")
    *_, line, mark = ran.complaints.splitlines()
    assert line[mark.index("^") :].startswith("valeu.y")


def test_each_form_has_the_same_records(on_poison: worlds.Kac) -> None:
    words = ["records", "orders", "--partition", "0", "--from", "2", "--limit", "3", "--output"]
    shown = on_poison(*words, "table")
    assert [line.lstrip("! ").split()[1] for line in shown.out.splitlines()[2:5]] == ["2", "3", "4"]
    whole = json.loads(on_poison(*words, "json").out)["records"]
    assert whole == lines(on_poison(*words, "jsonl"))
    head, *rows = csv.reader(io.StringIO(on_poison(*words, "csv").out))
    assert head == ["topic", "partition", "offset", "time", "key", "value", "value_form", "headers"]
    assert [row[2] for row in rows] == ["2", "3", "4"]
    assert [row[6] for row in rows] == ["text", "base64", "text"]
    assert base64.b64decode(rows[1][5]) == b"\x00\x01\xfe poison"
    assert json.loads(rows[0][7]) == [{"name": "trace", "value": "t-2"}]


@pytest.mark.parametrize(
    ("words", "data"),
    [
        ([], b'{"id": 2, "items": [{"price": 2}]}\n\x00\x01\xfe poison\n'),
        (["--separator", ""], b'{"id": 2, "items": [{"price": 2}]}\x00\x01\xfe poison'),
        (["--field", "key", "--separator", r"\0"], b"key-2\0key-3\0"),
        (["--field", "header:trace"], b"t-2\nt-3\n"),
        (["--field", "header:none"], b"\n\n"),
    ],
)
def test_raw_is_the_bytes_of_a_field(poison: ThreadedCluster, words: list[str], data: bytes) -> None:
    where = ["--partition", "0", "--from", "2", "--limit", "2", "--output", "raw"]
    with process(poison, "orders", *where, *words) as kac:
        assert kac.communicate(timeout=PATIENCE)[0] == data


def test_no_form_lets_hostile_text_through_to_a_terminal(on_poison: worlds.Kac) -> None:
    for form in ("table", "json", "jsonl", "csv"):
        words = ["--as", "text"] if form == "table" else []
        ran = on_poison("records", "orders", "--partition", "1", "--limit", "0", "--output", form, *words)
        assert ran.code == 0
        assert "gnp" in ran.out
        assert not {"\x1b", "\u202e", "\x07"} & set(ran.out)
    (hostile, *_) = lines(on_poison("records", "orders", "--partition", "1", "--limit", "0", "--output", "jsonl"))
    assert hostile["value"] == HOSTILE


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_closed_pipe_ends_it_quietly(many: ThreadedCluster) -> None:
    with process(many, FAILED_ORDERS, "--from", "start", "--output", "jsonl") as kac:
        assert kac.stdout is not None
        assert kac.stderr is not None
        assert json.loads(kac.stdout.readline())["topic"] == FAILED_ORDERS
        kac.stdout.close()
        complaints = kac.stderr.read()
        assert kac.wait(PATIENCE) in (0, 1)
    assert complaints == b""


def test_what_follows_ends_with_its_pipe_and_with_ctrl_c(many: ThreadedCluster) -> None:
    words = [FAILED_ORDERS, "--from", "start", "--follow", "--output", "jsonl"]
    with process(many, *words) as kac:
        assert kac.stdout is not None
        read = [json.loads(kac.stdout.readline()) for _ in range(COUNT)]
        assert len({(each["partition"], each["offset"]) for each in read}) == COUNT
        kac.send_signal(signal.SIGINT)
        rest, complaints = kac.communicate(timeout=PATIENCE)
    assert (kac.returncode, rest) == (0, b"")
    assert b"1,200 looked at, 1,200 found" in complaints
    assert b"ended by Ctrl-C" in complaints


def test_a_cap_counts_what_it_leaves_out(many: ThreadedCluster) -> None:
    words = [FAILED_ORDERS, "--from", "start", "--follow", "--per-second", "7", "--output", "jsonl", "--partition", "0"]
    with process(many, *words) as kac:
        assert kac.stdout is not None
        for _ in range(7):
            kac.stdout.readline()
        kac.send_signal(signal.SIGINT)
        rest, complaints = kac.communicate(timeout=PATIENCE)
    left_out = 400 - 7 - len(rest.splitlines())
    assert f"{left_out} records more than --per-second came" in complaints.decode()


def test_ctrl_c_keeps_what_was_found(many: ThreadedCluster) -> None:
    words = [FAILED_ORDERS, "--from", "start", "--rate", "1kB/s", "--output", "jsonl"]
    with process(many, *words) as kac:
        assert kac.stdout is not None
        assert json.loads(kac.stdout.readline())
        kac.send_signal(signal.SIGINT)
        _, complaints = kac.communicate(timeout=PATIENCE)
    assert kac.returncode == 130
    assert b"ended by Ctrl-C" in complaints


def test_a_reader_that_takes_nothing_holds_up_no_ctrl_c(many: ThreadedCluster) -> None:
    with process(many, FAILED_ORDERS, "--from", "start", "--output", "jsonl") as kac:
        assert kac.stdout is not None
        assert kac.stdout.read(1) == b"{"
        kac.send_signal(signal.SIGINT)
        assert kac.wait(PATIENCE) == 130


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_file_has_a_manifest(many: ThreadedCluster, on_many: worlds.Kac, tmp_path: Path) -> None:
    out = tmp_path / "failed.jsonl"
    ran = on_many("records", FAILED_ORDERS, "--from", "start", "--output", "jsonl", "--out", str(out))
    assert (ran.code, ran.out) == (0, "")
    assert len(out.read_text().splitlines()) == COUNT
    told = tmp_path / "failed.jsonl.manifest.json"
    manifest = json.loads(told.read_text())
    assert manifest["cluster_id"] == many.call(lambda cluster: cluster.state.cluster_id)
    assert (manifest["topics"], manifest["records"], manifest["looked_at"]) == ([FAILED_ORDERS], COUNT, COUNT)
    assert (manifest["finished"], manifest["why"], manifest["bytes"]) == (True, "", out.stat().st_size)
    spans = {each["partition"]: (each["first"], each["next"], each["last_written"]) for each in manifest["ranges"]}
    assert spans == dict.fromkeys(range(3), (10000, 10400, 10399))
    assert {path.stat().st_mode & 0o777 for path in (out, told)} == {0o600}
    again = on_many("records", FAILED_ORDERS, "--output", "jsonl", "--out", str(out))
    assert again.code == 1
    assert "exists already" in again.complaints
    assert len(out.read_text().splitlines()) == COUNT


def full_disk(size: int) -> Callable[[], None]:
    """Return a function that limits the size of files written by a process to `size` bytes, as a full disk would."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("form", ["jsonl", "csv", "raw"])
def test_what_was_written_before_the_disk_was_full_stands(many: ThreadedCluster, tmp_path: Path, form: str) -> None:
    out = tmp_path / "all"
    words = [FAILED_ORDERS, "--partition", "1", "--from", "start", "--output", form, "--out", str(out)]
    with process(many, *words, preexec_fn=full_disk(20_000)) as kac:
        _, complaints = kac.communicate(timeout=PATIENCE)
    assert kac.returncode == 1
    data = out.read_bytes()
    assert 15_000 < len(data) <= 20_000
    assert data.endswith(b"\n"), "only whole records stand"
    count = len(data.splitlines()) - (form == "csv")
    last = 10_000 + count - 1
    assert (
        f"{count} records stand in {out}; the last of each partition: {FAILED_ORDERS}-1 {last}" in complaints.decode()
    )
    assert "can't be written" in complaints.decode()
    manifest = json.loads((tmp_path / "all.manifest.json").read_text())
    assert (manifest["finished"], manifest["records"], manifest["bytes"]) == (False, count, len(data))
    assert manifest["ranges"][0]["last_written"] == last
    assert "can't be written" in manifest["why"]


# -- masks -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(
    poison: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> worlds.Kac:
    """Provide a function that runs ``kac records`` in a context that masks a field, hides contents, or never shows
    them.
    """
    config = tmp_path / "config.toml"
    servers = f'"bootstrap.servers" = "{poison.bootstrap}"\n'
    kinds = {"masked": 'mask = ["$.**.price"]\n', "hidden": 'records = "hidden"\n', "never": 'records = "never"\n'}
    config.write_text("".join(f"[contexts.{name}]\n{servers}{more}" for name, more in kinds.items()))
    monkeypatch.setenv("KAC_CONFIG", str(config))

    def run(context: str, *words: str) -> worlds.Ran:
        return worlds.Ran(cli.run(["records", "-c", context, *words]), *capsys.readouterr())

    return run


FORMS = ("table", "json", "jsonl", "csv", "raw")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("contents", ["", "text", "json", "hex"])
def test_a_masked_field_is_in_no_output(guarded: worlds.Kac, form: str, contents: str, tmp_path: Path) -> None:
    words = ["masked", "orders", "--partition", "0", "--limit", "0", "--output", form, "--reveal"]
    words += ["--as", contents] if contents else []
    ran = guarded(*words)
    assert ran.code == 0
    assert "price" in ran.out or contents == "hex"
    for secret in (
        '"price": 4',
        '"price":4',
        'price\\": 4',
        b'price": 4'.hex(),
        b'price": 4'.hex(" "),
        "poison",
        "AAH+",
    ):
        assert secret not in ran.out
    if form in ("jsonl", "csv", "raw"):
        out = tmp_path / "out"
        assert guarded(*words, "--out", str(out)).code == 0
        assert b'price": 4' not in out.read_bytes()
        assert json.loads((tmp_path / "out.manifest.json").read_text())["masks"] == ["$.**.price"]


@pytest.mark.parametrize("form", FORMS)
def test_hidden_contents_need_to_be_asked_for_and_never_is_never(guarded: worlds.Kac, form: str) -> None:
    words = ["orders", "--partition", "0", "--limit", "0", "--output", form]
    ran = guarded("hidden", *words)
    assert ran.code == (1 if form == "raw" else 0)
    for secret in ("key-", "price", "poison", "t-3"):
        assert secret not in ran.out
    assert "price" in guarded("hidden", *words, "--reveal").out
    ran = guarded("never", *words, "--reveal")
    assert (ran.code, ran.out) == (1, "")
    assert 'records = "never"' in ran.complaints


# -- `records` in scripts: text and JSON, hidden or forbidden contents, missing topics and offsets ---------------------


@pytest.fixture(scope="module", params=["4.4", "3.9", "2.8"])
def poisoned_records(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    """Provide a poisoned cluster, in turn for each release. Fetch requests of 2.8 name topics, later ones have their
    ids.
    """
    with poisoned(request.param) as running:
        yield running


run = worlds.script


async def found(running: ThreadedCluster, text: str) -> list[dict[str, Any]]:
    """Run a statement, and return its records as JSON objects."""
    out, code = await run(running, text, "json")
    assert code == 0
    return list(json.loads(out)["records"])


async def test_records_as_text(poisoned_records: ThreadedCluster) -> None:
    out, code = await run(poisoned_records, "records orders partition 0 first 5")
    lines = out.splitlines()
    assert code == 0
    assert [line.lstrip("! ").split()[1] for line in lines[2:7]] == ["0", "1", "2", "3", "4"]
    assert '{"id": 4, "items": [{"price": 4}]}' in lines[6]
    assert "00 01 fe 20 70 6f 69 73 6f 6e" in lines[5]
    assert lines[5].startswith("!")
    assert lines[-1] == "5 records, 0–4 of 0–9"


async def test_records_as_data(poisoned_records: ThreadedCluster) -> None:
    (first, second) = await found(poisoned_records, "records orders partition 0 last 2 as json")
    assert first["value_json"] == {"id": 8, "items": [{"price": 8}]}
    assert (second["offset"], second["key"], second["timestamp_type"]) == (9, "key-9", "CreateTime")
    assert second["headers"] == [{"name": "trace", "value": "t-9"}]
    assert second["compression"] == "gzip"
    (poison,) = await found(poisoned_records, "records orders partition 0 from group billing limit 1")
    assert (poison["offset"], poison["value_base64"]) == (3, "AAH+IHBvaXNvbg==")
    hostile, tombstone, large = await found(poisoned_records, "records orders partition 1 first 10")
    assert (hostile["key"], hostile["value"]) == (HOSTILE, HOSTILE)
    assert (tombstone["value"], len(large["value"])) == (None, 900_000)


@pytest.mark.parametrize("since", ["2099-01-01T00:00Z limit 3", "2100-01-01T00:00:00Z"])
async def test_a_time_that_no_record_has_yet_is_said_so(poisoned_records: ThreadedCluster, since: str) -> None:
    out, code = await run(poisoned_records, f"records orders partition 0 from time {since}")
    assert code == 0
    assert "orders-0: no record is as new as that; its end is 10" in out
    assert str(2**63 - 1) not in out


async def test_filters(poisoned_records: ThreadedCluster) -> None:
    async def offsets(text: str) -> list[int]:
        return [each["offset"] for each in await found(poisoned_records, f"records orders partition 0 {text}")]

    assert await offsets("first 10 where 'value.items[0].price >= 8'") == [8, 9]
    assert await offsets("last 1 where 'value.id < 5'") == [4]
    assert await offsets("first 10 key key-[12]") == [1, 2]
    assert await offsets("first 10 text poison") == [3]
    assert await offsets("from offset 7 limit 2") == [7, 8]
    assert await offsets("from time 2026-09-21T14:13:20.008Z") == [8, 9]
    assert await offsets("last 3 text nothing") == []


async def test_hostile_text_is_harmless(poisoned_records: ThreadedCluster) -> None:
    out, _ = await run(poisoned_records, "records orders partition 1 as text")
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]gnp" in out


async def test_hidden_contents_need_to_be_asked_for(poisoned_records: ThreadedCluster) -> None:
    for output in ("text", "json"):
        out, code = await run(poisoned_records, "records orders partition 0", output, records="hidden")
        assert code == 0
        assert "key-" not in out
        assert "price" not in out
        assert "AAH+" not in out
        shown, _ = await run(poisoned_records, "records orders partition 0 --reveal", output, records="hidden")
        assert "key-9" in shown
    assert "--reveal shows them" in (await run(poisoned_records, "records orders", records="hidden"))[0]


async def test_masked_fields_are_neither_shown_nor_found(poisoned_records: ThreadedCluster) -> None:
    mask = (mask_path("$.items[*].price"),)
    for output in ("text", "json", "csv"):
        for form in ("", " as text", " as json", " as hex"):
            out, code = await run(poisoned_records, f"records orders partition 0{form} --reveal", output, mask=mask)
            assert code == 0
            assert "price" in out or form == " as hex"
            assert '"price": 4' not in out
            assert b'price": 4'.hex(" ") not in out
            assert b'price": 4'.hex() not in out
            assert "AAH+" not in out, "a value that can't be looked through is hidden"
    masked = run(poisoned_records, "records orders partition 0", mask=mask)
    assert "fields are masked in this context: $.items[*].price" in (await masked)[0]

    async def offsets(text: str, **changes: Any) -> list[int]:
        out, _ = await run(poisoned_records, f"records orders partition 0 first 10 {text}", "json", **changes)
        return [each["offset"] for each in json.loads(out)["records"]]

    conditions = (("where 'value.items[0].price == 8'", [8]), ("text 'price\": 8'", [8]), ("text poison", [3]))
    for condition, without in conditions:
        assert await offsets(condition) == without
        assert await offsets(condition, mask=mask) == []
    assert await offsets("where 'value.items[0].price > 8'", mask=mask) == []
    assert await offsets("where 'value.items[0].price != 8'", mask=mask) == [each for each in range(10) if each != 3]
    assert await offsets("where 'value.id == 8'", mask=mask) == [8]


async def test_never_is_never(poisoned_records: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    out, code = await run(poisoned_records, "records orders --reveal", records="never")
    assert (out, code) == ("", 1)
    assert 'context test has records = "never"' in capsys.readouterr().err


async def test_what_is_not_there_fails_alone(
    poisoned_records: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    out, code = await run(poisoned_records, "records nope; records orders partition 0 last 1")
    assert code == 1
    assert "key-9" in out
    assert "UNKNOWN_TOPIC_OR_PARTITION: topic nope" in capsys.readouterr().err


def kept(folder: Path) -> bytes:
    """Return the joined contents of all files in a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_no_content_is_logged(
    poisoned_records: ThreadedCluster, caplog: pytest.LogCaptureFixture, own_home: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    out, _ = await run(poisoned_records, "records orders partition 0; records orders partition 9")
    assert "key-9" in out
    assert "key-9" not in caplog.text
    assert "price" not in caplog.text
    assert b"price" not in kept(own_home)


# -- The newest batches, as the leaders have them: sizes, and records without keys -------------------------------------

running = worlds.running(poisoned, scope="module")

link = worlds.link("running", worlds.mend)


async def test_the_newest_batches_of_a_topic(running: ThreadedCluster, link: Link) -> None:
    topic = (await describe_topics(link, [TOPIC])).topics[TOPIC]
    (found,) = (await newest_batches(link, [topic])).values()
    assert found.largest > 0
    assert 0 < found.keyless <= found.records
    running.call(lambda one: one.faults.add(Fault(Fail(29), api="fetch")))
    assert await newest_batches(link, [topic]) == {}, "they may not be read"


async def test_a_warning_has_what_was_read(link: Link) -> None:
    session = session_on(link)
    (staged,) = session.stage([SetConfig(topic_resource(TOPIC), "cleanup.policy", "compact")]).plan.staged
    facts = await read_for_risks(session, [staged])
    assert facts.batches[TOPIC].keyless
    assert [each.name for each in risks([staged], session.snapshot, facts)] == [risk_rules.KEYLESS_RECORDS]


async def test_a_context_that_forbids_records_reads_none_for_a_warning(link: Link) -> None:
    session = session_on(link, records=NEVER)
    (staged,) = session.stage([SetConfig(topic_resource(TOPIC), "cleanup.policy", "compact")]).plan.staged
    assert (await read_for_risks(session, [staged])).batches == {}


def test_records_before_the_offset_are_not_counted() -> None:
    data = batch(b"a", b"b", b"c", key=None)
    assert counted(data, 1) == NewestBatches(len(data), 2, 2)
    assert counted(data, 3) == NewestBatches()
    assert counted(data[:-2] + b"\xff\xff", 0) == NewestBatches(), "its checksum is wrong"
