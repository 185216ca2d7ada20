"""Schema registries that lie, hang, flood, redirect, echo secrets, or are no registry; schemas that cost time."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from console.admin import rest, schemas
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.settings import HttpSettings
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.model.avro_compatibility import MOST_COMPARISONS, AvroSchema, avro_schema, compare, problems
from console.model.parts import Part
from console.model.secret import Secret
from console.model.subjects import SchemaListing
from console.session.session import Session
from tests.support import worlds
from tests.support.http_server import Answer, Asked, answering
from tests.support.patience import PATIENCE
from tests.support.registry_server import Bad, RegistryServer, registry

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
SOON = 5.0
"""Seconds of the processor in which anything of one schema is done."""

cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, brokers=(1,)), scope="module")


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry() as running:
        running.register("orders-value", ORDER)
        running.register("carts-value", '"int"')
        yield running


async def listed(cluster: ThreadedCluster, settings: HttpSettings) -> SchemaListing:
    async with worlds.linked(worlds.settings(cluster, schemas=settings)) as link:
        return await schemas.describe_schemas(link)


async def failure_of(cluster: ThreadedCluster, settings: HttpSettings) -> str:
    with pytest.raises(AdminError) as raised:
        await listed(cluster, settings)
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
    cluster: ThreadedCluster, server: RegistryServer, bad: Bad, why: str
) -> None:
    server.bad["/subjects"] = bad
    assert why in await failure_of(cluster, server.settings)


async def test_another_service_is_no_registry(cluster: ThreadedCluster) -> None:
    worker = {"version": "4.3.0", "commit": "c", "kafka_cluster_id": "x"}
    with answering(lambda asked: Answer(200, json.dumps(worker))) as url:
        assert "is no schema registry" in await failure_of(cluster, of_url(url))


async def test_a_registry_that_hangs_lets_everything_else_go_on(
    cluster: ThreadedCluster, server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "SECONDS", PATIENCE)
    server.bad["/subjects"] = Bad(silent=True)
    with AdminClient(worlds.settings(cluster, schemas=server.settings)) as client:
        session = Session(client, Context("test", "tests", client.settings), "test")
        reading = asyncio.create_task(session.read_whole(Part.SCHEMAS))
        await session.read_topics()
        assert not reading.done()
        assert "orders" in session.snapshot.topics
        server.released.set()
        await reading
        (failed,) = session.snapshot.failures
    assert failed.part == Part.SCHEMAS
    assert "it does not answer as HTTP has it" in failed.failure.message


async def test_a_subject_that_is_refused_fails_alone(cluster: ThreadedCluster, server: RegistryServer) -> None:
    server.bad["/subjects/orders-value/versions"] = Bad(403, body=b'{"message": "not yours"}')
    found = await listed(cluster, server.settings)
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
    cluster: ThreadedCluster, server: RegistryServer, version: dict[str, Any]
) -> None:
    server.bad["/subjects/orders-value/versions/1"] = Bad(body=json.dumps(version).encode())
    begun = time.process_time()
    for text in ("list schemas", "describe schema orders-value"):
        out, _ = await worlds.script(cluster, text, schemas=server.settings)
        assert "orders-value" in out
        assert all(each.isprintable() or each == "\n" for each in out)
    assert time.process_time() - begun < 2 * SOON


async def test_names_of_subjects_control_no_terminal(cluster: ThreadedCluster, server: RegistryServer) -> None:
    for name in ("\x1b[2J-value", "a\nb", "../../subjects", "a/b?c=d#e", "%2e%2e", "\u202eabc"):
        server.register(name, '"int"')
    out, _ = await worlds.script(cluster, "list schemas", schemas=server.settings)
    assert "\\x1b[2J-value" in out
    assert "../../subjects" in out
    assert all(each.isprintable() or each == "\n" for each in out)


@pytest.mark.parametrize("status", [400, 401, 403, 409, 500])
@pytest.mark.parametrize(
    "login",
    [
        {"username": "kac", "password": Secret('open "sesame"')},
        {"token": Secret("open.sesame-token")},
    ],
)
async def test_no_failure_repeats_the_login(cluster: ThreadedCluster, status: int, login: dict[str, Any]) -> None:
    def echo(asked: Asked) -> Answer:
        words = [
            asked.headers["authorization"],
            *(each.reveal() for each in login.values() if isinstance(each, Secret)),
        ]
        return Answer(status, json.dumps({"message": f"who is {words}?"}))

    with answering(echo) as url:
        said = await failure_of(cluster, of_url(url, **login))
    assert f"answers {status}" in said
    assert "sesame" not in said
    assert "b3BlbiA" not in said
    assert said.count("······") == 2


# -- schemas that cost time --------------------------------------------------------------------------------------------


LEVELS = 40


def chain(leaf: str) -> AvroSchema:
    """A record with two fields of a record with two fields of … : 2^40 places."""
    texts = [json.dumps({"type": "record", "name": "R0", "fields": [{"name": "a", "type": leaf}]})]
    for number in range(1, LEVELS):
        fields = [{"name": each, "type": f"R{number - 1}"} for each in "ab"]
        texts.append(json.dumps({"type": "record", "name": f"R{number}", "fields": fields}))
    return avro_schema(texts[-1], texts[:-1])


def unions(leaf: str) -> AvroSchema:
    """Unions of two records with fields of the same name, each of the next such union: one place for each level."""
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
