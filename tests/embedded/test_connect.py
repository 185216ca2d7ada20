"""Tests of the embedded cluster's Connect workers."""

import asyncio
import json
import math
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from console.admin import errors, recorded
from console.admin.connect import describe_connect, describe_offsets
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, ConnectSettings, HttpSettings
from console.cli import main as cli
from console.cli.demo import CONNECT_NAME, context_of
from console.contexts.context import parse_bootstrap
from console.contexts.own_file import CONFIG
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.cluster_command import run_in_process
from console.embedded.connect import http_server
from console.embedded.connect.groups import INTERNAL_TOPICS
from console.embedded.connect.listening import REBALANCE_SECONDS
from console.embedded.scenarios import connectors
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import LOST_FOLDER, ClusterSpec, ConnectSpec, clusters_of
from console.flight import anonymous, flight_reader, flight_writer, pseudonyms
from console.flight.answer import CONNECT, Header
from console.flight.connect_answer import read
from console.model.config import ConfigResource, ConfigSet, text_in, topic_resource
from console.model.connect import connector_resource
from console.model.parts import Part
from console.model.snapshot import ReadFailure, Snapshot
from console.session.replay import Replay
from console.triage.diagnosis import Verdict
from console.wire import record_batches
from tests.support import children, internal_topics, manual_clock, paces, running_connectors, worlds
from tests.support.connect_cluster import Reply, ask, until
from tests.support.patience import PATIENCE
from tests.support.recorded_polls import replayed, timeless, watched

FILES = "org.apache.kafka.connect.file.FileStream"
SINK = {"connector.class": "FileStreamSink", "topics": "orders", "tasks.max": "4", "file": "/tmp/orders"}
DAY = clusters_of("incident", ClusterSpec())["incident"]


def states(reply: Reply) -> dict[int, str]:
    return {each["id"]: each["state"] for each in reply.body["tasks"]}


def workers_of(reply: Reply) -> set[str]:
    return {each["worker_id"] for each in reply.body["tasks"]}


# -- workers -----------------------------------------------------------------------------------------------------------


async def asked(url: str, method: str, path: str, body: Any = None) -> Reply:
    return await asyncio.to_thread(ask, url, method, path, body)


async def test_what_a_stopped_worker_ran_is_unassigned_and_then_moves() -> None:
    clock = manual_clock.ManualClock()
    async with EmbeddedCluster(ClusterSpec(brokers=1, connect=ConnectSpec(take_over_seconds=60.0)), clock) as cluster:
        assert cluster.connect is not None
        first, second = cluster.connect_urls
        await asked(second, "POST", "/connectors", {"name": "out", "config": SINK})
        addresses = {urlsplit(url).netloc for url in (first, second)}
        before = await asked(first, "GET", "/connectors/out/status")
        assert (set(states(before).values()), workers_of(before)) == ({"RUNNING"}, addresses)
        await cluster.connect.worker_down(2)
        with pytest.raises(OSError, match="refused"):
            await asked(second, "GET", "/")
        left = await asked(first, "GET", "/connectors/out/status")
        gone = {each["id"] for each in left.body["tasks"] if each["worker_id"] == urlsplit(second).netloc}
        assert {number for number, state in states(left).items() if state == "UNASSIGNED"} == gone != set()
        # While the workers rebalance, requests that depend on the assignment are refused.
        refused = [await asked(first, *words) for words in REFUSED]
        assert [each.status for each in refused] == [500, 500, 409, 409, 409, 409]
        assert (await asked(first, "GET", "/connectors")).status == 200
        clock.advance(REBALANCE_SECONDS)
        assert (await asked(first, "GET", "/connectors/out")).status == 200
        assert "UNASSIGNED" in states(await asked(first, "GET", "/connectors/out/status")).values()
        clock.advance(60.0)
        moved = await asked(first, "GET", "/connectors/out/status")
        assert (set(states(moved).values()), workers_of(moved)) == ({"RUNNING"}, {urlsplit(first).netloc})
        await cluster.connect.worker_up(2)
        assert (await asked(second, "GET", "/connectors")).body == ["out"]


