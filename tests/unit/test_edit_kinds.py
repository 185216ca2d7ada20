"""Tests that every kind of edit has a class, and that targets of different types are never equal."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
from msgspec import structs

from console.journal.entries import Entry, Intent, intent_line
from console.journal.open_changes import Touches
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits, to_statement
from console.model import changes, cluster, codes, connect, tokens
from console.model.config import ConfigEntry, ConfigResource, topic_resource
from console.model.elections import UncleanElection
from console.model.journal_lines import Origin, Who
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.model.subjects import SchemaReference, SchemaVersion, Subject
from console.model.transactions import SeenTransaction, Standing
from console.plan import edits
from console.plan.edit_json import edit_json, edit_of, was_json, was_of
from console.plan.kinds import connectors
from console.plan.kinds.configs import BY_LEVEL
from console.plan.kinds.groups import DeleteGroup
from console.plan.kinds.registrations import RemoveRegistration
from console.plan.kinds.registry import BATCHES, BY_OP, KINDS, kind_of
from console.plan.kinds.schemas import AddSchema, DropSchema, RestoreSchema
from console.plan.kinds.tokens import Expire, MakeToken, Renew
from console.plan.kinds.voters import JoinQuorum, LeaveQuorum
from console.plan.risk_rules import NAMES, PRUNES_MANY, SENT_BEFORE
from console.plan.staged import UNREAD, Staged, Was
from tests.support import samples

NAME, SINK = "orders", "main/orders"
ACL = samples.acl(name=NAME)
ENTITY = QuotaEntity.of({"user": NAME})
USER = changes.ScramUser(NAME, codes.ScramMechanism(1))
ENTRY = ConfigEntry("retention.ms", "5", codes.DYNAMIC_TOPIC_CONFIG)
TOPIC = cluster.Topic(NAME, (cluster.Partition(0, -1, (1, 2), ()),), topic_id="id")
PARTITION = cluster.Partition(0, 2, (1, 2), (1, 2), (), 4)
CREDENTIAL = cluster.ScramCredential(codes.ScramMechanism(1), 4096)
HANGING = SeenTransaction(5, -1, 2**40, Standing.HANGS, "no coordinator knows it", "Abort it.", "tx", 1_200_000)
TOKEN = tokens.DelegationToken(NAME, "User:a", "User:b", 1, 2, 3, ("User:c",))
_THIRD = SchemaVersion(3, 7, "AVRO", "shop.Order", (SchemaReference("a", "b", 2),))
SUBJECT = Subject(NAME, (_THIRD, SchemaVersion(4, is_deleted=True)))
OFFSET = cluster.GroupOffset(
    cluster.CommittedOffset(5, 1, "text"), cluster.LogRange(0, 9), "classic", "consumer", ("reader at 10.0.0.1",)
)
POSITION = cluster.GroupPosition(
    cluster.Group("", "Empty", "classic", "consumer", members=()), {(NAME, 0): cluster.CommittedOffset(5, 1, "text")}
)

EDITS: dict[type[edits.Edit], tuple[edits.Edit, Was]] = {
    type(edit): (edit, was)
    for edit, was in (
        (edits.SetConfig(topic_resource(NAME), "retention.ms", "6"), ENTRY),
        (edits.UnsetConfig(topic_resource(NAME), "retention.ms"), ENTRY),
        (edits.AppendConfig(topic_resource(NAME), "cleanup.policy", "delete"), ENTRY),
        (edits.SubtractConfig(topic_resource(NAME), "cleanup.policy", "delete"), ENTRY),
        (edits.SetQuota(ENTITY, "producer_byte_rate", 1024.0), 512.0),
        (edits.UnsetQuota(ENTITY, "producer_byte_rate"), 512.0),
        (edits.AddAcl(ACL), None),
        (edits.RemoveAcl(ACL), ACL),
        (edits.CreateTopic(changes.NewTopic(NAME, 3, 2, configs={"retention.ms": "5"})), None),
        (edits.GrowTopic(NAME, 6), TOPIC),
        (edits.DeleteTopic(NAME), TOPIC),
        (edits.UpsertScram(USER, 8192, Secret("")), CREDENTIAL),
        (edits.DeleteScram(USER), CREDENTIAL),
        (MakeToken(f"User:{NAME}", ("User:b", "User:c"), 86_400_000), None),
        (Renew(NAME, 3_600_000), TOKEN),
        (Expire(NAME, -1), TOKEN),
        (AddSchema(NAME, "AVRO", '"int"', (SchemaReference("a", "b", 2),)), None),
        (DropSchema(NAME, 3), SUBJECT),
        (RestoreSchema(NAME, 3), SUBJECT),
        (edits.EndTransaction(NAME, 3, 2**62), HANGING),
        (edits.ElectPreferred(NAME, 0), PARTITION),
        (edits.ElectUnclean(NAME, 0), UncleanElection(-1, (1, 2), (1,), 2, first=7, least=3)),
        (edits.CancelMove(NAME, 0), cluster.Reassignment(NAME, 0, (1, 2, 3), (3,), (1,))),
        (edits.MoveReplicas(NAME, 0, (2, 3, 1), True), cluster.Reassignment(NAME, 0, (1, 2), (), ())),
        (edits.MoveReplicaDir(NAME, 0, 2, "/data2"), cluster.ReplicaDir("/data1", "", (1, 2))),
        (edits.TrimLog(NAME, 0, 7), cluster.LogRange(3, 9)),
        (edits.WriteRecords(NAME, 0, 1, (3, 0), ("ab", "cd"), 1, 1), cluster.LogRange(3, 9)),
        (RemoveRegistration(4), cluster.Broker(-1, "b4", 9092, "r1", fenced=True)),
        (edits.SetFeature("group.version", 1), 0),
        (JoinQuorum(104, "AAAA", "CONTROLLER", "c4", 9093), None),
        (LeaveQuorum(104, "AAAA"), cluster.QuorumReplica(104, -1, -1, directory_id="AAAA")),
        (edits.CommitOffset("billing", NAME, 0, 7, 2, "by hand"), OFFSET),
        (edits.DeleteOffset("billing", NAME, 0), OFFSET),
        (DeleteGroup("billing"), POSITION),
        (edits.CreateConnector(SINK, {"connector.class": "A", "topics": "a,b"}, "STOPPED"), None),
        (edits.DeleteConnector(SINK), connectors.Standing("RUNNING", {"topics": "a", "password": None})),
        (edits.PauseConnector(SINK), connectors.Standing("RUNNING")),
        (edits.StopConnector(SINK), connectors.Standing("PAUSED")),
        (edits.ResumeConnector(SINK), connectors.Standing("STOPPED")),
        (edits.RestartConnector(SINK, only_failed=True, tasks=True), connectors.Standing("RUNNING")),
        (
            edits.ChangeConnectorOffsets(SINK, (({"table": "t"}, {"id": 7}), ({"table": "u"}, None))),
            connectors.StandingOffsets("STOPPED", (({"table": "t"}, {"id": 9}),)),
        ),
    )
}


EXAMPLES = [edit for edit, _ in EDITS.values()]
AT, WHO, HERE = datetime(2026, 11, 21, tzinfo=UTC), Who("User:alice", "bob"), Origin("h", "run", 1)


def edit_classes(of: type[edits.Edit] = edits.Edit) -> Iterator[type[edits.Edit]]:
    for each in of.__subclasses__():
        if not each.__name__.startswith("_"):
            yield each
        yield from edit_classes(each)


def test_every_edit_class_has_one_kind_that_its_json_tells() -> None:
    assert sorted(kind.edit.__name__ for kind in KINDS) == sorted(each.__name__ for each in edit_classes())
    assert set(EDITS) == set(edit_classes()), "each kind has its example here"
    assert len(BY_OP) == len(KINDS)
    for op, kind in BY_OP.items():
        assert edit_json(EDITS[kind.edit][0])["op"] == op
    for data in ({"op": "paint", "topic": NAME}, {"topic": NAME}):
        with pytest.raises(KeyError):
            edit_of(data)


@pytest.mark.parametrize("edit_class", list(EDITS), ids=lambda each: each.__name__)
def test_an_edit_comes_back_also_from_its_words_and_another_field_or_type_is_refused(
    edit_class: type[edits.Edit],
) -> None:
    edit, was = EDITS[edit_class]
    assert edit_of(edit_json(edit)) == edit
    for there in (was, None, UNREAD):
        assert was_of(edit, was_json(edit, there)) == there
    form = edit_json(edit)
    wrong: list[dict[str, Any]] = [{**form, "planet": "mars"}]
    wrong += [{**form, name: other} for name in form for other in ({"a": 1}, [[]], 1.5) if form[name] != 1024.0]
    for data in wrong:
        with pytest.raises((KeyError, TypeError, ValueError)):
            edit_of(data)
    for state in ({"a": 1}, [[]], "red"):
        with pytest.raises((TypeError, ValueError)):
            was_of(edit, state)
    assert was_of(edit, was_json(edit, was)) == was
    edit = EDITS[edit_class][0]
    statement = to_statement(edit)
    assert parse(command_of(edit)) == (statement,)
    if statement.writes_records:  # the statement asks for the records, which no text contains
        return
    secrets = {"password": Secret("")}
    snapshot = Snapshot(topics={NAME: TOPIC}, group_positions={"billing": POSITION})
    found = to_edits(statement, snapshot, secrets=secrets)
    assert found == (edit,)


def test_every_kind_is_sent_once_and_what_takes_away_comes_after_what_it_waits_for() -> None:
    assert {id(kind.batch) for kind in KINDS} | {id(BY_LEVEL)} == set(map(id, BATCHES))
    for place, batch in enumerate(BATCHES):
        assert batch.waits_for is None or batch.waits_for in BATCHES[:place]
    for batch in BATCHES:
        assert structs.replace(batch) not in BATCHES, "its edits would be sent with both"


def test_warnings_have_known_names_in_their_order() -> None:
    for kind in KINDS:
        names = [rule.name for rule in kind.risks]
        assert names == sorted(set(names), key=NAMES.index)
    assert {rule.name for kind in KINDS for rule in kind.risks} == set(NAMES) - {PRUNES_MANY, SENT_BEFORE}


def test_every_part_that_an_edit_touches_is_described_again() -> None:
    for edit, _ in EDITS.values():
        assert edit.target in kind_of(edit).touches(edit)


def test_targets_of_one_name_and_different_types_are_different() -> None:
    targets: list[changes.Target] = [
        changes.TopicTarget(NAME),
        *(
            ConfigResource(type_, NAME)
            for type_ in (codes.GROUP, codes.BROKER, codes.BROKER_LOGGER, codes.CLIENT_METRICS)
        ),
        topic_resource(NAME),
        changes.PartitionTarget(NAME, 0),
        ENTITY,
        QuotaEntity.of({"client-id": NAME}),
        QuotaEntity.of({"ip": NAME}),
        ACL,
        USER,
        changes.ScramUser(NAME, codes.ScramMechanism(2)),
        tokens.NewToken(NAME),
        tokens.TokenTarget(NAME),
        connect.ConnectorTarget(NAME),
        connect.ConnectorOffsetsTarget(NAME),
        ConfigResource(codes.CONNECTOR, NAME),
    ]
    for one, other in combinations(targets, 2):
        assert one != other
        assert edits.Slot(one, "") != edits.Slot(other, "")
    assert len({edits.Slot(target, "") for target in targets}) == len(targets)
    assert changes.TopicTarget(NAME) != NAME


def test_the_journal_knows_edits_of_one_place_by_their_json() -> None:
    lines = [(each, intent_line(7, Intent(AT, "", WHO, HERE, (Entry(Staged(each, None)),), ()))) for each in EXAMPLES]
    for edit in EXAMPLES:
        touches = Touches((edit.slot,))
        assert [each for each, line in lines if touches(line)] == [e for e in EXAMPLES if e.slot == edit.slot]
