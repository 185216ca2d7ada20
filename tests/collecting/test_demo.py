"""Tests of the demo's lake: the recorded logs contain the changes of the demo's story, moved to another day, and the
tables that kac builds from them name the user of each change.
"""

from __future__ import annotations

import gzip
import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from console.collecting import demo as collecting_demo
from console.collecting.collect import collect
from console.collecting.sources import FILE, read_sources
from console.contexts import Context
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.spec import ClusterSpec, clusters_of
from console.embedded.state_file import read_state
from console.lake.entities import CONFIG_TYPES, config_key
from console.lake.files import LakeError
from console.lake.journals import journals_at, read_journal
from console.lake.kraft import LOG_FOLDER
from console.lake.lake import Lake
from console.lake.landing import POLLS, read_polls
from console.lake.plans import SOURCES, Settings, sources_of
from console.lake.requests.lines import altered
from console.lake.schema import DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE
from console.plan import edits
from tests.lake import golden
from tests.lake.lake_tables import gold_of
from tests.lake.landed_rows import landed_in
from tests.support import demo_day, worlds
from tests.support.demo_day import CLIENTS, NOT_POLLED, STORY
from tests.support.metadata_log import read_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark-two")]

END = datetime(2026, 10, 31, 7, 8, 9, 123_456, tzinfo=UTC)
"""A day and time other than those of the recording."""
CLUSTERS = ("production", "staging", "old")
_CHANCE = re.compile(
    r"127\.0\.0\.1:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\")[A-Za-z0-9_-]{22}(?=\")"
    r"|(?<=\")[A-Za-z0-9+/]{32}(?:[A-Za-z0-9+/]{54}==)?(?=\")|(?<=\"port\": )\d+"
)
"""Matches text that differs between recordings of the day: ports, ids of topics and ACLs, salts and salted passwords.
"""
_TRAFFIC = re.compile(r'"requestApiKeyName":"(PRODUCE|FETCH)"')
_LINE = re.compile(r"\[(\S+ \S+)\] DEBUG Completed request:(\{.*\}) \(kafka\.request\.logger\)")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> collecting_demo.Demo:
    return collecting_demo.make(str(tmp_path_factory.mktemp("demo") / "lake"), END)


def told(edit: edits.Edit) -> tuple[str, str]:
    """Return (entity, attribute) that an edit changes; for several entities, the first. Raises AssertionError for a
    kind of edit that the story does not have.
    """
    match edit:
        case edits.CreateTopic(topic):
            return topic.name, ":partitions"
        case edits.DeleteTopic(name):
            return name, ":topic_id"
        case edits.GrowTopic(name):
            return name, ":partitions"
        case edits.SetQuota(entity, key):
            return ",".join(f"{part.type}={part.name}" for part in entity.parts), key
        case edits.AddAcl(acl):
            return f"TOPIC:LITERAL:{acl.resource_name}", f"ALLOW {acl.operation.name} {acl.principal} from *"
        case edits.UpsertScram(user):
            return user.user, user.mechanism.label
        case edits.SetConfig(resource, key) | edits.UnsetConfig(resource, key) | edits.AppendConfig(resource, key):
            return config_key(CONFIG_TYPES[resource.type], resource.name), key
        case _:
            raise AssertionError(edit)


def request_logs(demo: collecting_demo.Demo, cluster: str) -> list[Path]:
    return sorted((demo.state.parent / cluster).glob("broker-*/kafka-request.log"))


def log_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the records of a cluster's metadata log as rows. Raises AssertionError if the log is damaged."""
    troubles: list[object] = []
    _, batches = read_log([str(folder / LOG_FOLDER)], b"k" * 32, troubles.append)
    rows: list[dict[str, Any]] = pa.Table.from_batches(list(batches)).to_pylist()
    assert not troubles
    return rows


