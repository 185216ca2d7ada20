"""Tests of hostile Connect workers and schema registries, which lie, hang, send too much, redirect, or repeat
secrets.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from console.admin import changes, connect, rest, schemas
from console.admin.cluster import describe_cluster
from console.admin.errors import AdminError, ReadOnly, WrongCluster
from console.admin.link import Link
from console.admin.settings import ConnectSettings, HttpSettings
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model import codes, parts, secret, subjects
from console.model.avro_compatibility import MOST_COMPARISONS, AvroSchema, avro_schema, compare, problems
from console.model.changes import ConfigOp, Outcome, Status
from console.model.connect import (
    RUNNING,
    AlterConnectors,
    ConnectListing,
    CreateConnector,
    DeleteConnector,
    SteerConnector,
    connector_resource,
)
from tests.support import patience, worlds
from tests.support.http_server import Answer, Asked, answering
from tests.support.registry_server import Bad, RegistryServer, registry

ORDERS = connector_resource("main", "orders")
CONFIG = {"name": "orders", "connector.class": "C", "db.password": "sesame-open", "topics": "orders"}
INFO = {"name": "orders", "config": CONFIG, "type": "sink"}
STATUS = {"connector": {"state": "RUNNING", "worker_id": "w:1"}, "tasks": [], "type": "sink"}
Reply = Callable[[Asked], Answer | None]


class Worker:
    """A Connect worker that answers like a real one, except where the function `own`, which a test sets, returns an
    answer.
    """

    def __init__(self, cluster_id: str) -> None:
        self.asked: list[Asked] = []
        self.own: Reply = lambda _asked: None
        self.root = {"version": "4.3.0", "commit": "c", "kafka_cluster_id": cluster_id}

    def answer(self, asked: Asked) -> Answer:
        """Return the answer of `own`, if it returns one, or else the answer that a real worker would give: 404 for
        an unknown path.
        """
        self.asked.append(asked)
        own = self.own(asked)
        if own is not None:
            return own
        known: Mapping[str, Any] = {
            "/": self.root,
            "/connectors?expand=info&expand=status": {"orders": {"info": INFO, "status": STATUS}},
            "/connectors/orders/config": CONFIG,
            "/connectors/orders/status": STATUS,
            "/connectors/orders/topics": {"orders": {"topics": ["orders"]}},
            "/connector-plugins?connectorsOnly=false": [{"class": "C", "type": "sink", "version": "1"}],
            "/connector-plugins/C/config": [{"name": "db.password", "type": "PASSWORD"}],
        }
        if asked.path in known:
            return Answer(200, json.dumps(known[asked.path]))
        return Answer(404, json.dumps({"error_code": 404, "message": "not found"}))

    def changes(self) -> list[Asked]:
        """Return the requests that the worker received and that would change something."""
        return [each for each in self.asked if each.method != "GET" and not each.path.endswith("/validate")]


cluster = worlds.embedded(ClusterSpec(brokers=1))


@pytest.fixture
def worker(cluster: EmbeddedCluster) -> Worker:
    return Worker(cluster.state.cluster_id)


@contextmanager
def served(*workers: Worker) -> Iterator[ConnectSettings]:
    """Run these workers until the end of the block; yield kac's settings for their Connect cluster."""
    if not workers:
        yield ConnectSettings("main", ())
        return
    with answering(workers[0].answer) as url, served(*workers[1:]) as others:
        port = int(url.rpartition(":")[2])
        yield ConnectSettings("main", (HttpSettings("127.0.0.1", port), *others.workers))


def on(cluster: EmbeddedCluster, *connect_clusters: ConnectSettings, **options: Any) -> Any:
    """Return a link to the brokers, with these Connect clusters."""
    return worlds.linked(replace(worlds.settings(cluster), connect=connect_clusters, **options))


async def sent(link: Link, request: Any, *, validate_only: bool = False) -> Outcome:
    """Send a change that has one target, and return its outcome."""
    await describe_cluster(link)
    (outcome,) = await changes.send(link, request, validate_only=validate_only)
    return outcome


