"""`records` in scripts: text and JSON, where the context hides contents or forbids them, and what is not there."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.embedded.brokers import ThreadedCluster
from console.model.record_masks import mask_path
from tests.embedded.poisoned import HOSTILE, poisoned
from tests.support import worlds


@pytest.fixture(scope="module", params=["4.4", "3.9", "2.8"])
def records(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    """Of each release: by topic id, and before by name."""
    with poisoned(request.param) as running:
        yield running


run = worlds.script


async def found(running: ThreadedCluster, text: str) -> list[dict[str, Any]]:
    """The records as JSON."""
    out, code = await run(running, text, "json")
    assert code == 0
    return list(json.loads(out)["records"])


async def test_records_as_text(records: ThreadedCluster) -> None:
    out, code = await run(records, "records orders partition 0 first 5")
    lines = out.splitlines()
    assert code == 0
    assert [line.lstrip("! ").split()[1] for line in lines[2:7]] == ["0", "1", "2", "3", "4"]
    assert '{"id": 4, "items": [{"price": 4}]}' in lines[6]
    assert "00 01 fe 20 70 6f 69 73 6f 6e" in lines[5]
    assert lines[5].startswith("!")
    assert lines[-1] == "5 records, 0–4 of 0–9"


async def test_records_as_data(records: ThreadedCluster) -> None:
    (first, second) = await found(records, "records orders partition 0 last 2 as json")
    assert first["value_json"] == {"id": 8, "items": [{"price": 8}]}
    assert (second["offset"], second["key"], second["timestamp_type"]) == (9, "key-9", "CreateTime")
    assert second["headers"] == [{"name": "trace", "value": "t-9"}]
    assert second["compression"] == "gzip"
    (poison,) = await found(records, "records orders partition 0 from group billing limit 1")
    assert (poison["offset"], poison["value_base64"]) == (3, "AAH+IHBvaXNvbg==")
    hostile, tombstone, large = await found(records, "records orders partition 1 first 10")
    assert (hostile["key"], hostile["value"]) == (HOSTILE, HOSTILE)
    assert (tombstone["value"], len(large["value"])) == (None, 900_000)


@pytest.mark.parametrize("since", ["2099-01-01T00:00Z limit 3", "2100-01-01T00:00:00Z"])
async def test_a_time_that_no_record_has_yet_is_said_so(records: ThreadedCluster, since: str) -> None:
    out, code = await run(records, f"records orders partition 0 from time {since}")
    assert code == 0
    assert "orders-0: no record is as new as that; its end is 10" in out
    assert str(2**63 - 1) not in out


async def test_filters(records: ThreadedCluster) -> None:
    async def offsets(text: str) -> list[int]:
        return [each["offset"] for each in await found(records, f"records orders partition 0 {text}")]

    assert await offsets("first 10 where 'value.items[0].price >= 8'") == [8, 9]
    assert await offsets("last 1 where 'value.id < 5'") == [4]
    assert await offsets("first 10 key key-[12]") == [1, 2]
    assert await offsets("first 10 text poison") == [3]
    assert await offsets("from offset 7 limit 2") == [7, 8]
    assert await offsets("from time 2026-09-21T14:13:20.008Z") == [8, 9]
    assert await offsets("last 3 text nothing") == []


async def test_hostile_text_is_harmless(records: ThreadedCluster) -> None:
    out, _ = await run(records, "records orders partition 1 as text")
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "[red]gnp" in out


async def test_hidden_contents_need_to_be_asked_for(records: ThreadedCluster) -> None:
    for output in ("text", "json"):
        out, code = await run(records, "records orders partition 0", output, records="hidden")
        assert code == 0
        assert "key-" not in out
        assert "price" not in out
        assert "AAH+" not in out
        shown, _ = await run(records, "records orders partition 0 --reveal", output, records="hidden")
        assert "key-9" in shown
    assert "--reveal shows them" in (await run(records, "records orders", records="hidden"))[0]


async def test_masked_fields_are_neither_shown_nor_found(records: ThreadedCluster) -> None:
    mask = (mask_path("$.items[*].price"),)
    for output in ("text", "json", "csv"):
        for form in ("", " as text", " as json", " as hex"):
            out, code = await run(records, f"records orders partition 0{form} --reveal", output, mask=mask)
            assert code == 0
            assert "price" in out or form == " as hex"
            assert '"price": 4' not in out
            assert b'price": 4'.hex(" ") not in out
            assert b'price": 4'.hex() not in out
            assert "AAH+" not in out, "a value that can't be looked through is hidden"
    masked = run(records, "records orders partition 0", mask=mask)
    assert "fields are masked in this context: $.items[*].price" in (await masked)[0]

    async def offsets(text: str, **changes: Any) -> list[int]:
        out, _ = await run(records, f"records orders partition 0 first 10 {text}", "json", **changes)
        return [each["offset"] for each in json.loads(out)["records"]]

    conditions = (("where 'value.items[0].price == 8'", [8]), ("text 'price\": 8'", [8]), ("text poison", [3]))
    for condition, without in conditions:
        assert await offsets(condition) == without
        assert await offsets(condition, mask=mask) == []
    assert await offsets("where 'value.items[0].price > 8'", mask=mask) == []
    assert await offsets("where 'value.items[0].price != 8'", mask=mask) == [each for each in range(10) if each != 3]
    assert await offsets("where 'value.id == 8'", mask=mask) == [8]


async def test_never_is_never(records: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    out, code = await run(records, "records orders --reveal", records="never")
    assert (out, code) == ("", 1)
    assert 'context test has records = "never"' in capsys.readouterr().err


async def test_what_is_not_there_fails_alone(records: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    out, code = await run(records, "records nope; records orders partition 0 last 1")
    assert code == 1
    assert "key-9" in out
    assert "UNKNOWN_TOPIC_OR_PARTITION: topic nope" in capsys.readouterr().err


def kept(folder: Path) -> bytes:
    """What is in all files of a folder."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_no_content_is_logged(records: ThreadedCluster, caplog: pytest.LogCaptureFixture, own_home: Path) -> None:
    caplog.set_level(logging.DEBUG)
    out, _ = await run(records, "records orders partition 0; records orders partition 9")
    assert "key-9" in out
    assert "key-9" not in caplog.text
    assert "price" not in caplog.text
    assert b"price" not in kept(own_home)