def test_every_change_is_in_the_request_logs_with_its_author(demo: collecting_demo.Demo) -> None:
    found: dict[tuple[str, str, str], set[tuple[str, bool]]] = {}
    for name in CLUSTERS:
        for file in request_logs(demo, name):
            last = ""
            for line in file.read_text(encoding="utf-8").splitlines():
                whole = _LINE.fullmatch(line)
                assert whole is not None
                assert last <= whole[1], "in the order of time"
                last = whole[1]
                at = datetime.strptime(whole[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
                assert END - timedelta(hours=25) < at <= END + timedelta(seconds=1)
                for row in altered(whole[2], at) if '"PRODUCE"' not in line and '"FETCH"' not in line else ():
                    principal, forwarded, key, attr, error = row[5], row[6], row[9], row[10], row[-1]
                    assert error == 0
                    found.setdefault((name, key, attr), set()).add((principal, forwarded))
    for deed in STORY:
        for edit in deed.edits:
            authors = found[deed.cluster, *told(edit)]
            assert (f"User:{deed.who}", False) in authors
            assert ((f"User:{deed.who}", True) in authors) == (deed.cluster != "old"), "the controller has a copy"


def test_metadata_logs_and_journals_are_whole(demo: collecting_demo.Demo) -> None:
    for name in CLUSTERS:
        folder = demo.state.parent / name
        if not (folder / LOG_FOLDER).exists():
            assert name == "old"
            continue
        rows = log_rows(folder)
        assert {row["cluster_id"] for row in rows} == {demo.clusters[name]}
        topics = {json.loads(row["payload"])["name"] for row in rows if row["record_type"] == "TopicRecord"}
        gone = sum(row["record_type"] == "RemoveTopicRecord" for row in rows)
        state = read_state(demo.state.with_name(f"clusters-{name}.json"), f"fleet-{name}")
        assert state is not None
        assert state["cluster_id"] == demo.clusters[name]
        assert len(topics) - gone == len(state["tables"]["topics"]["own"])
        assert END - timedelta(hours=4) < max(row["record_ts"] for row in rows) < END
    journals = journals_at([demo.state.parent / "journal"])
    rows = [row for path in journals for row in read_journal(path, 0).to_pylist()]
    said = {(row["cluster_id"], row["principal"], row["entity_key"], row["attr"]) for row in rows}
    assert said == {
        (f"demo-{deed.cluster}", f"User:{deed.who}", *told(edit))
        for deed in STORY
        if deed.with_kac
        for edit in deed.edits
    }


async def test_the_states_are_as_old_as_the_end_of_the_day(demo: collecting_demo.Demo) -> None:
    for name, spec in clusters_of("fleet", ClusterSpec(state_file=demo.state)).items():
        async with EmbeddedCluster(spec) as cluster:
            assert cluster.state.cluster_id == demo.clusters[name]
            commits = {each.at for group in cluster.state.groups.values() for each in group.offsets.values()}
            records = {batch.max_timestamp for log in cluster.state.logs.values() for batch in log.batches}
            assert [round(at, 3) for at in commits] == [round(END.timestamp(), 3)]
            assert max(records) == END.timestamp() * 1000 // 1
            assert END.timestamp() * 1000 - min(records) < 600_000


@pytest.mark.takes(30)
def test_the_day_that_is_recorded_anew_is_the_one_in_the_package(tmp_path: Path) -> None:
    """A new recording of the day differs from the one in the package only in random parts. If the test fails, run
    `python -m tests.support.demo_day`.
    """
    new = demo_day.record_lake(tmp_path / "new")
    kept = collecting_demo.make(str(tmp_path / "kept"), collecting_demo.DAY_END)
    assert told_by(Path(new.where)) == told_by(Path(kept.lake.where))


def told_by(where: Path) -> dict[str, list[str]]:
    """Return name of a file -> its lines without random parts, for a demo's lake. The files of polls count as one file;
    empty files are omitted.
    """
    said: dict[str, list[str]] = {}
    for path in sorted(path for part in demo_day.PACKED for path in where.glob(f"{part}/**/*") if path.is_file()):
        name = path.relative_to(where).as_posix()
        if path.parent.name == LOG_FOLDER:
            rows = [{**row, "payload": json.loads(row["payload"])} for row in log_rows(path.parent.parent)]
            chance = dict.fromkeys(("value_hmac", "payload_hmac"))
            said[name] = [json.dumps({**row, **chance}, default=str) for row in rows]
        elif name.startswith(POLLS):
            said[POLLS] = [json.dumps(row, default=str) for batch in read_polls(path) for row in batch.to_pylist()]
        elif path.suffix == ".gz":
            said[name] = gzip.decompress(path.read_bytes()).decode().split("],[")
        elif path.stat().st_size:  # without empty lock files
            said[name] = path.read_text(encoding="utf-8").splitlines()
    return {name: [_CHANCE.sub("BY CHANCE", line) for line in lines] for name, lines in said.items()}


def test_polls_have_the_hours_of_the_day(demo: collecting_demo.Demo) -> None:
    polls: dict[str, set[datetime]] = {}
    for row in (row for row in landed_in(demo.lake) if row["kind"] == "heartbeat"):
        polls.setdefault(row["cluster_id"], set()).add(row["observed_ts"])
    every_hour = {END - timedelta(hours=hours) for hours in range(25)}
    assert polls["demo-production"] == polls["demo-staging"] == every_hour
    since, until = NOT_POLLED["old"]
    assert polls["demo-old"] == {at for at in every_hour if not END - since < at < END - until}


def test_a_lake_of_somebody_is_left_alone_and_a_demo_is_made_anew(tmp_path: Path, demo: collecting_demo.Demo) -> None:
    own = Lake.create(str(tmp_path / "own"))
    with pytest.raises(LakeError, match="choose another folder"):
        collecting_demo.make(own.where, END)
    assert Lake.open(own.where).about() == own.about()


def test_a_demo_in_which_somebody_has_collected_is_left_alone(tmp_path: Path) -> None:
    lake = collecting_demo.new_lake(str(tmp_path / "lake"))
    (tmp_path / "lake" / "demo").mkdir()
    (tmp_path / "lake" / "demo" / "made-by-kac-lake-demo").touch()
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        settings = worlds.settings(cluster)
        assert collect(lake, [Context("prod", "a test", settings)]).complete
    with pytest.raises(LakeError, match="also has polls of prod"):
        collecting_demo.new_lake(lake.where)
    assert landed_in(lake)


def test_its_sources_name_all_of_it_and_nothing_is_unreadable(demo: collecting_demo.Demo) -> None:
    """The lake's sources, read without Spark, give all data of the demo, and no line counts as unreadable."""
    file = Path(demo.lake.where) / FILE
    inputs = read_sources(file.read_text(encoding="utf-8"), str(file), Path(demo.lake.where))
    settings = Settings(demo.lake.where, inputs, demo.lake.path("hmac.key"))
    requests = 0
    for name in sources_of(inputs):
        source = SOURCES[name](settings)
        start = source.initial()
        end = source.newest(start)
        assert end != start
        rows = 0
        for part in source.parts(start, end):
            for batch in source.read(part):
                rows += len(batch)
                assert batch["quarantined"].null_count == len(batch) if name != "polls" else len(batch)
                if name == "request_log":
                    requests += sum(batch["lines"].to_pylist())
        most = source.most_rows(start, end)
        assert most is not None
        assert rows <= most < 100 * rows, name
    assert requests > 12_000


def with_traffic(where: Path, hours: int) -> Lake:
    """Make a demo that ends with the recorded day, and return its lake. Its request logs have all changes, but requests
    of producers and consumers only for the last `hours` hours.
    """
    lake = collecting_demo.make(str(where), collecting_demo.DAY_END).lake
    first = f"{collecting_demo.DAY_END - timedelta(hours=hours):%Y-%m-%d %H:%M:%S}"
    for log in where.glob("demo/*/broker-*/kafka-request.log"):
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        log.write_text("".join(line for line in lines if not _TRAFFIC.search(line) or line[1:20] >= first), "utf-8")
    return lake


@pytest.mark.parametrize("hours", [2, pytest.param(24, marks=pytest.mark.long)])
@pytest.mark.takes(40)
def test_everything_is_built_and_everybody_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """An update builds the demo's tables from all its data, and the table `history` names the user of each change of
    the story. Spark compiles the plans, as it does for many rows.
    """
    from console.lake.app import update
    from console.lake.runs import Plan

    monkeypatch.setattr("console.lake.app.MANY", -1)
    lake = with_traffic(tmp_path / "lake", hours)
    file = Path(lake.where) / FILE
    sources = read_sources(file.read_text(encoding="utf-8"), str(file), Path(lake.where))
    report = update(Plan(lake, sources), lambda: nullcontext(spark))
    assert report.status == "done"
    assert {name: counts["bad"] for name, counts in report.taken.items()} == dict.fromkeys(sources_of(sources), 0)
    assert report.taken["request_log"]["good"] > 500 * hours
    found = gold_of(lake)
    for table, kept in golden.demo_gold().items():
        if hours == 24 or table != QUOTA_USAGE.name:
            assert golden.differences(table, kept, golden.without_chance(table, found[table])) == ""
    for deed in STORY:
        for edit in deed.edits:
            key, attr = told(edit)
            rows = [
                row
                for row in found[HISTORY.name]
                if (row["cluster_id"], row["entity_key"], row["attr"]) == (f"demo-{deed.cluster}", key, attr)
                and abs(row["valid_from"] / 1e6 - (collecting_demo.DAY_END - deed.ago).timestamp()) < 2
            ]
            assert rows, (deed, edit)
            assert all(f"User:{deed.who}" in row["principal"].split(", ") for row in rows)
            alone = isinstance(edit, edits.SetConfig) and deed.ago.total_seconds() // 60 == 8 * 60
            assert {row["attribution"] for row in rows} == {
                "several" if alone else "journal" if deed.with_kac else "request"
            }
    assert {row["cluster_id"] for row in found[HISTORY.name] if row["attr"] == ":unobserved"} == {"demo-old"}
    (held_back,) = {client.who for client in CLIENTS if client.limit == 65_536.0}
    usage = [row for row in found[QUOTA_USAGE.name] if row["scope_user"] == held_back and row["throttled_requests"]]
    assert {(row["quota_value"], row["level"]) for row in usage} == {(65_536.0, 1)}
    assert {(row["scope"], row["attr"]) for row in found[DRIFT.name]} >= {("broker", "log.retention.ms")}
    against = {(row["entity_key"], row["attr"]) for row in found[POLICY_VIOLATION.name]}
    assert ("topic:checkout.payments", "unclean.leader.election.enable") in against
