"""What a list shows can be named by statements, by the options of commands, and by Kafka's own tools in a runbook."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.quoting import quote, shell_text
from console.language.statements import Access, DeleteGroupOffsets, Explain, Name, ResetOffsets, SkipRecords
from console.language.unparse import unparse
from console.model.acl import CLUSTER_NAME, Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.snapshot import Snapshot
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.edits import AddAcl, RemoveAcl
from console.plan.plan import EMPTY, stage
from console.present.acls import ACLS, AclRow

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["test", "User:a", "User:", ":a", "", "*", "<default>", "prefixed", "from", "a b", "'", '"', "unknown(9)", "@x"]
)
LITERAL, PREFIXED = PatternType.parse("LITERAL"), PatternType.parse("PREFIXED")
PATTERNS = st.sampled_from([LITERAL, PREFIXED])
PERMISSIONS = st.sampled_from(["ALLOW", "DENY"]).map(Permission.parse)
OPERATIONS = st.sampled_from([*set(AclOperation.NAMES) - {1}, 16, 99, 127]).map(AclOperation)
TYPES = st.sampled_from([*set(AclResourceType.NAMES) - {1, 4}, 8, 90]).map(AclResourceType)
CLUSTER = AclResourceType.parse("CLUSTER")
ROWS = st.builds(Acl, TYPES, TEXT, PATTERNS, TEXT, TEXT, OPERATIONS, PERMISSIONS) | st.builds(
    Acl, st.just(CLUSTER), st.just(CLUSTER_NAME), PATTERNS, TEXT, TEXT, OPERATIONS, PERMISSIONS
)


@given(ROWS)
def test_every_acl_can_be_taken_away_by_its_statement(acl: Acl) -> None:
    """The plan's own script, and what a row shows typed again."""
    text = command_of(RemoveAcl(acl))
    (statement,) = parse(text)
    assert isinstance(statement, Access)
    assert to_edits(statement, Snapshot()) == (RemoveAcl(acl),)
    assert unparse(statement) == text
    shown = ACLS["resource"].data(AclRow(acl, "", False))
    where = "cluster" if acl.resource_type == CLUSTER else f"{_word(acl)} {quote(acl.resource_name)}"
    typed = (
        f"revoke {str(shown['permission']).lower()} {quote(str(shown['principal']))} {shown['operation']} on {where}"
        f"{' prefixed' if shown['pattern_type'] == 'PREFIXED' else ''} from {quote(str(shown['host']))}"
    )
    (again,) = parse(typed)
    assert isinstance(again, Access)
    assert to_edits(again, Snapshot()) == (RemoveAcl(acl),)


def _word(acl: Acl) -> str:
    return acl.resource_type.name.lower().replace("_", "-")


@given(ROWS)
def test_every_acl_can_be_explained_if_brokers_check_it(acl: Acl) -> None:
    if not acl.resource_type.known or not acl.operation.known or not acl.resource_name:
        return
    where = "cluster" if acl.resource_type == CLUSTER else f"{_word(acl)} '{_escaped(acl.resource_name)}'"
    (statement,) = parse(f"explain {quote(acl.principal)} {acl.operation.name} on {where}")
    assert isinstance(statement, Explain)
    assert statement.principal == acl.principal


def _escaped(name: str) -> str:
    return "x" if "'" in name or not name.isprintable() else name


@given(ROWS)
def test_a_runbook_has_a_command_that_names_it_or_says_why_not(acl: Acl) -> None:
    snapshot = Snapshot(acls=(acl,), read_at={"acls": datetime(2026, 1, 1, tzinfo=UTC)})
    staged = stage(EMPTY, [RemoveAcl(acl)], snapshot)
    assert not staged.refused
    (command,) = runbook(diff(staged.plan, snapshot), ())
    if not command.words:
        assert command.note.startswith("kafka-acls can't name this ACL: ")
        assert shell_text([command]).startswith("#")
        return
    assert ":" in acl.principal
    assert acl.operation.known
    line = shell_text([command])
    if line.startswith("#"):
        assert "\0" in "".join(command.words) or any(word.endswith("\n") for word in command.words)
        return
    words = dict(zip(command.words, command.words[1:], strict=False))
    assert words.get("--resource-pattern-type") == acl.pattern_type.name.lower()
    assert acl.principal in " ".join(command.words)
    if all(word.isprintable() for word in command.words):
        assert shlex.split(line.replace("\\\n", " ")) == [*command.words]


@pytest.mark.parametrize(
    "text",
    [
        "allow test READ on topic orders",
        "deny :a READ on group g",
        "allow User:a UNKNOWN(17) on topic orders",
        "allow User:a READ on unknown(9) x",
        "allow User:a READ on topic ''",
        "allow User:a READ on topic orders from ''",
        "revoke allow User:a UNKNOWN(2) on topic orders",
        "revoke allow User:a ANY on topic orders",
        "revoke allow User:a READ on unknown(2) x",
        "revoke allow User:a READ on unknown(x) x",
    ],
)
def test_a_new_acl_is_as_brokers_take_it(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_what_was_taken_away_is_not_put_back_where_brokers_refuse_it() -> None:
    acl = Acl(AclResourceType(2), "orders", LITERAL, "test", "*", AclOperation.parse("READ"), Permission.parse("ALLOW"))
    assert stage(EMPTY, [AddAcl(acl)], Snapshot()).refused


@given(st.sampled_from(["''", '""']))
def test_the_group_with_the_empty_name(name: str) -> None:
    """Brokers take its commits, list it and delete it."""
    assert parse(f"delete group {name}") == (DeleteGroupOffsets(Name("")),)
    (reset,) = parse(f"reset group {name} topic t to earliest")
    assert isinstance(reset, ResetOffsets)
    assert (reset.group, parse(unparse(reset))) == (Name(""), (reset,))
    assert isinstance(parse(f"skip group {name} topic t partition 0")[0], SkipRecords)
    with pytest.raises(ParseError):
        parse(f"clone group a to {name}")
