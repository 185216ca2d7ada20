"""Tests of a plan's effects and risks: their counts equal those of a model that applies the plan, and the right risks
are named.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import codes
from console.model.changes import NewTopic
from console.model.cluster import BrokerVersion, ScramCredential
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.quota import IP, QuotaEntity, effective, level_of
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan import risk_rules as rules
from console.plan.kinds.quotas import StrongerQuotas
from console.plan.plan import EMPTY, stage
from console.plan.reconcile import ApplyOptions
from console.plan.risks import effects, risks
from console.plan.staged import Staged
from tests.support import samples
from tests.support.model_cluster import ModelCluster

RATE = "producer_byte_rate"
NAMES = st.none() | st.sampled_from(["a", "b"])
ENTITIES = st.one_of(
    st.fixed_dictionaries({"user": NAMES}),
    st.fixed_dictionaries({"client-id": NAMES}),
    st.fixed_dictionaries({"user": NAMES, "client-id": NAMES}),
).map(QuotaEntity.of)
CLIENTS = [(user, client) for user in ("a", "b", "c") for client in ("a", "b", "c")]


def model() -> ModelCluster:
    return ModelCluster(
        topics={"t1": 3, "t2": 1},
        configs={topic_resource("t1"): {"retention.ms": "5"}, broker_resource(2): {"log.retention.ms": "7"}},
        quotas={QuotaEntity.of({"user": "alice"}): {RATE: 1024.0}},
    )


def described() -> Snapshot:
    """Return a snapshot of the model's cluster; topic t1 has two replicas, t2 has one."""
    snapshot = model().describe()
    replicas = {"t1": (1, 2), "t2": (1,)}
    topics = {
        name: replace(topic, partitions=tuple(part._replace(replicas=replicas[name]) for part in topic.partitions))
        for name, topic in snapshot.topics.items()
    }
    return replace(snapshot, topics=topics)


def names(*edits: do.Edit) -> list[str]:
    snapshot = described()
    return [risk.name for risk in risks((Staged(edit, None) for edit in edits), snapshot)]


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (do.SetConfig(topic_resource("t1"), "min.insync.replicas", "9"), [rules.ISR_ABOVE_REPLICATION]),
        (do.SetConfig(topic_resource("t1"), "min.insync.replicas", "2"), [rules.ISR_ABOVE_REPLICATION]),
        (do.SetConfig(topic_resource("t1"), "min.insync.replicas", "1"), []),
        (do.SetConfig(topic_resource("t2"), "min.insync.replicas", "1"), []),
        (do.SetConfig(CLUSTER_DEFAULT, "min.insync.replicas", "9"), [rules.ISR_ABOVE_REPLICATION]),
        (do.SetConfig(topic_resource("t1"), "unclean.leader.election.enable", "true"), [rules.UNCLEAN_ELECTION]),
        (do.SetConfig(topic_resource("t1"), "unclean.leader.election.enable", "false"), []),
        (do.SetConfig(topic_resource("t1"), "retention.ms", "0"), [rules.RETENTION_ZERO]),
        (do.SetConfig(CLUSTER_DEFAULT, "log.retention.ms", "0"), [rules.RETENTION_ZERO]),
        (do.SetConfig(topic_resource("t1"), "retention.ms", "1"), [rules.RETENTION_TINY]),
        (do.SetConfig(topic_resource("t1"), "retention.ms", "6"), []),
        (do.SetConfig(ConfigResource(codes.BROKER, "1"), "log.dirs", "/b"), [rules.NEEDS_RESTART]),
        (
            do.SetQuota(QuotaEntity.of({"user": None}), RATE, 1.0),
            [rules.THROTTLES_EVERYONE, rules.QUOTA_NEAR_ZERO],
        ),
        (
            do.SetQuota(QuotaEntity.of({"user": None, "client-id": None}), RATE, 1e6),
            [rules.THROTTLES_EVERYONE],
        ),
        (do.SetQuota(QuotaEntity.of({"user": None, "client-id": "a"}), RATE, 1024.0), []),
        (do.SetQuota(QuotaEntity.of({"user": "alice"}), RATE, 1.0), [rules.QUOTA_NEAR_ZERO]),
        (
            do.SetQuota(QuotaEntity.of({"user": None}), "controller_mutation_rate", 0.1),
            [rules.THROTTLES_EVERYONE],
        ),
        (
            do.SetQuota(QuotaEntity.of({"client-id": None}), "request_percentage", 50.0),
            [rules.THROTTLES_EVERYONE],
        ),
        (
            do.SetQuota(QuotaEntity.of({"ip": None}), "connection_creation_rate", 5.0),
            [rules.THROTTLES_EVERYONE],
        ),
        (do.CreateTopic(NewTopic("n", 3, 2, configs={"min.insync.replicas": "2"})), [rules.ISR_ABOVE_REPLICATION]),
        (do.CreateTopic(NewTopic("n", 3, 3, configs={"min.insync.replicas": "2"})), []),
    ],
)
def test_what_is_legal_but_wrong_has_a_name(edit: do.Edit, named: list[str]) -> None:
    assert names(edit) == named


