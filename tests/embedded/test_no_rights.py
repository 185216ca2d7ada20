"""Somebody who may do nothing is told so by every API, as a real broker tells it (tests/broker/test_rights.py)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from kio.schema.errors import ErrorCode

from console.embedded.brokers import EmbeddedCluster
from console.embedded.request_pipeline import handled_apis
from console.embedded.scenarios.seed import add_topic, topic_id
from console.embedded.spec import ClusterSpec
from tests.embedded.raw_client import RawClient
from tests.support import rights_table

CASES = rights_table.cases(topic_id(rights_table.SECRET))
OPEN_TO_ALL = {"sasl_handshake", "sasl_authenticate"}


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case.api}-{case.version}")
def case(request: pytest.FixtureRequest) -> rights_table.Case:
    """One of the table."""
    found: rights_table.Case = request.param
    return found


@pytest.fixture
async def client() -> AsyncIterator[RawClient]:
    """Of nobody in particular, on a cluster where that is not enough."""
    async with EmbeddedCluster(ClusterSpec(brokers=1, super_users=frozenset())) as cluster:
        add_topic(cluster.state, rights_table.SECRET, 1)
        async with RawClient(cluster) as client:
            yield client


def expected(case: rights_table.Case) -> list[rights_table.Error]:
    """As in the table, but for tokens: its client has a certificate, and its brokers no key for tokens; this one has no
    login."""
    if case.api.endswith("_delegation_token"):
        return [("", ErrorCode.delegation_token_request_not_allowed, rights_table.NO_PLACE)]
    return list(case.errors)


async def test_nothing_may_be_done(client: RawClient, case: rights_table.Case) -> None:
    answer = await client.ask(case.api, case.version, case.build)
    assert sorted(rights_table.errors_of(answer), key=repr) == sorted(expected(case), key=repr)


def test_every_api_is_in_the_table() -> None:
    assert handled_apis() - OPEN_TO_ALL == {case.api for case in CASES}
