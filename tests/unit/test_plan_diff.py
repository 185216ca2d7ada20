"""Tests of diffs, settling and predictions: the cases that test_plan_laws.py does not contain."""

import pytest
from msgspec.structs import replace

from console.model import changes, codes
from console.model.cluster import Partition, Topic
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.quota import USER, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan.compile import compile_plan, predict
from console.plan.diff import diff
from console.plan.effective_values import DiffLine, EffectiveValue
from console.plan.plan import EMPTY, Plan, stage, undo, with_outcomes
from console.plan.reconcile import reconcile, record_check
from console.plan.requests import Facts, Step
from tests.support import samples
from tests.support.model_cluster import ModelCluster

T1, T2, NEW = topic_resource("t1"), topic_resource("t2"), topic_resource("new")
B1, B2 = broker_resource(1), broker_resource(2)
ALICE = QuotaEntity.of({USER: "alice"})
TOPIC_SOURCE, BROKER_SOURCE, DEFAULT_SOURCE, STATIC, DEFAULT = (codes.ConfigSource(number) for number in range(1, 6))


def model() -> ModelCluster:
    return ModelCluster(
        static={1: {"log.retention.hours": "24"}, 2: {"log.retention.hours": "24"}},
        topics={"t1": 3, "t2": 1},
        configs={T1: {"retention.ms": "5"}, CLUSTER_DEFAULT: {"log.cleanup.policy": "compact"}},
        quotas={ALICE: {"producer_byte_rate": 1024.0}},
    )


def one_line(snapshot: Snapshot, edit: do.Edit) -> DiffLine:
    plan = stage(EMPTY, [edit], snapshot).plan
    ((_, (line,)),) = diff(plan, snapshot)
    return line


def test_what_a_line_shows_of_an_inherited_key_the_cluster_default_and_a_list() -> None:
    line = one_line(model().describe(), do.SetConfig(T2, "retention.ms", "1d"))
    assert (line.verb, line.key) == ("set", "retention.ms")
    assert line.old == EffectiveValue("86400000", DEFAULT, "retention.ms")  # as Kafka describes it
    assert line.new == EffectiveValue("86400000", TOPIC_SOURCE, "retention.ms")
    line = one_line(model().describe(), do.UnsetConfig(T1, "retention.ms"))
    assert line.old == EffectiveValue("5", TOPIC_SOURCE, "retention.ms")
    assert line.new == EffectiveValue("86400000", STATIC, "log.retention.hours")
    line = one_line(model().describe(), do.SetConfig(CLUSTER_DEFAULT, "max.connections", "5"))
    assert line.old == EffectiveValue("2147483647", DEFAULT, "max.connections")
    assert line.new == EffectiveValue("5", DEFAULT_SOURCE, "max.connections")
    line = one_line(model().describe(), do.UnsetConfig(CLUSTER_DEFAULT, "log.cleanup.policy"))
    assert (line.old.value, line.new) == ("compact", EffectiveValue("delete", DEFAULT, "log.cleanup.policy"))
    line = one_line(model().describe(), do.AppendConfig(T2, "cleanup.policy", "compact"))
    assert line.old == EffectiveValue("compact", DEFAULT_SOURCE, "log.cleanup.policy")
    assert line.new == EffectiveValue("delete,compact", TOPIC_SOURCE, "cleanup.policy")
    assert line.note == "starts from Kafka's default delete, not from the inherited compact"
    own = one_line(model().describe(), do.AppendConfig(CLUSTER_DEFAULT, "log.cleanup.policy", "delete"))
    assert (own.new.value, own.note) == ("compact,delete", "")


