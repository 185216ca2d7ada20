"""Tests of `kac topics` and the commands of the other nouns: their options become statements, and results are printed
in each format.
"""

import argparse
import csv
import io
import json
import re
import shlex
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from console.answers.data_forms import FORMS, write
from console.answers.results import Column, Detail, Row, Table
from console.cli.main import BY_NAME, COMMANDS, command_parser, run
from console.cli.noun import Found, OptionsError
from console.language.filters import glob_test
from console.language.grammar import parse
from console.language.quoting import quote
from console.language.statements import EditStatement, QueryStatement
from console.language.verbs.access import Access
from console.language.verbs.create import Create
from console.language.verbs.delete import Delete
from console.model.patterns import globs_of

NOUNS = [each.name for each in COMMANDS if each.is_noun]
SAID = [
    ("topics", "--list", ["list topics"]),
    ("topics", "", ["list topics"]),
    ("topics", "--list --topic svc-* --exclude-internal", ["list topics svc-* internal=false"]),
    ("topics", "--describe --topic a", ["describe topic a"]),
    ("topics", "--describe --under-replicated-partitions", ["list topics under_replicated=[1-9]*"]),
    (
        "topics",
        "--create --topic a --partitions 3 --replication-factor 2 --config retention.ms=1d --config cleanup.policy=a,b",
        ["create topic a partitions=3 replication=2 retention.ms=1d cleanup.policy=a,b"],
    ),
    ("topics", "--create --topic a", ["create topic a timeout=30s"]),
    ("topics", "--create --topic a --replica-assignment 1:2,2:1", ["create topic a assign=1:2,2:1"]),
    ("topics", "--alter --topic a --partitions 6 --config x=1", ["grow topic a partitions=6", "set topic a x=1"]),
    ("topics", "--delete --topic 'group'", ["delete topic 'group'"]),
    ("topics", "--list --topic a --topic svc-*", ["list topics a svc-*"]),
    ("topics", "--describe --topic a --topic b --topic a", ["describe topic a", "describe topic b"]),
    ("topics", "--describe --topic a --topic b-*", ["list topics a b-*"]),
    ("topics", "--delete --topic a --topic b", ["delete topic a", "delete topic b"]),
    ("topics", "--alter --topic a --topic b --config x=1", ["set topic a x=1", "set topic b x=1"]),
    ("quotas", "--list --user <default> --client-defaults", ["list quotas user='<default>' client=<default>"]),
    ("quotas", "--describe --user alice --client c", ["show user alice client c"]),
    ("quotas", "--effective --user alice --client c", ["effective user alice client c"]),
    (
        "quotas",
        "--alter --user-defaults --add-config producer_byte_rate=1MB/s,request_percentage=5 --delete-config 'a, b'",
        ["set user <default> producer_byte_rate=1MB/s request_percentage=5", "unset user <default> a b"],
    ),
    (
        "quotas",
        "--alter --ip 10.0.0.1 --add connection_creation_rate=5",
        ["set ip 10.0.0.1 connection_creation_rate=5"],
    ),
    (
        "acls",
        "--remove --allow-principal User:a --operation Alter --cluster --resource-pattern-type prefixed",
        ["revoke allow User:a ALTER on cluster prefixed"],
    ),
    (
        "acls",
        "--list --user-principal User:a --delegation-token t",
        [
            "list acls resource_type=DELEGATION_TOKEN resource_name=t",
            "list acls resource_type=USER resource_name=User:a",
        ],
    ),
    ("brokers", "", ["list brokers"]),
    ("brokers", "--describe --broker 2", ["describe broker 2"]),
    ("brokers", "--alter --broker-defaults --add-config a=[b,c]", ["set broker <default> a=b,c"]),
    ("groups", "--list --state Stable", ["list groups state=Stable"]),
    ("groups", "--describe --group g", ["describe group g"]),
    ("groups", "--describe --group g --group 'h i'", ["describe group g", "describe group 'h i'"]),
    (
        "groups",
        "--list --state stable,Empty --type consumer",
        ["list groups state=Stable type=consumer", "list groups state=Empty type=consumer"],
    ),
    ("groups", "--list --state --type", ["list groups"]),
    ("share-groups", "--list --state empty", ["list groups state=Empty type=share"]),
    (
        "groups",
        "--reset-offsets --group g --topic a:0,1 --topic b --to-earliest --execute",
        [
            "reset group g topic a partition 0 to earliest",
            "reset group g topic a partition 1 to earliest",
            "reset group g topic b to earliest",
        ],
    ),
    ("groups", "--reset-offsets --group g --all-topics --shift-by -5 --execute", ["reset group g to by -5"]),
    (
        "groups",
        "--reset-offsets --group g --all-topics --to-datetime 2026-01-31T08:00:00.000+02:00 --execute",
        ["reset group g to time 2026-01-31T06:00:00.000Z"],
    ),
    ("groups", "--reset-offsets --group g --from-file o.csv --execute", ["reset group g to file o.csv"]),
    ("groups", "--delete --group g --group h", ["delete group g", "delete group h"]),
    ("groups", "--delete-offsets --group g --topic t:3", ["delete group g topic t partition 3"]),
    ("groups", "--delete --group g --topic t", ["delete group g topic t"]),
    (
        "topics",
        "--election-type PREFERRED --topic 'a b' --partition 3",
        ["elect preferred topic 'a b' partition 3"],
    ),
    ("topics", "--election-type preferred --all-topic-partitions", ["elect preferred all"]),
    ("brokers", "unregister --id 4", ["unregister broker 4"]),
    ("brokers", "list-endpoints", ["list brokers"]),
    (
        "transactions",
        "abort --topic t --partition 3 --producer-id 9",
        ["abort transaction topic t partition 3 producer 9"],
    ),
    ("scram", "--list", ["list scram"]),
    ("scram", "--describe --user alice", ["list scram user=alice"]),
    (
        "scram",
        "--create --user alice --mechanism scram-sha-512 --iterations 8192 --password-file f",
        ["scram set alice SCRAM-SHA-512 iterations=8192 password=@f"],
    ),
    ("scram", "--alter --user alice --mechanism SCRAM-SHA-256", ["scram set alice SCRAM-SHA-256 password=?"]),
    ("scram", "--delete --user alice --mechanism SCRAM-SHA-256", ["scram delete alice SCRAM-SHA-256"]),
    (
        "acls",
        "--list --topic t --group g --resource-pattern-type match",
        [
            "list acls resource_type=TOPIC resource_name=t pattern_type=MATCH",
            "list acls resource_type=GROUP resource_name=g pattern_type=MATCH",
        ],
    ),
    ("acls", "--list --resource-pattern-type prefixed", ["list acls pattern_type=PREFIXED"]),
    ("acls", "--list --principal User:a --topic t", ["list acls principal=User:a resource_type=TOPIC resource_name=t"]),
    (
        "acls",
        "--add --allow-principal User:a --deny-principal User:b --operation Read,Write --topic t --deny-host 10.0.0.1",
        ["allow User:a READ,WRITE on topic t", "deny User:b READ,WRITE on topic t from 10.0.0.1"],
    ),
    (
        "acls",
        "--create --allow-principal User:a --consumer --topic t. --group g --resource-pattern-type PREFIXED",
        ["allow User:a READ,DESCRIBE on topic t. prefixed", "allow User:a READ on group g prefixed"],
    ),
    (
        "acls",
        "--add --allow-principal User:a --producer --idempotent --topic t --transactional-id x",
        [
            "allow User:a WRITE,DESCRIBE,CREATE on topic t",
            "allow User:a WRITE,DESCRIBE on transactional-id x",
            "allow User:a IDEMPOTENT_WRITE on cluster",
        ],
    ),
    ("acls", "--remove --allow-principal User:a --cluster", ["revoke allow User:a ALL on cluster"]),
    (
        "acls",
        "--add --allow-principal User:a --operation AlterConfigs,describe-configs --cluster",
        ["allow User:a ALTER_CONFIGS,DESCRIBE_CONFIGS on cluster"],
    ),
    ("acls", "--delete --deny-principal User:a --topic '*'", ["revoke deny User:a ALL on topic *"]),
]