REFUSED = (
    ("GET", "/connectors/out"),
    ("GET", "/connectors/out/tasks"),
    ("POST", "/connectors/out/restart"),
    ("POST", "/connectors/out/tasks/0/restart"),
    ("DELETE", "/connectors/out"),
    ("PUT", "/connectors/out/stop"),
)


def test_a_task_fails_where_its_folder_is_missing_and_runs_elsewhere() -> None:
    spec = ConnectSpec(missing={2: ("/mnt",)}, take_over_seconds=0.0)
    with run_in_thread(ClusterSpec(brokers=1, connect=spec)) as cluster:
        first, _ = cluster.connect_urls
        ask(
            first, "POST", "/connectors", {"name": "out", "config": {**SINK, "file": "/mnt/a/orders", "tasks.max": "2"}}
        )
        reply = ask(first, "GET", "/connectors/out/status")
        assert sorted(states(reply).values()) == ["FAILED", "RUNNING"]
        (trace,) = (each["trace"] for each in reply.body["tasks"] if "trace" in each)
        assert "Couldn't find or create file '/mnt/a/orders'" in trace
        assert "\nCaused by: java.nio.file.NoSuchFileException: /mnt/a/orders\n" in trace
        cluster.run(lambda each: each.connect.worker_down(2))
        until(lambda: set(states(ask(first, "GET", "/connectors/out/status")).values()) == {"RUNNING"}, "it has moved")


@pytest.mark.parametrize(("release", "patched", "health"), [("3.7", 405, 404), ("3.9", 404, 200), ("4.4", 404, 200)])
def test_releases_differ_in_what_they_have(release: str, patched: int, health: int) -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=1, release=release))) as cluster:
        (url,) = cluster.connect_urls
        assert ask(url, "PATCH", "/connectors/none/config", {"a": "b"}).status == patched
        assert ask(url, "GET", "/health").status == health
        assert ask(url, "GET", "/").body["version"].startswith(release)


def test_the_level_of_a_logger_is_a_workers_own_or_the_clusters() -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec())) as cluster:
        first, second = cluster.connect_urls
        ask(first, "PUT", "/admin/loggers/a.b", {"level": "DEBUG"})
        assert [ask(url, "GET", "/admin/loggers/a.b").status for url in (first, second)] == [200, 404]
        ask(first, "PUT", "/admin/loggers/a?scope=cluster", {"level": "WARN"})
        assert [ask(url, "GET", "/admin/loggers/a").body["level"] for url in (first, second)] == ["WARN", "WARN"]
        assert ask(first, "GET", "/admin/loggers/a.b").body["level"] == "WARN"


def test_a_number_of_workers_that_can_not_be() -> None:
    with pytest.raises(ValueError, match="1 to 9 workers, not 0"):
        ConnectSpec(workers=0)


# -- topics and groups of workers in the cluster -----------------------------------------------------------------------


def used(topic: str, cluster: EmbeddedCluster) -> None:
    """Mark a topic as used by the source connector, as if it had written to it."""
    workers = cluster.connect
    assert workers is not None
    connector = workers.state.connectors[internal_topics.CONNECTOR]
    workers.change(workers.state.with_connector(replace(connector, topics=(topic,))))


def records_of(cluster: ThreadedCluster) -> tuple[internal_topics.Sent, ...]:
    def read(each: EmbeddedCluster) -> list[internal_topics.Sent]:
        return [
            internal_topics.Sent(topic, record.key, record.value)
            for (topic, _), log in sorted(each.state.logs.items())
            if topic in INTERNAL_TOPICS
            for batch in log.batches
            for (decoded,) in [record_batches.batches(batch.data)]
            for record in record_batches.records(decoded, topic, 0)
        ]

    return tuple(cluster.call(read))


