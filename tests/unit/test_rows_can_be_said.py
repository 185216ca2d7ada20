"""Tests that each row of a list can be named: by a statement, by options of kac's commands, and by Kafka's own tools in
a runbook.
"""

import argparse
import shlex
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli.acls import ACLS as ACL_COMMAND
from console.cli.kafka_configs.alter import MECHANISMS as SCRAM_KEYS
from console.cli.kafka_configs.alter import config_changes, quota_changes, scram_changes
from console.cli.kafka_configs.command_line import OPTIONS, by_spelling, parse_deleted, read_arguments
from console.cli.kafka_configs.request import QUOTA_TYPES, entity_of, request_of
from console.cli.noun import add_noun_options
from console.language.errors import ParseError
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.quoting import quote, shell_text
from console.language.statements import Name
from console.language.unparse import unparse
from console.language.verbs.access import Access
from console.language.verbs.delete import DeleteGroupOffsets
from console.language.verbs.explain import Explain
from console.language.verbs.reset import ResetOffsets
from console.language.verbs.skip import SkipRecords
from console.model import cluster as model
from console.model import codes
from console.model.acl import CLUSTER_NAME, LITERAL, PREFIXED, Acl
from console.model.changes import ScramUser
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, ConfigSet, own_source
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import edits
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.kinds.groups import DeleteGroup
from console.plan.plan import EMPTY, stage
from console.present.acls import ACLS, AclRow
from tests.support import samples

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["test", "User:a", "User:", ":a", "", "*", "<default>", "prefixed", "from", "a b", "'", '"', "unknown(9)", "@x"]
)
PATTERNS = st.sampled_from([LITERAL, PREFIXED, codes.PatternType(5)])
PERMISSIONS = st.sampled_from(["ALLOW", "DENY", "UNKNOWN(4)"]).map(codes.Permission.parse)
OPERATIONS = st.sampled_from([*set(codes.AclOperation.NAMES) - {1}, 16, 99, 127]).map(codes.AclOperation)
TYPES = st.sampled_from([*set(codes.AclResourceType.NAMES) - {1, 4}, 8, 90]).map(codes.AclResourceType)
CLUSTER = codes.AclResourceType.parse("CLUSTER")
ROWS = st.builds(Acl, TYPES, TEXT, PATTERNS, TEXT, TEXT, OPERATIONS, PERMISSIONS) | st.builds(
    Acl, st.just(CLUSTER), st.just(CLUSTER_NAME), PATTERNS, TEXT, TEXT, OPERATIONS, PERMISSIONS
)


@given(ROWS)
def test_every_acl_can_be_taken_away_by_its_statement_and_explained_if_brokers_check_it(acl: Acl) -> None:
    """Each ACL is removed by the statement in a plan's script, and by one typed from the words of its row; `explain`
    accepts it if brokers check such an ACL.
    """
    text = command_of(edits.RemoveAcl(acl))
    (statement,) = parse(text)
    assert isinstance(statement, Access)
    assert to_edits(statement, Snapshot()) == (edits.RemoveAcl(acl),)
    assert unparse(statement) == text
    shown = ACLS["resource"].data(AclRow(acl, "", False))
    where = "cluster" if acl.resource_type == CLUSTER else f"{_word(acl)} {quote(acl.resource_name)}"
    pattern = str(shown["pattern_type"]).lower()
    typed = (
        f"revoke {str(shown['permission']).lower()} {quote(str(shown['principal']))} {shown['operation']} on {where}"
        f"{'' if pattern == 'literal' else f' {pattern}'} from {quote(str(shown['host']))}"
    )
    (again,) = parse(typed)
    assert isinstance(again, Access)
    assert to_edits(again, Snapshot()) == (edits.RemoveAcl(acl),)
    if not acl.resource_type.known or not acl.operation.known or not acl.resource_name:
        return
    where = "cluster" if acl.resource_type == CLUSTER else f"{_word(acl)} '{_escaped(acl.resource_name)}'"
    (statement,) = parse(f"explain {quote(acl.principal)} {acl.operation.name} on {where}")
    assert isinstance(statement, Explain)
    assert statement.principal == acl.principal


