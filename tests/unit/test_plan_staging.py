"""Tests of staging: which edits are staged, dropped because they change nothing, or refused, and the texts of
refusals.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from console.model import codes
from console.model.acl import Acl
from console.model.changes import NewTopic, Outcome, ScramUser, Status, TopicTarget
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigResource, broker_resource, topic_resource
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan.plan import EMPTY, Plan, StageReport, discard, stage, undo, with_outcomes
from console.plan.staged import UNREAD
from tests.support import samples
from tests.support.model_cluster import ModelCluster

T1, T2, NEW = topic_resource("t1"), topic_resource("t2"), topic_resource("new")
B1 = broker_resource(1)
LOGGER = ConfigResource(codes.BROKER_LOGGER, "1")
ALICE = QuotaEntity.of({USER: "alice"})
SHA256 = codes.ScramMechanism(1)
KEYSTORE = "listener.name.x.ssl.keystore.password"


def acl(**changed: object) -> Acl:
    return samples.acl(name="t1")._replace(**changed)  # type: ignore[arg-type]


def allow(**changed: object) -> do.Edit:
    return do.AddAcl(acl(**changed))


def t1(key: str, value: str) -> do.Edit:
    return do.SetConfig(T1, key, value)


def alice(key: str, value: float) -> do.Edit:
    return do.SetQuota(ALICE, key, value)


def new(**facts: Any) -> do.Edit:
    return do.CreateTopic(NewTopic("new", **facts))


@pytest.fixture
def snapshot() -> Snapshot:
    cluster = ModelCluster(
        topics={"t1": 3, "t2": 1},
        configs={
            T1: {"retention.ms": "86400000", "cleanup.policy": "delete,compact", "min.cleanable.dirty.ratio": "0.50"},
            B1: {KEYSTORE: "hush", "max.connections": "100"},
            CLUSTER_DEFAULT: {"log.preallocate": "true"},
        },
        quotas={ALICE: {"producer_byte_rate": 1024.0}},
        acls={acl()},
        scram={("alice", 1): 4096},
    )
    return cluster.describe()


def on(snapshot: Snapshot, *edits: do.Edit, plan: Plan = EMPTY) -> StageReport:
    return stage(plan, edits, snapshot)


NO_OPS: list[tuple[do.Edit, str]] = [
    (t1("retention.ms", "86400000"), "retention.ms is already 86400000"),
    (t1("retention.ms", "1d"), "retention.ms is already 86400000"),
    (t1("min.cleanable.dirty.ratio", "0.5"), "min.cleanable.dirty.ratio is already 0.5"),
    (t1("cleanup.policy", "delete , compact"), "cleanup.policy is already delete,compact"),
    (do.SetConfig(CLUSTER_DEFAULT, "log.preallocate", "TRUE"), "log.preallocate is already true"),
    (do.UnsetConfig(T1, "compression.type"), "compression.type is not set here"),
    (do.UnsetConfig(T1, "preallocate"), "preallocate is not set here"),
    (do.UnsetConfig(CLUSTER_DEFAULT, "max.connections"), "max.connections is not set here"),
    (do.UnsetConfig(B1, "log.preallocate"), "log.preallocate is not set here"),
    (do.AppendConfig(T1, "cleanup.policy", "compact"), "compact: already in cleanup.policy"),
    (do.AppendConfig(T1, "cleanup.policy", " compact, delete"), "compact, delete: already in cleanup.policy"),
    (do.SubtractConfig(T1, "cleanup.policy", "none"), "none: not in cleanup.policy"),
    (alice("producer_byte_rate", 1024.0), "producer_byte_rate is already 1024"),
    (do.UnsetQuota(ALICE, "consumer_byte_rate"), "consumer_byte_rate is not set"),
    (do.UnsetQuota(QuotaEntity.of({USER: None}), "producer_byte_rate"), "producer_byte_rate is not set"),
    (allow(), "it exists already"),
    (do.RemoveAcl(acl(host="10.0.0.1")), "there is no such ACL"),
    (do.GrowTopic("t1", 3), "topic t1 has 3 partitions already"),
    (do.DeleteTopic("gone"), "there is no topic gone"),
    (do.DeleteScram(ScramUser("bob", SHA256)), "bob has no SCRAM-SHA-256 credential"),
]


@pytest.mark.parametrize(("edit", "reason"), NO_OPS, ids=[f"{type(e).__name__}-{r}" for e, r in NO_OPS])
def test_a_no_op_is_dropped_by_name(snapshot: Snapshot, edit: do.Edit, reason: str) -> None:
    report = on(snapshot, edit)
    assert [dropped.reason for dropped in report.dropped] == [reason]
    assert report.plan is EMPTY


NOT_NO_OPS: list[do.Edit] = [
    do.SetConfig(T2, "retention.ms", "604800000"),  # pins the inherited value
    do.SetConfig(B1, "log.preallocate", "true"),  # pins the cluster default's value
    do.SetConfig(B1, KEYSTORE, Secret("hush")),  # it can't be known whether the secret is the same
    do.SetConfig(LOGGER, "kafka.server", "INFO"),  # may be inherited from its parent
    do.UnsetConfig(LOGGER, "kafka.server"),
    do.AppendConfig(T2, "cleanup.policy", "delete"),  # pins Kafka's default
    do.SubtractConfig(T2, "cleanup.policy", "compact"),
    alice("producer_byte_rate", 1025.0),
    do.RemoveAcl(acl()),
    do.UpsertScram(ScramUser("alice", SHA256), 4096, Secret("same?")),
    t1("cleanup.policy", ""),
    do.UnsetConfig(T1, "retention.ms"),
]


@pytest.mark.parametrize("edit", NOT_NO_OPS, ids=[f"{type(e).__name__}-{e.key}" for e in NOT_NO_OPS])
def test_what_only_looks_like_a_no_op_is_staged(snapshot: Snapshot, edit: do.Edit) -> None:
    report = on(snapshot, edit)
    assert [staged.edit for staged in report.added] == [edit]
    assert [staged.edit for staged in report.plan.staged] == [edit]


def test_a_store_is_written_again_to_be_read_again(snapshot: Snapshot) -> None:
    key = "listener.name.x.ssl.keystore.location"
    like = ConfigEntry(key, "/a.jks", snapshot.configs[B1].entries[0].source)
    entry = replace(like, source=on_broker(snapshot).source)
    configs = replace(snapshot.configs[B1], entries=(*snapshot.configs[B1].entries, entry))
    known = replace(snapshot, configs={**snapshot.configs, B1: configs})
    assert on(known, do.SetConfig(B1, key, "/a.jks")).added
    assert on(known, do.SetConfig(B1, "max.connections", "100")).dropped


def on_broker(snapshot: Snapshot) -> ConfigEntry:
    entry = snapshot.configs[B1].get("max.connections")
    assert entry is not None
    return entry


def quota(**parts: str | None) -> QuotaEntity:
    return QuotaEntity.of({name.replace("_", "-"): value for name, value in parts.items()})


CORRECT = "Correct the value."
BY_LETTERS = "Use 1 to 249 of letters, digits, '.', '_' and '-'."
OF_CLIENTS = (
    "For a user or client there is producer_byte_rate, consumer_byte_rate, request_percentage, "
    "controller_mutation_rate."
)
IP_DEFAULT = QuotaEntity.of({IP: None})


def at(type_: codes.ResourceType, name: str, key: str, value: str) -> do.Edit:
    return do.SetConfig(ConfigResource(type_, name), key, value)


def limit(entity: QuotaEntity, key: str = "producer_byte_rate", value: float = 1.0) -> do.Edit:
    return do.SetQuota(entity, key, value)


def scram(name: str = "a", iterations: int = 4096, password: str = "x", code: int = 1) -> do.Edit:
    return do.UpsertScram(ScramUser(name, codes.ScramMechanism(code)), iterations, Secret(password))


REFUSED: list[tuple[do.Edit, str, str]] = [
    (t1("retention.mss", "1"), "retention.mss is no key of a topic", "Did you mean retention.ms?"),
    (do.UnsetConfig(T1, "zzz"), "zzz is no key of a topic", "Look at the configs of the entity for its keys."),
    (
        at(codes.GROUP, "g1", "session.timeout.ms", "1"),
        "session.timeout.ms is no key of a group",
        "Did you mean consumer.session.timeout.ms?",
    ),
    (
        do.SetConfig(topic_resource("gone"), "retention.ms", "1"),
        "there is no topic gone",
        "Check the name, refresh, or create it in this plan.",
    ),
    (
        do.SetConfig(broker_resource(9), "max.connections", "1"),
        "broker 9 is not among the brokers that are up (1, 2)",
        "Its configs go to the broker itself: start it, or use the cluster default.",
    ),
    (at(codes.BROKER, "one", "x", "1"), "one is no broker id", "Give the broker's number, or <default>."),
    (at(codes.GROUP, "", "x", "1"), "the entity has no name", "Name it; only brokers and schemas have a default."),
    (t1("", "1"), "the key has no name", "Name the key."),
    (
        do.SetConfig(B1, KEYSTORE, "hush"),
        f"{KEYSTORE} is sensitive and is never written out",
        f"Give it as {KEYSTORE}=@FILE, or {KEYSTORE}=? to be asked for it.",
    ),
    (
        do.SetConfig(B1, "listener.name.y.ssl.keystore.password", "hush"),
        "listener.name.y.ssl.keystore.password is sensitive and is never written out",
        "Give it as listener.name.y.ssl.keystore.password=@FILE, "
        "or listener.name.y.ssl.keystore.password=? to be asked for it.",
    ),
    (
        t1("preallocate", "yes"),
        "preallocate is true or false, not 'yes'",
        "The key's type is BOOLEAN: correct the value.",
    ),
    (do.AppendConfig(T1, "retention.ms", "1"), "retention.ms is no list but LONG", "Set retention.ms instead."),
    (do.AppendConfig(T1, "cleanup.policy", " , "), "there is nothing to append", "Name the items, parted by commas."),
    (do.SubtractConfig(T1, "cleanup.policy", ""), "there is nothing to subtract", "Name the items, parted by commas."),
    (do.AppendConfig(LOGGER, "k.s", "DEBUG"), "a logger has one level: k.s is no list", "Set the level."),
    (do.UnsetConfig(LOGGER, "root"), "the root logger always has a level", "Set it to another level."),
    (
        do.SetConfig(LOGGER, "kafka.server", "LOUD"),
        "LOUD is no log level; there are TRACE, DEBUG, INFO, WARN, ERROR, FATAL",
        CORRECT,
    ),
    (
        do.SetConfig(LOGGER, "kafka.serverr", "DEBUG"),
        "broker 1 has no logger kafka.serverr",
        "Did you mean kafka.server?",
    ),
    (limit(QuotaEntity(())), "the quota names no entity", "Name a user, a client or an ip."),
    (
        limit(QuotaEntity((USER, "a", USER, "b"))),
        "the entity names the same thing twice",
        "Name one user, one client or one ip.",
    ),
    (limit(quota(user="")), "the user has an empty name", "Name it, or write <default>."),
    (
        limit(quota(client_id_prefix="a")),
        "client-id-prefix is no kind of quota that Kafka has",
        "Use user, client or ip.",
    ),
    (
        limit(QuotaEntity.of({IP: "10.0.0.1", USER: "a"}), "connection_creation_rate"),
        "an ip's quota can't be combined with a user or a client",
        "Stage them apart.",
    ),
    (limit(ALICE, "connection_creation_rate"), "connection_creation_rate is no quota of a user or client", OF_CLIENTS),
    (limit(IP_DEFAULT), "producer_byte_rate is no quota of an ip", "For an ip there is connection_creation_rate."),
    (
        alice("producer_bytes", 1.0),
        "producer_bytes is no quota; there are producer_byte_rate, consumer_byte_rate, request_percentage, "
        "controller_mutation_rate, connection_creation_rate",
        OF_CLIENTS,
    ),
    (alice("producer_byte_rate", float("nan")), "producer_byte_rate is a finite number", CORRECT),
    (alice("producer_byte_rate", float("inf")), "producer_byte_rate is a finite number", CORRECT),
    (alice("request_percentage", 0.0), "request_percentage is above 0; to lift the limit, unset it", CORRECT),
    (alice("producer_byte_rate", 1.5), "producer_byte_rate is a whole number, 1.5 is not", CORRECT),
    (
        limit(IP_DEFAULT, "connection_creation_rate", 2.0**31),
        "connection_creation_rate is at most 2147483647",
        CORRECT,
    ),
    (allow(principal="alice"), "alice is no principal", "Write Type:name, for instance User:alice."),
    (allow(pattern_type=codes.PatternType.parse("MATCH")), "an ACL has no pattern MATCH", "Use LITERAL or PREFIXED."),
    (
        allow(resource_type=codes.AclResourceType.parse("CLUSTER")),
        "the cluster's name in an ACL is kafka-cluster",
        "Use kafka-cluster.",
    ),
    (allow(resource_type=codes.AclResourceType(1)), "an ACL is on no ANY", "Name a kind of resource."),
    (allow(resource_type=codes.AclResourceType(99)), "an ACL is on no UNKNOWN(99)", "Name a kind of resource."),
    (allow(resource_name=""), "the resource has no name", "Name it; * is any."),
    (allow(operation=codes.AclOperation(1)), "ANY is no operation", "Name one, or ALL."),
    (allow(permission=codes.Permission(1)), "an ACL can't ANY", "Use ALLOW or DENY."),
    (allow(host=""), "the host is empty", "Give an address; * is any."),
    (do.CreateTopic(NewTopic("t1")), "topic t1 exists already", "Set its configs, or choose another name."),
    *((do.CreateTopic(NewTopic(n)), f"'{n}' can't be a topic's name", BY_LETTERS) for n in ("a b", "..", "x" * 250)),
    (new(partitions=0), "a topic has at least 1 partition", "Leave partitions out for the brokers' default."),
    (new(replication=0), "a topic has at least 1 replica", "Leave replication out for the brokers' default."),
    (
        new(partitions=1, assignments=((1,),)),
        "partitions are given twice",
        "Give the assignment, or partitions and replication.",
    ),
    (new(assignments=((1, 2), (1,))), "the partitions have different numbers of replicas", "Assign as many to each."),
    (new(assignments=((1, 1),)), "a partition names a broker twice", "Name different brokers for each partition."),
    (
        new(partitions=10_000),
        "a controller takes at most 10,000 records in one change, this topic has 10,001",
        "Create it with fewer partitions and grow it afterwards.",
    ),
    (new(configs={"nope": "1"}), "nope is no key of a topic", "Check its spelling."),
    (
        new(configs={"retention.ms": "long"}),
        "retention.ms is a whole number of milliseconds (or, for instance, 250ms, 90s, 30min, 12h, 7d), not 'long'",
        CORRECT,
    ),
    (do.GrowTopic("t1", 2), "topic t1 has 3 partitions and can't have fewer", "Create another topic and copy to it."),
    (
        do.GrowTopic("t1", 10_004),
        "a controller takes at most 10,000 new partitions in one change",
        "Grow to 10003 first.",
    ),
    (do.GrowTopic("gone", 4), "there is no topic gone", "Check the name, or refresh."),
    (scram(iterations=100), "100 iterations", "Give from 4096 to 16384; more cost every login."),
    (scram(password=""), "the password is empty", "Give a password."),
    (scram(""), "the user has no name", "Name the user."),
    (scram(code=9), "UNKNOWN(9) is no SCRAM mechanism", "Use SCRAM-SHA-256 or SCRAM-SHA-512."),
]


@pytest.mark.parametrize(
    ("edit", "reason", "remedy"), REFUSED, ids=[f"{type(e).__name__}-{r[:40]}" for e, r, _ in REFUSED]
)
def test_what_can_not_be_is_refused_with_words_and_a_remedy(
    snapshot: Snapshot, edit: do.Edit, reason: str, remedy: str
) -> None:
    report = on(snapshot, edit)
    assert [(refused.reason, refused.remedy) for refused in report.refused] == [(reason, remedy)]
    assert report.plan is EMPTY


CONTRADICTIONS: list[tuple[list[do.Edit], str, str]] = [
    (
        [t1("cleanup.policy", "delete"), do.AppendConfig(T1, "cleanup.policy", "compact")],
        "cleanup.policy is staged to be changed otherwise",
        "Set cleanup.policy to the whole list, or discard what is staged first.",
    ),
    (
        [do.AppendConfig(T2, "cleanup.policy", "compact"), do.SubtractConfig(T2, "cleanup.policy", "delete")],
        "cleanup.policy is staged to be changed otherwise",
        "Set cleanup.policy to the whole list, or discard what is staged first.",
    ),
    ([allow(host="h"), do.RemoveAcl(acl(host="h"))], "the plan adds this very ACL", "Discard that edit instead."),
    ([do.RemoveAcl(acl()), allow()], "the plan removes this very ACL", "Discard that edit instead."),
    (
        [do.DeleteTopic("t1"), t1("retention.ms", "2d")],
        "the plan deletes topic t1",
        "Discard the deletion, or this edit.",
    ),
    ([do.DeleteTopic("t1"), do.GrowTopic("t1", 5)], "the plan deletes topic t1", "Discard the deletion, or this edit."),
    (
        [do.DeleteTopic("t1"), do.CreateTopic(NewTopic("t1"))],
        "the plan deletes topic t1",
        "Apply the deletion first, then create it.",
    ),
    (
        [t1("retention.ms", "172800000"), do.DeleteTopic("t1")],
        "the plan changes topic t1 (retention.ms)",
        "Discard the edits of topic t1 first.",
    ),
    (
        [do.GrowTopic("t1", 5), do.DeleteTopic("t1")],
        "the plan changes topic t1 (partitions)",
        "Discard the edits of topic t1 first.",
    ),
    ([new(), do.DeleteTopic("new")], "the plan creates topic new", "Discard the creation instead."),
    ([new(), do.GrowTopic("new", 5)], "the plan creates topic new", "Create it with that many partitions."),
    (
        [new(), do.AppendConfig(NEW, "cleanup.policy", "compact")],
        "the plan creates topic new: no list is there yet",
        "Set all of cleanup.policy.",
    ),
    (
        [new(configs={"retention.ms": "1"}), do.UnsetConfig(NEW, "retention.ms")],
        "the plan creates topic new with retention.ms",
        "Set another value, or stage its creation again.",
    ),
]


@pytest.mark.parametrize(
    ("edits", "reason", "remedy"), CONTRADICTIONS, ids=[c[1] + str(i) for i, c in enumerate(CONTRADICTIONS)]
)
@pytest.mark.parametrize("together", [True, False])
def test_a_contradiction_is_refused_and_what_was_staged_stays(
    snapshot: Snapshot, edits: list[do.Edit], reason: str, remedy: str, together: bool
) -> None:
    first, second = edits
    report = on(snapshot, *edits) if together else on(snapshot, second, plan=on(snapshot, first).plan)
    assert [(refused.edit, refused.reason, refused.remedy) for refused in report.refused] == [(second, reason, remedy)]
    assert [staged.edit for staged in report.plan.staged] == [first]


def test_the_operator_may_change_their_mind(snapshot: Snapshot) -> None:
    plan = on(snapshot, t1("retention.ms", "2d"), t1("flush.ms", "5")).plan
    report = on(snapshot, t1("retention.ms", "3d"), plan=plan)
    assert [s.edit for s in report.plan.staged] == [
        t1("retention.ms", "259200000"),
        t1("flush.ms", "5"),
    ]
    assert [s.edit for s in report.replaced] == [t1("retention.ms", "172800000")]
    assert [s.edit for s in on(snapshot, do.UnsetConfig(T1, "retention.ms"), plan=plan).plan.staged] == [
        do.UnsetConfig(T1, "retention.ms"),
        t1("flush.ms", "5"),
    ]


def test_back_to_what_is_there_takes_the_edit_out(snapshot: Snapshot) -> None:
    plan = on(snapshot, t1("retention.ms", "2d")).plan
    report = on(snapshot, t1("retention.ms", "1d"), plan=plan)
    assert report.plan.staged == ()
    assert [s.edit for s in report.replaced] == [t1("retention.ms", "172800000")]
    assert [d.reason for d in report.dropped] == ["retention.ms is already 86400000"]
    assert undo(report.plan).staged == plan.staged
    quota_plan = on(snapshot, do.SetQuota(quota(user="bob"), "producer_byte_rate", 5.0)).plan
    assert on(snapshot, do.UnsetQuota(quota(user="bob"), "producer_byte_rate"), plan=quota_plan).plan.staged == ()


def test_the_same_edit_twice_is_staged_once(snapshot: Snapshot) -> None:
    report = on(snapshot, t1("retention.ms", "2d"), t1("retention.ms", "48h"))
    assert len(report.plan) == 1
    assert [d.reason for d in report.dropped] == ["is staged already"]
    again = on(snapshot, t1("retention.ms", "2d"), plan=report.plan)
    assert again.plan is report.plan


def test_edits_of_one_slot_are_one(snapshot: Snapshot) -> None:
    key = "leader.replication.throttled.replicas"
    plan = on(snapshot, do.AppendConfig(T1, key, "0:1, 0:2"), do.AppendConfig(T1, key, "0:3,0:1")).plan
    assert [s.edit for s in plan.staged] == [do.AppendConfig(T1, key, "0:1,0:2,0:3")]
    plan = on(
        snapshot, do.AppendConfig(T2, "cleanup.policy", "compact"), do.SetConfig(T2, "cleanup.policy", "delete")
    ).plan
    assert [s.edit for s in plan.staged] == [do.SetConfig(T2, "cleanup.policy", "delete")]
    one = QuotaEntity((CLIENT_ID, "c", USER, "u"))
    other = QuotaEntity((USER, "u", CLIENT_ID, "c"))
    plan = on(snapshot, do.SetQuota(one, "producer_byte_rate", 1.0), do.SetQuota(other, "producer_byte_rate", 2.0)).plan
    assert [staged.edit for staged in plan.staged] == [do.SetQuota(other, "producer_byte_rate", 2.0)]


def test_what_was_read_stays_with_the_edit(snapshot: Snapshot) -> None:
    edits: list[do.Edit] = [
        t1("retention.ms", "2d"),
        do.SetConfig(T2, "retention.ms", "2d"),
        do.SetConfig(CLUSTER_DEFAULT, "max.connections", "5"),
        do.SetConfig(B1, KEYSTORE, Secret("new")),
        do.SetConfig(ConfigResource(codes.CLIENT_METRICS, "unread"), "interval.ms", "5000"),
        alice("producer_byte_rate", 5.0),
        alice("consumer_byte_rate", 5.0),
        do.RemoveAcl(acl()),
        allow(host="h"),
        do.GrowTopic("t2", 2),
        new(),
        do.SetConfig(NEW, "retention.ms", "1d"),
        do.UpsertScram(ScramUser("alice", SHA256), 8192, Secret("x")),
    ]
    was = [staged.was for staged in on(snapshot, *edits).plan.staged]
    own, inherited = was[0], was[1]
    assert isinstance(own, ConfigEntry)
    assert (own.value, own.source.name) == ("86400000", "DYNAMIC_TOPIC_CONFIG")
    assert isinstance(inherited, ConfigEntry)
    assert (inherited.value, inherited.source.name) == ("604800000", "DEFAULT_CONFIG")
    assert was[2] is None
    assert isinstance(was[3], ConfigEntry)
    assert was[3].hidden
    assert was[4] is UNREAD
    assert was[5:] == [
        1024.0,
        None,
        acl(),
        None,
        snapshot.topics["t2"],
        None,
        None,
        snapshot.scram["alice"][0],
    ]


def test_without_having_read_anything_edits_are_staged_as_they_are() -> None:
    edits: list[do.Edit] = [
        t1("retention.ms", "1d"),
        do.UnsetConfig(B1, "x"),
        do.AppendConfig(T1, "cleanup.policy", "compact"),
        alice("producer_byte_rate", 5.0),
        do.UnsetQuota(ALICE, "consumer_byte_rate"),
        allow(),
        do.RemoveAcl(acl(host="h")),
        do.GrowTopic("t1", 4),
        do.DeleteTopic("t2"),
        do.DeleteScram(ScramUser("a", SHA256)),
    ]
    plan = stage(EMPTY, edits, Snapshot()).plan
    assert {staged.was for staged in plan.staged} == {UNREAD}
    assert plan.staged[0].edit == t1("retention.ms", "86400000")  # the key's name tells the unit


def test_a_log_level_may_be_written_small(snapshot: Snapshot) -> None:
    assert on(snapshot, do.SetConfig(LOGGER, "kafka.server", "debug")).plan.staged[0].edit == do.SetConfig(
        LOGGER, "kafka.server", "DEBUG"
    )


def test_refused_edits_leave_the_others_alone(snapshot: Snapshot) -> None:
    report = on(
        snapshot,
        t1("nope", "1"),
        t1("retention.ms", "2d"),
        alice("producer_byte_rate", -1.0),
        do.UnsetConfig(T1, "flush.ms"),
    )
    assert [staged.edit.key for staged in report.plan.staged] == ["retention.ms"]
    assert [refused.edit.key for refused in report.refused] == ["nope", "producer_byte_rate"]
    assert [dropped.edit.key for dropped in report.dropped] == ["flush.ms"]


def test_staging_forgets_the_outcomes_of_what_it_touches_and_undo_brings_them_back(snapshot: Snapshot) -> None:
    plan = on(snapshot, t1("retention.ms", "2d"), do.SetConfig(T2, "retention.ms", "2d")).plan
    checked = with_outcomes(plan, {s.edit.slot: Outcome(s.edit.target, Status.VALID) for s in plan.staged})
    more = on(snapshot, t1("flush.ms", "5"), plan=checked).plan
    assert [more.outcome(staged.edit) is None for staged in more.staged] == [True, False, True]
    assert undo(more).outcomes == checked.outcomes


def test_discarding_a_topic_takes_all_of_it(snapshot: Snapshot) -> None:
    plan = on(
        snapshot,
        new(),
        do.SetConfig(NEW, "retention.ms", "1d"),
        do.GrowTopic("t1", 4),
        t1("flush.ms", "5"),
    ).plan
    made, grown = TopicTarget("new"), TopicTarget("t1")
    for target in (made, NEW):
        assert [s.edit.target for s in discard(plan, target).staged] == [grown, T1]
    assert [s.edit.target for s in discard(plan, made, "").staged] == [grown, T1]
    assert [s.edit.target for s in discard(plan, grown, "").staged] == [made, NEW, T1]
    assert [s.edit.target for s in discard(plan, T1, "flush.ms").staged] == [made, NEW, grown]
    assert discard(plan, T1, "retention.ms") is plan
    assert discard(plan).staged == ()