def acl(name: str, *, prefixed: bool = False, principal: str = "User:alice", host: str = "*") -> do.AddAcl:
    pattern = "PREFIXED" if prefixed else "LITERAL"
    return do.AddAcl(samples.acl(principal, name, pattern=pattern, host=host))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (acl("*", prefixed=True), "in a prefix * is no wildcard: no topic begins with *"),
        (acl("pay*", prefixed=True), "the prefix is pay"),
        (acl("pay.*"), "no topic is called pay.*; pay. prefixed is what begins so"),
        (acl("t", principal="User:svc-*"), "User:svc-* is one that is called so"),
        (acl("t", host="10.0.0.*"), "from 10.0.0.* no client comes"),
        (acl("t", principal="user:alice"), "no login has the type user of its principal"),
        (acl("t", principal="Group:alice"), ""),
        (acl("t", host="web1"), "from web1 no client comes"),
        (acl("t", host="::1"), "brokers write that address 0:0:0:0:0:0:0:1"),
        (acl("*"), ""),
        (acl("pay", prefixed=True), ""),
        (acl("t", principal="User:*", host="10.0.0.1"), ""),
    ],
)
def test_a_wildcard_that_is_none_is_a_warning(edit: do.AddAcl, words: str) -> None:
    found = [each.text for each in risks([Staged(edit, None)], described()) if each.name == "acl-matches-nothing"]
    assert bool(found) is bool(words)
    assert not words or words in found[0]


@pytest.mark.parametrize(("level", "is_warned"), [(33, False), (30, True), (None, True)])
def test_a_range_of_addresses_is_one_to_brokers_of_4_4(level: int | None, is_warned: bool) -> None:
    """An ACL with a range of addresses gives a warning unless all brokers are 4.4 or newer: older ones compare
    addresses as text. A broker of unknown version counts as older.
    """
    versions = {} if level is None else {1: BrokerVersion("x", {}, {"metadata.version": (7, level)})}
    snapshot = replace(described(), versions=versions)
    found = [each.text for each in risks([Staged(acl("t", host="10.0.0.0/8"), None)], snapshot)]
    assert bool(found) is is_warned
    assert not is_warned or "from 10.0.0.0/8 no client comes: brokers of 4.4 know ranges of addresses" in found[0]
    assert risks([Staged(acl("t", host="10.0.0/8"), None)], snapshot), "that is no range"


def test_whom_a_default_throttles_is_named() -> None:
    """The warning about a default quota names the users without a limit of their own for this key, this console's user
    first.
    """
    quotas = {
        QuotaEntity.of({"user": "limited"}): {"controller_mutation_rate": 5.0},
        QuotaEntity.of({"user": "of-bytes"}): {RATE: 5.0},
        QuotaEntity.of({"user": "with-client", "client-id": "c"}): {RATE: 5.0},
    }
    scram = {name: (ScramCredential(codes.ScramMechanism(1), 4096),) for name in ("ops", "zoe", "limited")}
    acls = (acl("t", principal="User:reader").acl, acl("t", principal="Group:x").acl, acl("t", principal="User:*").acl)
    snapshot = replace(described(), quotas=quotas, scram=scram, acls=acls)

    def said(key: str, me: str = "User:ops") -> str:
        edit = do.SetQuota(QuotaEntity.of({"user": None}), key, 0.05)
        return next(each.text for each in risks([Staged(edit, None)], snapshot, rules.RiskFacts(principal=me)))

    assert said("controller_mutation_rate").endswith(": this console's ops, of-bytes, reader, with-client and 1 more")
    assert said("controller_mutation_rate", "User:limited").endswith(": of-bytes, ops, reader and 2 more")
    assert "this console's ops, limited, reader, zoe" in said(RATE)


def test_a_raised_default_throttles_nobody_more() -> None:
    entity = QuotaEntity.of({"user": None})
    snapshot = model().describe()
    assert not risks([Staged(do.SetQuota(entity, RATE, 10.0), 5.0)], snapshot)
    assert risks([Staged(do.SetQuota(entity, RATE, 1.0), 5.0)], snapshot)


def test_what_is_accepted_is_no_hindrance_and_what_has_a_subject_with_it_alone() -> None:
    found = risks([Staged(do.SetConfig(topic_resource("t1"), "retention.ms", "0"), None)], model().describe())
    assert ApplyOptions(risks=frozenset({"unclean-election"})).hindering(found) == found
    assert ApplyOptions(risks=frozenset({rules.RETENTION_ZERO})).hindering(found) == ()
    slot = do.Slot(topic_resource("t1"), "")
    one, other = (rules.Risk(slot, rules.RETENTION_ZERO, "…", subject) for subject in ("t1/3", "t1/4"))
    assert ApplyOptions(risks=frozenset({rules.RETENTION_ZERO})).hindering((one, other)) == (one, other)
    assert ApplyOptions(risks=frozenset({f"{rules.RETENTION_ZERO}=t1/3"})).hindering((one, other)) == (other,)
    assert ApplyOptions(seen=(one,)).hindering((one, other)) == (other,)