async def listed(cluster: EmbeddedCluster, settings: ConnectSettings) -> ConnectListing:
    async with on(cluster, settings) as link:
        return await connect.describe_connect(link)


async def test_a_worker_without_faults_is_read(cluster: EmbeddedCluster, worker: Worker) -> None:
    with served(worker) as settings:
        found = await listed(cluster, settings)
    orders = found.clusters["main"].connectors["orders"]
    assert (orders.kind, orders.state, orders.topics) == ("sink", RUNNING, ("orders",))
    entry = found.configs[ORDERS].get("db.password")
    assert entry is not None
    assert entry.hidden
    assert "sesame" not in repr(found)
    assert found.failures == {}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer(200, b"[" * 100_000), "another form"),
        (Answer(200, b"<html>"), "another form"),
        (Answer(200, '{"orders": {"status": {"connector": 7}}}'), "another form"),
        (Answer(200, json.dumps({str(number): {} for number in range(6_000)})), "at most 5,000"),
        (Answer(302, b"", {"Location": "http://127.0.0.1:1/"}), "another address is not gone to"),
        (Answer(401, '{"message": "who are you?"}'), "answers 401: who are you?"),
        (Answer(500, '{"message": "\\u001b[2Jdown password=sesame"}'), "answers 500: [2Jdown password=······"),
    ],
)
async def test_a_bad_list_is_the_failure_of_its_cluster_alone(
    cluster: EmbeddedCluster, worker: Worker, answer: Answer, why: str
) -> None:
    bad = Worker("other")
    bad.own = lambda asked: answer if asked.path.startswith("/connectors?") else None
    with served(worker) as settings, served(bad) as other:
        async with on(cluster, settings, ConnectSettings("bad", other.workers)) as link:
            found = await connect.describe_connect(link)
    assert [*found.clusters] == ["main"]
    assert [*found.failures] == ["bad"]
    assert why in found.failures["bad"].message


async def test_workers_that_all_fail_have_answered(cluster: EmbeddedCluster, worker: Worker) -> None:
    second = Worker("c")
    for each in (worker, second):
        each.own = lambda asked: Answer(500, '{"message": "down"}') if asked.path.startswith("/connectors?") else None
    with served(worker, second) as settings:
        found = await listed(cluster, settings)
    assert found.failures["main"].name == "HTTP_500"


async def test_a_flood_ends_at_its_bound(
    cluster: EmbeddedCluster, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "LARGEST", 1 << 20)
    worker.own = lambda asked: Answer(200, b" " * (3 << 20)) if asked.path.startswith("/connectors?") else None
    with served(worker) as settings:
        found = await listed(cluster, settings)
    assert "answers more than 1 MiB" in found.failures["main"].message


async def test_a_worker_that_hangs_lets_the_next_answer(
    cluster: EmbeddedCluster, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "SECONDS", 0.2)
    released = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await released.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    hung = HttpSettings("127.0.0.1", server.sockets[0].getsockname()[1])
    with served(worker) as settings:
        found = await listed(cluster, ConnectSettings("main", (hung, *settings.workers)))
    released.set()
    server.close()
    first, second = sorted(found.clusters["main"].workers, key=lambda each: each.failure is None)
    assert first.failure is not None
    assert "does not answer within 0.2 s" in first.failure.message
    assert second.failure is None
    assert [*found.clusters["main"].connectors] == ["orders"]


@pytest.mark.parametrize("there", ["another", ""])
async def test_a_cluster_that_works_with_other_brokers_gets_no_change(
    cluster: EmbeddedCluster, worker: Worker, there: str
) -> None:
    worker.root["kafka_cluster_id"] = there
    with served(worker) as settings:
        async with on(cluster, settings) as link:
            with pytest.raises(WrongCluster, match="works with the Kafka cluster"):
                await sent(link, DeleteConnector("main/orders"))
    assert worker.changes() == []