def test_an_unset_falls_back_to_what_the_same_plan_sets_beneath_it() -> None:
    cluster = model()
    cluster.configs[B1] = {"max.connections": "7"}
    snapshot = cluster.describe()
    edits = [
        do.UnsetConfig(B1, "max.connections"),
        do.UnsetConfig(T1, "retention.ms"),
        do.SetConfig(CLUSTER_DEFAULT, "max.connections", "9"),
        do.SetConfig(CLUSTER_DEFAULT, "log.retention.ms", "60000"),
    ]
    broker, topic, *_ = (line for group in diff(stage(EMPTY, edits, snapshot).plan, snapshot) for line in group.lines)
    assert broker.new == EffectiveValue("9", DEFAULT_SOURCE, "max.connections")
    assert topic.new == EffectiveValue("60000", DEFAULT_SOURCE, "log.retention.ms")


def test_secrets_are_hidden_on_both_sides_and_what_is_not_told_is_not_made_up() -> None:
    key = "listener.name.x.ssl.keystore.password"
    cluster = model()
    cluster.configs[B1] = {key: "old"}
    line = one_line(cluster.describe(), do.SetConfig(B1, key, Secret("new")))
    assert line.old == EffectiveValue(None, BROKER_SOURCE, key, hidden=True)
    assert line.new == EffectiveValue(None, BROKER_SOURCE, key, hidden=True)
    assert "new" not in repr(line.new)
    logger = one_line(model().describe(), do.UnsetConfig(ConfigResource(codes.BROKER_LOGGER, "1"), "kafka.server"))
    assert not logger.new.known
    unread = one_line(Snapshot(), do.UnsetConfig(T1, "retention.ms"))
    assert (unread.old, unread.new) == (EffectiveValue(None, known=False), EffectiveValue(None, known=False))
    appended = one_line(Snapshot(), do.AppendConfig(T1, "cleanup.policy", "compact"))
    assert (appended.new.value, appended.new.known) == (None, False)


def test_quotas_topics_acls_and_credentials() -> None:
    snapshot = model().describe()
    quota = one_line(snapshot, do.SetQuota(ALICE, "producer_byte_rate", 2048.0))
    assert (quota.verb, quota.key, quota.old, quota.new) == (
        "set",
        "producer_byte_rate",
        EffectiveValue(1024.0),
        EffectiveValue(2048.0),
    )
    grown = one_line(snapshot, do.GrowTopic("t1", 5))
    assert (grown.verb, grown.key, grown.old, grown.new) == ("grow", "", EffectiveValue(3), EffectiveValue(5))
    gone = one_line(snapshot, do.DeleteTopic("t1"))
    assert (gone.verb, gone.old, gone.new) == ("delete", EffectiveValue(3), EffectiveValue(None))
    acl = samples.acl("User:a", "t", permission="DENY")
    added = one_line(snapshot, do.AddAcl(acl))
    assert (added.verb, added.old, added.new) == ("add", EffectiveValue(None), EffectiveValue("DENY"))
    scram = one_line(snapshot, do.UpsertScram(changes.ScramUser("a", codes.ScramMechanism(1)), 8192, Secret("x")))
    assert (scram.verb, scram.old, scram.new) == ("set", EffectiveValue(None), EffectiveValue(8192, hidden=True))


def test_a_new_topic_has_a_line_for_each_config_under_one_heading() -> None:
    snapshot = model().describe()
    topic = changes.NewTopic("new", 3, configs={"retention.ms": "1", "flush.ms": "2"})
    plan = stage(
        EMPTY, [do.CreateTopic(topic), do.SetConfig(NEW, "flush.ms", "5"), do.GrowTopic("t1", 4)], snapshot
    ).plan
    groups = diff(plan, snapshot)
    assert [(group.target, [(line.verb, line.key, line.new.value) for line in group.lines]) for group in groups] == [
        (NEW, [("create", "", 3), ("set", "retention.ms", "1"), ("set", "flush.ms", "5")]),
        (T1, [("grow", "", 4)]),
    ]
    assert not one_line(snapshot, do.CreateTopic(changes.NewTopic("other"))).new.known


