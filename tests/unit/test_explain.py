"""Tests of the statement `explain`: its answers, the conditions that brokers do not report, and hints about common
mistakes.
"""

from datetime import UTC, datetime

import pytest

from console.answers.explain import is_denied
from console.answers.explain_acl import explain_acl, explained_lines
from console.answers.queries import answer
from console.answers.results import render, rows_of, to_data
from console.language.errors import CommandError, ParseError
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.verbs.explain import Explain
from console.model.authorizer import address_as_compared
from console.model.failure import Failure
from console.model.snapshot import Snapshot, with_acls, with_failures
from tests.support import samples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPEN = (
    "No ACL is on the resource: allowed where the brokers have allow.everyone.if.no.acl.found=true, which they do not "
    "say."
)


def denied_unless(who: str) -> str:
    return f"Denied unless {who} is a super user, which brokers do not say."


def explained(text: str, *acls: str) -> list[str]:
    """Return the lines that a statement prints about these ACLs, without the headings, with one space between cells."""
    bindings = samples.acls_of(*acls)
    (statement,) = parse(f"explain {text}")
    assert isinstance(statement, Explain)
    lines = render(answer(statement, with_acls(Snapshot(), bindings, NOW))).splitlines()
    return [" ".join(line.split()) for line in (lines[0], *lines[2:])]


def test_allowed_by_an_acl_and_without_any_the_brokers_settings_decide() -> None:
    assert explained("User:alice READ on topic orders", "allow User:alice READ on topic ord prefixed") == [
        "User:alice on topic orders, from anywhere",
        "READ allowed allow User:alice READ on topic ord prefixed",
    ]
    told = explained("User:alice READ on group billing", "allow User:alice READ on topic billing")
    assert told[1:] == ["READ denied no ACL is on it", denied_unless("User:alice"), OPEN]
    told = explained("User:alice READ on group billing", "allow User:bob READ on group b prefixed")
    assert told[1:] == ["READ denied no ACL allows it", denied_unless("User:alice")]


def test_a_deny_overrides_and_all_or_one_operation_implies_others() -> None:
    acls = "allow User:alice READ on topic orders", "allow User:* READ on topic *", "deny User:alice ALL on topic *"
    assert explained("User:alice READ on topic orders from 10.0.0.1", *acls) == [
        "User:alice on topic orders, from 10.0.0.1",
        "READ denied deny User:alice ALL on topic *",
        "The deny overrides allow User:alice READ on topic orders and 1 other.",
        denied_unless("User:alice"),
    ]
    acls = "allow User:alice WRITE on topic orders", "deny User:alice READ on topic orders"
    assert explained("User:alice READ,DESCRIBE on topic orders", *acls)[1:] == [
        "READ denied deny User:alice READ on topic orders",
        "DESCRIBE allowed allow User:alice WRITE on topic orders",
        denied_unless("User:alice"),
    ]
    lines = explained("User:ops ALL on cluster", "allow User:ops ALTER_CONFIGS on cluster")
    answers = {line.split()[0]: line.split()[1] for line in lines[1:8]}
    assert answers == dict.fromkeys(
        ("CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"), "denied"
    ) | dict.fromkeys(("DESCRIBE_CONFIGS", "ALTER_CONFIGS"), "allowed")


def test_addresses_with_another_answer_are_listed() -> None:
    acls = "allow User:alice READ on topic a", "deny User:* READ on topic a from 10.0.0.9"
    assert explained("User:alice READ on topic a", *acls)[1:3] == [
        "READ elsewhere allowed allow User:alice READ on topic a",
        "READ 10.0.0.9 denied deny User:* READ on topic a from 10.0.0.9",
    ]
    many = [f"deny User:* READ on topic a from 10.0.1.{n}" for n in range(25)]
    assert explained("User:alice READ on topic a", acls[0], *many)[-1].startswith(
        "5 more addresses with another answer"
    )


@pytest.mark.parametrize(
    ("asked", "there", "hint"),
    [
        (
            "User:a CREATE on topic x",
            "allow User:a CREATE on cluster",
            "CREATE on the cluster allows to create any topic",
        ),
        (
            "User:a IDEMPOTENT_WRITE on cluster",
            "allow User:a WRITE on topic x",
            "only WRITE on some topic, which is allow",
        ),
        ("User:a IDEMPOTENT_WRITE on cluster", "allow User:b WRITE on topic x", "which is allowed on none."),
        ("User:alice READ on topic x", "allow User:Alice READ on topic x", "upper and lower case count"),
        (
            "User:a READ on topic x",
            "allow User:a READ on topic x from ::1",
            "brokers write that address 0:0:0:0:0:0:0:1",
        ),
        (
            "User:a READ on topic x",
            "allow User:a READ on topic x from web1",
            "it is not an address as brokers write it",
        ),
    ],
)
def test_what_is_overlooked(asked: str, there: str, hint: str) -> None:
    assert any(hint in line for line in explained(asked, there))


