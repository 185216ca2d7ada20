"""Finding ACLs by an index finds what looking at each of them would."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.embedded.acls import acls_of, acls_on, matches, matching_acls, pattern_of
from console.embedded.brokers import EmbeddedCluster
from console.embedded.large_tables import LargeAcls
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec, release
from console.embedded.state import ClusterState, View
from console.model.acl import Acl, AclFilter
from console.model.codes import AclResourceType, PatternType
from tests.embedded.some_acls import MADE, POOL, filters

steps = st.lists(st.tuples(st.booleans(), st.sampled_from(POOL)), max_size=20)


def views_after(changes: Sequence[tuple[bool, Acl]], *, made: bool) -> list[View]:
    """What is known after each of these additions and removals, from the last to the first."""
    state = ClusterState("acls", release("4.4"))
    state.tables.acls.source = LargeAcls(MADE) if made else None
    for is_added, acl in changes:
        if is_added:
            state.add_acl(acl)
        else:
            state.remove("acls", acl)
    return [state.view_at(offset) for offset in range(state.log.end, -1, -1)]


@given(changes=steps, made=st.booleans(), wanted=st.lists(filters, min_size=8, max_size=8))
def test_filters_find_what_matches(changes: Sequence[tuple[bool, Acl]], made: bool, wanted: list[AclFilter]) -> None:
    for view in views_after(changes, made=made):
        for each in wanted:
            assert sorted(matching_acls(each, view.acls)) == sorted(acl for acl in view.acls if matches(each, acl))


@given(changes=steps, made=st.booleans())
def test_what_is_found_by_whom_and_by_where(changes: Sequence[tuple[bool, Acl]], made: bool) -> None:
    for view in views_after(changes, made=made):
        for principal in {acl.principal for acl in POOL}:
            his = [acl for acl in view.acls if acl.principal == principal]
            assert sorted(acls_of(view.acls, principal)) == sorted(his)
        for on in set(map(pattern_of, POOL)):
            assert sorted(acls_on(view.acls, on)) == sorted(acl for acl in view.acls if pattern_of(acl) == on)


@settings(deadline=None)
@given(number=st.integers(0, 99_999))
def test_every_one_of_the_large_scenario_is_found(number: int) -> None:
    source = LargeAcls(large.ACLS)
    acl = source._at(number)
    assert acl in set(source.of_principal(acl.principal))
    assert acl in set(source.on(pattern_of(acl)))


@pytest.mark.parametrize(
    ("wanted", "size"),
    [
        (AclFilter(principal="User:user-000001"), 2),
        (AclFilter(AclResourceType(2), "team-002.orders", PatternType(2)), 200),
        (AclFilter(resource_name="group-000001"), 1),
        (AclFilter(resource_name="nothing"), 0),
    ],
)
def test_nobody_looks_at_100_000(monkeypatch: pytest.MonkeyPatch, wanted: AclFilter, size: int) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario="large"))
    monkeypatch.setattr(LargeAcls, "__iter__", None)
    monkeypatch.setattr(LargeAcls, "items", None)
    assert len(list(matching_acls(wanted, cluster.state.view.acls))) == size


def test_what_is_gone_through_may_change_meanwhile() -> None:
    state = ClusterState("acls", release("4.4"))
    state.tables.acls.source = LargeAcls(MADE)
    walk = matching_acls(AclFilter(), state.view.acls)
    first = next(walk)
    state.remove("acls", first)
    state.add_acl(first._replace(principal="User:somebody"))
    assert len(list(walk)) == MADE - 1
