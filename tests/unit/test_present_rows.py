"""Tests of the texts of rows, header and details that a snapshot and a plan give."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.plan_results import conflict_side
from console.model import cluster, codes, config
from console.model.changes import NewTopic, Target
from console.model.failure import Failure
from console.model.half_hour import HalfHour
from console.model.inheritance import Inherited
from console.model.lag_trend import LagTrend, trend_after, with_times
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import ReadFailure, Snapshot
from console.model.time_lag import Spot, Written
from console.model.topic_counts import TopicCounts
from console.model.topic_readers import TopicLags
from console.model.visibility import NOT_VISIBLE
from console.plan import edits as do
from console.plan.amounts import exact_quota
from console.plan.effective_values import EffectiveValue
from console.plan.plan import EMPTY, Plan, stage
from console.present import configs
from console.present import topics as present_topics
from console.present.acls import ACLS, acl_rows, search_text, touches_topic
from console.present.brokers import BROKERS, broker_loads, broker_rows, disk, quorum_line, silent_line
from console.present.changed import Change, Changed, changes
from console.present.failures import unread
from console.present.groups import GROUPS, GroupRow, group_line, lag_total
from console.present.header import State, Who, controller, facts, header
from console.present.names import acl as acl_text
from console.present.names import quota_entity
from console.present.quotas import DEFAULTS, QuotaTree, effective_lines, whose
from console.present.text import Cell, plain
from tests.support.samples import acl
from widgets.cells import cell_width

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ORDERS = config.topic_resource("orders")
LONG, LIST, PASSWORD = codes.ConfigType(5), codes.ConfigType(7), codes.ConfigType(9)
RETENTION = config.ConfigEntry(
    "retention.ms",
    "86400000",
    codes.DYNAMIC_TOPIC_CONFIG,
    type=LONG,
    synonyms=(
        config.Synonym("retention.ms", "86400000", codes.DYNAMIC_TOPIC_CONFIG),
        config.Synonym("log.retention.ms", "259200000", codes.DYNAMIC_DEFAULT_BROKER_CONFIG),
        config.Synonym("log.retention.hours", "168", codes.DEFAULT_CONFIG),
    ),
)
SEGMENT = config.ConfigEntry("segment.bytes", "1073741824", codes.DEFAULT_CONFIG, type=codes.ConfigType(3))
HIDDEN = config.ConfigEntry("ssl.secret", None, codes.DYNAMIC_TOPIC_CONFIG, sensitive=True, type=PASSWORD)


def texts(cells: list[Cell]) -> list[str]:
    return [plain(cell) for cell in cells]


def snapshot(**parts: object) -> Snapshot:
    known = Snapshot(
        cluster=cluster.ClusterInfo("c-1", 3, (cluster.Broker(1, "b1", 9092, "r1"), cluster.Broker(2, "b2", 9092))),
        topics={"orders": cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2), (1, 2)),))},
        configs={ORDERS: config.ConfigSet((RETENTION, SEGMENT))},
        configs_from=1,
        read_at=dict.fromkeys(("cluster", "topics", "configs", "quotas", "acls", "groups"), NOW),
    )
    return replace(known, **parts)  # type: ignore[arg-type]


def staged(*edits: object, known: Snapshot | None = None) -> Plan:
    report = stage(EMPTY, edits, known or snapshot())  # type: ignore[arg-type]
    assert not report.refused, report.refused
    return report.plan


LIVE, STALE = State("live", "muted"), State("! STALE since 03:11:42", "stale", current=False)

# -- header --------------------------------------------------------------------------------------------------------


@given(
    st.text(max_size=60),
    st.text(max_size=60),
    st.booleans(),
    st.integers(20, 200),
    st.integers(0, 10**6),
    st.sampled_from((LIVE, STALE)),
)
def test_the_header_fits_its_width_and_always_says_whether_it_may_change_things_and_whether_it_is_so(
    name: str, principal: str, read_only: bool, width: int, missing: int, state: State
) -> None:
    counted = replace(facts(snapshot(), TopicCounts().after(snapshot().topics)), under_replicated=missing)
    line = header(snapshot(), counted, Who(name, read_only, principal), state, width)
    assert cell_width(plain(line)) <= width
    assert ("RO" if read_only else "RW") in plain(line)
    assert (state.text if width >= 40 else state.text[:6]) in plain(line)
    assert (f"URP {missing:,}" in plain(line)) <= state.current, "what was counted is not said of the present"


def test_the_header_of_a_wide_screen_has_it_all() -> None:
    known = snapshot(
        versions={1: cluster.BrokerVersion("4.3", {}), 2: cluster.BrokerVersion("3.9", {})},
        quorum=cluster.Quorum(2, 5, 10, (cluster.QuorumReplica(2, 10, 0),), ()),
        topics={
            "orders": cluster.Topic(
                "orders", (cluster.Partition(0, 1, (1, 2), (1,)), cluster.Partition(1, -1, (1, 2), (1, 2)))
            ),
            "__x": cluster.Topic("__x", (), internal=True),
        },
    )
    line = plain(header(known, facts(known, TopicCounts().after(known.topics)), Who("prod", False, "alice"), LIVE, 120))
    assert line.split("  ") == [
        " prod",
        "RW",
        "c-1",
        "kafka 3.9–4.3",
        "2 brokers",
        "ctrl 2",
        "1 topic",
        "URP 1",
        "OFFLINE 1",
        "live",
        "alice",
    ]
    counts = facts(known, TopicCounts().after(known.topics))
    leaderless = plain(header(known, counts, Who("prod", False, "alice"), LIVE._replace(is_led=False), 120))
    assert "ctrl ?" in leaderless
    silent = plain(header(known, counts, Who("prod", False, "alice"), STALE, 120))
    assert silent.split("  ") == [" prod", "RW", "c-1", STALE.text, "alice"]


@pytest.mark.parametrize(
    ("finalized", "highest", "shown"),
    [(27, (30, 30), "kafka 4.3  metadata 4.1-IV1"), (30, (30, 30), "kafka 4.3"), (27, (27, 30), "kafka 4.3")],
)
def test_the_header_has_the_finalized_level_if_all_brokers_support_a_higher_one(
    finalized: int, highest: tuple[int, int], shown: str
) -> None:
    versions = {
        number: cluster.BrokerVersion("4.3", {}, {"metadata.version": (7, each)}, {"metadata.version": finalized})
        for number, each in enumerate(highest)
    }
    known = snapshot(versions=versions)
    line = plain(header(known, facts(known, TopicCounts()), Who("prod", False, "alice"), LIVE, 120))
    assert f"  {shown}  2 brokers" in line


def test_the_controller_is_the_quorums_leader_and_metadatas_only_without_a_quorum() -> None:
    assert controller(snapshot()) is None
    assert controller(snapshot(quorum=cluster.Quorum(2, 5, 10, (), ()))) == 2
    nodes = cluster.ClusterInfo("c-1", -1, (), controllers=(cluster.Broker(2, "c2", 9093),))
    lost = ReadFailure("quorum", "quorum", Failure("UNKNOWN_BROKER", "the cluster has no controller just now"))
    assert controller(snapshot(cluster=nodes, quorum=cluster.Quorum(2, 5, 10, (), ()), failures=(lost,))) is None
    zookeeper = {1: cluster.BrokerVersion("3.9", {4: (0, 7), 6: (0, 8)})}
    assert controller(snapshot(read_at={"quorum": NOW}, versions=zookeeper)) == 3
    assert controller(snapshot(read_at={"quorum": NOW})) is None


# -- topics and brokers --------------------------------------------------------------------------------------------


def test_topic_rows_leave_zeros_blank_and_mark_what_is_staged() -> None:
    topic = cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2), (1,)), cluster.Partition(1, -1, (1, 2), (2,))))
    marks = present_topics.topic_marks(
        staged(do.GrowTopic("orders", 4), do.SetConfig(ORDERS, "retention.ms", "1"), known=snapshot())
    )
    facts = present_topics.TopicFacts({"orders": 2}.get, {"orders": 1 << 30}.get, {"orders": NOW}.get, marks=marks)
    told = texts(present_topics.TOPICS.cells(present_topics.TopicRow(topic, facts)))
    assert told[:9] == ["!", "*", "orders", "2→4", "2", "2", "1", "2", "1.0 GiB"]
    healthy = cluster.Topic("t", (cluster.Partition(0, 1, (1,), (1,)),))
    assert texts(
        present_topics.TOPICS.cells(present_topics.TopicRow(healthy, present_topics.TopicFacts({"t": 0}.get)))
    ) == [
        "",
        "",
        "t",
        "1",
        "1",
        "",
        "",
        "",
        "",
        "–",
        "–",
        "·",
        "",
        "",
    ]
    assert texts(present_topics.TOPICS.cells(present_topics.TopicRow(healthy, present_topics.NO_FACTS)))[7] == "·"


def test_a_topic_has_the_groups_that_read_it_and_the_longest_wait() -> None:
    def group(name: str, committed: int, end: int, written_at: float) -> LagTrend:
        lag = cluster.GroupLag((cluster.PartitionLag("t", 0, committed, end, end - committed),))
        at = NOW.timestamp()
        times = {Spot("t", 0, committed): Written(committed, round((at - written_at) * 1000))}
        return with_times({name: trend_after(None, lag, at)}, times)[name]

    trends = {"slow": group("slow", 5, 9, 600), "fast": group("fast", 9, 9, 0)}
    groups = {name: cluster.Group(name, "Stable", "classic") for name in trends}
    known = snapshot(groups=groups, lag_trends=trends, read_at={"groups": NOW})
    lags = TopicLags().after(known)
    row = present_topics.TopicRow(
        cluster.Topic("t", (cluster.Partition(0, 1, (1,), (1,)),)), present_topics.TopicFacts(lags=lags)
    )
    assert texts(present_topics.TOPICS.cells(row))[-3:-1] == ["2", "10 min"]
    assert present_topics.TOPICS.data(row)["lag_seconds"] == 600
    unread = present_topics.TopicRow(cluster.Topic("u", ()), present_topics.TopicFacts(lags=lags))
    assert texts(present_topics.TOPICS.cells(unread))[-3:-1] == ["", ""]
    assert present_topics.TOPICS.data(unread)["groups"] == 0
    # With a group that was listed but not read, the readers of a topic are unknown.
    more = replace(known, groups={**groups, "new": cluster.Group("new", "Stable", "classic")})
    assert lags.after(known) is lags
    assert lags.after(more).of("u") is None
    assert lags.after(more).topics is lags.topics


def test_topics_to_be_created_and_deleted_and_partitions_that_move_say_so() -> None:
    marks = present_topics.topic_marks(staged(do.CreateTopic(NewTopic("new", 6, 3)), do.DeleteTopic("orders")))
    assert marks.created == {"new": 6}
    assert marks.deleted == {"orders"}
    move = cluster.Reassignment("t", 3, (1, 4, 2), (4,), (2,))
    row = present_topics.PartitionRow(cluster.Partition(3, 1, (1, 4, 2), (1, 2)), move)
    assert texts(present_topics.PARTITIONS.cells(row))[-1] == "moves 1,2 → 1,4"
    assert present_topics.PARTITIONS.data(row)["moves_to"] == [1, 4]


def test_trouble_names_the_worst_first() -> None:
    partitions = (cluster.Partition(0, 1, (1, 2, 3), (1,)), cluster.Partition(1, 2, (1, 2, 3), (1, 2, 3)))
    assert plain(present_topics.trouble(cluster.Topic("t", partitions), 2)) == (
        "t: ISR below min.insync.replicas (2) on 1 partition; leaders on 1"
    )
    assert (
        plain(present_topics.trouble(cluster.Topic("t", partitions), 1))
        == "t: 1 partition under-replicated; missing from the ISR: 2, 3"
    )
    gone = (cluster.Partition(0, -1, (1,), ()),)
    assert plain(present_topics.trouble(cluster.Topic("t", gone), 1)) == "t: 1 of 1 partitions have no leader"
    assert present_topics.trouble(cluster.Topic("t", (partitions[1],)), 2) == []


@pytest.mark.parametrize(
    ("leader", "isr", "note"),
    [(1, (1,), "missing 2"), (2, (1, 2), "preferred 1"), (1, (1, 2), ""), (-1, (), "no leader")],
)
def test_partitions_say_what_is_missing_and_which_leader_is_preferred(
    leader: int, isr: tuple[int, ...], note: str
) -> None:
    row = present_topics.PartitionRow(cluster.Partition(3, leader, (1, 2), isr))
    assert texts(present_topics.PARTITIONS.cells(row))[-1] == note


def test_brokers_with_the_default_first_and_those_that_are_down() -> None:
    partitions = (
        cluster.Partition(0, 1, (1, 2, 9), (1, 2)),
        cluster.Partition(1, 2, (2, 9), (2,)),
        cluster.Partition(2, 2, (1, 2), (1, 2)),
        cluster.Partition(3, 2, (1, 2), (2,)),
        cluster.Partition(4, -1, (1, 9), (9,), (9,)),
    )
    topics = {"t": cluster.Topic("t", partitions)}
    known = snapshot(
        topics=topics,
        quorum=cluster.Quorum(2, 7, 9, (cluster.QuorumReplica(1, 5, 4), cluster.QuorumReplica(2, 9, 0)), ()),
    )
    rows = broker_rows(known, EMPTY, broker_loads(known))
    assert [row.key for row in rows] == ["", "1", "2", "9"]
    cells = {row.key: texts(BROKERS.cells(row)) for row in rows}
    assert cells["2"][2] == "2 ctrl"
    assert cells["2"][-1] == "leader, epoch 7"
    assert cells["1"][-1] == "voter, lag 4"
    # Leads, should lead, to elect, replicas: broker 1 is in the ISR of one of the three partitions that it should lead
    # and does not.
    assert cells["1"][6:10] == ["1", "4", "1", "4"]
    assert cells["2"][6:10] == ["3", "1", "", "4"]
    assert cells["9"][0] == "!"
    assert cells["9"][3] == "down, or not known"
    assert cells["9"][10] == "2"


def test_of_many_voters_the_line_has_their_number_and_those_that_are_behind() -> None:
    def line(voters: int, lags: Mapping[int, int]) -> str:
        replicas = tuple(cluster.QuorumReplica(n, 9, lags.get(n, 0)) for n in range(1, voters + 1))
        return plain(quorum_line(snapshot(quorum=cluster.Quorum(1, 7, 9, replicas, ()))))

    assert line(3, {2: 4}) == "active controller 1  epoch 7  voters 1, 2 (−4), 3"
    assert line(60, {}) == "active controller 1  epoch 7  voters 60"
    assert line(60, {7: 1234}) == "active controller 1  epoch 7  voters 60, behind: 7 (−1,234)"


def test_the_load_of_brokers_is_unknown_while_no_topic_is_visible() -> None:
    hidden = ReadFailure(Part.TOPICS, "", Failure(NOT_VISIBLE, "none is visible"))
    known = snapshot(topics={}, failures=(hidden,), read_at={Part.TOPICS: datetime(2026, 1, 1, tzinfo=UTC)})
    rows = broker_rows(known, EMPTY, broker_loads(known))
    assert {tuple(texts(BROKERS.cells(row))[6:11]) for row in rows if row.broker is not None} == {("·",) * 5}
    assert {BROKERS.data(row)["leaders"] for row in rows if row.broker is not None} == {None}
    (default,) = (row for row in rows if row.broker is None)
    assert texts(BROKERS.cells(default))[6:11] == [""] * 5
    samples = HalfHour().after(known, datetime(2026, 1, 1, tzinfo=UTC)).samples
    assert not {each.what for each in samples[-1].values} & {"under-replicated", "offline"}


def test_disk_says_how_full_and_what_failed() -> None:
    replica = cluster.ReplicaSize("t", 0, 3 << 30, 0, False)
    assert plain(disk((cluster.LogDir("/a", cluster.ReplicaSizes((replica,)), 100 << 30, 5 << 30),))) == "3.0 GiB  95%"
    assert plain(disk((cluster.LogDir("/a", cluster.ReplicaSizes((replica,))),))) == "3.0 GiB"
    failed = cluster.LogDir("/b", cluster.ReplicaSizes(), failure=Failure("KAFKA_STORAGE_ERROR"))
    assert plain(disk((cluster.LogDir("/a", cluster.ReplicaSizes((replica,))), failed))) == "1 of 2 dirs failed"


@pytest.mark.parametrize(
    ("silent", "said"),
    [
        ((1,), "does not answer; the others do. What only it knows is old"),
        ((1, 2), "do not answer; the others do. What only they know is old"),
    ],
)
def test_who_does_not_answer_is_told_in_its_number(silent: tuple[int, ...], said: str) -> None:
    assert plain(silent_line(snapshot(), silent)).endswith(said)


# -- configs -------------------------------------------------------------------------------------------------------


def rows_of(*edits: object, only: bool = False) -> list[configs.ConfigRow]:
    return rows_in(ORDERS, snapshot(), *edits, only=only)


def rows_in(
    resource: config.ConfigResource, known: Snapshot, *edits: object, only: bool = False
) -> list[configs.ConfigRow]:
    plan = staged(*edits, known=known)
    lines = configs.staged_lines(resource, plan, known)
    return configs.config_rows(resource, known.configs[resource], lines, plan, overrides_only=only)


def cells_of(row: configs.ConfigRow) -> list[str]:
    return texts(configs.CONFIGS.cells(configs.ConfigLine(row, 1)))


def test_overrides_and_staged_keys_come_first_and_log_levels_are_none() -> None:
    assert [row.key for row in rows_of()] == ["retention.ms", "segment.bytes"]
    assert [row.key for row in rows_of(only=True)] == ["retention.ms"]
    assert [row.key for row in rows_of(do.SetConfig(ORDERS, "segment.bytes", "1048576"), only=True)] == [
        "retention.ms",
        "segment.bytes",
    ]
    edit = do.SetConfig(config.CLUSTER_DEFAULT, "log.cleaner.threads", "2")
    known = snapshot(configs={config.CLUSTER_DEFAULT: config.ConfigSet(())})
    rows = rows_in(config.CLUSTER_DEFAULT, known, edit, only=True)
    assert [row.key for row in rows] == ["log.cleaner.threads"]
    resource = config.ConfigResource(codes.BROKER_LOGGER, "1")
    entry = config.ConfigEntry("root", "INFO", codes.ConfigSource(6))
    rows = configs.config_rows(resource, config.ConfigSet((entry,)), {}, EMPTY, overrides_only=False)
    assert plain(configs.flags(rows[0])[0]) == ""


def test_letters_say_the_state_without_colour() -> None:
    read_only = replace(SEGMENT, read_only=True)
    letters = [
        "".join(plain(cell) or "." for cell in configs.flags(row))
        for row in (
            configs.ConfigRow("retention.ms", RETENTION, None, None, True),
            configs.ConfigRow("ssl.secret", HIDDEN, None, None, True),
            configs.ConfigRow("segment.bytes", read_only, None, None, False),
            *rows_of(do.SetConfig(ORDERS, "retention.ms", "1"))[:1],
        )
    ]
    assert letters == ["O...", "O.S.", "D..R", "O*.."]


def test_a_pending_row_shows_old_and_new_and_of_secrets_dots() -> None:
    cells = cells_of(rows_of(do.SetConfig(ORDERS, "retention.ms", "3600000"))[0])
    assert cells[4:] == ["retention.ms", "86400000 → 3600000  1 h", "topic", "pending"]
    cells = cells_of(rows_of(do.UnsetConfig(ORDERS, "retention.ms"))[0])
    assert cells[5:7] == ["86400000 → 259200000  3 d", "→ cluster <default>"]
    assert cells_of(configs.ConfigRow("ssl.secret", HIDDEN, None, None, True))[5] == "······"
    known = snapshot(configs={config.CLUSTER_DEFAULT: config.ConfigSet(())})
    edit = do.SetConfig(config.CLUSTER_DEFAULT, "ssl.keystore.password", Secret("hunter2"))
    told = " ".join(cells_of(rows_in(config.CLUSTER_DEFAULT, known, edit)[0]))
    assert "······" in told
    assert "hunter2" not in told


@pytest.mark.parametrize(("value", "shown"), [("", '""'), (None, "–")])
def test_an_empty_value_is_not_an_absent_one(value: str | None, shown: str) -> None:
    entry = replace(SEGMENT, value=value)
    assert cells_of(configs.ConfigRow("k", entry, None, None, False))[5] == shown


def test_details_tell_type_chain_and_what_lies_beneath() -> None:
    row = rows_of()[0]
    assert plain(configs.headline(ORDERS, row)) == "1 d   long, ms"
    assert plain(configs.beneath(ORDERS, RETENTION, snapshot(), 1)) == (
        "Without the override: 259200000 (3 d) from cluster <default> log.retention.ms"
    )
    assert plain(configs.chain(RETENTION, 1)) == (
        "topic 86400000 ▸ cluster <default> log.retention.ms 259200000 ▸ default log.retention.hours 168 (7 d)"
    )
    assert configs.beneath(ORDERS, SEGMENT, snapshot(), 1) == []
    pending = rows_of(do.SetConfig(ORDERS, "retention.ms", "604800000"))[0]
    assert plain(configs.headline(ORDERS, pending)).startswith("1 d → 7 d")


def test_details_say_when_a_brokers_key_takes_effect_above_the_documentation() -> None:
    entry = config.ConfigEntry("log.dirs", "/a", codes.ConfigSource(4), read_only=True, type=codes.ConfigType(2))
    broker = config.ConfigResource(ORDERS.type.__class__(4), "1")
    assert "needs a restart" in plain(configs.headline(broker, configs.ConfigRow("log.dirs", entry, None, None, False)))
    known = snapshot(documentation={(2, "retention.ms"): "<p>one</p><ul><li>two &lt;b&gt;</li></ul>"})
    lines = [plain(line) for line in configs.details(ORDERS, rows_of()[0], known, {}, 40)]
    assert lines[-2:] == ["one", "• two <b>"]


def test_brokers_that_give_different_values_are_named() -> None:
    gives = {
        1: Inherited("604800000", codes.DEFAULT_CONFIG, "log.retention.hours"),
        2: Inherited("604800000", codes.DEFAULT_CONFIG, "log.retention.hours"),
        3: Inherited("5000", codes.DYNAMIC_BROKER_CONFIG, "log.retention.ms"),
    }
    assert plain(configs.per_broker("retention.ms", gives)[0]) == (
        "Brokers differ: 1, 2 give 604800000 (7 d) (default log.retention.hours); "
        "3 gives 5000 (5 s) (broker log.retention.ms)"
    )


def test_documentation_becomes_plain_text() -> None:
    html = (
        'A list. Format: <code>&lt;name&gt;:<b>x</b></code>, see <a href="#y">y</a>.<br>For <listener>:'
        "<ul><li>first\nline</li><li>\x1b[31mred</li></ul><p>End.</p>"
    )
    assert configs.plain_text(html) == (
        "A list. Format: <name>:x, see y.",
        "For <listener>:",
        "• first line",
        "• \\x1b[31mred",
        "End.",
    )


@given(st.text(max_size=300))
def test_no_documentation_reaches_the_terminal_raw(html: str) -> None:
    assert all(line.isprintable() for line in configs.plain_text(html))


# -- quotas --------------------------------------------------------------------------------------------------------

ALICE = QuotaEntity.of({"user": "alice"})
PAIR = QuotaEntity.of({"user": "alice", "client-id": "checkout"})
BOB_ANY = QuotaEntity.of({"user": "bob", "client-id": None})


def test_the_quota_tree_has_every_default_and_users_with_their_clients() -> None:
    foreign = QuotaEntity.of({"client-id-prefix": "x"})
    tree = QuotaTree({PAIR: {"producer_byte_rate": 5.0}, foreign: {"x": 1.0}}, staged=[BOB_ANY])
    assert set(DEFAULTS) <= set(tree.roots)
    assert [quota_entity(root) for root in tree.roots] == [
        "user <default>",
        "user alice",
        "user bob",
        "client <default>",
        "ip <default>",
        "client-id-prefix x",
    ]
    assert tree.children(ALICE) == [PAIR]
    assert tree.children(QuotaEntity.of({"user": "bob"})) == [BOB_ANY]


def test_a_name_that_looks_like_the_default_is_told_from_it() -> None:
    assert quota_entity(QuotaEntity.of({"user": "<default>"})) == "user '<default>'"
    assert quota_entity(QuotaEntity.of({"user": None})) == "user <default>"


def test_effective_quotas_tell_what_they_beat_and_what_the_cluster_gives() -> None:
    quotas = {
        ALICE: {"consumer_byte_rate": 50e6},
        QuotaEntity.of({"user": "alice", "client-id": None}): {"producer_byte_rate": 1e6},
        QuotaEntity.of({"user": None}): {"producer_byte_rate": 10e6, "consumer_byte_rate": 20e6},
    }
    told = [" ".join(plain(line).split()) for line in effective_lines(quotas, "alice", "any", 3)]
    assert told == [
        "produce 1 MB/s ×3 = 3 MB/s user alice client <default> over user <default> 10 MB/s",
        "consume 50 MB/s ×3 = 150 MB/s user alice over user <default> 20 MB/s",
        "request no limit",
        "ctrl no limit",
    ]
    told = [" ".join(plain(line).split()) for line in effective_lines(quotas, "alice", "any", 3, sharing=True)]
    assert told[1].endswith("over user <default> 20 MB/s; all the user's clients share it")
    # Percents do not add up, and all changes of topics go through the one active controller.
    quotas = {QuotaEntity.of({"client-id": None}): {"request_percentage": 50.0, "controller_mutation_rate": 5.0}}
    told = [" ".join(plain(line).split()) for line in effective_lines(quotas, "alice", "any", 3)]
    assert told[2:] == ["request 50 % client <default>", "ctrl 5 mut/s client <default>"]
    user, client = whose(BOB_ANY)
    assert user == "bob"
    assert client not in ("bob", "")


# -- ACLs ----------------------------------------------------------------------------------------------------------


def test_acls_in_groups_with_what_is_staged() -> None:
    there = (acl("User:b", "x"), acl("User:a", "x"), acl("User:a", "y"))
    known = snapshot(acls=tuple(sorted(there)))
    plan = staged(do.AddAcl(acl("User:c", "z")), do.RemoveAcl(there[0]), known=known)
    rows = acl_rows(known.acls, plan, "principal")
    assert [(row.acl.principal, row.acl.resource_name, row.staged, row.first) for row in rows] == [
        ("User:a", "x", "", True),
        ("User:a", "y", "", False),
        ("User:b", "x", "-", True),
        ("User:c", "z", "+", True),
    ]
    assert [row.acl.resource_name for row in acl_rows(known.acls, plan, "resource")] == ["x", "x", "y", "z"]
    assert texts(ACLS["principal"].cells(rows[0]))[:3] == ["", "User:a", "topic x"]
    assert texts(ACLS["resource"].cells(rows[0]))[:3] == ["", "topic x", "User:a"]


def test_which_acls_touch_a_topic() -> None:
    assert touches_topic(acl("User:a", "orders"), "orders")
    assert touches_topic(acl("User:a", "ord", pattern="PREFIXED"), "orders")
    assert touches_topic(acl("User:a", "*"), "orders")
    assert not touches_topic(acl("User:a", "order"), "orders")
    assert not touches_topic(acl("User:a", "orders", on="GROUP"), "orders")


# -- changes and failures ------------------------------------------------------------------------------------------


def test_a_first_read_is_no_change_and_equal_states_are_none() -> None:
    assert list(changes(Snapshot(), snapshot())) == []
    moved_isr = cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2), (2, 1), leader_epoch=5),))
    assert list(changes(snapshot(), snapshot(topics={"orders": moved_isr}))) == []


def test_changes_by_entity_and_key() -> None:
    other = config.ConfigSet((replace(RETENTION, value="5"), replace(SEGMENT, documentation="now with documentation")))
    new = snapshot(
        topics={
            "orders": cluster.Topic("orders", (cluster.Partition(0, 2, (1, 2), (2,)),)),
            "more": cluster.Topic("more", ()),
        },
        configs={ORDERS: other, config.topic_resource("more"): config.ConfigSet(())},
        quotas={ALICE: {"consumer_byte_rate": 1.0}},
        acls=(acl("User:a", "x"),),
    )
    assert set(changes(snapshot(), new)) == {
        Change(ORDERS, ""),
        Change(config.topic_resource("more"), ""),
        Change(ORDERS, "retention.ms"),
        Change(ALICE, "consumer_byte_rate"),
        Change(acl("User:a", "x"), ""),
    }


def test_marks_stay_until_they_are_cleared() -> None:
    seen = Changed()
    before = seen.version
    seen.note([Change(ORDERS, "retention.ms")], NOW)
    assert seen.version is not before
    assert seen.when(ORDERS) == NOW
    assert seen.when(ORDERS, "retention.ms") == NOW
    assert seen.when(ORDERS, "segment.bytes") is None
    seen.clear()
    assert seen.when(ORDERS) is None


def test_what_could_not_be_read_is_counted_and_named() -> None:
    why = Failure("TOPIC_AUTHORIZATION_FAILED", "", "Ask for DESCRIBE on the topic.")
    one = snapshot(failures=(ReadFailure("topics", "a\x1b", why),))
    assert plain(unread(one, {"topics"})) == (
        "a\\x1b not shown: TOPIC_AUTHORIZATION_FAILED. Ask for DESCRIBE on the topic."
    )
    two = snapshot(failures=(ReadFailure("topics", "a", why), ReadFailure("topics", "b", why)))
    assert plain(unread(two, {"topics"})).startswith("2 topics not shown: TOPIC_AUTHORIZATION_FAILED")
    whole = snapshot(failures=(ReadFailure("acls", "", Failure("SECURITY_DISABLED", "No Authorizer")),))
    assert plain(unread(whole, {"acls"})) == "ACLs not read: SECURITY_DISABLED: No Authorizer"
    assert unread(one, {"groups"}) == []


def test_the_tree_is_in_order_whatever_a_broker_sends() -> None:
    names = [
        {"user": "b"},
        {"ip": "x"},
        {},
        {"user": "a", "client-id": "c"},
        {"kind": "z"},
        {"client-id": None, "ip": "y"},
    ]
    entities = [QuotaEntity.of(parts) for parts in names]
    roots = QuotaTree({entity: {} for entity in entities}).roots
    assert [entity.as_dict() for entity in roots if entity] == [
        {"user": None},
        {"user": "a"},
        {"user": "b"},
        {"client-id": None},
        {"client-id": None, "ip": "y"},
        {"ip": None},
        {"ip": "x"},
        {"kind": "z"},
    ]
    assert len(roots) == 9


def test_a_filter_of_acls_looks_at_what_the_grammar_writes() -> None:
    some = (
        acl("User:a", "pay", pattern="PREFIXED"),
        acl("User:b", "t", permission="DENY"),
        acl("User:c", "g", on="GROUP"),
    )
    for each in some:
        assert search_text(each) == acl_text(each)
    assert search_text(acl("User:a", "t")._replace(host="10.0.0.1")).endswith(" on topic t from 10.0.0.1")


@pytest.mark.parametrize(
    ("lags", "failed", "shown"),
    [((), False, "0"), ((0, 0), False, "0"), ((1000, 5), False, "1,005"), ((-1, 7), False, "7 ?"),
     ((-1, -1), False, "–"), ((), True, "–"), ((3,), True, "3 ?"), ((0, -1), False, "0 ?")],
)  # fmt: skip
def test_a_groups_lag_is_shown_the_same_everywhere(lags: tuple[int, ...], failed: bool, shown: str) -> None:
    failures = (Failure("TIMED_OUT", "no answer"),) if failed else ()
    lag = cluster.GroupLag(
        tuple(cluster.PartitionLag("orders", n, 1, 1, each, "") for n, each in enumerate(lags)), failures
    )
    group = cluster.Group("billing", "Stable", "classic")
    assert lag_total(lag) == shown
    cell = GROUPS.cells(GroupRow(group, lag))[4]
    assert isinstance(cell, list)
    assert "".join(text for text, _ in cell) == shown
    line = "".join(text for text, _ in group_line(group, lag))
    assert line.partition("  lag ")[2].partition("  not all read")[0] == shown
    assert lag_total(None) == "–"
    assert GROUPS.cells(GroupRow(group, None))[4] == "·"


@pytest.mark.parametrize(
    ("target", "key", "side", "shown"),
    [
        (
            config.topic_resource("orders"),
            "retention.ms",
            EffectiveValue("604800000", codes.DYNAMIC_TOPIC_CONFIG),
            "604800000 (7 d, topic)",
        ),
        (
            config.topic_resource("orders"),
            "cleanup.policy",
            EffectiveValue("compact", codes.DYNAMIC_TOPIC_CONFIG),
            "compact (topic)",
        ),
        (config.topic_resource("orders"), "retention.ms", EffectiveValue(None), "–"),
        (config.topic_resource("orders"), "retention.ms", EffectiveValue(None, known=False), "?"),
        (QuotaEntity.of({"user": "a"}), "producer_byte_rate", EffectiveValue(1048577.0), "1048577 B/s (≈ 1.05 MB/s)"),
        (QuotaEntity.of({"user": "a"}), "request_percentage", EffectiveValue(12.3456), "12.3456 % (12.35 %)"),
        (QuotaEntity.of({"user": "a"}), "request_percentage", EffectiveValue(50.0), "50 %"),
        (QuotaEntity.of({"user": "a"}), "producer_byte_rate", EffectiveValue(None), "–"),
    ],
)
def test_a_side_of_a_conflict_has_its_exact_value_and_its_unit(
    target: Target, key: str, side: EffectiveValue, shown: str
) -> None:
    assert conflict_side(target, key, side) == shown


@given(st.floats(), st.sampled_from(["producer_byte_rate", "request_percentage", "connection_creation_rate", "x"]))
def test_an_exact_quota_loses_no_digit(value: float, key: str) -> None:
    text, _, unit = exact_quota(key, value).partition(" ")
    assert repr(float(text)) == repr(value)
    assert unit == {"producer_byte_rate": "B/s", "request_percentage": "%", "connection_creation_rate": "conn/s"}.get(
        key, ""
    )
