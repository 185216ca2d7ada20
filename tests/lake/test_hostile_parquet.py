"""Files of a lake that anybody may have written: what is no Parquet is an error with words, and millions of rows in a
small file are a page."""

from __future__ import annotations

import resource
import shutil
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.lake.files import LakeError
from console.lake.lake import Lake
from console.lake.reader import Tables, Wanted, drift, timeline
from console.lake.schema import DRIFT, HISTORY, Table
from tests.support import sample_lake
from tests.support.examples import examples
from tests.support.sample_lake import CLUSTER

ROWS, PAGE = 3_000_000, 200
MOST_MEMORY = 400 << 20
"""Bytes that a page of millions of equal rows may take."""


def file_of(lake: Lake, table: Table) -> Path:
    return next(Path(lake.folder(table)).rglob("*.parquet"))


def inflate(path: Path, rows: int) -> None:
    """Write the file's first row again and again: equal values take next to no bytes."""
    read = pq.ParquetFile(path)
    schema = read.schema_arrow
    many = pa.concat_tables([read.read().slice(0, 1)] * 100_000).combine_chunks().cast(schema)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(rows // len(many)):
            writer.write_table(many)


def test_a_page_of_millions_of_rows_is_a_page(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    inflate(file_of(lake, HISTORY), ROWS)
    assert file_of(lake, HISTORY).stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with closing(Tables(lake.where)) as opened:
        assert len(timeline(opened, Wanted(), PAGE)) == PAGE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY >> 10


def test_all_of_millions_of_rows_is_refused(tmp_path: Path) -> None:
    lake = sample_lake.make_lake(str(tmp_path / "lake"))
    inflate(file_of(lake, DRIFT), ROWS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with closing(Tables(lake.where)) as opened, pytest.raises(LakeError, match="more than 250,000 rows"):
        drift(opened)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 * MOST_MEMORY >> 10


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return sample_lake.make_lake(str(tmp_path_factory.mktemp("good") / "lake"))


@examples(40, at_length=150, deadline=None)
@given(st.data())
def test_bytes_that_are_no_parquet_are_an_error_with_words(
    good: Lake, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes are changed, cut off or put in the place of the file's end, where it says where everything is."""
    where = tmp_path_factory.mktemp("bad") / "lake"
    shutil.copytree(good.where, where)
    lake = Lake.open(str(where))
    table = data.draw(st.sampled_from([HISTORY, DRIFT]))
    path = file_of(lake, table)
    content = bytearray(path.read_bytes())
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)):
        content[at] = byte
    kept = data.draw(st.none() | st.integers(0, len(content)))
    end = data.draw(st.sampled_from([b"", b"\xff\xff\xff\x7fPAR1", b"\xff\xff\xff\xffPAR1", b"\0\0\0\0PAR1", b"PAR1"]))
    path.write_bytes(bytes(content[:kept]) + end)
    said = str(where)
    try:
        with closing(Tables(str(where))) as opened:
            assert isinstance(timeline(opened, Wanted(), PAGE), list)
            assert isinstance(drift(opened, CLUSTER), list)
    except LakeError as error:
        said = str(error)
    assert str(where) in said
    shutil.rmtree(where)