def given_for(name: str, line: str) -> argparse.Namespace:
    command = BY_NAME[name]
    return command_parser(command).parse_args(shlex.split(line))


def said(name: str, options: argparse.Namespace, action: str) -> tuple[str, ...]:
    """Return the statements that a noun's command makes of its options for an action."""
    meant = BY_NAME[name].noun().meaning(options, action)
    assert isinstance(meant, tuple)
    assert not isinstance(meant, Found)
    return meant


@pytest.mark.parametrize("name", NOUNS)
def test_each_has_help(name: str) -> None:
    command = BY_NAME[name]
    assert f"usage: kac {name}" in command_parser(command).format_help()


@pytest.mark.parametrize(("name", "line", "statements"), SAID, ids=[f"{name} {line}" for name, line, _ in SAID])
def test_options_mean_statements(name: str, line: str, statements: list[str]) -> None:
    options = given_for(name, line)
    assert list(said(name, options, BY_NAME[name].noun().action_of(options))) == statements
    for statement in parse("\n".join(statements)):
        assert isinstance(statement, EditStatement | QueryStatement)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("topics", "--create"),
        ("topics", "--alter --topic a"),
        ("topics", "--alter --topic a --replication-factor 3"),
        ("topics", "--create --topic a --config x"),
        ("quotas", "--alter --user a"),
        ("quotas", "--describe"),
        ("quotas", "--effective --user-defaults --client c"),
        ("quotas", "--alter --user a --add-config x"),
        ("brokers", "--describe"),
        ("groups", "--describe"),
        ("groups", "--describe --group a --all-groups"),
        ("groups", "--describe --group a --state Stable"),
        ("groups", "--list --state bogus,empty"),
        ("groups", "--list --state 'Stable ; apply --yes'"),
        ("groups", "--list --type bogus"),
        ("groups", "--delete"),
        ("groups", "--delete-offsets --group a"),
        ("groups", "--delete-offsets --topic a"),
        ("groups", "--reset-offsets --topic a --to-latest"),
        ("groups", "--reset-offsets --group a --to-latest"),
        ("groups", "--reset-offsets --group a --topic t"),
        ("groups", "--reset-offsets --group a --topic t --all-topics --to-latest"),
        ("groups", "--reset-offsets --group a --topic t --to-latest --to-earliest"),
        ("groups", "--reset-offsets --group a --topic t --to-latest --dry-run --execute"),
        ("groups", "--reset-offsets --group a --topic t --to-latest --export --execute"),
        ("groups", "--reset-offsets --group a --topic t: --to-latest"),
        ("groups", "--reset-offsets --group a --topic :0 --to-latest"),
        ("share-groups", "--reset-offsets --group a --topic t"),
        ("topics", "--election-type preferred"),
        ("topics", "--election-type bogus --topic a --partition 0"),
        ("topics", "--election-type preferred --topic a"),
        ("topics", "--election-type preferred --all-topic-partitions --topic a --partition 1"),
        ("brokers", "unregister"),
        ("transactions", "describe"),
        ("transactions", "describe-producers --topic a"),
        ("transactions", "find-hanging"),
        ("transactions", "find-hanging --partition 0 --broker-id 1"),
        ("transactions", "abort --topic a --partition 0"),
        ("transactions", "abort --topic a --partition 0 --producer-id 3 --start-offset 7"),
        ("features", "upgrade"),
        ("features", "upgrade --feature a=1 --feature a=2"),
        ("features", "feature-dependencies"),
        ("scram", "--delete --user a"),
        ("acls", "--add"),
        ("acls", "--remove --allow-principal User:a --topic t --resource-pattern-type match"),
        ("acls", "--remove --allow-principal User:a --topic t --resource-pattern-type any"),
        ("acls", "--add --allow-principal User:a --topic t --resource-pattern-type any"),
        ("acls", "--add --allow-principal User:a"),
        ("acls", "--add --allow-principal User:a --consumer --topic t"),
        ("acls", "--add --allow-principal User:a --producer --topic t --operation READ"),
    ],
)
def test_what_is_missing_is_said(name: str, line: str) -> None:
    options = given_for(name, line)
    with pytest.raises(OptionsError):
        BY_NAME[name].noun().meaning(options, BY_NAME[name].noun().action_of(options))


