"""Requests that are well written and mean anything: names that exist and that don't, numbers at their limits, nulls.

Frames of noise seldom get past what is looked at first; these do.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster
from console.embedded.request_pipeline import Dispatcher, advertised
from console.embedded.spec import RELEASE_NAMES, ClusterSpec, release
from console.wire.frames import is_flexible
from console.wire.schemas import messages
from tests.embedded.raw_client import header
from tests.embedded.test_fuzz import dispatched
from tests.support.examples import examples
from tests.wire.samples import written

PLAIN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
TEXTS = st.one_of(
    st.sampled_from(
        [
            "checkout.orders", "checkout_orders", "new", "other", "..", "__consumer_offsets", "__cluster_metadata",
            "retention.ms", "cleanup.policy", "log.cleaner.threads", "min.insync.replicas", "compact", "-1", "1", "x",
            "user", "client-id", "ip", "alice", "User:alice", "kafka-cluster", "*", "127.0.0.1", "billing",
            "producer_byte_rate", "controller_mutation_rate", "range", "consumer", "metadata.version", "a" * 250,
        ]
    ),
    PLAIN_TEXT,
)  # fmt: skip
LOW = st.integers(-2, 5)


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(LOW, LOW, st.sampled_from([low, high, high - 1]), st.integers(low, high))


def milliseconds(low: int, high: int) -> st.SearchStrategy[datetime.timedelta]:
    return st.one_of(LOW, st.sampled_from([low, high])).map(lambda count: datetime.timedelta(milliseconds=count))


I8, I16, I32, I64 = (integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int8": I8.filter(lambda n: -128 <= n <= 127),
    "int16": I16,
    "int32": I32,
    "int64": I64,
    "uint16": st.integers(0, 2**16 - 1),
    "float64": st.one_of(st.sampled_from([0.0, 1.0, 1024.0, -1.0]), st.floats()),
    "bool": st.booleans(),
    "string": TEXTS,
    "bytes": st.binary(max_size=20),
    "records": st.none() | st.binary(max_size=80),
    "uuid": st.none() | st.sampled_from([None]),
    "error_code": st.just(0),
    "timedelta_i32": milliseconds(-(2**31), 2**31 - 1),
    "timedelta_i64": milliseconds(-(2**40), 2**40),
}


@st.composite
def entity(draw: st.DrawFn, type_: Any) -> Any:
    """An instance of one of kio's request classes or of their parts."""
    return type_(**{field.name: draw(_value(field.type, field.metadata)) for field in fields(type_)})


def _value(type_: Any, metadata: Any) -> st.SearchStrategy[Any]:
    if get_origin(type_) is UnionType:
        part = next(each for each in get_args(type_) if each is not type(None))
        return st.none() | _value(part, metadata)
    if get_origin(type_) is tuple:
        return st.lists(_value(get_args(type_)[0], metadata), max_size=3).map(tuple)
    if is_dataclass(type_):
        return entity(type_)
    return VALUES[metadata["kafka_type"]]


def requests(versions: str) -> Iterator[tuple[int, int]]:
    for key, (low, high) in advertised(release(versions), proposals=True).items():
        yield from ((key, version) for version in range(low, high + 1) if messages(key, version))


@pytest.mark.parametrize("versions", RELEASE_NAMES)
def test_no_request_makes_a_broker_fail(versions: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "console.embedded")
    cluster = EmbeddedCluster(ClusterSpec(scenario="quiet", versions=versions))
    dispatchers = [Dispatcher(cluster, cluster.pipeline, broker) for broker in cluster.state.alive()]
    loop = asyncio.new_event_loop()
    kinds = sorted(requests(versions))

    @examples(60, at_length=250, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        key, version = data.draw(st.sampled_from(kinds))
        found = messages(key, version)
        assert found is not None
        request = data.draw(entity(found.request))
        tags = b"\x00" if is_flexible(found.request) else b""
        frame = header(key, version) + tags + written(found.request, request)
        loop.run_until_complete(dispatched(data.draw(st.sampled_from(dispatchers)), frame))
        failures = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert failures == [], request

    try:
        run()
    finally:
        loop.close()
