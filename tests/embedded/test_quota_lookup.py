"""Looking quotas up quickly loses none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.cluster import EmbeddedCluster
from console.embedded.proposals.quota_filters import finds
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec
from console.embedded.state.quota_lookup import candidates
from console.model.quota import CLIENT_ID, IP, USER, Match, QuotaEntity, QuotaFilter, QuotaMatch

NAMES = st.sampled_from(("user-000000", "user-000003", "user-999999", "loader", "own", None))
COMPONENTS = st.lists(
    st.builds(
        lambda type_, match, name: QuotaMatch(type_, match, name or "x" if match is Match.EXACT else None),
        st.sampled_from((USER, CLIENT_ID, IP)),
        st.sampled_from(tuple(Match)),
        NAMES,
    ),
    max_size=2,
    unique_by=lambda component: component.type,
)


@pytest.fixture(scope="module")
def cluster() -> EmbeddedCluster:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "QUOTA_ENTITIES", 40)
        cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    state = cluster.state
    for parts in ({USER: "own"}, {USER: "user-000003", CLIENT_ID: "own"}, {USER: "user-000000"}, {IP: None}):
        state.alter_quota(QuotaEntity.of(parts), {"request_percentage": 3.0})
    state.remove("quotas", QuotaEntity.of({USER: "user-000003"}))
    return cluster


@given(components=COMPONENTS, strict=st.booleans())
def test_candidates_are_all_that_is_found(cluster: EmbeddedCluster, components: list[QuotaMatch], strict: bool) -> None:
    wanted = QuotaFilter(tuple(components), strict)
    quotas = cluster.state.view.quotas
    expected = {entity: values for entity, values in quotas.items() if finds(wanted, entity)}
    assert {entity: values for entity, values in candidates(quotas, wanted) if finds(wanted, entity)} == expected


def test_a_user_is_found_without_a_look_at_the_others() -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    wanted = QuotaFilter((QuotaMatch(USER, Match.EXACT, "user-123456"),))
    assert len(list(candidates(cluster.state.view.quotas, wanted))) == 5
