"""Metadata logs through Spark: the same rows as without, in splits; what can't be read; and no key shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from console.history.kraft.decoder import ROW_SCHEMA, Trouble
from tests.support.metadata_log import batch, read_log, value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEY = b"key of the lake"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes, with an aborted transaction over many batches, a secret, a damaged batch and a newer record."""
    folder: Path = tmp_path_factory.mktemp("log")
    inside = folder / "__cluster_metadata-0"
    inside.mkdir()
    (folder / "meta.properties").write_text("cluster.id=cluster-a\n")
    batches, offset = [], 0
    for at in range(200):
        values = [value("TopicRecord", name=f"orders-{at}-{each}-" + "x" * 900, topicId="A" * 22) for each in range(20)]
        if at in (70, 140):
            values[3] = value(("Begin" if at == 70 else "Abort") + "TransactionRecord")
        if at == 180:
            values = [
                value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.key.password", value="planted"),
                b"\x01\x63\x00planted",
            ]
        batches.append(batch(offset, values))
        offset += len(values)
    batches[10] = batches[10][:-1] + b"?"
    (inside / f"{0:020}.log").write_bytes(b"".join(batches))
    return inside


def test_through_spark_the_rows_are_the_same(spark: SparkSession, log: Path, tmp_path: Path) -> None:
    from console.history.spark_sources import KraftLog

    troubles: list[Trouble] = []
    plan, batches = read_log([str(log)], KEY, troubles.append)
    expected = pa.Table.from_batches(list(batches), ROW_SCHEMA).sort_by("log_offset")
    in_all, damaged, aborted = 199 * 20 + 2, 20, (140 - 70) * 20 + 1
    assert expected.num_rows == in_all - damaged - aborted
    spark.dataSource.register(KraftLog)
    options = {"path": str(log), "hmac_secret": KEY.hex(), "end_offset": plan.next_offset}
    read = spark.read.format("kraft_log").options(**options).load()
    assert KEY.hex() not in read._jdf.queryExecution().toString()
    read.write.parquet(str(tmp_path / "rows"))
    assert len(list((tmp_path / "rows").glob("part-*.parquet"))) == 2, "it is cut where it is damaged"
    rows = pq.read_table(tmp_path / "rows").sort_by("log_offset").cast(ROW_SCHEMA)
    assert rows.equals(expected)
    secret = rows.filter(pc.field("value_hmac").is_valid()).column("payload").to_pylist()
    assert [json.loads(each)["value"] for each in secret] == ["[hidden]"]
    assert len(troubles) == 2
    assert "planted" not in str(rows.to_pylist())


def test_several_folders_are_read_as_one(spark: SparkSession, log: Path) -> None:
    from console.history.spark_sources import KraftLog

    spark.dataSource.register(KraftLog)
    read = spark.read.format("kraft_log").option("start_offset", 3900).load([str(log), str(log.parent)])
    assert read.selectExpr("count(*)", "count(distinct log_offset)", "min(log_offset)").first() == (82, 82, 3900)


def test_the_key_is_in_no_text_of_the_options() -> None:
    from console.history.spark_sources import Options

    options = Options.of({"path": "x", "hmac_secret": KEY.hex()})
    assert options.key == KEY
    assert repr(KEY) not in repr(options)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"path": "x", "start_offset": "-1"}, {"path": "x", "hmac_secret": "no"}],
)
def test_wrong_options_are_said_to_be_wrong(wrong: dict[str, str]) -> None:
    from console.history.spark_sources import Options

    with pytest.raises(ValueError, match="kraft_log: "):
        Options.of(wrong)
