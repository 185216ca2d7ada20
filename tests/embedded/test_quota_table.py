"""Looking quotas up quickly loses none."""

from __future__ import annotations

from itertools import product

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.quotas import quota_candidates
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec
from console.model import quota

NAMES = ("user-000000", "user-000003", "user-999999", "loader", "own")


def filters_of(type_: str) -> list[quota.QuotaMatch]:
    exact = [quota.QuotaMatch(type_, quota.Match.EXACT, name) for name in NAMES]
    return [*exact, quota.QuotaMatch(type_, quota.Match.DEFAULT), quota.QuotaMatch(type_, quota.Match.ANY_NAME)]


ALONE = [(each,) for type_ in (quota.USER, quota.CLIENT_ID, quota.IP) for each in filters_of(type_)]
PAIRS = list(product(filters_of(quota.USER), filters_of(quota.CLIENT_ID)))
FILTERS = [(), *ALONE, *PAIRS, *((client, user) for user, client in PAIRS)]


@pytest.fixture(scope="module")
def cluster() -> EmbeddedCluster:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "QUOTA_ENTITIES", 40)
        cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    state = cluster.state
    for parts in (
        {quota.USER: "own"},
        {quota.USER: "user-000003", quota.CLIENT_ID: "own"},
        {quota.USER: "user-000000"},
        {quota.IP: None},
    ):
        state.alter_quota(quota.QuotaEntity.of(parts), {"request_percentage": 3.0})
    state.remove("quotas", quota.QuotaEntity.of({quota.USER: "user-000003"}))
    return cluster


@pytest.mark.parametrize("strict", [True, False])
def test_candidates_are_all_that_is_found(cluster: EmbeddedCluster, strict: bool) -> None:
    now = cluster.state.view
    before = cluster.state.view_at(now.offset - 3)
    for quotas, components in product((now.quotas, before.quotas), FILTERS):
        wanted = quota.QuotaFilter(components, strict)
        expected = {entity: values for entity, values in quotas.items() if wanted.finds(entity)}
        found = [(entity, values) for entity, values in quota_candidates(quotas, wanted) if wanted.finds(entity)]
        assert dict(found) == expected
        assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("parts", "strict", "candidates"),
    [
        ({quota.USER: "user-123456"}, False, 5),
        ({quota.USER: "user-123456", quota.CLIENT_ID: "reader"}, False, 5),
        ({quota.USER: "user-123456", quota.CLIENT_ID: "reader"}, True, 1),
        ({quota.USER: "nobody"}, False, 0),
        ({quota.CLIENT_ID: "nothing"}, False, 0),
        ({quota.USER: None}, False, 1),
        ({quota.IP: "10.0.0.1"}, True, 0),
    ],
)
def test_nobody_looks_through_a_million(parts: dict[str, str | None], strict: bool, candidates: int) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    wanted = quota.QuotaFilter(quota.filter_for_entity(quota.QuotaEntity.of(parts)).components, strict)
    assert len(list(quota_candidates(cluster.state.view.quotas, wanted))) == candidates


def test_what_is_gone_through_may_change_meanwhile(cluster: EmbeddedCluster) -> None:
    state = cluster.state
    for components in ((), (quota.QuotaMatch(quota.USER, quota.Match.EXACT, "user-000005"),)):
        walk = iter(quota_candidates(state.view.quotas, quota.QuotaFilter(components)))
        next(walk)
        for number in range(3):
            state.alter_quota(
                quota.QuotaEntity.of({quota.USER: "user-000005", quota.CLIENT_ID: f"{len(components)} {number}"}),
                {"x": 1},
            )
        assert len(dict(walk)) > 3