def test_who_inherits_a_default_and_who_shadows_it_and_growth_moves_keys() -> None:
    (lines,) = effects(
        [Staged(do.SetConfig(CLUSTER_DEFAULT, "log.retention.ms", "9"), None)], model().describe()
    ).values()
    assert lines == ("1 broker inherits it, 1 shadows it", "1 topic inherits it, 1 shadows it")
    assert effects([Staged(do.GrowTopic("t1", 6), None)], model().describe())


def test_what_was_not_read_is_not_counted() -> None:
    cluster = model()
    snapshot = cluster.describe()
    partly = {key: value for key, value in snapshot.configs.items() if key != topic_resource("t2")}
    found = effects(
        [Staged(do.SetConfig(CLUSTER_DEFAULT, "log.retention.ms", "9"), None)], replace(snapshot, configs=partly)
    )
    assert "at least 0 topics inherit it, at least 1 shadows it" in next(iter(found.values()))


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("producer_byte_rate", "[kM]i?B/s"),
        ("consumer_byte_rate", "[kM]i?B/s"),
        ("request_percentage", "%"),
        ("controller_mutation_rate", "mut/s"),
    ],
)
def test_every_limit_is_said_with_its_unit(key: str, unit: str) -> None:
    user, default = QuotaEntity.of({"user": "u"}), QuotaEntity.of({"user": None})
    snapshot = replace(model().describe(), quotas={user: {key: 10485760.0}, default: {key: 20000.0}})
    edits = [Staged(do.SetQuota(default, key, 10485760.0), 20000.0), Staged(do.UnsetQuota(user, key), 10485760.0)]
    said = [line for lines in effects(edits, snapshot).values() for line in lines if re.search("in all|counts", line)]
    assert said
    assert all(re.search(rf"[0-9] {unit}( in all)?$", line) for line in said), said


@given(st.dictionaries(ENTITIES, st.sampled_from([1.0, 2.0, 3.0]), max_size=8), ENTITIES, st.sampled_from([5.0, None]))
def test_only_entities_told_of_keep_their_limit(
    quotas: dict[QuotaEntity, float], entity: QuotaEntity, value: float | None
) -> None:
    """After a quota is set, each client under its entity has the entity's limit, or that of a stronger entity; the
    effects count these stronger entities. Clients that are not under the entity keep their limit.
    """
    before = {each: {RATE: limit} for each, limit in quotas.items()}
    after = {**before, entity: {RATE: value}} if value is not None else {k: v for k, v in before.items() if k != entity}
    stronger = [
        each for each in before if each != entity and level_of(each) < level_of(entity) and overlap(entity, each)
    ]
    cluster = ModelCluster(quotas={each: dict(limits) for each, limits in before.items()})
    edit = do.SetQuota(entity, RATE, value) if value is not None else do.UnsetQuota(entity, RATE)
    told = " ".join(effects([Staged(edit, None)], cluster.describe()).get(edit.slot, ()))
    assert (f"{len(stronger)} entit" in told) == bool(stronger)
    names_ = entity.as_dict()
    for user, client in CLIENTS:
        under = names_.get("user", user) in (user, None) and names_.get("client-id", client) in (client, None)
        now = effective(after, user, client, RATE)
        if not under:
            assert now == effective(before, user, client, RATE)
        elif value is not None:
            assert now is not None
            assert now.entity == entity or now.entity in stronger


def test_staged_edits_are_what_is_judged() -> None:
    cluster = model()
    plan = stage(EMPTY, [do.SetConfig(topic_resource("t1"), "retention.ms", "0")], cluster.describe()).plan
    assert [risk.name for risk in risks(plan.staged, cluster.describe())] == [rules.RETENTION_ZERO]


def overlap(one: QuotaEntity, other: QuotaEntity) -> bool:
    """Return whether a client can match both quota entities."""
    mine, theirs = one.as_dict(), other.as_dict()
    if (IP in mine) != (IP in theirs):
        return False
    shared = mine.keys() & theirs.keys()
    return all(mine[type_] is None or theirs[type_] is None or mine[type_] == theirs[type_] for type_ in shared)


ADDRESSES = st.fixed_dictionaries({"ip": st.none() | st.sampled_from(["10.0.0.1", "10.0.0.2"])}).map(QuotaEntity.of)


@given(st.sets(ENTITIES | ADDRESSES), ENTITIES | ADDRESSES)
def test_stronger_quotas_are_counted_as_if_each_were_looked_at(known: set[QuotaEntity], mine: QuotaEntity) -> None:
    each = [other for other in known if level_of(other) < level_of(mine) and overlap(mine, other)]
    assert StrongerQuotas(known).count(mine) == len(each)