async def test_a_read_only_client_changes_nothing(cluster: EmbeddedCluster, worker: Worker) -> None:
    with served(worker) as settings:
        async with on(cluster, settings, read_only=True) as link:
            with pytest.raises(ReadOnly):
                await sent(link, DeleteConnector("main/orders"))
    assert worker.changes() == []


async def test_a_lost_answer_is_not_sent_again(cluster: EmbeddedCluster, worker: Worker) -> None:
    worker.own = lambda asked: Answer(302) if asked.method == "PUT" else None  # no usable answer
    second = Worker(worker.root["kafka_cluster_id"])
    with served(worker, second) as settings:
        async with on(cluster, settings, lost_answer_timeout=0.2) as link:
            outcome = await sent(link, SteerConnector("main/orders", "PAUSED"))
    assert outcome.status is Status.UNKNOWN
    assert len(worker.changes()) + len(second.changes()) == 1


async def test_only_what_was_edited_is_sent(cluster: EmbeddedCluster, worker: Worker) -> None:
    worker.own = lambda asked: Answer(200, json.dumps(INFO)) if asked.method == "PATCH" else None
    with served(worker) as settings:
        async with on(cluster, settings, visible_timeout=0.1) as link:
            outcome = await sent(link, AlterConnectors({ORDERS: (ConfigOp("topics", codes.SET, "more"),)}))
    assert outcome.status is Status.APPLIED
    (change,) = worker.changes()
    assert json.loads(change.body) == {"topics": "more"}


async def test_an_older_worker_gets_its_own_config_back(cluster: EmbeddedCluster, worker: Worker) -> None:
    worker.root["version"] = "3.7.2"
    worker.own = lambda asked: Answer(200, json.dumps(INFO)) if asked.method == "PUT" else None
    with served(worker) as settings:
        async with on(cluster, settings, visible_timeout=0.1) as link:
            await sent(link, AlterConnectors({ORDERS: (ConfigOp("topics", codes.SET, "more"),)}))
    (change,) = worker.changes()
    assert json.loads(change.body) == {**CONFIG, "topics": "more"}


@pytest.mark.parametrize("validate_only", [True, False])
async def test_no_outcome_repeats_a_secret(cluster: EmbeddedCluster, worker: Worker, *, validate_only: bool) -> None:
    def echo(asked: Asked) -> Answer | None:
        if asked.method == "GET":
            return None
        text = f"Invalid value {asked.body.decode()} for sesame-open and sesame-new"
        errors = {"error_count": 1, "configs": [{"value": {"name": "db.password", "errors": [text]}}]}
        if "validate" not in asked.path:
            return Answer(400, json.dumps({"message": text}))
        return Answer(200, json.dumps(errors))

    worker.own = echo
    new = secret.Secret("sesame-new")
    requests = (
        AlterConnectors({ORDERS: (ConfigOp("db.password", codes.SET, new),)}),
        CreateConnector("main/fresh", {"connector.class": "C", "db.password": new}),
    )
    with served(worker) as settings:
        async with on(cluster, settings) as link:
            outcomes = [await sent(link, each, validate_only=validate_only) for each in requests]
    assert [each.status for each in outcomes] == [Status.FAILED, Status.FAILED]
    altered, created = map(repr, outcomes)
    assert "sesame" not in altered
    assert "sesame-new" not in created


# -- Hostile schema registries: they lie, hang, flood, redirect or echo secrets, or are another service ----------------

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
SOON = 5.0
"""The most seconds of CPU time that kac may take for an operation on a hostile schema."""

one_broker = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, brokers=(1,)), scope="module")


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry() as running:
        running.register("orders-value", ORDER)
        running.register("carts-value", '"int"')
        yield running


async def subjects_listed(one_broker: ThreadedCluster, settings: HttpSettings) -> subjects.SchemaListing:
    async with worlds.linked(worlds.settings(one_broker, schemas=settings)) as link:
        return await schemas.describe_schemas(link)


