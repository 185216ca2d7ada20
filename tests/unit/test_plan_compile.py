"""Tests of plans compiled into requests: as few requests as the controller's limit allows, each sent to the right
broker.
"""

import time
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from console.model import changes, codes
from console.model.acl import Acl
from console.model.cluster import Partition, Topic
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.quota import USER, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits as edit
from console.plan.compile import compile_plan
from console.plan.plan import EMPTY, Plan, stage
from console.plan.requests import RECORD_LIMIT, Facts, Step, pack
from console.plan.staged import Staged
from tests.support import samples
from tests.support.model_cluster import ModelCluster

T1, T2, NEW = topic_resource("t1"), topic_resource("t2"), topic_resource("new")
B1, B2 = broker_resource(1), broker_resource(2)
LIMIT_NOTE = "{} of {}: one request has at most 10,000 records"


def compiled(*edits: edit.Edit, facts: Facts | None = None, snapshot: Snapshot | None = None) -> tuple[Step, ...]:
    report = stage(EMPTY, edits, snapshot or Snapshot())
    assert not report.refused
    return compile_plan(report.plan, facts or Facts())


def acl(name: str, permission: str = "ALLOW") -> Acl:
    return samples.acl("User:a", name, permission=permission)


def alter(steps: Iterable[Step]) -> list[changes.AlterConfigs]:
    return [step.request for step in steps if isinstance(step.request, changes.AlterConfigs)]


def test_an_empty_plan_is_no_request_and_without_a_named_broker_any_takes_all() -> None:
    assert compile_plan(EMPTY, Facts()) == ()
    (step,) = compiled(edit.SetConfig(T1, "a", "1"), edit.SetConfig(CLUSTER_DEFAULT, "b", "1"))
    assert alter([step])[0].broker is None


def test_topics_the_cluster_default_and_one_broker_are_one_request_to_that_broker() -> None:
    edits = (
        edit.SetConfig(T1, "retention.ms", "1"),
        edit.SetConfig(CLUSTER_DEFAULT, "max.connections", "5"),
        edit.SetConfig(B2, "max.connections", "6"),
        edit.UnsetConfig(T2, "flush.ms"),
        edit.AppendConfig(T2, "cleanup.policy", "compact"),
        edit.SubtractConfig(T1, "x.list", "a"),
        edit.SetConfig(ConfigResource(codes.BROKER_LOGGER, "2"), "kafka.server", "DEBUG"),
    )
    (step,) = compiled(*edits)
    assert step.request == changes.AlterConfigs(
        {
            B2: (changes.ConfigOp("max.connections", codes.SET, "6"),),
            ConfigResource(codes.BROKER_LOGGER, "2"): (changes.ConfigOp("kafka.server", codes.SET, "DEBUG"),),
            T1: (changes.ConfigOp("retention.ms", codes.SET, "1"), changes.ConfigOp("x.list", codes.SUBTRACT, "a")),
            CLUSTER_DEFAULT: (changes.ConfigOp("max.connections", codes.SET, "5"),),
            T2: (
                changes.ConfigOp("flush.ms", codes.DELETE),
                changes.ConfigOp("cleanup.policy", codes.APPEND, "compact"),
            ),
        },
        broker=2,
    )
    assert step.note == ""
    assert {staged.edit for staged in step.staged} == set(edits)


def test_two_named_brokers_are_two_requests_and_nothing_rides_with_one_out_of_reach() -> None:
    first, second = compiled(edit.SetConfig(T1, "a", "1"), edit.SetConfig(B2, "b", "1"), edit.SetConfig(B1, "b", "1"))
    assert alter([first])[0] == changes.AlterConfigs(
        {B2: (changes.ConfigOp("b", codes.SET, "1"),), T1: (changes.ConfigOp("a", codes.SET, "1"),)}, 2
    )
    assert alter([second])[0] == changes.AlterConfigs({B1: (changes.ConfigOp("b", codes.SET, "1"),)}, 1)
    assert (first.note, second.note) == ("", "broker 1's own configs have to go to broker 1")
    edits = (edit.SetConfig(B1, "b", "1"), edit.SetConfig(T1, "a", "1"), edit.SetConfig(B2, "b", "1"))
    steps = compiled(*edits, facts=Facts(reachable=frozenset({2})))
    assert [(request.broker, set(request.ops)) for request in alter(steps)] == [(2, {B2, T1}), (1, {B1})]
    assert steps[1].note == "broker 1 could not be reached, and only it can take its configs"
    steps = compiled(*edits, facts=Facts(reachable=frozenset()))
    assert [(request.broker, set(request.ops)) for request in alter(steps)] == [(None, {T1}), (1, {B1}), (2, {B2})]