def test_what_moved_since_it_was_staged_is_marked_and_the_old_side_is_what_is_there_now() -> None:
    cluster = model()
    before = cluster.describe()
    edits: list[do.Edit] = [
        do.SetConfig(T1, "retention.ms", "9"),
        do.SetConfig(T2, "flush.ms", "9"),
        do.SetQuota(ALICE, "producer_byte_rate", 9.0),
        do.GrowTopic("t2", 9),
    ]
    plan = stage(EMPTY, edits, before).plan
    assert [line.moved for group in diff(plan, before) for line in group.lines] == [False] * 4
    cluster.configs[T1]["retention.ms"] = "7"
    cluster.quotas[ALICE]["producer_byte_rate"] = 7.0
    cluster.topics["t2"] = 2
    lines = {line.staged.edit.slot: line for group in diff(plan, cluster.describe()) for line in group.lines}
    assert [lines[edit.slot].moved for edit in edits] == [True, False, True, True]
    assert [lines[edit.slot].old.value for edit in edits] == ["7", "9223372036854775807", 7.0, 2]


def test_leaders_that_move_are_no_move_and_what_is_unread_now_is_taken_from_then() -> None:
    snapshot = model().describe()
    plan = stage(EMPTY, [do.GrowTopic("t1", 5), do.SetConfig(T1, "retention.ms", "9")], snapshot).plan
    led = Topic("t1", tuple(Partition(number, 2, (2,), (2,)) for number in range(3)))
    ((_, lines),) = diff(plan, replace(snapshot, topics={"t1": led}, configs={}))
    assert [line.moved for line in lines] == [False, False]
    assert [line.old.value for line in lines] == [3, "5"]


def answered(plan: Plan, failed: set[object]) -> list[tuple[Step, list[changes.Outcome]]]:
    found = []
    for step in compile_plan(plan, Facts()):
        targets = dict.fromkeys(
            staged.edit.target
            for staged in step.staged
            if not isinstance(step.request, changes.CreateTopics) or isinstance(staged.edit, do.CreateTopic)
        )
        outcomes = [
            changes.Outcome(target, changes.Status.FAILED, Failure("NO"))
            if target in failed
            else changes.Outcome(target, changes.Status.APPLIED)
            for target in targets
        ]
        found.append((step, outcomes))
    return found


def test_a_folded_config_shares_the_outcome_of_its_topics_creation() -> None:
    edits: list[do.Edit] = [
        do.CreateTopic(changes.NewTopic("new")),
        do.SetConfig(NEW, "a.ms", "5"),
        do.SetConfig(T1, "a.ms", "5"),
    ]
    plan = stage(EMPTY, edits, Snapshot()).plan
    reconciled = reconcile(plan, answered(plan, {changes.TopicTarget("new")}))
    assert [staged.edit for staged in reconciled.staged] == edits[:2]
    assert {outcome.failure for outcome in reconciled.outcomes.values()} == {Failure("NO")}
    assert reconcile(plan, answered(plan, set())).staged == ()


@pytest.mark.parametrize("status", [changes.Status.UNKNOWN, changes.Status.NOT_APPLIED, changes.Status.FAILED])
def test_only_what_is_applied_leaves(status: changes.Status) -> None:
    plan = stage(EMPTY, [do.SetConfig(T1, "a.ms", "5")], Snapshot()).plan
    ((step, _),) = answered(plan, set())
    reconciled = reconcile(plan, [(step, [changes.Outcome(T1, status)])])
    assert reconciled.staged == plan.staged
    assert reconciled.outcomes == {plan.staged[0].edit.slot: changes.Outcome(T1, status)}
    assert undo(reconciled).staged == ()


def test_what_was_staged_while_others_were_sent_stays() -> None:
    plan = stage(EMPTY, [do.SetConfig(T1, "a.ms", "5"), do.SetConfig(T2, "a.ms", "5")], Snapshot()).plan
    sent = answered(plan, set())
    meanwhile = stage(plan, [do.SetConfig(T2, "a.ms", "6"), do.SetConfig(B1, "b", "1")], Snapshot()).plan
    reconciled = reconcile(meanwhile, sent)
    assert [staged.edit for staged in reconciled.staged] == [do.SetConfig(T2, "a.ms", "6"), do.SetConfig(B1, "b", "1")]
    assert reconciled.outcomes == {}
    checked = record_check(
        meanwhile, [(step, [changes.Outcome(o.target, changes.Status.VALID) for o in each]) for step, each in sent]
    )
    assert set(checked.outcomes) == {do.SetConfig(T1, "a.ms", "5").slot}


