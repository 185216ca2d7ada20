"""ANY and MATCH of `list acls` find what the brokers' own filters find; taking away is never so broad."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import pytest

from console.admin import changes
from console.admin.acls import describe_acls
from console.admin.link import Link
from console.answers.queries import answer
from console.answers.results import Table
from console.language.grammar import parse
from console.language.quoting import quote
from console.model.acl import Acl, AclFilter
from console.model.changes import CreateAcls, DeleteAcls, Status
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.snapshot import Snapshot

NAMES = ("a", "ab", "abc", "b", "*", "a*", "[a]")
ANY, MATCH, LITERAL, PREFIXED = (PatternType(number) for number in (1, 2, 3, 4))
TOPIC, GROUP = AclResourceType(2), AclResourceType(3)


@pytest.fixture
async def bindings(link: Link, name: str) -> AsyncIterator[tuple[Acl, ...]]:
    made = tuple(
        Acl(type_, resource, pattern, f"User:{name}", "*", AclOperation(operation), Permission(permission))
        for (type_, resource, pattern), operation, permission in zip(
            itertools.product((TOPIC, GROUP), NAMES, (LITERAL, PREFIXED)),
            itertools.cycle((2, 3, 8)),
            itertools.cycle((2, 3)),
            strict=False,
        )
    )
    outcomes = await changes.send(link, CreateAcls(made), validate_only=False)
    assert all(outcome.ok for outcome in outcomes), outcomes
    yield made
    await changes.send(link, DeleteAcls(made), validate_only=False)


async def test_any_and_match_are_the_brokers_own(link: Link, name: str, bindings: tuple[Acl, ...]) -> None:
    snapshot = Snapshot(acls=tuple(await describe_acls(link)))
    found = set()
    for type_, resource, pattern, operation in itertools.product(
        (AclResourceType(1), TOPIC),
        (None, "a", "abc", "abcd", "*", "a*", "[a]"),
        (ANY, MATCH, LITERAL, PREFIXED),
        (AclOperation(1), AclOperation(3)),
    ):
        theirs = await describe_acls(link, AclFilter(type_, resource, pattern, f"User:{name}", None, operation))
        # Globs that a name looks like are quoted: it is a name.
        wanted = "" if resource is None else f"resource_name='{resource}'"
        filters = f"resource_type={type_.name} pattern_type={pattern.name} operation={operation.name} {wanted}"
        (statement,) = parse(f"list acls principal={quote(f'User:{name}')} {filters}")
        table = answer(statement, snapshot)  # type: ignore[arg-type]
        assert isinstance(table, Table)
        ours = {(row.data["resource_type"], row.data["resource_name"], row.data["pattern_type"]) for row in table.rows}
        assert ours == {(acl.resource_type.name, acl.resource_name, acl.pattern_type.name) for acl in theirs}, filters
        found.add((pattern.name, len(ours) > 1))
    assert {("ANY", True), ("MATCH", True)} <= found


@pytest.mark.parametrize(
    "broad",
    [
        {"pattern_type": ANY},
        {"pattern_type": MATCH},
        {"operation": AclOperation(1)},
        {"permission": Permission(1)},
        {"resource_type": AclResourceType(1)},
        {"resource_name": None},
        {"host": None},
    ],
    ids=lambda broad: next(iter(broad)),
)
async def test_a_filter_is_never_sent_for_a_binding(
    link: Link, bindings: tuple[Acl, ...], broad: dict[str, object]
) -> None:
    before = set(await describe_acls(link))
    wanted = bindings[0]._replace(**broad)  # type: ignore[arg-type]
    (outcome,) = await changes.send(link, DeleteAcls((wanted,)), validate_only=False)
    assert outcome.status is Status.FAILED
    assert outcome.failure is not None
    assert "would take away other ACLs too" in outcome.failure.message
    assert set(await describe_acls(link)) == before
