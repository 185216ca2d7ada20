"""Long answers: right to the last byte, and others are answered meanwhile."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster
from console.embedded.handlers.client_quotas import encoded_entries
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.wire.frames import decode_body, encode_body
from console.wire.schemas import response_type
from tests.embedded.raw_client import RawClient
from tests.support.acl_filters import EVERY_ACL
from tests.support.kafka_messages import with_fields

names = st.none() | st.text(st.characters(codec="utf-8"), max_size=8) | st.just("x" * 200)
entities = st.one_of(
    st.fixed_dictionaries({USER: names}),
    st.fixed_dictionaries({CLIENT_ID: names}),
    st.fixed_dictionaries({USER: names, CLIENT_ID: names}),
    st.fixed_dictionaries({IP: names}),
).map(QuotaEntity.of)
limits = st.dictionaries(st.sampled_from(("producer_byte_rate", "request_percentage", "k")), st.floats(), max_size=3)


@given(entries=st.lists(st.tuples(entities, limits), max_size=6), version=st.sampled_from((0, 1)))
def test_entries_are_encoded_as_kio_does(entries: list[tuple[QuotaEntity, dict[str, float]]], version: int) -> None:
    response: Any = response_type("describe_client_quotas", version)
    module = __import__(response.__module__, fromlist=["EntryData"])
    for client_first in (False, True):
        expected = [
            encode_body(
                module.EntryData,
                module.EntryData(
                    entity=tuple(
                        module.EntityData(entity_type=part.type, entity_name=part.name)
                        for part in (reversed(entity.parts) if client_first else entity.parts)
                    ),
                    values=tuple(module.ValueData(key=key, value=value) for key, value in values.items()),
                ),
            )
            for entity, values in entries
        ]
        assert list(encoded_entries(version, entries, client_first=client_first)) == expected


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many quota entities a large cluster has for a test's sake."""
    monkeypatch.setattr(large, "QUOTA_ENTITIES", 40_000)
    monkeypatch.setattr(large, "ACLS", 20_000)
    return large.QUOTA_ENTITIES


ALL_QUOTAS = with_fields(components=[], strict=False)
ALL_ACLS = with_fields(**EVERY_ACL)


@pytest.mark.parametrize(
    ("api", "version", "build"), [("describe_client_quotas", 1, ALL_QUOTAS), ("describe_acls", 3, ALL_ACLS)]
)
async def test_others_are_answered_meanwhile(many: int, api: str, version: int, build: Any) -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster, client_id="long") as client,
        RawClient(cluster, 2, "short") as other,
    ):
        client.request(api, version, build)
        answer = asyncio.ensure_future(client.frame())
        answered = 0
        while not answer.done():
            await other.ask("list_groups", 4, with_fields(states_filter=[]))
            answered += 1
        assert answered > 3
        told = decode_body(response_type(api, version), (await answer)[5:])
    if api == "describe_acls":
        assert sum(len(on.acls) for on in told.resources) == large.ACLS
        return
    own = {(("user", None),): 2, (("client-id", None),): 1}
    found = {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            limit.key: limit.value for limit in entry.values
        }
        for entry in told.entries
    }
    assert len(told.entries) == len(found) == many + len(own)
    assert {entity: len(found[entity]) for entity in own} == own
    quotas = cluster.state.view.quotas
    for entity, values in list(found.items())[:: many // 50]:
        assert quotas[QuotaEntity.of(dict(entity))] == values
    assert not any(math.isnan(value) for values in found.values() for value in values.values())


async def test_what_changes_meanwhile_harms_nobody(many: int) -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster, client_id="long") as client,
    ):
        client.request("describe_client_quotas", 1, ALL_QUOTAS)
        answer = asyncio.ensure_future(client.frame())
        number = 0
        while not answer.done():
            cluster.state.alter_quota(QuotaEntity.of({USER: f"new {number}"}), {"producer_byte_rate": 1.0})
            number += 1
            await asyncio.sleep(0)
        told = decode_body(response_type("describe_client_quotas", 1), (await answer)[5:])
        assert (told.error_code, number > 3) == (0, True)
        assert len(told.entries) >= many