def groups_of(cluster: ThreadedCluster) -> dict[str, tuple[str | None, list[str]]]:
    return cluster.call(
        lambda each: {
            name: (group.protocol_type, [member.client_id for member in group.members.values()])
            for name, group in each.state.groups.items()
        }
    )


def test_a_sink_has_a_group_whose_members_are_its_tasks() -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec())) as cluster:
        url = cluster.connect_urls[0]
        cluster.call(lambda each: add_topic(each.state, "orders", 2, 1))
        ask(url, "POST", "/connectors", {"name": "out", "config": {**SINK, "tasks.max": "2"}})
        clients = ["connector-consumer-out-0", "connector-consumer-out-1"]
        assert groups_of(cluster)["connect-out"] == ("consumer", clients)
        # A paused task stays in the group, and keeps its partitions.
        ask(url, "PUT", "/connectors/out/pause")
        assert groups_of(cluster)["connect-out"][1] == clients
        ask(url, "PUT", "/connectors/out/stop")
        assert groups_of(cluster)["connect-out"][1] == []
        partition = {"kafka_topic": "orders", "kafka_partition": 1}
        body = {"offsets": [{"partition": partition, "offset": {"kafka_offset": 7}}]}
        assert ask(url, "PATCH", "/connectors/out/offsets", body).status == 200
        ask(url, "PUT", "/connectors/out/resume")
        offsets = cluster.call(lambda each: each.state.groups["connect-out"].offsets["orders", 1].offset)
        assert (offsets, groups_of(cluster)["connect-out"][1]) == (7, clients)
        ask(url, "DELETE", "/connectors/out")
        assert groups_of(cluster)["connect-out"][1] == []


def test_its_topics_are_compacted_and_only_there_with_it() -> None:
    with run_in_thread(ClusterSpec(brokers=3, connect=ConnectSpec())) as cluster:
        for name, partitions in INTERNAL_TOPICS.items():
            topic, config = cluster.call(
                lambda each, name=name: (each.state.topics[name], each.state.configs[topic_resource(name)])
            )
            assert (len(topic.partitions), config) == (partitions, {"cleanup.policy": "compact"})
        kind, members = groups_of(cluster)["connect-cluster"]
        assert (kind, len(members)) == ("connect", 2)
    with run_in_thread(clusters_of("quiet", ClusterSpec())["quiet"]) as quiet:
        assert quiet.connect_urls == ()
        assert not quiet.call(lambda each: {*INTERNAL_TOPICS} & {*each.state.topics})


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_the_records_of_its_topics_are_what_its_rest_api_answers(release: str) -> None:
    """The records in the internal topics of embedded Connect workers agree with the answers of their REST API, by the
    same comparison as for real workers.
    """
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=1, release=release))) as cluster:
        (url,) = cluster.connect_urls
        name, path = internal_topics.CONNECTOR, f"/connectors/{internal_topics.CONNECTOR}"
        own = {"connector.class": f"{FILES}SourceConnector", "topic": "copied", "file": "/tmp/in", "tasks.max": "1"}
        ask(url, "POST", "/connectors", {"name": name, "config": {**own, **internal_topics.SECRETS}})
        ask(url, "PUT", f"{path}/stop")
        offset = {"partition": {"filename": "/tmp/in"}, "offset": {"position": 4}}
        ask(url, "PATCH", f"{path}/offsets", {"offsets": [offset]})
        ask(url, "PUT", f"{path}/resume")
        cluster.call(lambda each: used("copied", each))
        ask(url, "PUT", f"{path}/pause")
        asked_for = [f"{path}/{part}" for part in ("config", "status", "offsets", "tasks", "topics")]
        answers = {each: ask(url, "GET", each).body for each in asked_for}
        kinds = internal_topics.compare_connect(internal_topics.Recording("", records_of(cluster), rest=answers))
        assert kinds.keys() >= {"Connect's session key", "Connect's source offset"}
        assert {each.key: each.value for each in records_of(cluster)}[b"commit-from-file"] == b'{"tasks":1}'
        ask(url, "DELETE", path)
        newest = {each.key: each.value for each in records_of(cluster)}
        assert [newest[key] for key in (b"connector-from-file", b"status-connector-from-file")] == [None, None]


