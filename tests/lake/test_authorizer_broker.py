"""Tests of denials on a real broker: the lake, which Spark fills from the broker's log, and `kac denied` have the
decisions that the broker made.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from console.cli import main as cli
from console.lake import app, reader, runs
from console.lake.denials import Denied, Wanted, denials
from console.lake.inputs import AuthorizerLog, Inputs, MetadataLog, RequestLog
from console.lake.lake import Lake
from console.lake.requests.authorizer import AMBIGUOUS
from tests.lake import known_denials
from tests.lake.known_denials import ALICE, BOB, FORGED, FORGING, TOPIC, TWO_LINES
from tests.lake.lake_tables import held
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_4_3
from tests.support.real_clusters import lent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.broker, pytest.mark.slow, pytest.mark.timeout(900)]
_LINE = re.compile(
    r"\] [A-Z]+ Principal = (\S+) is (\w+) operation = (\w+) from host = \S+ on resource = (\w+):LITERAL:(\S+) for "
)
cluster = lent(lambda: known_denials.cluster_of(KAFKA_4_3))


def logged(text: str) -> Counter[tuple[str, str, str, str, bool]]:
    """Return decision -> how often it is in a log. Known names that look like log lines are replaced by short ones."""
    for number, name in enumerate((TWO_LINES, FORGING, FORGED)):
        text = text.replace(f":{name} for", f":name-{number} for")
    found = [_LINE.search(line) for line in text.splitlines()]
    assert None not in found, text
    return Counter((m[1], m[3], m[4].upper(), m[5], m[2] == "Allowed") for m in found if m is not None)


def of_lake(lake: Lake) -> Counter[tuple[str, str, str, str, bool]]:
    """Return decision -> how often it is in the lake. The known name with line breaks is replaced as in `logged`."""
    found: Counter[tuple[str, str, str, str, bool]] = Counter()
    for row in held(lake, "access"):
        name = row["resource_name"].replace(TWO_LINES, "name-0")
        key = (row["principal"], row["operation"], row["resource_type"].replace("_", ""), name, row["is_allowed"])
        found[key] += row["checks"]
    return found


def denied(lake: Lake, principal: str) -> dict[tuple[str, str], Denied]:
    """Return (operation, name of the resource) -> the denial that kac finds for a principal."""
    with closing(reader.Tables(lake.where)) as tables:
        rows = denials(tables, Wanted(principal=principal))
    return {(row.operation, row.resource_name): row for row in rows}


@pytest.mark.takes(40)
def test_what_was_denied_is_in_the_lake_once(
    cluster: KafkaCluster, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, lake = known_denials.log_of(cluster), Lake.create(str(tmp_path / "lake"))
    (metadata,) = cluster.directory.glob("broker-1/data-*/__cluster_metadata-0")
    of = cluster.cluster_id
    inputs = Inputs(
        metadata_logs=(MetadataLog(str(metadata), of),),
        request_logs=(RequestLog((f"{log.with_name('request.log')}*",), of, 1),),
        authorizer_logs=(AuthorizerLog((f"{log}*",), of, 1),),
    )
    assert known_denials.try_all(cluster) >= 6, "so many attempts are refused"
    cluster.kill(1)
    report = app.update(runs.Plan(lake, inputs), lambda: nullcontext(spark))
    assert not report.quarantined

    text = log.read_text()
    wanted, found = logged(text), of_lake(lake)
    clients = {key: count for key, count in wanted.items() if key[0] in (ALICE, BOB)}
    hidden = {key for key in clients if key[3] in ("name-1", "name-2")}
    assert {key[0] for key in hidden} == {BOB}
    assert {key: count for key, count in found.items() if key[0] in (ALICE, BOB)} == {
        key: count for key, count in clients.items() if key not in hidden
    }
    # The lines after a name that looks like one may include the brokers' own decisions.
    before = logged(text[: text.rindex("\n", 0, text.index(FORGED)) + 1])
    assert before <= found
    assert found <= wanted
    reasons = [row["quarantined"]["reason"] for row in held(lake, "authorization") if row["quarantined"]]
    assert set(reasons) == {AMBIGUOUS}

    describe = denied(lake, "alice")["DESCRIBE", TOPIC]
    assert describe.last_allowed is not None
    assert describe.last_allowed < describe.since <= describe.last
    assert describe.rule == "DefaultDeny"
    assert describe.change is not None
    assert (describe.change.attr, describe.change.is_deleted) == (f"ALLOW READ {ALICE} from *", True)
    assert describe.change.principal == "User:ANONYMOUS", "who took it away is in the request log"
    maybe = denied(lake, "alice")["WRITE", TOPIC].change
    assert maybe is not None
    assert not maybe.is_deleted, "a first allow may have closed the topic"
    assert set(denied(lake, BOB)) == {("DESCRIBE", TOPIC), ("DESCRIBE", TWO_LINES), ("CREATE", "mine")}
    assert denied(lake, "User:root") == {}
    capsys.readouterr()
    assert cli.run(["denied", "--lake", lake.where, "--output", "json", "--principal", "bob"]) == 0
    rows = json.loads(capsys.readouterr().out)["denied"]
    assert {row["hosts"][0] for row in rows} == {"127.0.0.1"}