def _word(acl: Acl) -> str:
    return acl.resource_type.name.lower().replace("_", "-")


def _escaped(name: str) -> str:
    return "x" if "'" in name or not name.isprintable() else name


@given(ROWS)
def test_a_runbook_has_a_command_that_names_it_or_says_why_not(acl: Acl) -> None:
    snapshot = Snapshot(acls=(acl,), read_at={"acls": datetime(2026, 1, 1, tzinfo=UTC)})
    staged = stage(EMPTY, [edits.RemoveAcl(acl)], snapshot)
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
    acl = samples.acl("test")
    assert stage(EMPTY, [edits.AddAcl(acl)], Snapshot()).refused


@given(st.sampled_from(["''", '""']))
def test_the_group_with_the_empty_name(name: str) -> None:
    """Statements can name a group with an empty name, because brokers accept, list and delete it."""
    assert parse(f"delete group {name}") == (DeleteGroupOffsets(Name("")),)
    (reset,) = parse(f"reset group {name} topic t to earliest")
    assert isinstance(reset, ResetOffsets)
    assert (reset.group, parse(unparse(reset))) == (Name(""), (reset,))
    assert isinstance(parse(f"skip group {name} topic t partition 0")[0], SkipRecords)
    with pytest.raises(ParseError):
        parse(f"clone group a to {name}")


NAMES = TEXT.filter(bool) | st.sampled_from(["<default>", "-x", "--all", "client", "a=b", "a,b", "[a]", "null", "{}"])
GROUPS = TEXT | st.sampled_from(["<default>", "topic", "-g", "share"])
QUOTA_PARTS = st.none() | NAMES
ENTITIES = st.one_of(
    st.builds(lambda name: QuotaEntity.of({"user": name}), QUOTA_PARTS),
    st.builds(lambda name: QuotaEntity.of({"client-id": name}), QUOTA_PARTS),
    st.builds(lambda user, client: QuotaEntity.of({"user": user, "client-id": client}), QUOTA_PARTS, QUOTA_PARTS),
    st.builds(lambda name: QuotaEntity.of({"ip": name}), st.none() | st.ip_addresses().map(str)),
)
LIMITS = st.dictionaries(
    st.sampled_from(["producer_byte_rate", "request_percentage", "fetch_rate"]), st.floats(), min_size=1
)
KEYS = st.from_regex(r"[a-z$][a-zA-Z0-9$._-]{0,12}", fullmatch=True) | st.text("ab,=[ '\n", min_size=1, max_size=4)
RESOURCES = st.one_of(
    st.builds(ConfigResource, st.sampled_from([codes.TOPIC, codes.GROUP, codes.CLIENT_METRICS]), NAMES),
    st.builds(ConfigResource, st.sampled_from([codes.BROKER, codes.BROKER_LOGGER]), st.integers(0, 99).map(str)),
    st.just(CLUSTER_DEFAULT),
)
MECHANISMS = st.sampled_from([1, 2, 9]).map(codes.ScramMechanism)
PARTITIONS = st.tuples(NAMES, st.integers(0, 9))


