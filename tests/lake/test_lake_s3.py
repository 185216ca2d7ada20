"""Tests of a lake in an S3 bucket: it is written, read and locked in a running store; and the messages that kac shows
if the store refuses a request.
"""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from console.cli import main as cli
from console.collecting import java, spark_session
from console.collecting.results import status
from console.contexts.lake_files import lake_files
from console.lake import delta_log, plans, runs, schema
from console.lake.files import Filesystem, LakeBusy, StoreError, this_process
from console.lake.lake import Lake
from console.lake.landing import JOURNAL, POLLS
from console.lake.reader import Tables, Wanted, Window, hottest, timeline
from console.lake.s3 import S3Files, S3Keys
from console.lake.spark import set_properties
from console.model.numbers import json_text
from tests.lake.lake_tables import held
from tests.lake.small_site import CLUSTER, KEY, PASSWORD, Site
from tests.support import children, s3_store, sample_lake, seen_processes
from tests.support.patience import PATIENCE

RUN = "20250101T000000Z-abcdef"


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.long if name == "versitygw" else ()) for name in s3_store.STORES],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3_store.Store]:
    try:
        with s3_store.running(request.param, tmp_path_factory.mktemp(request.param)) as started:
            yield started
    except s3_store.NoStoreError as why:
        if os.environ.get("KAC_REQUIRE_S3"):
            raise
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def jars() -> str:
    """Provide the directory of the jars in this user's own cache."""
    found = java.spark_jars(os.environ, {java.Group.DELTA, java.Group.S3}, java.find_java(os.environ).program)
    return str(found[0].parent)


