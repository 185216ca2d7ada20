"""`spark.read.format("kafka_admin")`: three clusters at once, one of which is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec, SaslSpec
from console.history.schema import SNAPSHOT
from console.lake.admin_source import Cluster, KafkaAdminSource, clusters_of, rows_of
from console.lake.poll import TYPES
from console.model.secret import Secret

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "kept-in-a-file-7731"
NOBODY = "127.0.0.1:1"


def test_clusters_are_named_by_options_and_secrets_are_not() -> None:
    named = {"contexts": '["prod", "staging", "prod"]', "bootstrap": '["a:1,b:2"]'}
    assert clusters_of(named) == (Cluster("prod"), Cluster("staging"), Cluster(bootstrap="a:1,b:2"))
    for wrong in ({}, {"contexts": "prod"}, {"contexts": "[1]"}, {"contexts": '["a"]', "commandConfig": "/x"}):
        with pytest.raises(ValueError, match="kafka_admin"):
            clusters_of(wrong)
    source = KafkaAdminSource({"contexts": '["a"]', "sasl.jaas.config": PASSWORD})
    with pytest.raises(ValueError, match="never in options") as refused:
        source.reader(None)  # type: ignore[arg-type]
    assert PASSWORD not in str(refused.value)
    with pytest.raises(ValueError, match="seconds"):
        KafkaAdminSource({"contexts": '["a"]', "timeout": "soon"}).reader(None)  # type: ignore[arg-type]


def test_a_context_is_looked_up_where_the_rows_are_read(own_home: Path) -> None:
    (lost,) = rows_of(Cluster("prod"), 5.0).to_pylist()
    assert (lost["kind"], lost["entity_type"], lost["entity_key"], lost["cluster_id"]) == (
        "failed",
        "cluster",
        "prod",
        "",
    )
    folder = own_home / ".config" / "kac"
    folder.mkdir(parents=True)
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        file = folder / "config.toml"
        file.write_text(f'[contexts.prod]\nbootstrap.servers = "{cluster.bootstrap}"\n')
        rows = rows_of(Cluster("prod"), 30.0).to_pylist()
    assert [row["entity_type"] for row in rows if row["kind"] == "heartbeat"] == [",".join(TYPES)]


@pytest.mark.slow
def test_three_clusters_and_one_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql.functions import spark_partition_id

    users = SaslSpec(plain={"ANONYMOUS": Secret(PASSWORD)})
    secret, file = tmp_path / "password", tmp_path / "client.properties"
    for path, text in (
        (secret, PASSWORD),
        (
            file,
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security."
            f'plain.PlainLoginModule required username="ANONYMOUS" password="${{file:{secret}}}";\n',
        ),
    ):
        path.write_text(text)
        path.chmod(0o600)
    spark.dataSource.register(KafkaAdminSource)
    with (
        run_in_thread(ClusterSpec(brokers=1, scenario="quiet", sasl=users)) as one,
        run_in_thread(ClusterSpec(brokers=3, scenario="incident", sasl=users)) as two,
    ):
        wanted = json.dumps([one.bootstrap, NOBODY, two.bootstrap])
        read = spark.read.format("kafka_admin").options(bootstrap=wanted, commandConfig=str(file), timeout="60")
        frame = read.load()
        rows = [row.asDict() for row in frame.withColumn("partition", spark_partition_id()).collect()]
        expected = [*rows_there(file, one.bootstrap), *rows_there(file, two.bootstrap)]
    assert tuple(frame.columns) == tuple(name for name in SNAPSHOT.names if name != "run_id")
    assert {row.pop("partition") for row in rows} == {0, 1, 2}
    (lost,) = [row for row in rows if row["entity_type"] == "cluster"]
    assert (lost["kind"], lost["entity_key"], lost["cluster_id"]) == ("failed", NOBODY, "")
    assert lost["value"].startswith("UNREACHABLE")
    assert sorted(map(said, (row for row in rows if row is not lost))) == sorted(map(said, expected))
    assert PASSWORD not in repr(rows)


def rows_there(file: Path, bootstrap: str) -> list[dict[str, Any]]:
    """What this process reads of the cluster."""
    rows: list[dict[str, Any]] = rows_of(Cluster(bootstrap=bootstrap, command_config=str(file)), 60.0).to_pylist()
    return rows


def said(row: dict[str, Any]) -> str:
    return repr({name: value for name, value in row.items() if name not in ("observed_ts", "run_id")})