def test_as_data() -> None:
    bindings = [edit.acl for edit in to_edits(parse("deny User:* READ on topic * from 10.0.0.1")[0], Snapshot())]
    snapshot = with_acls(Snapshot(), bindings, NOW)
    (statement,) = parse("explain User:a READ on topic x from ::ffff:10.0.0.1")
    assert isinstance(statement, Explain)
    result = answer(statement, snapshot)
    assert is_denied([result])
    assert rows_of(result) == [
        {
            "principal": "User:a",
            "host": "10.0.0.1",
            "operation": "READ",
            "resource_type": "TOPIC",
            "resource_name": "x",
            "allowed": False,
            "by": [
                {
                    "resource_type": "TOPIC",
                    "resource_name": "*",
                    "pattern_type": "LITERAL",
                    "principal": "User:*",
                    "host": "10.0.0.1",
                    "operation": "READ",
                    "permission": "DENY",
                }
            ],
            "overridden": [],
            "acls_on_resource": True,
            "unless": ["super.users"],
        }
    ]
    assert to_data(result)["errors"] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("User:a WRITE on group g", "Kafka never checks WRITE on a group"),
        ("User:a READ on topic x from web1", "'web1' is not an address"),
    ],
)
def test_what_no_broker_is_asked(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        explained(text)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (Failure("SECURITY_DISABLED", ""), "the brokers have no authorizer: everyone may do everything"),
        (Failure("CLUSTER_AUTHORIZATION_FAILED", ""), "the ACLs could not be read: CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_acls_that_can_not_be_read(failure: Failure, message: str) -> None:
    (statement,) = parse("explain User:a READ on topic x")
    assert isinstance(statement, Explain)
    with pytest.raises(CommandError, match=message):
        answer(statement, with_failures(Snapshot(), "acls", [("", failure)]))


@pytest.mark.parametrize(
    "text", ["User:a READ on topic *", "User:a UNKNOWN(17) on topic x", "User:a on topic x", "User:a READ on topic"]
)
def test_what_is_not_understood(text: str) -> None:
    with pytest.raises(ParseError):
        parse(f"explain {text}")


def test_a_principal_without_a_type_is_explained_and_told() -> None:
    """An explanation says if an ACL on the resource has a principal without a type, because brokers then fail to
    authorize requests. Brokers before 3.9 may have such ACLs.
    """
    acls = with_acls(Snapshot(), [samples.acl("alice"), samples.acl("User:bob")], NOW)

    def notes(text: str) -> list[str]:
        (statement,) = parse(text)
        assert isinstance(statement, Explain)
        return render(answer(statement, acls)).splitlines()

    told = "An ACL on it is of alice, which has no type: for all but super users brokers fail to decide. Revoke it."
    assert told in notes("explain User:bob READ on topic orders")
    assert told not in notes("explain User:bob READ on topic others")
    assert "alice has no type, and every client's principal has one: User:alice?" in notes(
        "explain alice READ on topic others"
    )


def test_addresses_are_written_as_java_writes_them() -> None:
    """kac writes addresses as Java's InetAddress.getHostAddress does; tests/broker/test_rights.py compares them with
    Java.
    """
    written = {
        "10.0.0.1": "10.0.0.1",
        "::1": "0:0:0:0:0:0:0:1",
        "2001:DB8::00ab": "2001:db8:0:0:0:0:0:ab",
        "::ffff:10.0.0.1": "10.0.0.1",
        "web1": None,
        "*": None,
    }
    assert {text: address_as_compared(text) for text in written} == written


def row_lines(acl: str, *others: str) -> list[str]:
    """Return the lines that explain an ACL beside other ACLs, without the last line."""
    bindings = samples.acls_of(acl, *others)
    found = explain_acl(bindings[0], with_acls(Snapshot(), bindings, NOW))
    return [f"{label}: {text}" for label, text in explained_lines(found)][:-1]


def test_an_acl_among_those_that_override_it() -> None:
    assert row_lines(
        "allow User:alice READ on topic pay prefixed",
        "allow User:alice READ on topic pay.a",
        "allow User:* ALL on topic p prefixed",
        "deny User:* READ on topic pay.b from 10.0.0.1",
        "deny User:bob READ on topic *",
        "deny User:alice WRITE on topic *",
    ) == [
        "grants: READ, DESCRIBE to User:alice, from anywhere",
        "in part by: deny User:* READ on topic pay.b from 10.0.0.1",
        "so does: allow User:* ALL on topic p prefixed",
        "without it: nothing changes",
    ]
    assert row_lines("allow User:alice READ on topic a", "deny User:* ALL on topic *") == [
        "grants: READ, DESCRIBE to User:alice, from anywhere",
        "overridden by: deny User:* ALL on topic *",
        "without it: nothing changes",
    ]


def test_a_deny_among_those_that_it_overrides() -> None:
    assert row_lines(
        "deny User:alice READ on topic pay prefixed",
        "allow User:alice READ on topic pay.a",
        "allow User:* READ on topic *",
        "allow User:bob READ on topic pay.a",
    ) == [
        "denies: READ for User:alice, from anywhere",
        "overrides in part: allow User:* READ on topic *",
        "overrides in part: allow User:alice READ on topic pay.a",
        "without it: User:alice gains READ on topics that begin with pay",
    ]
    assert row_lines("deny User:alice READ on topic a", "allow User:bob READ on topic a")[1:] == [
        "overrides: no ACL: what it denies, none allows",
        "without it: nothing changes",
    ]


def test_an_acl_that_never_matches() -> None:
    assert row_lines("allow User:alice READ on topic a from ::1", "allow User:b READ on topic a")[0] == (
        "grants: READ, DESCRIBE to User:alice, from ::1: no broker writes an address like that, so it never matches"
    )