@pytest.fixture
def environ(store: s3_store.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Provide the environment variables for the store, which are also set in this process."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    made = store.environ(tmp_path)
    cache = Path(made["XDG_CACHE_HOME"], "kac")
    cache.mkdir(parents=True)
    # This file prevents a class archive: the cache lives for one test, in which no second start would use the archive.
    (cache / "spark-classes").touch()
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def where(environ: dict[str, str], tmp_path: Path) -> str:
    return f"s3a://{s3_store.BUCKET}/{tmp_path.name}/lake"


def opened(where: str) -> S3Files:
    made = lake_files(where)
    assert isinstance(made, S3Files)
    return made


def quick(where: str, *, dead_after: float = 60.0) -> S3Files:
    """Return the files of a bucket; a lock on them is renewed every 50 ms. dead_after: seconds without a renewal after
    which a lock counts as free.
    """
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
    parts = [files.read(name), files.read(name, 3), files.read(name, 3, 2), files.read(name, 0, 0)]
    assert parts == [b"0123456789", b"3456789", b"34", b""]
    (copy,) = files.here([name])
    assert Path(copy).read_bytes() == b"0123456789"
    files.replace(f"{base}/top", b"first")
    files.replace(f"{base}/top", b"")
    assert files.read(f"{base}/top") == b""
    files.create(f"{base}/data/out", b"x" * 3_000_000)
    for part in ("p=1", "p=2"):
        files.create(f"{base}/data/spark/{part}/part-0.parquet", part.encode())
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
    lake.files.create(f"{lake.folder(schema.HISTORY)}/{delta_log.log_file(1)}", run.encode())
    assert not there.is_latest
    again = Tables(where, opened(where), there)
    assert (again.run(schema.HISTORY), again.is_latest) == ("20260101T000000Z-00000a", True)
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
    assert s3_store.KEYS[1] not in "".join(capsys.readouterr())


def test_one_application_at_a_time(where: str) -> None:
    lake, other = Lake.create(where, quick(where)), Lake.open(where, opened(where))
    with lake.alone(RUN, "run") as lock:
        with pytest.raises(LakeBusy, match="being written by `run`") as busy, other.alone(f"{RUN[:-1]}0", "update"):
            pytest.fail("two applications")
        assert busy.value.holder is not None
        assert busy.value.holder.pid == os.getpid()
        first = other.files.read(other.path("lock"))
        patience = threading.Event()
        while other.files.read(other.path("lock")) == first:
            patience.wait(0.01)
        assert lock.is_held()
    with other.alone(f"{RUN[:-1]}0", "update") as lock:
        assert lock.former is None


def test_who_died_is_taken_over_and_who_paused_has_lost(where: str) -> None:
    lake = Lake.create(where, opened(where))
    dead = replace(this_process(RUN, "run"), host="elsewhere")
    lake.files.replace(lake.path("lock"), dead.text)
    with pytest.raises(LakeBusy, match="elsewhere"), lake.alone("x", "update"):
        pytest.fail("it was renewed just now")
    lake.files.replace(lake.path("lock"), replace(dead, host=socket.gethostname(), pid=2**22 + 1).text)
    with lake.alone("x", "update") as lock:  # its process on this host has ended
        assert lock.former is not None
        assert lock.former.run_id == RUN

    paused = Lake.open(where, opened(where))  # does not renew the lock soon
    hasty = Lake.open(where, quick(where, dead_after=-1.0))
    with paused.alone(RUN, "run") as first, hasty.alone("x", "update") as second:
        assert second.former is not None
        assert second.former.run_id == RUN
        assert (first.is_held(), second.is_held()) == (False, True)


def test_of_many_that_take_the_lock_at_once_one_has_it(where: str) -> None:
    files = [opened(where) for _ in range(8)]
    files[0].replace(f"{where}/lock", b"")
    begun = threading.Barrier(len(files))
    decided = threading.Barrier(len(files))

    def take(number: int) -> bool:
        begun.wait(PATIENCE)
        try:
            with files[number].lock(f"{where}/lock", this_process(f"20250101T00000{number}Z-abcdef", "update")) as lock:
                decided.wait(PATIENCE)
                return lock.is_held()
        except Exception:  # noqa: BLE001 the lock is taken; the sum shows whether one thread has it
            decided.wait(PATIENCE)
            return False

    with ThreadPoolExecutor(len(files)) as pool:
        assert sum(pool.map(take, range(len(files)))) == 1


def test_what_landed_is_read_until_it_is_in_the_lake(where: str, tmp_path: Path) -> None:
    """Each attempt to write a batch, on any host, reads the same delivered data up to the same offset; after the batch
    is in the lake, these data are deleted.
    """
    lake = Lake.create(where, opened(where))
    site = Site(tmp_path / "site")
    site.go_on(lake)
    first, second = "0123456789\n", "01234567890\n"
    lake.files.replace(lake.path(f"{JOURNAL}/{site.journal.name}"), site.journal.read_bytes() + first.encode())
    lake.files.replace(lake.path(f"{POLLS}/.half.json.gz"), b"")
    with runs.settings_of(site.plan(lake)) as settings:
        store = Path(settings.store_file)
        assert {path.stat().st_mode & 0o077 for path in (store.parent,)} == {0}
        assert s3_store.KEYS[1] not in json_text(msgspec.to_builtins(settings))
        for name in ("polls", "journals"):
            source = plans.SOURCES[name](msgspec.structs.replace(settings, inputs=plans.Inputs()))
            start = source.initial()
            end = source.newest(start)
            assert source.newest(end) == end
            assert source.most_rows(start, end) is None or name == "journals"
            for _ in range(2):
                again = plans.SOURCES[name](settings)
                rows = [
                    row for part in again.parts(start, end) for batch in again.read(part) for row in batch.to_pylist()
                ]
                assert {row["cluster_id"] for row in rows} == {CLUSTER}
            bad = [row["quarantined"] for row in rows if row.get("quarantined")]
            assert [each["file"] for each in bad] == [lake.path(f"{JOURNAL}/{site.journal.name}")] * (
                name == "journals"
            )
            if name == "journals":  # the journal has changed since the read
                lake.files.replace(lake.path(f"{JOURNAL}/{site.journal.name}"), second.encode())
                source.committed(end)
                start, end = end, source.newest(end)
                assert start != end
            source.committed(end)
            assert [part for part in source.parts(start, end) for batch in source.read(part) if batch.num_rows] == []
    assert [each.name for each in lake.files.entries(lake.path(POLLS))] == [".half.json.gz"]
    assert lake.files.entries(lake.path(JOURNAL)) == []
    assert not store.exists()


def test_keys_that_were_lent_are_renewed(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = opened(where)
    tokens = iter(range(1_000_000))
    monkeypatch.setattr("console.lake.s3._LENT_SECONDS", 0.01)
    monkeypatch.setattr(files, "_keys", lambda: S3Keys(*s3_store.KEYS, f"token-{next(tokens)}", "a test"))
    with files.lent() as file:
        first = Path(file).read_bytes()
        assert b"token-0" in first
        patience = threading.Event()
        while Path(file).read_bytes() == first:
            patience.wait(0.01)
        lent = Path(file).read_bytes()
    settings = S3Files.borrowed(lent).spark_settings(is_local=True)
    name = f"spark.hadoop.fs.s3a.bucket.{s3_store.BUCKET}"
    assert settings[f"{name}.session.token"].startswith("token-")
    assert settings[f"{name}.aws.credentials.provider"].endswith(".TemporaryAWSCredentialsProvider")
    assert (settings[f"{name}.access.key"], settings[f"{name}.secret.key"]) == s3_store.KEYS


def typed(argv: list[str], environ: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], seen_processes.Seen]:
    """Run a command of kac as a process. Return its result, and what was observed of it and its child processes."""
    with seen_processes.seen(str(os.getpid())) as processes:
        command = [sys.executable, "-m", "console", *argv]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with children.Child(command, env={**environ, seen_processes.MARK: str(os.getpid())}, **pipes) as process:
            out, err = process.communicate()
    return subprocess.CompletedProcess(argv, process.returncode, out, err), processes


@pytest.mark.slow
@pytest.mark.takes(60)
def test_spark_writes_what_every_reader_reads(
    where: str, environ: dict[str, str], tmp_path: Path, jars: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(where).create(f"{where}/hmac.key", KEY)
    lake = Lake.create(where, opened(where))
    site = Site(tmp_path / "site")
    site.go_on(lake)
    lake.files.replace(lake.path(f"{JOURNAL}/{site.journal.name}"), site.journal.read_bytes())
    sources = {"version": 1, "clusters": [{"id": CLUSTER, "metadata-log": str(site.log)}]}
    sources["clusters"][0] |= {  # type: ignore[index]
        "request-logs": [{"broker": 1, "files": f"{site.request_log}*"}],
        "authorizer-logs": [{"broker": 1, "files": f"{site.authorizer_log}*"}],
    }
    lake.files.replace(lake.path("sources.yaml"), json_text(sources).encode())
    update = ["lake", "update", "--lake", where, "--master", "local[2]", "--output", "json"]
    process, processes = typed(update, by_profile({**os.environ, java.FOLDER: jars}, tmp_path / "aws"))
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert (report["status"], report["taken"]["polls"]["good"]) == ("done", 2)
    assert site.problems(lake) == []
    assert {row["new_value"] for row in held(lake, "history") if row["attr"] == "retention.ms"} == {"1000"}
    assert [lake.files.entries(lake.path(each)) for each in (POLLS, JOURNAL)] == [[], []]
    assert [each["run_id"] for each in lake.runs()] == [report["run_id"]]
    assert lake.own_file("maintained.json") is not None

    objects = dict(all_in(lake.files, lake.where))
    before = {table: lake.version(table) for table in schema.TABLES.values()}
    assert cli.run(update) == 0, "without Java: nothing is new"
    assert json.loads(capsys.readouterr().out)["rows"] == {}
    assert {table: lake.version(table) for table in schema.TABLES.values()} == before
    for argv in (["history"], ["lake", "status"]):
        assert cli.run([*argv, "--lake", where, "--output", "json"]) == 0
    assert "retention.ms" in capsys.readouterr().out

    log = (tmp_path / ".local/state/kac/spark.log").read_text()
    assert processes.of_programs("SparkSubmit")
    assert processes.of_programs("pyspark.daemon")
    for secret in (s3_store.KEYS[1], f"{PASSWORD}1000", KEY.decode()):
        assert not processes.has(secret.encode())
        assert secret not in "".join((log, process.stdout, process.stderr))
        with_it = [path for path, content in objects.items() if secret.encode() in content]
        assert with_it == [lake.path("hmac.key")] * (secret == KEY.decode())


def by_profile(environ: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the environment with the access keys moved from variables into a file of AWS profiles."""
    keys = {"aws_access_key_id": "AWS_ACCESS_KEY_ID", "aws_secret_access_key": "AWS_SECRET_ACCESS_KEY"}
    folder.mkdir()
    file = folder / "credentials"
    file.touch(mode=0o600)
    file.write_text("[default]\n" + "".join(f"{key} = {environ[name]}\n" for key, name in keys.items()))
    others = {name: value for name, value in environ.items() if name not in keys.values()}
    return {**others, "AWS_PROFILE": "default", "AWS_SHARED_CREDENTIALS_FILE": str(file)}


def all_in(files: Filesystem, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each object in a folder, without the marker objects that Hadoop writes for
    empty folders.
    """
    for each in files.entries(folder):
        path = f"{folder}/{each.name}"
        if each.is_folder:
            yield from all_in(files, path)
        elif each.bytes:
            yield path, files.read(path)


def test_a_second_application_is_refused(where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake.create(where, opened(where))
    Site(tmp_path / "site").go_on(lake)
    with lake.alone(RUN, "run"):
        assert cli.run(["lake", "update", "--lake", where]) == 1
    said = capsys.readouterr().err
    assert "is being written by `run` of" in said
    assert RUN in said
    assert len(lake.files.entries(lake.path(POLLS))) == 1


def test_clusters_are_polled_into_it(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec

    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        for _ in range(2):
            assert cli.run(["lake", "collect", "-b", cluster.bootstrap, "--lake", where]) == 0
    assert s3_store.KEYS[1] not in "".join(capsys.readouterr())
    assert cli.run(["lake", "doctor", "--lake", where, "--output", "json"]) in (0, 1)
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert where in checks["lake"]["found"]
    lake = Lake.open(where, opened(where))
    assert len(lake.files.entries(lake.path(POLLS))) == 2
    # The directory also has the state of the cluster under its id, which differs in each run.
    assert {"lock", "owners.json"} < {each.name for each in lake.files.entries(lake.path("collect"))}


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
        (
            {"AWS_SECRET_ACCESS_KEY": f"{s3_store.KEYS[1]}x"},
            "versitygw",
            "is not that of its access key. Check AWS_PROFILE",
        ),
        ({"AWS_ACCESS_KEY_ID": "AKIAOTHER"}, "versitygw", "does not know the access key of the environment"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    store: s3_store.Store,
    where: str,
    variables: dict[str, str],
    place: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if place in s3_store.STORES and place != store.name:
        pytest.skip(f"{store.name} takes any key")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    lake = place if "://" in place else where
    for argv in (["history"], ["lake", "status"], ["lake", "update"], ["lake", "collect", "-b", "127.0.0.1:1"]):
        assert cli.run([*argv, "--lake", lake]) == 1, argv
        shown = capsys.readouterr()
        assert shown.err.count("\n") == 1, shown.err
        assert said in shown.err
        assert s3_store.KEYS[1] not in shown.err + shown.out


def test_a_store_that_ignores_conditions_is_refused(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = opened(where)
    lake = Lake.create(where, files)
    put = files._put
    monkeypatch.setattr(files, "_put", lambda path, data, mode="": put(path, data))
    with pytest.raises(StoreError, match="ignores If-None-Match"), lake.alone(RUN, "update"):
        pytest.fail("it can't be locked")


class Refusing(BaseHTTPRequestHandler):
    """A store that answers each request with the status and error code in the object's key, as ``403-AccessDenied``,
    for errors of AWS that a test can't cause.
    """

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
def test_what_a_store_refuses_is_said_with_its_remedy(answer: str, said: str, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        keys = S3Keys(*s3_store.KEYS, None, "this host")
        files = S3Files("b", f"http://127.0.0.1:{server.server_port}", "us-east-1", lambda: keys, tmp_path)
        with pytest.raises(StoreError, match=said) as refused:
            files.read(f"s3://b/lake/{answer}")
        server.shutdown()
    assert "a bug" not in str(refused.value)
    assert s3_store.KEYS[1] not in str(refused.value) + repr(keys)


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


class Gate(ThreadingHTTPServer):
    """A proxy in front of a store that accepts only certain access keys, as AWS does once other keys have expired."""

    def __init__(self, store: s3_store.Store) -> None:
        self.behind = urlsplit(store.endpoint).netloc
        self.lets_in: set[str] = set()
        self.came: set[str] = set()
        super().__init__(("127.0.0.1", 0), _Gatekeeper)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Gatekeeper(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Gate

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        key = re.findall(r"Credential=(\w+)/", self.headers.get("Authorization") or "")[0]
        self.server.came.add(key)
        if key in self.server.lets_in:
            behind = HTTPConnection(self.server.behind, timeout=PATIENCE)
            behind.request(self.command, self.path, body, dict(self.headers))
            answer = behind.getresponse()
            status, headers, body = answer.status, answer.getheaders(), answer.read()
        else:
            status, headers, body = 400, [], b"<Error><Code>ExpiredToken</Code><Message>expired</Message></Error>"
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        length = next((value for name, value in headers if name == "Content-Length"), "0")
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET  # noqa: N815 - http.server's

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.mark.slow
@pytest.mark.long
def test_a_session_that_is_open_takes_the_keys_that_follow(
    store: s3_store.Store, where: str, jars: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the store refuses the first access keys, an open Spark session uses the ones that replaced them, although S3A
    keeps its file system object.
    """
    if store.name == "versitygw":
        pytest.skip("it checks signatures; the gate looks at keys that no store knows")
    monkeypatch.setattr("console.lake.s3._LENT_SECONDS", 0.1)
    # AWS' SDK asks for new keys fifteen seconds before the old ones expire.
    first, second = (
        S3Keys(
            f"AKIA{name}", f"planted-{name}", f"token-{name}", "a test", datetime.now(UTC) + timedelta(seconds=valid)
        )
        for name, valid in (("A", 45), ("B", 3600))
    )
    taken = [first]
    with Gate(store) as gate:
        threading.Thread(target=gate.serve_forever).start()
        try:
            gate.lets_in = {first.access_key}
            files = S3Files(s3_store.BUCKET, gate.endpoint, "us-east-1", lambda: taken[-1], tmp_path)
            settings = files.spark_settings(is_local=True)
            assert "planted" not in str(settings)
            assert "planted" in str(files.spark_settings(is_local=False))
            monkeypatch.setenv("AWS_PROFILE", "other")
            environ = {**os.environ, java.FOLDER: jars}
            groups = {java.Group.DELTA, java.Group.S3}
            session = spark_session.lake_session(environ, master="local[1]", groups=groups, settings=settings)
            with files.lent() as lent, session as spark:
                set_properties(spark, files.java_properties(lent))
                spark.range(3).write.parquet(f"{where}/before")
                gate.lets_in = {first.access_key, second.access_key}
                taken.append(second)
                until = time.monotonic() + PATIENCE
                while second.access_key not in gate.came:
                    assert time.monotonic() < until
                    assert spark.read.parquet(f"{where}/before").count() == 3
                gate.lets_in = {second.access_key}
                spark.range(4).write.parquet(f"{where}/after")
                assert spark.read.parquet(f"{where}/after").count() == 4
            assert gate.came == {first.access_key, second.access_key}
        finally:
            gate.shutdown()