def test_configs_of_a_new_topic_are_folded_into_its_creation() -> None:
    topic = changes.NewTopic("new", 3, 2, configs={"retention.ms": "1", "flush.ms": "2"})
    (step,) = compiled(
        edit.CreateTopic(topic), edit.SetConfig(NEW, "retention.ms", "5"), edit.SetConfig(NEW, "preallocate", "true")
    )
    assert step.request == changes.CreateTopics(
        (changes.NewTopic("new", 3, 2, configs={"retention.ms": "5", "flush.ms": "2", "preallocate": "true"}),)
    )
    assert len(step.staged) == 3


def test_every_kind_in_a_safe_order() -> None:
    user = changes.ScramUser("a", codes.ScramMechanism(1))
    steps = compiled(
        edit.DeleteTopic("t2"),
        edit.RemoveAcl(acl("old")),
        edit.DeleteScram(changes.ScramUser("b", codes.ScramMechanism(1))),
        edit.UpsertScram(user, 4096, Secret("x")),
        edit.SetQuota(QuotaEntity.of({USER: "a"}), "request_percentage", 5.0),
        edit.UnsetQuota(QuotaEntity.of({USER: "a"}), "producer_byte_rate"),
        edit.AddAcl(acl("new")),
        edit.SetConfig(T1, "a", "1"),
        edit.GrowTopic("t1", 5),
        edit.CreateTopic(changes.NewTopic("new")),
        snapshot=Snapshot(topics={"t1": Topic("t1", (Partition(0, -1, (), ()),)), "t2": Topic("t2", ())}),
    )
    assert [step.request for step in steps] == [
        changes.CreateTopics((changes.NewTopic("new"),)),
        changes.CreatePartitions({"t1": 5}, {"t1": 1}),
        changes.AlterConfigs({T1: (changes.ConfigOp("a", codes.SET, "1"),)}),
        changes.CreateAcls((acl("new"),)),
        changes.AlterQuotas({QuotaEntity.of({USER: "a"}): {"request_percentage": 5.0, "producer_byte_rate": None}}),
        changes.AlterScram({user: (4096, Secret("x"))}),
        changes.AlterScram({}, (changes.ScramUser("b", codes.ScramMechanism(1)),)),
        changes.DeleteAcls((acl("old"),)),
        changes.DeleteTopics(("t2",)),
    ]
    assert [step.after for step in steps] == [(), (), (), (), (), (), (5,), (3,), ()]
    assert steps[6].note == "deleted once those that are set are there"


def test_a_user_with_two_mechanisms_takes_two_requests() -> None:
    both = [
        changes.ScramUser("a", codes.ScramMechanism(1)),
        changes.ScramUser("a", codes.ScramMechanism(2)),
        changes.ScramUser("b", codes.ScramMechanism(2)),
    ]
    first, second = compiled(*(edit.UpsertScram(user, 4096, Secret("x")) for user in both))
    assert isinstance(first.request, changes.AlterScram)
    assert isinstance(second.request, changes.AlterScram)
    assert (list(first.request.upserts), list(second.request.upserts)) == ([both[0], both[2]], [both[1]])
    assert second.note == "a request can change one credential of a user"


def test_ten_thousand_keys_are_one_request_and_one_more_is_two() -> None:
    edits: list[edit.Edit] = [
        edit.SetConfig(topic_resource(f"t{n}"), f"k{k}", "1") for n in range(2500) for k in range(4)
    ]
    (step,) = compiled(*edits)
    assert step.note == ""
    first, second = compiled(*edits, edit.SetConfig(T1, "one.more", "1"))
    assert (first.note, second.note) == (LIMIT_NOTE.format(1, 2), LIMIT_NOTE.format(2, 2))
    assert len(first.staged) + len(second.staged) == 10_001
    assert not {s.edit.target for s in first.staged} & {s.edit.target for s in second.staged}