@pytest.mark.parametrize(
    ("regex", "does"),
    [
        ("orders.*", "--topic 'orders*', or for the names that go on behind a dot --topic 'orders.?*'"),
        (r"^a\.b|c.+$", "--topic a.b --topic 'c?*'"),
        ("(a|b)x", "kac topics --list --output csv | grep -E '(a|b)x'"),
    ],
)
@pytest.mark.parametrize("action", ["list", "describe", "delete"])
def test_a_regular_expression_gets_the_line_that_does_it(regex: str, does: str, action: str) -> None:
    """kac refuses a regular expression, which Kafka's tools accept, with the command line that does the same: as one of
    kac's patterns it would silently match other topics.
    """
    options = given_for("topics", shlex.join([f"--{action}", "--topic", regex]))
    if action == "delete" and "*" not in regex:
        assert BY_NAME["topics"].noun().meaning(options, action) == (f"delete topic {quote(regex)}",)
        return
    with pytest.raises(OptionsError) as refused:
        BY_NAME["topics"].noun().meaning(options, action)
    assert str(refused.value).endswith(f"the patterns of --topic are *, ? and [ab]: {does}")


NAME_PARTS = st.lists(st.sampled_from(["a", "b-", ".*", ".+", r"\.", "|"]), min_size=1, max_size=6).map("".join)


@given(NAME_PARTS, st.text("ab-.", max_size=6))
def test_globs_match_what_their_regular_expression_matches(regex: str, name: str) -> None:
    globs = globs_of(regex)
    if globs:
        assert glob_test(globs)(name) == (re.fullmatch(regex, name) is not None), (globs, regex, name)


