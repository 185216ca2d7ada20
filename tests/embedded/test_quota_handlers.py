"""Quotas over the wire, beside what tests/contract compares with real brokers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.java import sized_hash_order
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

RATE, PERCENTAGE = "producer_byte_rate", "request_percentage"
Entry = tuple[Mapping[str, str | None], Mapping[str, float | None]]


@pytest.mark.parametrize(
    ("names", "order"),
    [
        ((), []),
        (("user",), ["user"]),
        (("ip", "user"), ["user", "ip"]),
        (("user", "client-id"), ["client-id", "user"]),
        (("foo", "user"), ["user", "foo"]),
        ((RATE, "bogus"), ["bogus", RATE]),
    ],
)
def test_brokers_go_through_names_in_an_order_of_their_own(names: tuple[str, ...], order: list[str]) -> None:
    """Read off the errors and the answers of a broker of 4.3."""
    assert sized_hash_order(names) == order


def altered(entries: Iterable[Entry], *, dry: bool = False) -> Any:
    rows = [
        ([*entity.items()], [(key, value or 0.0, value is None) for key, value in values.items()])
        for entity, values in entries
    ]
    return with_fields(entries=rows, validate_only=dry)


async def test_what_stays_as_it_is_counts_for_nothing(cluster: EmbeddedCluster) -> None:
    """A controller takes 10,000 records in one change; a value that was there is none."""
    entries: list[Entry] = [({USER: f"u{number}"}, {RATE: 1.0, PERCENTAGE: 50.0}) for number in range(5_001)]
    refused = (44, "Request parameters do not satisfy the configured policy.")
    async with RawClient(cluster) as client:
        told = await client.ask("alter_client_quotas", 1, altered(entries))
        assert [(entry.error_code, entry.error_message) for entry in told.entries] == [refused] * len(entries)
        assert not cluster.state.quotas
        cluster.state.alter_quota(QuotaEntity.of({USER: "u0"}), {PERCENTAGE: 50.0})
        cluster.state.alter_quota(QuotaEntity.of({USER: "u1"}), {PERCENTAGE: 50.0})
        told = await client.ask("alter_client_quotas", 1, altered(entries))
        assert {entry.error_code for entry in told.entries} == {0}
    assert len(cluster.state.quotas) == len(entries)


async def test_a_last_key_takes_the_entity_with_it(cluster: EmbeddedCluster) -> None:
    entity = {USER: "a", CLIENT_ID: None}
    async with RawClient(cluster) as client:
        for values in ({RATE: 1.0, PERCENTAGE: 5.0}, {RATE: None, PERCENTAGE: 6.0}):
            (entry,) = (await client.ask("alter_client_quotas", 1, altered([(entity, values)]))).entries
            assert (entry.error_code, entry.error_message) == (0, None)
            assert [(part.entity_type, part.entity_name) for part in entry.entity] == [(CLIENT_ID, None), (USER, "a")]
        assert cluster.state.quotas == {QuotaEntity.of(entity): {PERCENTAGE: 6.0}}
        before = cluster.state.log.end
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: None})], dry=True))
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: 6.0, "no such key": None})]))
        assert cluster.state.log.end == before
        await client.ask("alter_client_quotas", 1, altered([(entity, {PERCENTAGE: None})]))
        assert not cluster.state.quotas


async def test_hosts_that_are_not_there(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for name, message in (
            ("127.0.0.1", None),
            ("::1", None),
            ("[::1]", None),
            ("localhost", None),
            ("no such host", "no such host is not a valid IP or resolvable host."),
            ("256.1.1.1", "256.1.1.1 is not a valid IP or resolvable host."),
        ):
            entries: list[Entry] = [({"ip": name}, {"connection_creation_rate": 1.0})]
            (entry,) = (await client.ask("alter_client_quotas", 1, altered(entries, dry=True))).entries
            assert entry.error_message == message
