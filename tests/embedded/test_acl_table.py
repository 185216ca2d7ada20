"""Finding ACLs by an index finds what looking at each of them would."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.embedded.cluster import EmbeddedCluster
from console.embedded.rights.acl_filters import found, matches
from console.embedded.scenarios import large
from console.embedded.scenarios.large_rights import LargeAcls
from console.embedded.spec import ClusterSpec
from console.embedded.state.acl_table import acls_of, acls_on, pattern_of
from console.embedded.state.cluster_state import ClusterState
from console.embedded.versions.release import release
from console.model.acl import Acl, AclFilter
from console.model.codes import AclResourceType, PatternType
from tests.embedded.some_acls import acls, filters

changes = st.lists(st.tuples(st.sampled_from(("add", "remove", "remove made")), acls), max_size=12)


def after(steps: Sequence[tuple[str, Acl]], *, made: int) -> ClusterState:
    """A state with so many ACLs that a source makes, after these changes."""
    state = ClusterState("acls", release("4.3"))
    state.tables.acls.source = LargeAcls(made) if made else None
    for number, (step, acl) in enumerate(steps):
        if step == "add":
            state.add_acl(acl)
        elif step == "remove":
            state.remove_acl(acl)
        elif made:
            state.remove_acl(list(LargeAcls(made))[number % made])
    return state


@given(steps=changes, made=st.sampled_from((0, 7)), wanted=filters, back=st.integers(0, 6))
def test_filters_find_what_matches(steps: Sequence[tuple[str, Acl]], made: int, wanted: AclFilter, back: int) -> None:
    state = after(steps, made=made)
    for view in (state.view, state.view_at(max(state.log.end - back, 0))):
        result = list(found(wanted, view.acls))
        assert sorted(result) == sorted(acl for acl in view.acls if matches(wanted, acl))
        assert len(result) == len(set(result))


@given(steps=changes, made=st.sampled_from((0, 7)), one=acls, back=st.integers(0, 6))
def test_what_is_found_by_whom_and_by_where(steps: Sequence[tuple[str, Acl]], made: int, one: Acl, back: int) -> None:
    state = after(steps, made=made)
    for view in (state.view, state.view_at(max(state.log.end - back, 0))):
        assert set(acls_of(view.acls, one.principal)) == {acl for acl in view.acls if acl.principal == one.principal}
        on = pattern_of(one)
        assert set(acls_on(view.acls, on)) == {acl for acl in view.acls if pattern_of(acl) == on}


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
    assert len(list(found(wanted, cluster.state.view.acls))) == size


def test_what_is_gone_through_may_change_meanwhile() -> None:
    state = after([], made=7)
    walk = found(AclFilter(), state.view.acls)
    first = next(walk)
    state.remove_acl(first)
    state.add_acl(first._replace(principal="User:somebody"))
    assert len(list(walk)) == 6