@pytest.mark.parametrize(
    ("name", "line", "option"),
    [
        ("topics", "--create --topic a --partitions 3 --partitions 4", "--partitions"),
        ("acls", "--add --allow-host 10.0.0.1 --allow-host 10.0.0.2", "--allow-host"),
        ("quotas", "--list --user a --user b", "--user"),
        ("brokers", "-b one:1 -b two:1 --list", "-b/--bootstrap-server"),
        ("history", "--since 1h --since 2h", "--since"),
        ("moves", "balance --throttle 1MB/s --throttle 2MB/s", "--throttle"),
    ],
)
def test_of_two_values_none_is_dropped_without_a_word(
    name: str, line: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        given_for(name, line)
    assert ended.value.code == 2
    assert f"argument {option}: given twice with different values, and only one counts" in capsys.readouterr().err


def test_two_clusters_are_refused_and_one_that_is_named_twice_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["-b", "one:1", "topics", "-b", "two:1"])
    assert ended.value.code == 2
    assert "-b/--bootstrap-server: given twice" in capsys.readouterr().err
    assert given_for("topics", "-b one:1 -b one:1").bootstrap_server == "one:1"
    assert run(["-b", "one:1", "configs", "-b", "two:1", "--topic", "a", "--describe"]) == 1  # like kafka-configs
    assert "Found multiple arguments for option bootstrap-server" in capsys.readouterr().err


@given(st.text(min_size=1).filter(lambda text: not any(char in text for char in "*?[") and text.isprintable()))
def test_a_name_stays_the_name_that_it_is(name: str) -> None:
    options = given_for("topics", shlex.join(["--delete", f"--topic={name}"]))
    (statement,) = parse("\n".join(said("topics", options, "delete")))
    assert isinstance(statement, Delete)
    assert statement.name.text == name
    options = given_for("acls", shlex.join(["--add", f"--allow-principal=User:{name}", f"--topic={name}"]))
    (access,) = parse("\n".join(said("acls", options, "add")))
    assert isinstance(access, Access)
    assert (access.principal, access.resource_name) == (f"User:{name}", name)


@given(st.text().filter(str.isprintable))
def test_a_value_stays_the_value_that_it_is(value: str) -> None:
    options = given_for("topics", shlex.join(["--create", "--topic=a", f"--config=k={value}"]))
    (create,) = parse("\n".join(said("topics", options, "create")))
    assert isinstance(create, Create)
    assert [assign.value for assign in create.configs] == [value]


def test_every_noun_has_help_with_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "offsets.json").write_text('{"partitions": [{"topic": "orders", "partition": 0, "offset": 9}]}')
    monkeypatch.chdir(tmp_path)
    for name in NOUNS:
        made = BY_NAME[name].noun()
        assert made.examples.startswith("examples:\n")
        assert name in made.examples
        for line in made.examples.splitlines()[1:]:
            words = shlex.split(line, comments=True)
            assert words[:2] == ["kac", name]
            options = given_for(name, shlex.join(words[2:]))
            meant = made.meaning(options, made.action_of(options))
            if isinstance(meant, tuple) and not isinstance(meant, Found):
                parse("\n".join(meant))


def test_what_takes_away_asks_first() -> None:
    assert {name: BY_NAME[name].noun().destructive for name in NOUNS if BY_NAME[name].noun().destructive} == {
        **dict.fromkeys(("groups", "share-groups", "streams-groups"), ("delete", "delete-offsets")),
        "topics": ("delete", "delete-records"),
        "brokers": ("unregister",),
        "transactions": ("abort",),
        "acls": ("remove",),
        "scram": ("delete",),
        "tokens": ("expire",),
        "connectors": ("delete",),
        "schemas": ("delete",),
    }


TABLE = Table(
    "topics",
    (Column("Topic"), Column("Partitions", True)),
    (Row(("a\x1b", "3"), {"name": "a\x1b", "partitions": 3, "x": None, "internal": False}),),
)


def written(form: str, *results: Table | Detail) -> str:
    out = io.StringIO()
    write(results, form, out)
    return out.getvalue()


def test_each_form_says_the_same() -> None:
    assert written("table", TABLE) == "Topic  Partitions\na\\x1b           3\n"
    data = json.loads(written("json", TABLE))
    assert data["topics"] == [{"name": "a\x1b", "partitions": 3, "x": None, "internal": False}]
    assert yaml.safe_load(written("yaml", TABLE)) == data
    (row,) = csv.DictReader(io.StringIO(written("csv", TABLE)))
    assert row == {"name": "a\\x1b", "partitions": "3", "x": "", "internal": "false"}
    detail = Detail("t", {"name": "a"}, parts={"partitions": TABLE})
    assert json.loads(written("json", detail))["partitions"] == data["topics"]
    assert written("csv", detail) == written("csv", TABLE)
    entity = Row((), {"entity": {"user": "a", "client-id": None}, "values": {"rate": 1.5}})
    assert written("csv", Table("quotas", (), (entity,))) == "user,client-id,rate\na,<default>,1.5\n"
    assert FORMS == ("table", "json", "yaml", "csv")
