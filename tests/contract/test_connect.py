"""Tests of Connect's REST API: embedded workers answer like recorded real ones, and like running real ones if these can
run here.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from console.embedded.brokers import run_in_thread
from console.embedded.connect.api import REBALANCE_EXPECTED
from console.embedded.scenarios.seed import add_topic
from console.embedded.spec import ClusterSpec, ConnectSpec
from tests.contract import answers, conftest, recorded, target
from tests.contract.connect_exchanges import SCRIPTS, TOPIC, Exchange
from tests.support import kafka_jars, patience, real_clusters
from tests.support.connect_cluster import ConnectCluster, Reply, ask, with_broker

COMPARED = ("3.9", "4.0", "4.3", "4.4")
_POLL = 0.02
_MISSING = {1: ("/no/such",)}


def parameters() -> Iterator[Any]:
    """Yield a pytest parameter for each release with its recorded answers, if there are any, and one with the real
    worker, which then has the marker `long`.
    """
    for release in COMPARED:
        is_recorded = "test_connect::test_exchanges" in recorded.recorded_functions(f"connect-{release}")
        if is_recorded:
            yield pytest.param(("worker", "recorded", release), id=f"recorded-connect-{release}")
        marks = [pytest.mark.broker, pytest.mark.slow, *([pytest.mark.long] if is_recorded else [])]
        yield pytest.param(("worker", "real", release), id=f"real-connect-{release}", marks=marks)


@pytest.fixture(scope="module")
def real_worker() -> Iterator[Callable[[str], ConnectCluster]]:
    """Provide a function that returns the real worker of a release. Its first call for a release starts the worker and
    stops the previous one.
    """
    running: list[tuple[str, Any, ConnectCluster]] = []

    def of(release: str) -> ConnectCluster:
        if not running or running[-1][0] != release:
            while running:
                running.pop()[1].__exit__(None, None, None)
            context = with_broker(kafka_jars.RELEASES[release])
            running.append((release, context, context.__enter__()))
            admin = AdminClient({"bootstrap.servers": running[-1][2].bootstrap})
            admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(patience.PATIENCE)
        return running[-1][2]

    yield of
    while running:
        running.pop()[1].__exit__(None, None, None)


@pytest.fixture(scope="module")
def embedded_worker() -> Iterator[Callable[[str], str]]:
    """Provide a function that returns the URL of an embedded worker of a release."""
    running = []

    @cache
    def of(release: str) -> str:
        context = run_in_thread(
            ClusterSpec(brokers=1, connect=ConnectSpec(workers=1, release=release, missing=_MISSING))
        )
        cluster = context.__enter__()
        running.append(context)
        cluster.call(lambda each: add_topic(each.state, TOPIC, 1, 1))
        return cluster.connect_urls[0]

    yield of
    for context in running:
        context.__exit__(None, None, None)


def settled(url: str, exchange: Exchange) -> Reply:
    """Send the request of an exchange until the reply is the final one, and return it. Raises AssertionError after
    `PATIENCE` seconds.
    """
    ends = time.monotonic() + patience.PATIENCE
    while True:
        reply = ask(url, exchange.method, exchange.path, exchange.body)
        is_done = exchange.until is None or exchange.until(reply)
        if is_done and not (isinstance(reply.body, dict) and reply.body.get("message") == REBALANCE_EXPECTED):
            return reply
        assert time.monotonic() < ends, f"{exchange.method} {exchange.path}: {reply}"
        time.sleep(_POLL)


def plain(reply: Reply, exchange: Exchange, version: str) -> Any:
    """Return a reply as plain values, without those that differ between workers."""
    body = json.loads(json.dumps(reply.body).replace(version, "VERSION"))
    if exchange.own_words and isinstance(body, dict):
        body = {**body, "message": "its own words"}
    return {"status": reply.status, "body": _plain(body)}


_OWN = {"worker_id": "its worker", "commit": "its commit", "kafka_cluster_id": "its cluster"}


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _plain(each, key) for key, each in value.items()}
    if isinstance(value, list):
        items = [_plain(each) for each in value]
        if name == "tasks":
            # A restart lists the tasks in any order.
            return sorted(items, key=json.dumps)
        return sorted(items) if all(isinstance(each, str) for each in items) else items
    if name == "trace":
        # Stack frames differ between releases.
        return [line for line in value.splitlines() if not line.startswith("\t")]
    if name == "last_modified" and value is not None:
        return "a time"
    return _OWN.get(name, value)


def asked(exchange: Exchange) -> str:
    """Return an exchange as text for a tape: method, path and a hash of the body."""
    body = exchange.body if isinstance(exchange.body, bytes) else json.dumps(exchange.body).encode()
    return f"{exchange.method} {exchange.path} {hashlib.sha256(body).hexdigest()[:12]}"


def version_of(url: str) -> str:
    """Return the Kafka version that the worker at this URL names."""
    return str(ask(url, "GET", "/").body["version"])


def real_answers(worker: ConnectCluster, exchanges: tuple[Exchange, ...]) -> list[tuple[str, str]]:
    (url,) = worker.urls
    version = version_of(url)
    return [(asked(each), json.dumps(plain(settled(url, each), each, version))) for each in exchanges]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("worker", [*parameters()])
def test_exchanges(
    worker: tuple[str, str, str],
    script: str,
    embedded_worker: Callable[[str], str],
    real_worker: Callable[[str], ConnectCluster],
    request: pytest.FixtureRequest,
) -> None:
    _, kind, release = worker
    exchanges = SCRIPTS[script]
    name = recorded.case(request.node, f"connect-{release}")
    if kind == "real":
        with real_clusters.or_skip():
            tape = real_answers(real_worker(release), exchanges)
        if conftest.RECORDING:
            recorded.keep(conftest.RECORDING, f"connect-{release}", name, tape)
    else:
        tape = [(then, json.dumps(answer)) for then, answer in recorded.tape_of(f"connect-{release}", name)]
    url = embedded_worker(release)
    version = version_of(url)
    found = []
    for place, exchange in enumerate(exchanges):
        then, answer = tape[place] if place < len(tape) else ("the end", "null")
        if then != asked(exchange):
            command = f"python -m tests.contract.recorded connect-{release}"
            pytest.fail(f"asks {asked(exchange)}, recorded was {then}: run {command}", pytrace=False)
        mine = plain(settled(url, exchange), exchange, version)
        what = f"{exchange.method} {exchange.path} {exchange.body}"
        found += [f"{what}: {line}" for line in answers.differences(json.loads(answer), mine)]
    shown = "\n  ".join(found[: target.MOST_SHOWN])
    assert not found, f"Connect {release} and the embedded one differ in {len(found)} places:\n  {shown}"