def test_a_bad_day_has_a_failing_sink_that_lags_and_a_paused_source() -> None:
    with run_in_thread(DAY) as cluster:
        found = ask(cluster.connect_urls[1], "GET", "/connectors?expand=status&expand=info").body
        shown = {name: each["status"]["connector"]["state"] for name, each in found.items()}
        assert shown == {connectors.FAILING: "RUNNING", connectors.PAUSED_SOURCE: "PAUSED", connectors.WELL: "RUNNING"}
        tasks = found[connectors.FAILING]["status"]["tasks"]
        assert sorted(each["state"] for each in tasks) == ["FAILED", "RUNNING"]
        (trace,) = (each["trace"] for each in tasks if each["state"] == "FAILED")
        assert f"Caused by: java.nio.file.NoSuchFileException: {LOST_FOLDER}/" in trace

        def lag(each: EmbeddedCluster) -> int:
            group = each.state.groups[f"connect-{connectors.FAILING}"]
            assert len(group.members) == 1
            return min(each.state.logs[place].end - committed.offset for place, committed in group.offsets.items())

        assert cluster.call(lag) > 10_000


def test_a_state_file_keeps_the_connectors(tmp_path: Path) -> None:
    spec = ClusterSpec(brokers=1, connect=ConnectSpec(workers=3), state_file=tmp_path / "state.json")
    with run_in_thread(spec) as cluster:
        url = cluster.connect_urls[0]
        ask(url, "POST", "/connectors", {"name": "out", "config": SINK})
        ask(url, "PUT", "/connectors/out/pause")
        before = ask(url, "GET", "/connectors/out").body
    fewer = ClusterSpec(brokers=1, connect=ConnectSpec(workers=1), state_file=tmp_path / "state.json")
    with run_in_thread(fewer) as cluster:
        (url,) = cluster.connect_urls
        assert ask(url, "GET", "/connectors/out").body == before
        reply = ask(url, "GET", "/connectors/out/status")
        assert (set(states(reply).values()), workers_of(reply)) == ({"PAUSED"}, {urlsplit(url).netloc})


# -- addresses of workers and of the registry --------------------------------------------------------------------------


def test_kac_cluster_prints_the_urls_of_the_workers() -> None:
    command = (sys.executable, "-m", "console", "cluster", "--brokers", "1", "--connect", "--versions", "3.9")
    with children.Child(command, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        cluster.stdout.readline()
        word, _, urls = cluster.stdout.readline().strip().partition(" ")
        assert word == "connect"
        assert [ask(url, "GET", "/").body["version"] for url in urls.split(",")] == ["3.9.1", "3.9.1"]
        cluster.terminate()
        assert cluster.wait(PATIENCE) == 0


def test_kac_cluster_prints_the_url_of_the_registry() -> None:
    command = (sys.executable, "-m", "console", "cluster", "--brokers", "1", "--schemas")
    with children.Child(command, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        cluster.stdout.readline()
        word, _, url = cluster.stdout.readline().strip().partition(" ")
        assert word == "schemas"
        assert "checkout.orders-value" in ask(url, "GET", "/subjects").body
        cluster.terminate()
        assert cluster.wait(PATIENCE) == 0


def test_a_demo_of_another_process_has_both_addresses() -> None:
    with run_in_process(["--brokers", "1", "--connect", "--schemas"]) as reached:
        assert ask(reached.connect_urls[0], "GET", "/").body["version"]
        assert "checkout.orders-value" in ask(reached.schemas_url, "GET", "/subjects").body


async def test_the_context_of_a_demo_has_the_workers_and_kacs_client_reads_them() -> None:
    async with EmbeddedCluster(DAY) as cluster:
        settings = context_of("incident", cluster.bootstrap, 1, cluster.connect_urls).settings
        link = Link(settings)
        try:
            listing = await describe_connect(link)
        finally:
            await link.close()
    assert [each.name for each in settings.connect] == [CONNECT_NAME]
    found = listing.clusters[CONNECT_NAME]
    assert found.connectors.keys() == {connectors.FAILING, connectors.PAUSED_SOURCE, connectors.WELL}


# -- limits for HTTP clients -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exchanged() -> Any:
    """Provide a function that sends bytes to a worker, and returns all bytes until the worker closes the connection."""
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=1))) as cluster:
        (url,) = cluster.connect_urls
        host, _, port = urlsplit(url).netloc.partition(":")

        def exchange(data: bytes) -> bytes:
            with socket.create_connection((host, int(port)), PATIENCE) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                parts = []
                with suppress(ConnectionResetError):
                    while part := connection.recv(65536):
                        parts.append(part)
                return b"".join(parts)

        yield exchange