def test_what_does_not_fit_with_the_first_broker_rides_with_the_next_before_a_request_of_its_own() -> None:
    edits: list[edit.Edit] = [edit.SetConfig(topic_resource(f"t{n}"), "k", "1") for n in range(15_000)]
    steps = compiled(edit.SetConfig(B1, "a", "1"), edit.SetConfig(B2, "a", "1"), *edits)
    assert [(request.broker, len(request.ops)) for request in alter(steps)] == [(1, 10_000), (2, 5_002)]
    steps = compiled(edit.SetConfig(B1, "a", "1"), *edits)
    assert [(request.broker, len(request.ops)) for request in alter(steps)] == [(1, 10_000), (None, 5_001)]
    assert [step.note for step in steps] == [LIMIT_NOTE.format(1, 2), LIMIT_NOTE.format(2, 2)]


def test_loggers_make_no_records_and_growths_count_new_partitions() -> None:
    logger = ConfigResource(codes.BROKER_LOGGER, "1")
    edits: list[edit.Edit] = [edit.SetConfig(topic_resource(f"t{n}"), "k", "1") for n in range(10_000)]
    (step,) = compiled(edit.SetConfig(logger, "a", "INFO"), *edits)
    assert len(step.staged) == 10_001
    three = Topic("x", tuple(Partition(number, -1, (), ()) for number in range(3)))
    snapshot = Snapshot(topics={"t1": three, "t2": three})
    assert len(compiled(edit.GrowTopic("t1", 5_003), edit.GrowTopic("t2", 5_003), snapshot=snapshot)) == 1
    assert len(compiled(edit.GrowTopic("t1", 5_003), edit.GrowTopic("t2", 5_004), snapshot=snapshot)) == 2


def test_quotas_are_cut_by_keys_and_never_within_an_entity() -> None:
    keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
    edits: list[edit.Edit] = [edit.SetQuota(QuotaEntity.of({USER: f"u{n}"}), k, 1.0) for n in range(3334) for k in keys]
    first, second = compiled(*edits)
    assert isinstance(first.request, changes.AlterQuotas)
    assert isinstance(second.request, changes.AlterQuotas)
    assert (len(first.request.ops), len(second.request.ops)) == (3333, 1)
    assert first.note == LIMIT_NOTE.format(1, 2)


def test_creations_count_topics_partitions_and_configs() -> None:
    assert len(compiled(edit.CreateTopic(changes.NewTopic("a", 9_999)))) == 1
    assert (
        len(compiled(edit.CreateTopic(changes.NewTopic("a", 9_998)), edit.CreateTopic(changes.NewTopic("b", 1)))) == 2
    )
    configs = {"retention.ms": "1"}
    topics: list[edit.Edit] = [edit.CreateTopic(changes.NewTopic(f"t{n}", 1, 1, configs=configs)) for n in range(3333)]
    assert len(compiled(*topics)) == 1
    assert len(compiled(*topics, edit.SetConfig(topic_resource("t0"), "flush.ms", "1"))) == 1
    assert len(compiled(*topics, edit.CreateTopic(changes.NewTopic("one.more", 1)))) == 2
    by_default: list[edit.Edit] = [edit.CreateTopic(changes.NewTopic(f"t{n}")) for n in range(2000)]
    assert len(compiled(*by_default)) == 1
    assert len(compiled(*by_default, facts=Facts(default_partitions=12))) == 3
    assigned: list[edit.Edit] = [
        edit.CreateTopic(changes.NewTopic(f"t{n}", assignments=((1,),) * 4_999)) for n in range(3)
    ]
    assert len(compiled(*assigned)) == 2


def test_acls_and_deletions_are_cut_and_additions_come_before_removals() -> None:
    assert len(compiled(*(edit.AddAcl(acl(f"t{n}")) for n in range(10_000)))) == 1
    assert len(compiled(*(edit.AddAcl(acl(f"t{n}")) for n in range(10_001)))) == 2
    assert len(compiled(*(edit.DeleteTopic(f"t{n}") for n in range(10_001)))) == 2
    removals = [edit.RemoveAcl(acl(f"t{n}")) for n in range(2_000)]
    assert len(compiled(*removals, facts=Facts(acls=2_000))) == 1
    steps = compiled(*removals, facts=Facts(acls=10_000))
    assert [step.note for step in steps] == [f"{n} of 2: one request has at most 1,000 of so many ACLs" for n in (1, 2)]
    steps = compiled(edit.RemoveAcl(acl("old")), *(edit.AddAcl(acl(f"t{n}")) for n in range(10_001)))
    assert [type(step.request) for step in steps] == [changes.CreateAcls, changes.CreateAcls, changes.DeleteAcls]
    assert steps[-1].after == (0, 1)