@st.composite
def removals(draw: st.DrawFn) -> tuple[edits.Edit, Snapshot]:
    """Draw an edit that removes a row of a list, and a snapshot with that row."""
    read_at = dict.fromkeys(["quotas", "acls", "scram", "topics", "groups"], datetime(2026, 1, 1, tzinfo=UTC))
    match draw(st.sampled_from(["quota", "config", "scram", "group", "offset", "topic", "producer"])):
        case "quota":
            entity, limits = draw(ENTITIES), draw(LIMITS)
            key = draw(st.sampled_from(sorted(limits)))
            return edits.UnsetQuota(entity, key), Snapshot(quotas={entity: limits}, read_at=read_at)
        case "config":
            resource, key = draw(RESOURCES), draw(KEYS)
            entries = ConfigSet((ConfigEntry(key, draw(TEXT), own_source(resource), type=codes.ConfigType(2)),))
            number = int(resource.name) if resource.type in (codes.BROKER, codes.BROKER_LOGGER) and resource.name else 0
            topics = {resource.name: model.Topic(resource.name, ())} if resource.type == codes.TOPIC else {}
            cluster = model.ClusterInfo(None, -1, (model.Broker(number, "b", 9092),))
            return edits.UnsetConfig(resource, key), Snapshot(
                cluster=cluster, topics=topics, configs={resource: entries}
            )
        case "scram":
            user, mechanism = draw(NAMES), draw(MECHANISMS)
            there = {user: (model.ScramCredential(mechanism, 4096),)}
            return edits.DeleteScram(ScramUser(user, mechanism)), Snapshot(scram=there, read_at=read_at)
        case "topic":
            name = draw(NAMES)
            return edits.DeleteTopic(name), Snapshot(topics={name: model.Topic(name, ())}, read_at=read_at)
        case "producer":
            topic, number = draw(PARTITIONS)
            topics = {
                topic: model.Topic(topic, tuple(model.Partition(each, 1, (1,), (1,)) for each in range(number + 1)))
            }
            return edits.EndTransaction(topic, number, draw(st.integers(0, 2**63 - 1))), Snapshot(topics=topics)
    group = draw(GROUPS)
    (topic, number), committed = draw(PARTITIONS), model.CommittedOffset(5)
    position = model.GroupPosition(
        model.Group(group, "Empty", "classic", "consumer", members=()), {(topic, number): committed}
    )
    snapshot = Snapshot(group_positions={group: position}, read_at=read_at)
    return (DeleteGroup(group) if draw(st.booleans()) else edits.DeleteOffset(group, topic, number)), snapshot


@given(removals())
def test_every_row_of_every_list_can_be_taken_away_by_its_statement(row: tuple[edits.Edit, Snapshot]) -> None:
    edit, snapshot = row
    text = command_of(edit)
    (statement,) = parse(text)
    assert to_edits(statement, snapshot) == (edit,)
    assert unparse(statement) == text


@given(removals() | ROWS.map(lambda acl: (edits.RemoveAcl(acl), Snapshot(acls=(acl,)))))
def test_the_commands_of_a_runbook_take_away_what_the_statement_does(row: tuple[edits.Edit, Snapshot]) -> None:
    """`kac configs` and `kac acls`, which accept the options of Kafka's tools, parse a runbook's command for a removal
    into the same edit.
    """
    edit, snapshot = row
    staged = stage(EMPTY, [edit], snapshot)
    assert not staged.refused or isinstance(edit, edits.EndTransaction | edits.DeleteOffset | DeleteGroup)
    for command in runbook(diff(staged.plan, snapshot), ()):
        if not command.words:
            assert command.note
            continue
        tool, *words = command.words
        if tool == "kafka-configs":
            assert list(_by_configs(words, snapshot)) == [edit]
        elif tool == "kafka-acls":
            parser = argparse.ArgumentParser(usage="", exit_on_error=False)
            add_noun_options(parser, ACL_COMMAND)
            given = parser.parse_args([word for word in words if word != "--force"])
            (text,) = ACL_COMMAND.meaning(given, given.action)
            (statement,) = parse(text)
            assert to_edits(statement, snapshot) == (edit,)


def _by_configs(words: list[str], snapshot: Snapshot) -> Iterable[edits.Edit]:
    request = request_of(read_arguments(words, by_spelling(OPTIONS)), is_host=lambda _: True)
    deleted = parse_deleted(request.deleted)
    if request.type not in QUOTA_TYPES:
        return config_changes(request, {}, deleted, snapshot)
    if set(deleted) & {*SCRAM_KEYS}:
        return scram_changes(request, {}, deleted)
    return quota_changes(request, {}, deleted, snapshot.quotas[entity_of(request)])
