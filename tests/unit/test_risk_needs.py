"""Tests of the facts that a plan's warnings need: each warning depends only on the facts that it declares, and is
absent if no harm is possible.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.verbs import VERBS
from console.model import codes, config
from console.model.acl import CLUSTER_NAME, Acl
from console.model.changes import NewTopic, ScramUser
from console.model.cluster import Broker, ClusterInfo, Group, GroupMember, Partition, Topic
from console.model.quota import QuotaEntity
from console.model.records import NewestBatches
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan import risk_rules as rules
from console.plan.compile import predict
from console.plan.limit_risks import contradictions
from console.plan.plan import EMPTY, Plan, stage
from console.plan.reversal import reversal
from console.plan.risks import risk_needs, risks
from console.plan.staged import Staged
from console.plan.topic_risks import may_inherit, moved_groups
from tests.support import samples

AT = datetime(2026, 1, 2, tzinfo=UTC)
ME = "User:admin"
LATEST = "message.timestamp.before.max.ms"
BROKER_KEYS = {
    "cleanup.policy": ("log.cleanup.policy", "delete"),
    "max.message.bytes": ("message.max.bytes", "1048588"),
    LATEST: ("log.message.timestamp.before.max.ms", "9223372036854775807"),
    "message.timestamp.type": ("log.message.timestamp.type", "CreateTime"),
    "min.insync.replicas": ("min.insync.replicas", "1"),
    "retention.bytes": ("log.retention.bytes", "-1"),
    "retention.ms": ("log.retention.ms", "604800000"),
    "unclean.leader.election.enable": ("unclean.leader.election.enable", "false"),
}
OWN = {
    "full": {},
    "empty": {},
    "single": {},
    "compacted": {"cleanup.policy": "compact"},
    "low": {"retention.ms": "1000"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
}
SIZES = {"full": 1 << 30, "empty": 0, "single": 1 << 20, "compacted": 1 << 20, "low": 1 << 20, "stamped": 0}
REPLICAS = {**dict.fromkeys(OWN, (1, 2, 3)), "single": (1,)}


def topic_configs(own: dict[str, str]) -> config.ConfigSet:
    entries = []
    for key, (name, default) in BROKER_KEYS.items():
        inherited = config.Synonym(name, default, codes.DEFAULT_CONFIG)
        if key in own:
            mine = config.Synonym(key, own[key], codes.DYNAMIC_TOPIC_CONFIG)
            entries.append(config.ConfigEntry(key, own[key], codes.DYNAMIC_TOPIC_CONFIG, synonyms=(mine, inherited)))
        else:
            entries.append(config.ConfigEntry(key, default, codes.DEFAULT_CONFIG, synonyms=(inherited,)))
    return config.ConfigSet(tuple(entries))


def acl(
    principal: str, operation: str, resource: str, name: str, permission: str = "ALLOW", pattern: str = "LITERAL"
) -> Acl:
    return samples.acl(principal, name, operation, permission, on=resource, pattern=pattern)


MINE = acl(ME, "ALTER", "CLUSTER", CLUSTER_NAME)
ACLS = (MINE, acl("User:app", "READ", "TOPIC", "full"), acl("User:app", "READ", "TOPIC", "pre", pattern="PREFIXED"))


def known(open_to_all: bool = True, acls: tuple[Acl, ...] = ACLS) -> Snapshot:
    """Return the snapshot of the cluster with all parts read.

    open_to_all: whether allow.everyone.if.no.acl.found is true on the brokers.
    """
    broker = [samples.own_entry(name, default, codes.DEFAULT_CONFIG) for name, default in BROKER_KEYS.values()]
    if open_to_all:
        # As brokers describe an unknown key: with a hidden value.
        broker.append(
            config.ConfigEntry("allow.everyone.if.no.acl.found", None, codes.STATIC_BROKER_CONFIG, sensitive=True)
        )
    configs = {config.topic_resource(name): topic_configs(own) for name, own in OWN.items()}
    return Snapshot(
        cluster=ClusterInfo("c", 1, tuple(Broker(id_, "localhost", 9092) for id_ in (1, 2, 3))),
        topics={name: Topic(name, (Partition(0, 1, each, each),)) for name, each in REPLICAS.items()},
        configs={**configs, config.broker_resource(1): config.ConfigSet(tuple(broker))},
        configs_from=1,
        acls=acls,
        read_at=dict.fromkeys(("cluster", "topics", "acls", "quotas"), AT),
    )


FACTS = rules.RiskFacts(SIZES, ME)


def found(*edits: do.Edit, snapshot: Snapshot | None = None) -> list[str]:
    staged = [Staged(edit, None) for edit in edits]
    return [risk.name for risk in risks(staged, snapshot or known(), FACTS)]


@pytest.mark.parametrize(
    ("topic", "takes", "made", "is_lost"),
    [
        ("full", "true", "false", False),
        ("full", "false", "true", True),
        ("nope", "true", "true", False),
        ("nope", "true", "false", True),
        ("", "false", "false", False),
    ],
)
def test_where_a_share_groups_dead_letters_go(topic: str, takes: str, made: str, *, is_lost: bool) -> None:
    snapshot = known()
    configs = {
        config.topic_resource("full"): ("errors.deadletterqueue.group.enable", takes),
        config.broker_resource(1): ("errors.deadletterqueue.auto.create.topics.enable", made),
    }
    more = {
        place: config.ConfigSet(
            (*snapshot.configs[place].entries, config.ConfigEntry(key, value, codes.DEFAULT_CONFIG))
        )
        for place, (key, value) in configs.items()
    }
    edit = do.SetConfig(config.ConfigResource(codes.GROUP, "shares"), "errors.deadletterqueue.topic.name", topic)
    named = found(edit, snapshot=replace(snapshot, configs={**snapshot.configs, **more}))
    assert named == ([rules.DEAD_LETTERS_LOST] if is_lost else [])
    assert risk_needs([Staged(edit, None)]).topics == (frozenset({topic}) if topic else frozenset())


def of(topic: str, key: str, value: str) -> do.SetConfig:
    return do.SetConfig(config.topic_resource(topic), key, value)


def default(key: str, value: str) -> do.SetConfig:
    return do.SetConfig(config.CLUSTER_DEFAULT, key, value)


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        # Edits without effect have no warning.
        (of("single", "unclean.leader.election.enable", "true"), []),
        (of("compacted", "retention.ms", "0"), []),
        (of("empty", "retention.ms", "0"), []),
        (of("empty", "max.message.bytes", "1000"), []),
        (of("full", "max.message.bytes", "2000000"), []),
        (of("low", "retention.ms", "2000"), []),
        (of("full", "local.retention.ms", "0"), []),
        (do.UnsetConfig(config.topic_resource("low"), "retention.ms"), []),
        (do.CreateTopic(NewTopic("n", 1, 1, configs={"unclean.leader.election.enable": "true"})), []),
        (do.CreateTopic(NewTopic("n", 1, 3, configs={"retention.ms": "0", "cleanup.policy": "compact"})), []),
        # Edits with an effect have one.
        (of("full", "unclean.leader.election.enable", "true"), [rules.UNCLEAN_ELECTION]),
        (of("full", "retention.ms", "0"), [rules.RETENTION_ZERO]),
        (of("full", "retention.ms", "5000"), [rules.RETENTION_TINY]),
        (of("full", "retention.bytes", "4096"), [rules.RETENTION_TINY]),
        (of("compacted", "cleanup.policy", "compact,delete"), []),
        (of("full", "max.message.bytes", "1000"), [rules.MESSAGE_SIZE_LOWERED]),
        (of("full", LATEST, "3600"), [rules.TIMES_REFUSED]),
        (of("full", "message.timestamp.after.max.ms", "60000"), [rules.TIMES_REFUSED]),
        (of("full", "message.timestamp.difference.max.ms", "0"), [rules.TIMES_REFUSED]),
        (of("full", LATEST, "3600000"), []),
        (of("stamped", LATEST, "3600"), []),
        (do.UnsetConfig(config.topic_resource("full"), LATEST), []),
        (default("log.message.timestamp.before.max.ms", "3600"), [rules.TIMES_REFUSED]),
        (default("log.message.timestamp.before.max.ms", "3600000"), []),
        (do.CreateTopic(NewTopic("n", 1, 3, configs={LATEST: "3600"})), [rules.TIMES_REFUSED]),
        (
            do.CreateTopic(NewTopic("n", 1, 3, configs={LATEST: "9", "message.timestamp.type": "LogAppendTime"})),
            [],
        ),
        (default("min.insync.replicas", "3"), [rules.ISR_ABOVE_REPLICATION]),
        (default("min.insync.replicas", "1"), []),
        (default("log.retention.ms", "1000"), [rules.RETENTION_TINY]),
        (default("message.max.bytes", "1000"), [rules.MESSAGE_SIZE_LOWERED]),
        (do.SetConfig(config.broker_resource(1), "unclean.leader.election.enable", "true"), [rules.UNCLEAN_ELECTION]),
        (
            do.SetQuota(QuotaEntity.of({"user": "a"}), "request_percentage", 0.0001),
            [rules.QUOTA_NEAR_ZERO],
        ),
        (
            do.SetQuota(QuotaEntity.of({"ip": "10.0.0.1"}), "connection_creation_rate", 0.0),
            [rules.QUOTA_NEAR_ZERO],
        ),
        (do.SetQuota(QuotaEntity.of({"user": "a"}), "consumer_byte_rate", 1e6), []),
        (do.RemoveAcl(MINE), [rules.ACL_LOCKS_OUT]),
        (do.AddAcl(acl(ME, "ALL", "CLUSTER", CLUSTER_NAME, "DENY")), [rules.ACL_LOCKS_OUT]),
        (do.AddAcl(acl("User:*", "ALTER", "CLUSTER", CLUSTER_NAME, "DENY")), [rules.ACL_LOCKS_OUT]),
        (do.AddAcl(acl("User:*", "WRITE", "TOPIC", "full", "DENY")), [rules.ACL_LOCKS_OUT]),
        (do.AddAcl(acl("User:other", "ALTER", "CLUSTER", CLUSTER_NAME, "DENY")), []),
        (do.AddAcl(acl("User:app", "WRITE", "TOPIC", "full")), []),
        (do.AddAcl(acl("User:app", "WRITE", "TOPIC", "prefixed")), []),
        (do.AddAcl(acl("User:app", "WRITE", "TOPIC", "empty")), [rules.FIRST_ACL]),
        (do.AddAcl(acl("User:app", "WRITE", "TOPIC", "*")), [rules.FIRST_ACL]),
    ],
    ids=str,
)
def test_a_warning_stands_where_something_can_go_wrong(edit: do.Edit, named: list[str]) -> None:
    assert found(edit) == named


def test_lowering_what_was_too_high_is_no_risk_and_a_policy_counts_with_its_limit() -> None:
    too_many = replace(
        known(), configs={**known().configs, config.topic_resource("full"): topic_configs({"min.insync.replicas": "9"})}
    )
    assert found(of("full", "min.insync.replicas", "3"), snapshot=too_many) == []
    assert found(of("full", "min.insync.replicas", "3")) == [rules.ISR_ABOVE_REPLICATION]
    own = {"cleanup.policy": "compact", "retention.ms": "1000"}
    there = replace(known(), configs={**known().configs, config.topic_resource("full"): topic_configs(own)})
    assert found(of("full", "cleanup.policy", "delete"), snapshot=there) == [rules.RETENTION_TINY]


def test_another_grant_is_enough_and_the_first_acl_shuts_out_nobody_from_a_closed_topic() -> None:
    both = (*ACLS, acl(ME, "ALL", "CLUSTER", CLUSTER_NAME))
    assert found(do.RemoveAcl(MINE), snapshot=known(acls=both)) == []
    assert found(do.RemoveAcl(MINE), do.RemoveAcl(both[-1]), snapshot=known(acls=both)) == [
        rules.ACL_LOCKS_OUT,
        rules.ACL_LOCKS_OUT,
    ]
    edit = do.AddAcl(acl("User:app", "WRITE", "TOPIC", "empty"))
    assert found(edit, snapshot=known(open_to_all=False)) == []


def test_what_is_too_large_to_read_is_counted_and_said() -> None:
    many = {
        f"t{number}": Topic(f"t{number}", (Partition(0, 1, (1, 2), (1, 2)),))
        for number in range(rules.READ_TOPICS + 500)
    }
    read = {config.topic_resource(name): topic_configs({}) for name in list(many)[: rules.READ_TOPICS]}
    (risk,) = risks([Staged(default("min.insync.replicas", "2"), None)], replace(known(), topics=many, configs=read))
    assert "2,000 topics that inherit it" in risk.text
    assert "500 more may, whose configs were not read" in risk.text


def test_the_help_of_apply_and_the_page_name_every_warning() -> None:
    page = (Path(__file__).parents[2] / "docs" / "trust.md").read_text()
    assert [name for name in rules.NAMES if name not in VERBS["apply"].about or f"| `{name}` |" not in page] == []


KEYS = sorted(BROKER_KEYS)
VALUES = {
    "cleanup.policy": ("delete", "compact"),
    "max.message.bytes": ("1", "1000", "2000000"),
    LATEST: ("-1", "0", "3600", "3600000"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "min.insync.replicas": ("1", "2", "3", "4"),
    "retention.bytes": ("-1", "0", "1000"),
    "retention.ms": ("-1", "0", "500", "86400000"),
    "unclean.leader.election.enable": ("true", "false"),
}


@st.composite
def config_edits(draw: st.DrawFn) -> do.Edit:
    key = draw(st.sampled_from(KEYS))
    where = draw(
        st.sampled_from(
            [
                *map(config.topic_resource, OWN),
                config.CLUSTER_DEFAULT,
                config.broker_resource(1),
                config.broker_resource(2),
            ]
        )
    )
    name = key if where.type == 2 else BROKER_KEYS[key][0]
    if draw(st.booleans()):
        return do.UnsetConfig(where, name)
    return do.SetConfig(where, name, draw(st.sampled_from(VALUES[key])))


ACL_EDITS = st.builds(
    lambda make, *parts: make(acl(*parts)),
    st.sampled_from([do.AddAcl, do.RemoveAcl]),
    st.sampled_from(["User:*", ME, "User:app"]),
    st.sampled_from(["ALL", "ALTER", "READ"]),
    st.sampled_from(["TOPIC", "CLUSTER"]),
    st.sampled_from(["full", "empty", CLUSTER_NAME]),
    st.sampled_from(["ALLOW", "DENY"]),
)


def read_only_what_is_needed(edits: list[do.Edit], whole: Snapshot) -> tuple[Snapshot, rules.RiskFacts]:
    """Return snapshot and facts with only the parts that the edits' warnings need, as `console.session.plan_facts`
    reads them, and the configs that the edits change.
    """
    staged = [Staged(edit, None) for edit in edits]
    needs = risk_needs(staged)
    topics = set(whole.topics) if needs.every_topic else set(needs.topics)
    named = set(needs.topics)
    if needs.every_topic:
        for each in staged:
            named |= set(may_inherit(each.edit, whole))
    resources: set[config.ConfigResource] = {
        edit.resource for edit in edits if isinstance(edit, do.SetConfig | do.UnsetConfig)
    }
    resources |= {config.topic_resource(name) for name in named}
    resources |= {config.broker_resource(1)} if needs.a_broker else set()
    part = Snapshot(
        cluster=whole.cluster if needs != rules.NOTHING else Snapshot().cluster,
        topics={name: topic for name, topic in whole.topics.items() if name in topics},
        configs={resource: configs for resource, configs in whole.configs.items() if resource in resources},
        configs_from=1,
        acls=whole.acls if needs.acls else (),
        read_at=whole.read_at,
    )
    return part, rules.RiskFacts({name: SIZES[name] for name in named} if needs.sizes else {}, ME)


@given(st.lists(config_edits() | ACL_EDITS, min_size=1, max_size=3, unique_by=lambda edit: edit.slot), st.booleans())
def test_a_warning_does_not_depend_on_what_else_was_read(edits: list[do.Edit], open_to_all: bool) -> None:
    whole = known(open_to_all)
    staged = [Staged(edit, None) for edit in edits]
    part, facts = read_only_what_is_needed(edits, whole)
    assert risks(staged, part, facts) == risks(staged, whole, FACTS)


# -- present use -------------------------------------------------------------------------------------------------------


def judged(edit: do.Edit, facts: rules.RiskFacts = FACTS, snapshot: Snapshot | None = None) -> dict[str, str]:
    """Return name of a warning -> its text, for one edit. snapshot: None for the usual cluster."""
    return {each.name: each.text for each in risks([Staged(edit, None)], snapshot or known(), facts)}


@pytest.mark.parametrize(
    ("topic", "policy", "keyless", "is_named"),
    [
        ("full", "compact", 7, True),
        ("full", "compact,delete", 7, True),
        ("full", "compact", 0, False),
        ("full", "delete", 7, False),
        ("compacted", "compact,delete", 7, False),  # the topic refuses records without keys already
    ],
)
def test_compaction_of_records_without_keys(topic: str, policy: str, keyless: int, *, is_named: bool) -> None:
    facts = replace(FACTS, batches={topic: NewestBatches(500, 20, keyless)})
    found = judged(of(topic, "cleanup.policy", policy), facts)
    assert (rules.KEYLESS_RECORDS in found) is is_named
    if is_named:
        assert found[rules.KEYLESS_RECORDS].startswith("7 of its 20 newest records have no key")
    assert rules.KEYLESS_RECORDS not in judged(of(topic, "cleanup.policy", policy)), "nothing was read"


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (
            of("full", LATEST, "3600"),
            "records whose time is more than 3.6 s before the broker's are refused, so that their producers fail; it "
            "is in milliseconds, 1 h would be 3600000",
        ),
        (
            of("full", "message.timestamp.after.max.ms", "5000"),
            "records whose time is more than 5 s after the broker's are refused, so that their producers fail",
        ),
        (
            default("log.message.timestamp.before.max.ms", "86400"),
            "records whose time is more than 1.44 min before the broker's are refused, so that their producers fail; "
            "it is in milliseconds, 1 d would be 86400000: 5 topics that inherit it and take the producers' times",
        ),
    ],
    ids=str,
)
def test_a_limit_of_times_that_looks_like_seconds_says_what_they_would_be(edit: do.Edit, text: str) -> None:
    assert judged(edit)[rules.TIMES_REFUSED] == text


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ({}, "was not read"),
        ({"full": NewestBatches(5_100, 3)}, "one of its newest has 5,100: its producer fails"),
        ({"full": NewestBatches(900, 3)}, "the largest of its newest has 900"),
    ],
)
def test_a_lower_size_is_compared_with_what_is_written(batches: dict[str, NewestBatches], words: str) -> None:
    found = judged(of("full", "max.message.bytes", "1000"), replace(FACTS, batches=batches))
    assert words in found[rules.MESSAGE_SIZE_LOWERED]


def group(name: str, *hosts: str, coordinator: int = 1, on: int = 0) -> Group:
    members = tuple(GroupMember(f"{name}{n}", "c", f"/{host}", (("full", on),)) for n, host in enumerate(hosts))
    return Group(name, "Stable" if hosts else "Empty", "consumer", coordinator=coordinator, members=members)


GROUPS = {each.name: each for each in (group("a", "10.0.0.1", "10.0.0.1"), group("b", "10.0.0.2"), group("idle"))}


@pytest.mark.parametrize(
    ("where", "key", "value", "words"),
    [
        (
            config.CLUSTER_DEFAULT,
            "max.connections.per.ip",
            "1",
            "2 members of groups are connected to broker 1 from 10",
        ),
        (config.broker_resource(1), "max.connections.per.ip", "1", "2 members"),
        (config.broker_resource(2), "max.connections.per.ip", "1", ""),
        (config.CLUSTER_DEFAULT, "max.connections.per.ip", "2", ""),
        (
            config.CLUSTER_DEFAULT,
            "max.connections",
            "2",
            "3 members of groups are connected to broker 1, and it takes 2",
        ),
        (config.CLUSTER_DEFAULT, "max.connections", "3", ""),
    ],
)
def test_a_limit_below_the_connections_that_there_are(
    where: config.ConfigResource, key: str, value: str, words: str
) -> None:
    found = judged(do.SetConfig(where, key, value), replace(FACTS, groups=GROUPS))
    assert found.get(rules.CONNECTIONS_BELOW_USE, "").startswith(words)
    assert (rules.CONNECTIONS_BELOW_USE in found) is bool(words)


@pytest.mark.parametrize(
    ("own", "key", "value", "words"),
    [
        ({}, "replica.lag.time.max.ms", "600", "a follower that waits for records fetches every 500 ms"),
        ({}, "replica.lag.time.max.ms", "10000", ""),
        ({"replica.lag.time.max.ms": "700"}, "replica.lag.time.max.ms", "700", ""),  # the edit makes nothing worse
        ({}, "group.max.session.timeout.ms", "30000", "consumers with the usual session timeout of 45,000 ms"),
        ({}, "group.max.session.timeout.ms", "60000", ""),
        ({}, "group.min.session.timeout.ms", "50000", "consumers with the usual"),
        ({}, "group.min.session.timeout.ms", "2000000", "no session timeout is allowed"),
        ({}, "message.max.bytes", "9000000", "a batch that message.max.bytes=9,000,000 allows is refused above"),
        ({}, "message.max.bytes", "1048700", ""),
        ({}, "message.max.bytes", "2000", ""),  # message-size-lowered says it
        ({}, "transaction.max.timeout.ms", "30000", "producers with the usual transaction.timeout.ms"),
        ({}, "transaction.max.timeout.ms", "60000", ""),
        ({}, "socket.request.max.bytes", "1000000", "brokers close the connection at a request that usual producers"),
    ],
)
def test_settings_that_contradict_each_other(own: dict[str, str], key: str, value: str, words: str) -> None:
    values = {
        "replica.lag.time.max.ms": "30000",
        "replica.fetch.wait.max.ms": "500",
        "group.min.session.timeout.ms": "6000",
        "group.max.session.timeout.ms": "1800000",
        "message.max.bytes": "1048588",
        "log.segment.bytes": "1048576",
        "transaction.max.timeout.ms": "900000",
        "socket.request.max.bytes": "104857600",
        **own,
    }
    broker = config.broker_resource(1)
    there = replace(
        known(), configs={**known().configs, broker: samples.config_set(values, codes.DYNAMIC_BROKER_CONFIG)}
    )
    found = judged(do.SetConfig(broker, key, value), snapshot=there)
    assert found.get(rules.SETTINGS_CONTRADICT, "").startswith(words)
    assert (rules.SETTINGS_CONTRADICT in found) is bool(words)


@pytest.mark.parametrize(
    "values",
    [
        {"replica.lag.time.max.ms": "30000", "replica.fetch.wait.max.ms": "10000"},
        {"replica.lag.time.max.ms": "1000", "replica.fetch.wait.max.ms": "500"},
        {"group.min.session.timeout.ms": "2000000", "group.max.session.timeout.ms": "1800000"},
        {"group.min.session.timeout.ms": "60000", "group.max.session.timeout.ms": "50000"},
        {"message.max.bytes": "9000000", "log.segment.bytes": "1048576"},
        {"transaction.max.timeout.ms": "1000"},
    ],
)
def test_the_wanted_value_ends_a_contradiction(values: dict[str, str]) -> None:
    (found,) = contradictions(samples.config_set(values, codes.STATIC_BROKER_CONFIG))
    mended = {**values, found.key: str(found.wanted)}
    left = contradictions(samples.config_set(mended, codes.STATIC_BROKER_CONFIG))
    assert [each for each in left if not each.of_clients] == []


def test_commits_that_are_kept_for_a_shorter_time_and_the_groups_that_lose_them() -> None:
    broker = config.broker_resource(1)
    values = samples.config_set({"offsets.retention.minutes": "10080"}, codes.DEFAULT_CONFIG)
    there = replace(known(), configs={**known().configs, broker: values})
    facts = replace(FACTS, groups=GROUPS)
    found = judged(do.SetConfig(broker, "offsets.retention.minutes", "60"), facts, there)
    assert found[rules.OFFSETS_EXPIRE].startswith("1 group without members (idle): what they committed goes")
    assert rules.OFFSETS_EXPIRE not in judged(do.SetConfig(broker, "offsets.retention.minutes", "20000"), facts, there)
    topic = Topic("__consumer_offsets", tuple(Partition(n, 1, (1,), (1,)) for n in range(3)), internal=True)
    names = ("billing", "shipping", "invoices", "search", "fraud", "ledger", "reports")
    snapshot = replace(known(), topics={topic.name: topic}, groups={name: group(name) for name in names})
    text = judged(do.GrowTopic(topic.name, 12), snapshot=snapshot)[rules.SYSTEM_TOPIC]
    assert "6 of 7 groups, fraud, invoices, ledger and 3 more" in text
    assert moved_groups(names, 3, 3) == []


def racked(*racks: str | None) -> Snapshot:
    brokers = tuple(Broker(n, "localhost", 9092, rack) for n, rack in enumerate(racks, 1))
    return replace(known(), cluster=ClusterInfo("c", 1, brokers))


@pytest.mark.parametrize(
    ("snapshot", "replicas", "is_named"),
    [
        (racked("a", "a", "b"), (1, 2), True),
        (racked("a", "a", "b"), (1, 3), False),
        (racked("a", "a", "b"), (1,), False),
        (racked("a", "a", "a"), (1, 2), False),  # no other rack exists
        (racked("a", None, "b"), (1, 2), False),
    ],
)
def test_replicas_in_one_rack(snapshot: Snapshot, replicas: tuple[int, ...], *, is_named: bool) -> None:
    wanted = [rules.ONE_RACK] if is_named else []
    assert (rules.ONE_RACK in judged(do.MoveReplicas("full", 0, replicas), snapshot=snapshot)) is is_named
    made = do.CreateTopic(NewTopic("n", assignments=((1, 3), replicas)))
    assert list(judged(made, snapshot=snapshot)) == wanted
    assert risk_needs([Staged(made, None)]) == rules.RiskNeeds(brokers=True)


def test_a_move_within_the_rack_that_had_them_all_is_no_worse() -> None:
    snapshot = racked("a", "a", "a", "b")
    assert not judged(do.MoveReplicas("full", 0, (3, 2, 1)), snapshot=snapshot)


@pytest.mark.parametrize(
    ("had", "gets", "is_named"), [((1, 2), (3,), True), ((1,), (3,), False), ((1, 2), (3, 1), False)]
)
def test_a_move_that_leaves_one_replica(had: tuple[int, ...], gets: tuple[int, ...], *, is_named: bool) -> None:
    topic = Topic("n", (Partition(0, had[0], had, had),))
    snapshot = replace(known(), topics={"n": topic})
    found = judged(do.MoveReplicas("n", 0, gets), snapshot=snapshot)
    assert list(found) == ([rules.ONE_REPLICA] if is_named else [])
    assert not is_named or found[rules.ONE_REPLICA].startswith("n/0 is left with one replica, on broker 3")


@pytest.mark.parametrize(("mechanism", "is_own"), [("SCRAM-SHA-256", True), ("SCRAM-SHA-512", False), ("PLAIN", False)])
def test_the_login_of_this_console(mechanism: str, *, is_own: bool) -> None:
    edit = do.DeleteScram(ScramUser("admin", codes.ScramMechanism(1)))
    assert list(judged(edit, replace(FACTS, mechanism=mechanism))) == ([rules.OWN_LOGIN_DELETED] if is_own else [])
    other = do.DeleteScram(ScramUser("alice", codes.ScramMechanism(1)))
    assert not judged(other, replace(FACTS, mechanism=mechanism))


def test_larger_segments_of_a_coordinators_topic() -> None:
    there = replace(
        known(),
        configs={
            config.topic_resource("__consumer_offsets"): samples.config_set(
                {"segment.bytes": "104857600", "cleanup.policy": "compact"}, codes.DYNAMIC_TOPIC_CONFIG
            )
        },
    )
    assert (
        "reads up to"
        in judged(of("__consumer_offsets", "segment.bytes", "2000000000"), snapshot=there)[rules.SYSTEM_TOPIC]
    )
    assert not judged(of("__consumer_offsets", "segment.bytes", "50000000"), snapshot=there)


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (of("full", "cleanup.policy", "compact"), rules.KEYLESS_RECORDS),
        (of("full", "max.message.bytes", "1000"), rules.MESSAGE_SIZE_LOWERED),
        (of("full", LATEST, "3600"), rules.TIMES_REFUSED),
        (do.SetConfig(config.broker_resource(1), "max.connections.per.ip", "1"), rules.CONNECTIONS_BELOW_USE),
        (do.SetConfig(config.broker_resource(1), "replica.lag.time.max.ms", "600"), rules.SETTINGS_CONTRADICT),
        (do.SetConfig(config.broker_resource(1), "offsets.retention.minutes", "60"), rules.OFFSETS_EXPIRE),
    ],
    ids=str,
)
def test_what_is_taken_back_leaves_no_risk(edit: do.Edit, name: str) -> None:
    """The edit that reverts a risky edit, judged on the cluster after the risky one, has no warning."""
    values = {
        "replica.lag.time.max.ms": "30000",
        "replica.fetch.wait.max.ms": "500",
        "offsets.retention.minutes": "10080",
    }
    own = tuple(samples.config_set(values, codes.DYNAMIC_BROKER_CONFIG).entries)
    snapshot, broker = known(), config.broker_resource(1)
    configs = {**snapshot.configs, broker: config.ConfigSet((*snapshot.configs[broker].entries, *own))}
    before = replace(snapshot, configs=configs)
    facts = replace(FACTS, groups=GROUPS, batches={"full": NewestBatches(5_100, 20, 7)})
    (staged,) = stage(EMPTY, [edit], before).plan.staged
    assert name in [each.name for each in risks([staged], before, facts)]
    after = predict(before, Plan((staged,)))
    back = stage(EMPTY, reversal(staged).edits, after).plan.staged
    assert back
    assert not risks(back, after, facts)