def request(method: str, path: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: a", *headers, "", "")).encode() + body


JSON = "Content-Type: application/json"
LONG = http_server.LARGEST_BODY + 1


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request("POST", "/connectors", f"Content-Length: {LONG}"), b"413"),
        (request("POST", "/connectors", "Content-Length: -1"), b"400"),
        (request("POST", "/connectors", "Content-Length: 1_0"), b"400"),
        (request("POST", "/connectors", "Transfer-Encoding: chunked", body=b"0\r\n\r\n"), b"400"),
        (request("POST", "/connectors", "Content-Length: 2", "Content-Type: text/plain", body=b"{}"), b"415"),
        (request("POST", "/connectors", "Content-Length: 2", body=b"{}"), b"415"),
        (request("POST", "/connectors", "Content-Length: 200", JSON, body=b"[" * 200), b"500"),
        (request("GET", "/%ff"), b"400"),
        (request("GET", "http://[/"), b"400"),
        (request("BREW", "/"), b"405"),
        (request("GET", "/connectors/" + "a" * 8000), b"404"),
    ],
)
def test_what_is_refused(exchanged: Callable[[bytes], bytes], data: bytes, status: bytes) -> None:
    assert exchanged(data).split(b" ", 2)[1] == status


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1",
        request("GET", "/", "X: " + "a" * http_server.LONGEST_HEAD),
        request("POST", "/connectors", "Content-Length: 10", body=b"{}"),
    ],
)
def test_what_gets_no_answer(exchanged: Callable[[bytes], bytes], data: bytes) -> None:
    assert exchanged(data) == b""
    assert exchanged(request("GET", "/")).startswith(b"HTTP/1.1 200 OK\r\n")


def test_requests_follow_each_other_on_a_connection(exchanged: Callable[[bytes], bytes]) -> None:
    assert exchanged(request("GET", "/connectors") * 3).count(b"HTTP/1.1 200 OK") == 3
    assert exchanged(request("GET", "/connectors", "Connection: close") * 3).count(b"HTTP/1.1 200 OK") == 1


def test_connections_beyond_the_limit_are_closed() -> None:
    with run_in_thread(ClusterSpec(brokers=1, connect=ConnectSpec(workers=1))) as cluster:
        host, _, port = urlsplit(cluster.connect_urls[0]).netloc.partition(":")
        open_ones = [socket.create_connection((host, int(port)), PATIENCE) for _ in range(http_server.MOST_CONNECTIONS)]
        try:
            # An answer to the last connection shows that the worker has accepted all of them.
            open_ones[-1].sendall(request("GET", "/"))
            assert open_ones[-1].recv(8).startswith(b"HTTP")
            with socket.create_connection((host, int(port)), PATIENCE) as more, suppress(ConnectionError):
                more.sendall(request("GET", "/"))
                assert more.recv(8) == b""
        finally:
            for each in open_ones:
                each.close()