def test_the_legacy_call_gets_whole_lists_and_what_to_carry_over() -> None:
    cluster = ModelCluster(
        topics={"t1": 1, "t2": 1},
        configs={
            T1: {"cleanup.policy": "delete", "retention.ms": "5"},
            B1: {"listener.name.x.ssl.keystore.password": "hush", "max.connections": "3"},
        },
    )
    snapshot = cluster.describe()
    facts = Facts(incremental=False, configs=snapshot.configs)
    (step,) = compiled(
        edit.AppendConfig(T1, "cleanup.policy", "compact"),
        edit.SubtractConfig(T2, "cleanup.policy", "delete"),
        edit.SetConfig(B1, "max.connections", "4"),
        snapshot=snapshot,
        facts=facts,
    )
    assert step.request == changes.AlterConfigs(
        {
            B1: (changes.ConfigOp("max.connections", codes.SET, "4"),),
            T1: (changes.ConfigOp("cleanup.policy", codes.SET, "delete,compact"),),
            T2: (changes.ConfigOp("cleanup.policy", codes.SET, ""),),
        },
        broker=1,
        prior={
            B1: {"listener.name.x.ssl.keystore.password": None, "max.connections": "3"},
            T1: {"cleanup.policy": "delete", "retention.ms": "5"},
            T2: {},
        },
    )


def test_secrets_go_as_secrets() -> None:
    (step,) = compiled(edit.SetConfig(B1, "listener.name.x.ssl.key.password", Secret("hush")))
    assert alter([step])[0].ops[B1] == (
        changes.ConfigOp("listener.name.x.ssl.key.password", codes.SET, Secret("hush")),
    )
    assert "hush" not in repr(step)


GROUPS = st.lists(st.integers(1, 12), max_size=40)


@given(GROUPS, st.integers(1, 12))
def test_packing_keeps_every_group_whole_within_the_limit(sizes: list[int], limit: int) -> None:
    groups = [
        ([Staged(edit.SetConfig(topic_resource(f"{n}"), "k", "1"), None)] * size, size) for n, size in enumerate(sizes)
    ]
    bins = pack(groups, limit)
    packed = [staged.edit.target for each in bins for staged in each.staged]
    assert sorted(map(str, packed)) == sorted(str(group[0].edit.target) for group, size in groups for _ in range(size))
    for each in bins:
        assert each.records == len(each.staged) > 0
        assert each.records <= limit or len({staged.edit.target for staged in each.staged}) == 1
    targets = [staged for each in bins for staged in {s.edit.target for s in each.staged}]
    assert len(targets) == len(set(targets))


@given(st.lists(st.just(1), max_size=60), st.integers(1, 7), st.lists(st.integers(0, 9), max_size=3))
def test_packing_ones_takes_the_fewest_bins(sizes: list[int], limit: int, taken: list[int]) -> None:
    from console.plan.requests import Bin

    into = [Bin(records) for records in taken]
    room = sum(max(0, limit - records) for records in taken)
    bins = pack([([Staged(edit.DeleteTopic("t"), None)], 1) for _ in sizes], limit, into)
    assert len(bins) == len(taken) + max(0, -(-(len(sizes) - room) // limit))


def test_a_hundred_thousand_edits_take_no_more_than_a_few_seconds() -> None:
    """Compiling 100,000 edits keeps a limit of CPU time that is far above the time on an idle machine, so that a busy
    machine passes; quadratic code would take hours.
    """
    edits: list[edit.Edit] = [
        edit.SetConfig(topic_resource(f"t{n}"), f"k{k}.ms", "1d") for n in range(25_000) for k in range(4)
    ]
    started = time.process_time()
    plan = stage(EMPTY, edits, Snapshot()).plan
    steps = compile_plan(plan, Facts())
    assert time.process_time() - started < 10
    assert len(plan) == 100_000
    assert len(steps) == 100_000 // RECORD_LIMIT
    assert isinstance(plan, Plan)
