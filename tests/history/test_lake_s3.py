"""A lake in an S3 bucket: written, read and locked on a store that runs; and what is said where it can't be."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from console.history.store import Lake, LakeBusy, LakeError, LeaseLost, parquet_files
from console.history.store.commit import put_table
from console.history.store.delta_log import listed
from console.history.store.errors import StoreError
from console.history.store.filesystem import Filesystem
from console.history.store.lock import Holder, this_process
from console.history.store.release import TableFiles, folder_of
from console.history.store.s3 import S3Files, S3Keys
from console.history.store.write import writing
from tests.history.lake_rows import arrow_rows, snapshot_rows

from console.cli import main as cli
from console.contexts.lake_files import lake_files
from console.history.delta_log import log_file
from console.history.reader.queries import Wanted, Window, hottest, timeline
from console.history.reader.tables import Tables
from console.history.schema import CHANGE_EVENT, HISTORY
from console.history.status import status
from console.model.numbers import json_text
from tests.support import sample_lake
from tests.support.patience import PATIENCE
from tests.support.s3_store import BUCKET, KEYS, STORES, NoStoreError, Store, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.long if name == "versitygw" else ()) for name in STORES],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    try:
        with running(request.param, tmp_path_factory.mktemp(request.param)) as started:
            yield started
    except NoStoreError as why:
        if os.environ.get("KAC_REQUIRE_S3"):
            raise
        pytest.skip(str(why))


@pytest.fixture
def environ(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The process' own, too."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    made = store.environ(tmp_path)
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def where(environ: dict[str, str], tmp_path: Path) -> str:
    return f"s3a://{BUCKET}/{tmp_path.name}/lake"


def opened(where: str) -> S3Files:
    made = lake_files(where)
    assert isinstance(made, S3Files)
    return made


def quick(where: str, *, dead_after: float = 60.0) -> S3Files:
    """Files whose lock is renewed often."""
    made = opened(where)
    made.renewed_every, made.dead_after = 0.05, dead_after
    return made


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_files_are_the_same_here_and_there(kind: str, where: str, tmp_path: Path) -> None:
    files: Filesystem = Filesystem() if kind == "local" else opened(where)
    base = str(tmp_path / "files") if kind == "local" else where
    name = f"{base}/data/a=%2Fx y+ü/part.parquet"
    assert files.entries(base) == []
    files.remove(name)
    with pytest.raises(FileNotFoundError):
        files.read(name)
    files.create(name, b"0123456789", private=True)
    with pytest.raises(FileExistsError):
        files.create(name, b"other")
    assert [files.read(name), files.read(name, 3, 2), files.read(name, 0, 0)] == [b"0123456789", b"34", b""]
    (copy,) = files.here([name])
    assert Path(copy).read_bytes() == b"0123456789"
    files.replace(f"{base}/top", b"first")
    files.replace(f"{base}/top", b"")
    assert files.read(f"{base}/top") == b""
    files.create(f"{base}/data/out", b"x" * 3_000_000)
    with files.gathered(f"{base}/data/spark", str(tmp_path)) as place:
        for part in ("p=1", "p=2"):
            (Path(place) / part).mkdir(parents=True)
            (Path(place) / part / "part-0.parquet").write_bytes(part.encode())
    assert [(each.name, each.is_folder, each.bytes) for each in files.entries(base)] == [
        ("data", True, 0),
        ("top", False, 0),
    ]
    assert [(each.name, each.bytes) for each in files.entries(f"{base}/data")] == [
        ("a=%2Fx y+ü", 0),
        ("out", 3_000_000),
        ("spark", 0),
    ]
    assert files.read(f"{base}/data/spark/p=2/part-0.parquet") == b"p=2"
    files.remove(f"{base}/data")
    assert [each.name for each in files.entries(base)] == ["top"]
    if kind == "s3":
        with pytest.raises(FileNotFoundError):
            files.here([f"{base}/nothing"])


def test_more_than_a_page_of_objects(where: str) -> None:
    files = opened(where)
    names = [f"{number:04}" for number in range(1_050)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: files.replace(f"{where}/many/{name}", b""), names))
    assert [each.name for each in files.entries(f"{where}/many")] == names
    files.remove(f"{where}/many")
    assert files.entries(f"{where}/many") == []


def test_a_lake_is_written_and_read(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    lake = sample_lake.make_lake(where, files=opened(where))
    local = sample_lake.make_lake(f"{os.environ['HOME']}/lake")
    there, here = Tables(where, opened(where)), Tables(local.where)
    assert timeline(there, Wanted()) == timeline(here, Wanted()) != []
    assert hottest(there, Window(sample_lake.CLUSTER)) == hottest(here, Window(sample_lake.CLUSTER)) != []
    assert there.is_latest
    run = json_text({"commitInfo": {"userMetadata": json_text({"run": "20260101T000000Z-00000a"})}})
    lake.files.create(f"{lake.folder(HISTORY)}/{log_file(1)}", run.encode())
    assert not there.is_latest
    again = Tables(where, opened(where), there)
    assert (again.run(HISTORY), again.is_latest) == ("20260101T000000Z-00000a", True)
    assert timeline(again, Wanted()) == timeline(here, Wanted())
    again.close()
    here.close()
    assert [(table.name, table.rows) for table in status(lake).tables] == [
        (table.name, table.rows) for table in status(local).tables
    ]
    rows = []
    for each in (where, where.replace("s3a:", "s3:"), local.where):
        assert cli.run(["history", "--lake", each, "--output", "json"]) == 0
        rows.append(json.loads(capsys.readouterr().out))
    assert rows[0] == rows[1] == rows[2] != []
    assert cli.run(["drift", "--lake", where, "--cluster", sample_lake.CLUSTER]) == 0
    assert cli.run(["lake", "status", "--lake", where]) == 0
    assert cli.run(["lake", "report", "--lake", where, "--cluster", sample_lake.CLUSTER, "--html", "-"]) == 0
    assert KEYS[1] not in "".join(capsys.readouterr())


def test_old_versions_go_and_what_a_killed_run_left(where: str) -> None:
    lake = Lake.create(where, opened(where))
    for look in range(20):
        with writing(lake, "collect", keep=2) as write:
            write.add_arrow("snapshot", snapshot_rows(4, first=4 * look))
            write.commit()
    assert Lake.open(where, opened(where)).current().tables["snapshot"].rows == 80
    assert len(lake.releases()) == 2
    log = listed(lake.filesystem, lake.path("data/snapshot"))
    assert log.checkpoints
    assert len(log.commits) < 20


def test_one_writer_at_a_time(where: str) -> None:
    lake, other = Lake.create(where, quick(where)), Lake.open(where, opened(where))
    with writing(lake, "collect") as write:
        with pytest.raises(LakeBusy, match="being written by `collect`") as busy, writing(other, "build"):
            pytest.fail("two writers")
        assert busy.value.holder is not None
        assert busy.value.holder.pid == os.getpid()
        first = other.filesystem.read(other.path("lock"))
        patience = threading.Event()
        while other.filesystem.read(other.path("lock")) == first:
            patience.wait(0.01)
        write.add_arrow("snapshot", snapshot_rows(3))
        write.commit()
    with writing(other, "build") as write:
        assert write.taken_over is None
        assert write.release.number == 1


def test_who_died_is_taken_over_and_who_paused_has_lost(where: str) -> None:
    lake = Lake.create(where, opened(where))
    dead = {**this_process("20250101T000000Z-abcdef", "build").__dict__, "host": "elsewhere"}
    lake.filesystem.replace(lake.path("lock"), Holder(**dead).text)
    with pytest.raises(LakeBusy, match="elsewhere"), writing(lake, "build"):
        pytest.fail("it was renewed just now")
    lake.filesystem.replace(lake.path("lock"), Holder(**{**dead, "host": socket.gethostname(), "pid": 2**22 + 1}).text)
    with writing(lake, "build") as write:  # its process on this host has ended
        assert write.taken_over is not None
        assert write.taken_over.run_id == "20250101T000000Z-abcdef"

    paused = Lake.open(where, opened(where))  # which does not renew it right now
    hasty = Lake.open(where, quick(where, dead_after=-1.0))
    with writing(paused, "collect") as first:
        first.add_arrow("snapshot", snapshot_rows(3))
        with writing(hasty, "build") as second:
            assert second.taken_over is not None
            assert second.taken_over.run_id == first.run_id
            second.add_arrow("snapshot", snapshot_rows(5))
            second.commit()
            with pytest.raises(LeaseLost):
                first.commit()
    assert [release.run_id for release in lake.releases()] == [second.run_id]
    assert lake.current().tables["snapshot"].rows == 5


def test_of_many_that_take_the_lock_at_once_one_has_it(where: str) -> None:
    files = [opened(where) for _ in range(8)]
    files[0].replace(f"{where}/lock", b"")
    begun = threading.Barrier(len(files))
    decided = threading.Barrier(len(files))

    def take(number: int) -> bool:
        begun.wait(PATIENCE)
        try:
            with files[number].lock(f"{where}/lock", this_process(f"20250101T00000{number}Z-abcdef", "build")) as lock:
                decided.wait(PATIENCE)
                return lock.is_held()
        except Exception:  # noqa: BLE001 busy; the count says whether all others were
            decided.wait(PATIENCE)
            return False

    with ThreadPoolExecutor(len(files)) as pool:
        assert sum(pool.map(take, range(len(files)))) == 1


def test_of_commits_at_once_one_holds_without_a_lock(where: str) -> None:
    """delta-rs writes a version on condition that there is none."""
    lake = Lake.create(where, opened(where))
    newest: int | None = None
    for turn in range(6):
        begun = threading.Barrier(6)

        def commit(
            number: int, turn: int = turn, since: int | None = newest, begun: threading.Barrier = begun
        ) -> int | None:
            folder = f"{folder_of(CHANGE_EVENT.name)}/v={turn}/{number}"
            parquet_files.write(lake.filesystem, lake.path(f"{folder}/part-0.parquet"), arrow_rows(CHANGE_EVENT, [{}]))
            made = parquet_files.listed(lake.filesystem, lake.where, lake.path(folder), "")
            wanted = TableFiles(CHANGE_EVENT.names, made)
            begun.wait(PATIENCE)
            try:
                return put_table(lake.filesystem, lake.where, CHANGE_EVENT, wanted, str(number), since=since)
            except LakeError:
                return None

        with ThreadPoolExecutor(6) as pool:
            made = sorted(each for each in pool.map(commit, range(6)) if each is not None)
        # Without a version to be put after, one that lists the log late comes after the others.
        assert made == (list(range(max(1, len(made)))) if newest is None else [newest + 1])
        newest = made[-1]


def test_spark_builds_it_without_hadoops_s3(
    where: str, environ: dict[str, str], spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.history.jobs.renew.MOST_ROWS", 0)
    from console.history.jobs.build import build
    from console.history.jobs.compact import compact
    from console.history.jobs.submit import lake_at
    from console.history.jobs.verify import verify

    lake = Lake.create(where, opened(where))
    for look in range(6):
        with writing(lake, "collect") as write:
            write.add_arrow("snapshot", snapshot_rows(20, first=20 * look, days=1))
            write.commit()
    build(lambda: spark, lake, ["change_event", "history"])
    assert compact(lake).rows["snapshot"] == 120
    assert verify(lake) == ()
    # The driver of a cluster, whose Spark would read the bucket by itself.
    keys = {"access.key": KEYS[0], "secret.key": KEYS[1], "endpoint": environ["AWS_ENDPOINT_URL"]}
    for name, value in keys.items():
        spark.conf.set(f"fs.s3a.{name}", value)
    there = lake_at(spark, where)
    assert there.current() == lake.current()
    with writing(there, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(3))
        write.commit()
    assert there.filesystem.here([where]) == [where]
    for name in keys:
        spark.conf.unset(f"fs.s3a.{name}")
    tables = Tables(where, lake_files(where))
    assert {(each.entity_key, each.attr, each.new_value) for each in timeline(tables, Wanted())} == {
        (f"topic-{number}", "retention.ms", str(number)) for number in range(120)
    }
    tables.close()


def test_clusters_are_polled_into_it(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        for _ in range(2):
            assert cli.run(["lake", "collect", "-b", cluster.bootstrap, "--lake", where]) == 0
    assert KEYS[1] not in "".join(capsys.readouterr())
    assert cli.run(["lake", "doctor", "--lake", where, "--output", "json"]) in (0, 1)
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert where in checks["lake"]["found"]
    assert len(Lake.open(where, opened(where)).releases()) == 2


@pytest.mark.parametrize(
    ("variables", "place", "said"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "", "http://127.0.0.1:1 can't be reached: Connection refused"),
        ({}, "s3://no-such-bucket/lake", "there is no such bucket. Make it, or name another lake"),
        ({}, "s3://no-such-bucket", "name a bucket and a folder in it, as s3://bucket/lake"),
        ({"AWS_ENDPOINT_URL": "127.0.0.1:9000"}, "", "which is no address of a store: https://HOST[:PORT]"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "", "AWS credentials in the environment lack AWS_SECRET_ACCESS_KEY"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "", "no AWS credentials found"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "other"}, "", "no AWS profile other"),
        ({"AWS_SECRET_ACCESS_KEY": f"{KEYS[1]}x"}, "versitygw", "is not that of its access key. Check AWS_PROFILE"),
        ({"AWS_ACCESS_KEY_ID": "AKIAOTHER"}, "versitygw", "does not know the access key of the environment"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    store: Store,
    where: str,
    variables: dict[str, str],
    place: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if place in STORES and place != store.name:
        pytest.skip(f"{store.name} takes any key")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    lake = place if "://" in place else where
    for argv in (["history"], ["lake", "status"], ["lake", "build"], ["lake", "collect", "-b", "127.0.0.1:1"]):
        assert cli.run([*argv, "--lake", lake]) == 1, argv
        shown = capsys.readouterr()
        assert shown.err.count("\n") == 1, shown.err
        assert said in shown.err
        assert KEYS[1] not in shown.err + shown.out


def test_a_store_that_ignores_conditions_is_refused(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = opened(where)
    lake = Lake.create(where, files)
    put = files._put
    monkeypatch.setattr(files, "_put", lambda path, data, mode="": put(path, data))
    with pytest.raises(StoreError, match="ignores If-None-Match"), writing(lake, "build"):
        pytest.fail("it can't be locked")


class Refusing(BaseHTTPRequestHandler):
    """A store that answers with the error which the key names, as AWS does where a test can't make it."""

    def do_GET(self) -> None:
        status, _, code = self.path.rpartition("/")[2].partition("-")
        body = f"<Error><Code>{code}</Code><Message>a bug</Message><Region>eu-central-1</Region></Error>".encode()
        self.send_response(int(status))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("400-AuthorizationHeaderMalformed", r"in another region than us-east-1\. Set AWS_REGION=eu-central-1\."),
        ("301-PermanentRedirect", "in another region than us-east-1"),
        ("403-AccessDenied", r"host may not do that\. A lake needs s3:ListBucket"),
        ("403-RequestTimeTooSkewed", "this host's clock is wrong"),
        ("503-SlowDown", r"it answered 503 SlowDown\. Look into the store's own log"),
        ("404-NoSuchBucket", "there is no such bucket"),
    ],
)
def test_what_a_store_refuses_is_said_with_its_remedy(answer: str, said: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        keys = S3Keys(*KEYS, None, "this host")
        files = S3Files("b", f"http://127.0.0.1:{server.server_port}", "us-east-1", lambda: keys, None)
        with pytest.raises(StoreError, match=said) as refused:
            files.read(f"s3://b/lake/{answer}")
        server.shutdown()
    assert "a bug" not in str(refused.value)
    assert KEYS[1] not in str(refused.value) + repr(keys)


def test_copies_that_nobody_reads_go(where: str) -> None:
    files = opened(where)
    for name in ("old", "new"):
        files.replace(f"{where}/data/{name}", name.encode())
    (old,) = files.here([f"{where}/data/old"])
    week = timedelta(days=8).total_seconds()
    os.utime(old, (Path(old).stat().st_atime - week, Path(old).stat().st_mtime - week))
    (new,) = files.here([f"{where}/data/new"])
    assert not Path(old).exists()
    assert Path(new).read_text() == "new"