def test_a_name_can_not_add_a_header(exchanged: Callable[[bytes], bytes]) -> None:
    body = b'{"name": "a\\r\\nX-Own: 1", "config": {"connector.class": "FileStreamSource", "topic": "t"}}'
    answer = exchanged(request("POST", "/connectors", f"Content-Length: {len(body)}", JSON, body=body))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"X-Own" not in answer.partition(b"\r\n\r\n")[0]


# -- triage of Connect's workers ---------------------------------------------------------------------------------------

_NOWHERE = "/no/such"
cluster = worlds.cluster(
    ClusterSpec(brokers=1, connect=ConnectSpec(workers=2, missing={1: (_NOWHERE,), 2: (_NOWHERE,)})),
    worlds.topic("orders", 2, 1, brokers=(1,)),
)
SECRET = "hunter2222"
FAILING_SINK = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "topics": "orders",
    "tasks.max": "2",
    "file": f"{_NOWHERE}/out",
    "key.converter.basic.auth.user.info": f"me:{SECRET}",
}


def settings_of(cluster: ThreadedCluster) -> ConnectionSettings:
    workers = [urlsplit(each) for each in cluster.connect_urls]
    found = tuple(HttpSettings(each.hostname or "", each.port or 0) for each in workers)
    return ConnectionSettings(parse_bootstrap(cluster.bootstrap), connect=(ConnectSettings("main", found),))


def create(cluster: ThreadedCluster, name: str, **changed: str) -> None:
    config = {**FAILING_SINK, **{key.replace("_", "."): value for key, value in changed.items()}}
    reply = ask(cluster.connect_urls[0], "POST", "/connectors", {"name": name, "config": config})
    assert reply.status == 201, reply


def is_failed(cluster: ThreadedCluster, name: str) -> bool:
    tasks = ask(cluster.connect_urls[0], "GET", f"/connectors/{name}/status").body["tasks"]
    return bool(tasks) and all(each["state"] == "FAILED" for each in tasks)


@pytest.fixture
def verdicts(cluster: ThreadedCluster, tmp_path: Path) -> Callable[..., list[Verdict]]:
    def watch(polls: int, step: Callable[[int], None] = lambda _: None) -> list[Verdict]:
        file = tmp_path / "record"
        return asyncio.run(watched(cluster.bootstrap, file, polls, step, settings_of(cluster)))

    return watch


def causes(verdict: Verdict) -> dict[str, str]:
    return {each.claim.cause: each.claim.title for each in verdict.causes}


def test_a_failing_sink_is_named_and_its_record_names_it_without_a_secret(
    cluster: ThreadedCluster, tmp_path: Path, verdicts: Callable[..., list[Verdict]]
) -> None:
    create(cluster, "good", file=str(tmp_path / "out"))
    create(cluster, "bad sink")
    until(lambda: is_failed(cluster, "bad%20sink"), "the sink fails")
    live = verdicts(3)
    failed = "connector main/bad sink: 2 of 2 tasks failed: "
    assert causes(live[-1])["task-failed"].startswith(f"{failed}java.nio.file.NoSuchFileException")
    assert not live[-1].unexplained
    file = tmp_path / "record"
    again = replayed(file, [math.ceil(each.at.timestamp() * 1000) for each in live])
    assert timeless(again[-1]) == timeless(live[-1])
    configs, failures = shown_by(file)
    assert text_in(configs[connector_resource("main", "bad sink")], "topics") == "orders"
    login = configs[connector_resource("main", "bad sink")].get("key.converter.basic.auth.user.info")
    assert login is not None
    assert login.hidden
    assert [each.failure.name for each in failures if each.entity == "connector main/none"] == ["NOT_RECORDED"]
    answers = [each for each in flight_reader.FlightReader(file).answers() if each.api_key == CONNECT]
    assert answers
    assert not any(SECRET.encode() in each.body for each in answers)
    assert SECRET.encode() not in file.read_bytes()
    hidden = tmp_path / "anonymous"
    writer = flight_writer.FlightWriter(hidden, Header("", "", 0, "0"))
    sink = anonymous.Anonymous(writer, pseudonyms.Pseudonyms())
    for each in flight_reader.FlightReader(file).answers():
        sink.add(each)
    sink.close()
    found = [read(each.body) for each in flight_reader.FlightReader(hidden).answers() if each.api_key == CONNECT]
    assert {each.state for each in next(iter(found[-1].clusters.values())).connectors.values()} == {"RUNNING"}
    text = str(found)
    assert not any(name in text for name in ("bad sink", "orders", "/no/such", "good", "127.0.0.1"))
    named = causes(replayed(hidden, [math.ceil(live[-1].at.timestamp() * 1000)])[-1])
    assert "2 of 2 tasks failed: NoSuchFileException" in named["task-failed"]


