"""A part of a request log added up by DuckDB: the rows that are known by hand, in pieces of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.history.requests import seconds_duckdb
from console.history.requests.parts import parts_of, read_part
from tests.history.known_requests import BEFORE, expected, log, noise
from tests.history.request_lines import log_of


@pytest.mark.parametrize("chunk", [1, 1 << 26])
def test_seconds_are_what_was_asked_whatever_else_stands_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(seconds_duckdb, "CHUNK_BYTES", chunk)
    parts = parts_of([log(tmp_path / "request.log", log_of(BEFORE) + noise())], at_most=1 << 20 if chunk > 1 else 4000)
    added: dict[tuple[Any, ...], list[Any]] = {}
    lines = damaged = 0
    for part in parts:
        for batch in seconds_duckdb.seconds(read_part(part)):
            for row in batch.to_pylist():
                assert (row.pop("cluster_id"), row.pop("broker_id")) == ("lkc-1", 1)
                lines += row.pop("lines")
                damaged += row.pop("damaged")
                if row["api"] is None:
                    continue
                *sums, longest = list(row.values())[4:]
                was = added.setdefault(tuple(row.values())[:4], [0] * 7)
                added[tuple(row.values())[:4]] = [*map(sum, zip(was, sums, strict=False)), max(was[-1], longest)]
    assert {(*key, *values) for key, values in added.items()} == expected()
    assert (lines, damaged) == (len(BEFORE) + 3, 3), "every line of the logger is counted, and what is damaged of them"


def test_of_nothing_comes_nothing() -> None:
    assert list(seconds_duckdb.seconds(iter(()))) == []