async def failure_of(one_broker: ThreadedCluster, settings: HttpSettings) -> str:
    with pytest.raises(AdminError) as raised:
        await subjects_listed(one_broker, settings)
    assert all(each.isprintable() for each in str(raised.value.failure))
    return str(raised.value.failure)


def of_url(url: str, **login: Any) -> HttpSettings:
    return HttpSettings("127.0.0.1", int(url.rpartition(":")[2]), **login)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (Bad(body=b"[" * 100_000), "is no schema registry: its answer has another form"),
        (Bad(body=b"<html>"), "is no schema registry: its answer has another form"),
        (Bad(body=b'{"subjects": []}'), "is no schema registry: its answer has another form"),
        (Bad(body=b'[{"name": "orders-value"}]'), "is no schema registry: its answer has another form"),
        (Bad(body=json.dumps([f"s{n}" for n in range(6_000)]).encode()), "has 6,000 subjects: kac reads at most"),
        (Bad(302, {"Location": "http://127.0.0.1:1/"}), "another address is not gone to"),
        (Bad(500, body=b'{"message": "\\u001b[2Jdown"}'), "the registry answers 500: [2Jdown"),
        (Bad(size=3 << 20), "the registry answers more than 2 MiB"),
    ],
)
async def test_a_bad_list_is_the_failure_of_its_part(
    one_broker: ThreadedCluster, server: RegistryServer, bad: Bad, why: str
) -> None:
    server.bad["/subjects"] = bad
    assert why in await failure_of(one_broker, server.settings)


async def test_another_service_is_no_registry(one_broker: ThreadedCluster) -> None:
    worker = {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "x"}
    with answering(lambda asked: Answer(200, json.dumps(worker))) as url:
        assert "is no schema registry" in await failure_of(one_broker, of_url(url))


async def test_a_registry_that_hangs_lets_everything_else_go_on(
    one_broker: ThreadedCluster, server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "SECONDS", patience.PATIENCE)
    server.bad["/subjects"] = Bad(silent=True)
    with worlds.session_on(worlds.settings(one_broker, schemas=server.settings)) as session:
        reading = asyncio.create_task(session.read_whole(parts.Part.SCHEMAS))
        await session.read_topics()
        assert not reading.done()
        assert "orders" in session.snapshot.topics
        server.released.set()
        await reading
        (failed,) = session.snapshot.failures
    assert failed.part == parts.Part.SCHEMAS
    assert "it does not answer as HTTP has it" in failed.failure.message


async def test_a_subject_that_is_refused_fails_alone(one_broker: ThreadedCluster, server: RegistryServer) -> None:
    server.bad["/subjects/orders-value/versions"] = Bad(403, body=b'{"message": "not yours"}')
    found = await subjects_listed(one_broker, server.settings)
    assert [*found.subjects] == ["carts-value"]
    assert found.failures["orders-value"].message == "the registry answers 403: not yours"


@pytest.mark.parametrize(
    "version",
    [
        {"schema": "[" * 50_000, "id": 1, "version": 1},
        {"schema": '{"type":' * 50_000, "id": 1, "version": 1, "schemaType": "AVRO"},
        {"schema": "\u202e\x1b]0;x\x07", "id": 1, "version": 1, "schemaType": "\x1b[2J"},
        {"schema": json.dumps({"type": "record", "name": "\x1b[2J", "fields": []}), "id": -1, "version": 99},
        {"schema": "{}", "id": 1, "references": [{"name": "n", "subject": "orders-value", "version": 1}] * 1_000},
    ],
)
async def test_a_version_that_lies_is_described_and_printed(
    one_broker: ThreadedCluster, server: RegistryServer, version: dict[str, Any]
) -> None:
    server.bad["/subjects/orders-value/versions/1"] = Bad(body=json.dumps(version).encode())
    begun = time.process_time()
    for text in ("list schemas", "describe schema orders-value"):
        out, _ = await worlds.script(one_broker, text, schemas=server.settings)
        assert "orders-value" in out
        assert all(each.isprintable() or each == "\n" for each in out)
    assert time.process_time() - begun < 2 * SOON


