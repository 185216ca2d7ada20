"""`kac acls --explain` and `explain` in a script, on embedded clusters: what is printed, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO

import pytest

from console.cli.main import BY_NAME, command_parser
from console.cli.noun_command import NounCommand
from console.cli.opening import client_of, context_of
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from tests.support.older_brokers import like


@pytest.fixture(scope="module", params=["4.4", "3.9", "2.8"])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    with run_in_thread(like(request.param, brokers=1)) as cluster:
        address = cluster.call(lambda each: each.bootstrap)
        kac(address, "--add --deny-principal User:bob --operation WRITE --topic orders --deny-host 10.0.0.1")
        kac(address, "--add --allow-principal User:bob --operation WRITE --topic ord --resource-pattern-type prefixed")
        yield address


def kac(bootstrap: str, line: str) -> tuple[int, str, str]:
    """`kac acls`: exit code, output, complaints."""
    out, err = StringIO(), StringIO()
    command = BY_NAME["acls"]
    options = command_parser(command).parse_args(["-b", bootstrap, *line.split()])
    with redirect_stderr(err):
        code = NounCommand(BY_NAME["acls"].noun(), options, out=out, err=err).run(
            lambda: context_of(options), client_of
        )
    return code, out.getvalue(), err.getvalue()


def test_an_answer_in_text_and_its_exit_code(bootstrap: str) -> None:
    code, out, err = kac(bootstrap, "--explain User:bob WRITE,DESCRIBE topic orders from 10.0.0.1 --exit-code")
    assert (code, err) == (3, "")
    assert [line.split() for line in out.splitlines()[:4]] == [
        ["User:bob", "on", "topic", "orders,", "from", "10.0.0.1"],
        ["Operation", "Answer", "By"],
        ["WRITE", "denied", "deny", "User:bob", "WRITE", "on", "topic", "orders", "from", "10.0.0.1"],
        ["DESCRIBE", "allowed", "allow", "User:bob", "WRITE", "on", "topic", "ord", "prefixed"],
    ]
    assert kac(bootstrap, "--explain User:bob WRITE on topic orders from 10.0.0.2 --exit-code")[0] == 0
    # Allowed from anywhere else is not allowed from everywhere.
    assert kac(bootstrap, "--explain User:bob WRITE topic orders --exit-code")[0] == 3
    assert kac(bootstrap, "--explain User:bob WRITE topic orders")[0] == 0


def test_an_answer_as_json(bootstrap: str) -> None:
    code, out, _ = kac(bootstrap, "--explain User:x READ group g --output json")
    (row,) = json.loads(out)["explanation"]
    assert code == 0
    assert (row["allowed"], row["by"], row["unless"]) == (False, [], ["super.users", "allow.everyone.if.no.acl.found"])


@pytest.mark.parametrize(
    ("line", "code", "complaint"),
    [
        ("--explain User:x READ", 2, "--explain needs PRINCIPAL OPERATION RESOURCE"),
        ("--explain User:x READ grup g", 2, "'grup' is no type of resource"),
        ("--explain User:x READ topic", 2, "the NAME of one topic is missing"),
        ("--explain User:x READ topic t --remove", 2, "remove and explain are two commands"),
        ("--list --exit-code", 2, "--exit-code needs --explain"),
        ("--explain User:x WRITE group g", 1, "Kafka never checks WRITE on a group"),
        ("--explain User:x READ group g from web1", 1, "'web1' is not an address"),
    ],
)
def test_what_is_not_answered(bootstrap: str, line: str, code: int, complaint: str) -> None:
    found, out, err = kac(bootstrap, line)
    assert (found, out) == (code, "")
    assert complaint in err


def test_a_principal_without_a_type_is_answered_with_what_may_be_meant(bootstrap: str) -> None:
    """Some releases take ACLs of such principals, so that they can be asked for, too."""
    code, out, err = kac(bootstrap, "--explain x READ topic t")
    assert (code, err) == (0, "")
    assert out.startswith("x on topic t, ")
    assert "User:x?" in out


def test_without_an_authorizer() -> None:
    with run_in_thread(ClusterSpec(brokers=1, authorizer=False)) as cluster:
        address = cluster.call(lambda each: each.bootstrap)
        assert (
            "the brokers have no authorizer: everyone may do everything"
            in kac(address, "--explain User:x READ topic t")[2]
        )