def shown_by(file: Path) -> tuple[Mapping[ConfigResource, ConfigSet], Sequence[ReadFailure]]:
    """Replay a flight record to its end. Return connector resource -> its configs, and the failures of reading them."""

    async def work() -> Snapshot:
        reader = flight_reader.FlightReader(file)
        replay = Replay.of(reader, str(file))
        await replay.poll_at(reader.times[-1])
        await replay.session.read_configs([connector_resource("main", each) for each in ("bad sink", "none")])
        with pytest.raises(errors.BrokerError, match="not in the record"):
            await replay.session.client.run(describe_offsets, "main/good")
        await replay.close()
        return replay.session.snapshot

    with asyncio.Runner(loop_factory=recorded.InstantLoop) as runner:
        snapshot = runner.run(work())
    return snapshot.configs, snapshot.failures


def test_a_context_without_connect_says_nothing_of_it(cluster: ThreadedCluster, tmp_path: Path) -> None:
    create(cluster, "bad sink")
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    live = asyncio.run(watched(cluster.bootstrap, tmp_path / "record", 3, lambda _: None, settings))
    assert "connect" not in live[-1].unread
    assert not any("onnect" in each.what for each in live[-1].unknowable)
    assert "task-failed" not in causes(live[-1])
    assert not [each for each in flight_reader.FlightReader(tmp_path / "record").answers() if each.api_key == CONNECT]


async def _stop_workers(cluster: EmbeddedCluster) -> None:
    assert cluster.connect is not None
    for worker in (1, 2):
        await cluster.connect.worker_down(worker)


def test_workers_that_do_not_answer_are_unknown(
    cluster: ThreadedCluster, verdicts: Callable[..., list[Verdict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    paces.poll_often(monkeypatch, 0.5, Part.CONNECT)
    create(cluster, "bad sink")

    def stop(number: int) -> None:
        if number == 1:
            cluster.run(_stop_workers)

    live = verdicts(6, stop)
    assert "connect" in live[-1].unread
    assert not live[-1].is_healthy
    assert "connect-unreachable" in causes(live[-1])


def test_what_was_restarted_and_failed_again_is_not_offered_another_restart(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create(cluster, "bad sink")
    until(lambda: is_failed(cluster, "bad%20sink"), "the sink fails")
    file = tmp_path / "config.toml"
    running_connectors.write_contexts(cluster, file)
    monkeypatch.setenv(CONFIG, str(file))

    def steps() -> list[dict[str, str]]:
        for _ in range(10):  # on a busy machine some parts are not read within a few seconds
            cli.run(["triage", "-c", "dev", "--for", "4s", "--output", "json"])
            found = json.loads(capsys.readouterr().out)
            if "connect" not in found["unread"]:
                return next(each["next"] for each in found["causes"] if each["cause"] == "task-failed")
        raise AssertionError(found)

    restart = "restart connector 'main/bad sink' failed"
    assert restart in str(steps())
    assert cli.run(["run", "-c", "dev", "-e", f"{restart}; apply --yes"]) == 0
    until(lambda: is_failed(cluster, "bad%20sink"), "it fails again")
    capsys.readouterr()
    after = steps()
    assert restart not in str(after)
    assert any("main/bad sink failed again within 10 min of the restart by " in each["text"] for each in after)