async def test_names_of_subjects_control_no_terminal(one_broker: ThreadedCluster, server: RegistryServer) -> None:
    for name in ("\x1b[2J-value", "a\nb", "../../subjects", "a/b?c=d#e", "%2e%2e", "\u202eabc"):
        server.register(name, '"int"')
    out, _ = await worlds.script(one_broker, "list schemas", schemas=server.settings)
    assert "\\x1b[2J-value" in out
    assert "../../subjects" in out
    assert all(each.isprintable() or each == "\n" for each in out)


@pytest.mark.parametrize("status", [400, 401, 403, 409, 500])
@pytest.mark.parametrize(
    "login",
    [
        {"username": "kac", "password": secret.Secret('open "sesame"')},
        {"token": secret.Secret("open.sesame-token")},
    ],
)
async def test_no_failure_repeats_the_login(one_broker: ThreadedCluster, status: int, login: dict[str, Any]) -> None:
    def echo(asked: Asked) -> Answer:
        words = [
            asked.headers["authorization"],
            *(each.reveal() for each in login.values() if isinstance(each, secret.Secret)),
        ]
        return Answer(status, json.dumps({"message": f"who is {words}?"}))

    with answering(echo) as url:
        said = await failure_of(one_broker, of_url(url, **login))
    assert f"answers {status}" in said
    assert "sesame" not in said
    assert "b3BlbiA" not in said
    assert said.count("······") == 2


# -- schemas that take long --------------------------------------------------------------------------------------------


LEVELS = 40


def chain(leaf: str) -> AvroSchema:
    """Return the Avro schema of a record with two fields of the same record type, which has two such fields, and so on:
    2^40 fields in all.
    """
    texts = [json.dumps({"type": "record", "name": "R0", "fields": [{"name": "a", "type": leaf}]})]
    for number in range(1, LEVELS):
        fields = [{"name": each, "type": f"R{number - 1}"} for each in "ab"]
        texts.append(json.dumps({"type": "record", "name": f"R{number}", "fields": fields}))
    return avro_schema(texts[-1], texts[:-1])


def unions(leaf: str) -> AvroSchema:
    """Return the Avro schema of a union of two records, each with a field of the same name, whose type is the next such
    union. It has two paths at each level.
    """
    texts = []
    for number in range(LEVELS):
        below = [f"A{number - 1}", f"B{number - 1}"] if number else leaf
        for name in "AB":
            fields = [{"name": "x", "type": below}]
            texts.append(json.dumps({"type": "record", "name": f"{name}{number}", "fields": fields}))
    return avro_schema(texts[-1], texts[:-1])


@pytest.mark.parametrize("make", [chain, unions])
@pytest.mark.parametrize("leaf", ["int", "string"])
def test_schemas_that_double_at_each_level_are_compared_in_time(make: Callable[[str], AvroSchema], leaf: str) -> None:
    old, new = make("int"), make(leaf)
    begun = time.process_time()
    found = problems(new, old)
    compare(old, new)
    assert time.process_time() - begun < SOON
    assert bool(found) == (leaf == "string")


def test_unions_without_end_are_compared_in_time() -> None:
    def union(kind: str) -> str:
        names = [{"type": "fixed", "name": f"{kind}{n}", "size": 4} for n in range(4_000)]
        return json.dumps({"type": "record", "name": "R", "fields": [{"name": "x", "type": names}]})

    old, new = avro_schema(union("a")), avro_schema(union("b"))
    begun = time.process_time()
    found = problems(new, old)
    assert time.process_time() - begun < SOON
    assert MOST_COMPARISONS < 4_000 * 4_000
    assert found[-1].why == "they have too many types to be compared: what else differs is not known"