def test_settling_a_part_keeps_the_rest_and_what_no_answer_names_is_unknown() -> None:
    plan = stage(EMPTY, [do.SetConfig(T1, "a.ms", "5"), do.SetConfig(T2, "a.ms", "5")], Snapshot()).plan
    bad = changes.Outcome(T2, changes.Status.FAILED, Failure("POLICY_VIOLATION"))
    checked = with_outcomes(plan, {plan.staged[1].edit.slot: bad})
    step = Step(changes.AlterConfigs({}), plan.staged[:1])
    reconciled = reconcile(checked, [(step, [changes.Outcome(T1, changes.Status.APPLIED)])])
    assert reconciled.staged == plan.staged[1:]
    assert list(reconciled.outcomes.values()) == [bad]
    plan = stage(EMPTY, [do.SetConfig(T1, "a.ms", "5")], Snapshot()).plan
    ((step, _),) = answered(plan, set())
    reconciled = reconcile(plan, [(step, [])])
    (outcome,) = reconciled.outcomes.values()
    assert (outcome.status, outcome.failure and outcome.failure.name) == (changes.Status.UNKNOWN, "NO_ANSWER")


def test_predictions_of_what_was_not_read() -> None:
    snapshot = model().describe()
    new = stage(EMPTY, [do.CreateTopic(changes.NewTopic("new", 2, configs={"flush.ms": "5"}))], snapshot).plan
    without_topics = replace(snapshot, configs={r: c for r, c in snapshot.configs.items() if r not in (T1, T2)})
    predicted = predict(without_topics, new)
    flush = predicted.configs[NEW].get("flush.ms")
    assert flush is not None
    assert flush.value == "5"
    assert NEW not in predict(replace(snapshot, configs={}), new).configs
    assert len(predicted.topics["new"].partitions) == 2
    unset = stage(EMPTY, [do.UnsetConfig(T1, "retention.ms")], snapshot).plan
    alone = replace(snapshot, configs={T1: snapshot.configs[T1]})
    entry = predict(alone, unset).configs[T1].get("retention.ms")
    assert entry is not None
    assert (entry.value, entry.source) == (None, DEFAULT)
    assert predict(Snapshot(), unset) == Snapshot()


def test_what_is_predicted_of_new_topics_and_of_those_that_inherit() -> None:
    cluster = model()
    cluster.static[1]["num.partitions"] = "6"
    cluster.static[2]["num.partitions"] = "6"
    plan = stage(EMPTY, [do.CreateTopic(changes.NewTopic("new"))], cluster.describe()).plan
    assert len(predict(cluster.describe(), plan).topics["new"].partitions) == 6
    assert len(predict(Snapshot(), plan).topics["new"].partitions) == 1
    cluster = model()
    plan = stage(EMPTY, [do.SetConfig(CLUSTER_DEFAULT, "log.preallocate", "true")], cluster.describe()).plan
    topics_only = replace(cluster.describe(), configs={T1: cluster.describe().configs[T1]})
    entry = predict(topics_only, plan).configs[T1].get("preallocate")
    for step in compile_plan(plan, Facts()):
        cluster.apply(step.request)
    assert entry == cluster.describe().configs[T1].get("preallocate")
    snapshot = ModelCluster(topics={f"t{n}": 1 for n in range(50)}).describe()
    shared = snapshot.configs[T1]
    configs = {r: shared if r.type == T1.type else c for r, c in snapshot.configs.items()}
    plan = stage(EMPTY, [do.SetConfig(CLUSTER_DEFAULT, "log.preallocate", "true")], snapshot).plan
    predicted = predict(replace(snapshot, configs=configs), plan)
    assert len({id(c) for r, c in predicted.configs.items() if r.type == T1.type}) == 1
