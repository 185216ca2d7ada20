"""Tests of properties that hold for every plan, with random plans on a model cluster."""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import changes, codes
from console.model.config import ConfigResource, ConfigSet, topic_resource
from console.model.failure import Failure
from console.model.inheritance import in_terms_of
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan, predict
from console.plan.diff import diff
from console.plan.edits import CreateTopic, SetConfig, Slot
from console.plan.effective_values import DiffLine
from console.plan.plan import EMPTY, Plan, Staging, discard, redo, stage, undo
from console.plan.reconcile import reconcile, record_check
from console.plan.requests import Facts, Step
from console.plan.staged import subject
from console.plan.values import canonical
from tests.support.examples import examples
from tests.support.model_cluster import ModelCluster
from tests.support.random_plans import World, random_edits
from tests.support.snapshot_differences import differences

BROKER_VALUES = {
    "compression.type": ("lz4", "producer"),
    "group.consumer.assignment.interval.ms": ("2s", "5000"),
    "log.cleaner.min.cleanable.ratio": ("0.50", "0.25"),
    "log.cleanup.policy": ("delete, compact", "compact"),
    "log.flush.interval.ms": ("1000", "2s"),
    "log.preallocate": ("TRUE", "false"),
    "log.retention.ms": ("1d", "86400000", "90000"),
    "max.connections": ("100", "200"),
    "a.plugin.key": ("x", "y"),
}
WORLD = World(
    topics=("t1", "t2", "t3", "t4"),
    brokers=(1, 2),
    values={
        codes.TOPIC: {
            "cleanup.policy": ("compact", "delete", "compact,delete"),
            "compression.type": ("lz4", "zstd"),
            "flush.ms": ("5", "1s"),
            "min.cleanable.dirty.ratio": ("0.5", "0.1"),
            "preallocate": ("true", "FALSE"),
            "retention.ms": ("604800000", "7d", "1h"),
        },
        codes.BROKER: BROKER_VALUES,
        codes.GROUP: {
            "consumer.session.timeout.ms": ("50s", "45000"),
            "consumer.assignment.interval.ms": ("3000", "1000"),
        },
        codes.CLIENT_METRICS: {"interval.ms": ("30s", "60000"), "metrics": ("a,b", "")},
    },
    lists={
        codes.TOPIC: {
            "cleanup.policy": ("delete", "compact"),
            "leader.replication.throttled.replicas": ("0:1", "0:2", "1:1"),
        },
        codes.BROKER: {"log.cleanup.policy": ("delete", "compact")},
        codes.CLIENT_METRICS: {"metrics": ("a", "b"), "match": ("c=d",)},
    },
    groups=("g1", "g2"),
    metrics=("m1", "m2"),
    loggers=("kafka.server",),
    secrets=("listener.name.x.ssl.keystore.password",),
)
STATIC = {1: {"log.dirs": "/a", "log.retention.hours": "24"}, 2: {"log.dirs": "/b", "compression.type": "gzip"}}

# In a safe order: an edit comes after the edits that it needs.
KINDS: tuple[type[changes.ChangeRequest], ...] = (
    changes.CreateTopics,
    changes.CreatePartitions,
    changes.AlterConfigs,
    changes.CreateAcls,
    changes.AlterQuotas,
    changes.AlterScram,
    changes.DeleteAcls,
    changes.DeleteTopics,
)

# Seeds, not st.randoms: a hundred draws through hypothesis take longer than all the rest.
randoms = st.integers(0, 2**32).map(Random)


def of_seeds(usual: int, at_length: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that runs a test with `usual` random seeds, or with `at_length` seeds in long runs."""
    return lambda test: examples(usual, at_length=at_length)(given(rng=randoms)(test))


law = of_seeds(40, at_length=150)


def busy_cluster(rng: Random) -> ModelCluster:
    """Return a model cluster to which at most two random plans were applied."""
    cluster = ModelCluster(static={broker: dict(static) for broker, static in STATIC.items()}, topics={"t0": 1})
    for _ in range(rng.randint(0, 2)):
        carry_out(cluster, stage(EMPTY, random_edits(rng, WORLD, cluster.describe(), 20), cluster.describe()).plan)
    return cluster


def facts(snapshot: Snapshot) -> Facts:
    return Facts(configs=snapshot.configs, acls=len(snapshot.acls))


def carry_out(cluster: ModelCluster, plan: Plan) -> list[tuple[Step, tuple[changes.Outcome, ...]]]:
    steps = compile_plan(plan, facts(cluster.describe()))
    return [(step, cluster.apply(step.request)) for step in steps]


def staged_on(rng: Random, snapshot: Snapshot) -> Plan:
    plan = EMPTY
    for _ in range(rng.randint(1, 3)):
        plan = stage(plan, random_edits(rng, WORLD, snapshot), snapshot).plan
    return plan


def unplaced(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without replicas, ISRs and leaders, which plans do not predict and the model does not
    store.
    """
    from msgspec.structs import replace

    topics = {
        name: replace(topic, partitions=tuple(p._replace(replicas=(), isr=(), leader=-1) for p in topic.partitions))
        for name, topic in snapshot.topics.items()
    }
    return replace(snapshot, topics=topics)


@pytest.mark.parametrize("seen_by", [1, 2])
@law
def test_applying_a_plan_gives_what_it_predicted(seen_by: int, rng: Random) -> None:
    cluster = busy_cluster(rng)
    before = cluster.describe(seen_by)
    plan = staged_on(rng, before)
    predicted = predict(before, plan)
    carry_out(cluster, plan)
    assert differences(unplaced(predicted), cluster.describe(seen_by)) == []


@law
def test_stage_then_undo_gives_the_plan_back_and_redo_is_its_inverse(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    after = stage(plan, random_edits(rng, WORLD, snapshot), snapshot).plan
    back = undo(after)
    if after is plan:
        return
    assert (back.staged, back.outcomes, back.past) == (plan.staged, plan.outcomes, plan.past)
    assert redo(back) == after
    everything_undone = after
    for _ in after.past:
        everything_undone = undo(everything_undone)
    assert everything_undone.staged == ()
    assert undo(everything_undone) is everything_undone
    for _ in after.past:
        everything_undone = redo(everything_undone)
    assert everything_undone == after


@law
def test_staging_goes_on_as_if_each_step_began_anew(rng: Random) -> None:
    cluster = busy_cluster(rng)
    snapshot = cluster.describe()
    plan = staged_on(rng, snapshot)
    steps = compile_plan(plan, facts(snapshot))
    plan = record_check(plan, [(step, cluster.apply(step.request)) for step in steps])
    staging, folded, reports = Staging(plan, snapshot), plan, []
    for _ in range(4):
        edits = random_edits(rng, WORLD, snapshot)
        report, alone = staging.stage(edits), stage(folded, edits, snapshot)
        assert report == alone
        assert staging.plan() == alone.plan
        folded = alone.plan
        reports.append((report, alone))
    for report, alone in reversed(reports):
        assert report.plan == alone.plan
    back = staging.plan()
    while back.past != plan.past:
        back, folded = undo(back), undo(folded)
        assert back == folded
    assert (back.staged, back.outcomes) == (plan.staged, plan.outcomes)


@law
def test_a_plan_has_one_edit_for_each_slot_and_reports_every_edit(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    edits = random_edits(rng, WORLD, snapshot)
    report = stage(plan, edits, snapshot)
    slots = [staged.edit.slot for staged in report.plan.staged]
    assert len(slots) == len(set(slots))
    assert {staged.edit.slot for staged in report.added} <= set(slots)
    told = {staged.edit.slot for staged in (*report.added, *report.replaced)}
    told |= {dropped.edit.slot for dropped in report.dropped} | {refused.edit.slot for refused in report.refused}
    assert {edit.slot for edit in edits} <= told
    if edits and not report.added and not report.replaced:
        assert report.plan is plan


@law
def test_discarding_all_leaves_nothing_and_can_be_undone(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    if not plan:
        return
    assert discard(plan).staged == ()
    assert undo(discard(plan)).staged == plan.staged
    one = plan.staged[rng.randrange(len(plan.staged))].edit
    without = discard(plan, one.target, one.key)
    assert one.slot not in {staged.edit.slot for staged in without.staged}
    for staged in without.staged:
        resource = staged.edit.target
        if (
            isinstance(resource, ConfigResource)
            and resource.type == codes.TOPIC
            and resource.name not in snapshot.topics
        ):
            assert Slot(changes.TopicTarget(resource.name), "") in {s.edit.slot for s in without.staged}, (
                "an edit with nothing to stand on"
            )


def changes_of(request: changes.ChangeRequest) -> list[tuple[changes.Target, str]]:
    """Return (target, key) of every single change in a request."""
    match request:
        case changes.AlterConfigs(ops=ops):
            return [(resource, op.key) for resource, each in ops.items() for op in each]
        case changes.AlterQuotas(ops=quotas):
            return [(entity, key) for entity, each in quotas.items() for key in each]
        case changes.CreateTopics(topics=topics):
            return [(topic_resource(t.name), key) for t in topics for key in ("", *t.configs)]
        case changes.CreatePartitions(counts=counts):
            return [(topic_resource(name), "") for name in counts]
        case changes.DeleteTopics(names=names):
            return [(topic_resource(name), "") for name in names]
        case changes.CreateAcls(acls=acls) | changes.DeleteAcls(acls=acls):
            return [(acl, "") for acl in acls]
        case changes.AlterScram(upserts=upserts, deletions=deletions):
            return [(who, "") for who in (*upserts, *deletions)]
    raise AssertionError(f"no plan makes {request}")


@law
def test_the_diff_names_exactly_what_the_requests_change(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    steps = compile_plan(plan, facts(snapshot))
    sent = Counter(change for step in steps for change in changes_of(step.request))
    shown = Counter((group.target, line.key) for group in diff(plan, snapshot) for line in group.lines)
    assert sent == shown
    assert set(sent.values()) <= {1}, "a change is sent twice"


@law
def test_both_sides_of_the_diff_are_what_is_there_before_and_after(rng: Random) -> None:
    cluster = busy_cluster(rng)
    before = cluster.describe()
    plan = staged_on(rng, before)
    groups = diff(plan, before)
    carry_out(cluster, plan)
    after = cluster.describe()
    for group in groups:
        for line in group.lines:
            assert not line.moved
            if isinstance(group.target, ConfigResource) and line.key and group.target.type != codes.BROKER_LOGGER:
                check_old(line, before.configs.get(group.target))
                check_new(line, after.configs[group.target])
            elif isinstance(group.target, QuotaEntity):
                assert line.old.value == before.quotas.get(group.target, {}).get(line.key)
                assert line.new.value == after.quotas.get(group.target, {}).get(line.key)


def check_old(line: DiffLine, configs: ConfigSet | None) -> None:
    entry = configs.get(line.key) if configs else None
    if entry is not None:
        assert (line.old.value, line.old.source, line.old.hidden) == (entry.value, entry.source, entry.hidden)


def check_new(line: DiffLine, configs: ConfigSet) -> None:
    """Raise AssertionError unless the new value of a diff line agrees with the configs described after the plan.

    Without synonyms, an entry is described as a default, although a broker's file, or another key from which it is
    read, may give the value: then only the value is compared, not its source.
    """
    entry = configs.get(line.key)
    if entry is None:
        assert line.verb == "unset"
        return
    if entry.hidden:
        typed = line.staged.edit.value if isinstance(line.staged.edit, SetConfig) else None
        assert line.new.value == (typed if isinstance(typed, str) else None)
        return
    assert line.new.known
    said = entry.value
    if said is None and line.new.name != line.key and (other := configs.get(line.new.name)) is not None:
        said = in_terms_of(line.key, other.name, other.value)
    wanted = None if said is None else canonical(entry.type, said)
    assert (None if line.new.value is None else canonical(entry.type, str(line.new.value))) == wanted
    if entry.synonyms:
        assert (line.new.source, line.new.name) == (entry.source, entry.synonyms[0].name)


@law
def test_every_edit_is_in_exactly_one_request_and_in_a_safe_order(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    steps = compile_plan(plan, facts(snapshot))
    sent = [staged for step in steps for staged in step.staged]
    assert Counter(s.edit.slot for s in sent) == Counter(s.edit.slot for s in plan.staged)
    places = [KINDS.index(type(step.request)) for step in steps]
    assert places == sorted(places)
    named = {
        int(s.edit.target.name)
        for s in plan.staged
        if isinstance(s.edit.target, ConfigResource)
        and s.edit.target.type in (codes.BROKER, codes.BROKER_LOGGER)
        and s.edit.target.name
    }
    configs = [step.request for step in steps if isinstance(step.request, changes.AlterConfigs)]
    in_configs = [
        s for s in plan.staged if isinstance(s.edit.target, ConfigResource) and s.edit.target not in created(plan)
    ]
    assert len(configs) == (max(1, len(named)) if in_configs else 0)
    assert {request.broker for request in configs} - {None} == named
    for kind in KINDS:
        most = {changes.AlterConfigs: len(KINDS), changes.AlterScram: 2 * len(codes.ScramMechanism.NAMES)}.get(kind, 1)
        assert sum(isinstance(step.request, kind) for step in steps) <= most
    for place, step in enumerate(steps):
        assert all(before < place for before in step.after)
        waits_for = {
            before
            for before, other in enumerate(steps)
            if (isinstance(step.request, changes.DeleteAcls) and isinstance(other.request, changes.CreateAcls))
            or (
                (isinstance(step.request, changes.AlterScram) and step.request.deletions)
                and (isinstance(other.request, changes.AlterScram) and other.request.upserts)
            )
        }
        assert set(step.after) == waits_for


def created(plan: Plan) -> set[ConfigResource]:
    return {topic_resource(s.edit.topic.name) for s in plan.staged if isinstance(s.edit, CreateTopic)}


@law
def test_settling_leaves_exactly_what_failed_in_its_order(rng: Random) -> None:
    cluster = busy_cluster(rng)
    plan = staged_on(rng, cluster.describe())
    answered = []
    failed = set()
    for step, outcomes in carry_out(cluster, plan):
        told = []
        for outcome in outcomes:
            if rng.randrange(3) == 0:
                outcome = changes.Outcome(outcome.target, changes.Status.FAILED, Failure("POLICY_VIOLATION", "no"))
                failed.add(subject(outcome.target))
            told.append(outcome)
        answered.append((step, tuple(told)))
    reconciled = reconcile(plan, answered)
    left = tuple(
        s
        for s in plan.staged
        if any(
            subject(s.edit.target) == subject(outcome.target) and not outcome.ok
            for step, outcomes in answered
            if s in step.staged
            for outcome in outcomes
        )
    )
    assert reconciled.staged == left
    assert set(reconciled.outcomes) == {s.edit.slot for s in left}
    assert all(outcome.failure == Failure("POLICY_VIOLATION", "no") for outcome in reconciled.outcomes.values())
    if len(left) < len(plan.staged):
        assert undo(reconciled) is reconciled


@law
def test_a_check_keeps_every_edit_and_tells_of_each(rng: Random) -> None:
    snapshot = busy_cluster(rng).describe()
    plan = staged_on(rng, snapshot)
    steps = compile_plan(plan, facts(snapshot))
    answered = [
        (
            step,
            [
                changes.Outcome(target, changes.Status.VALID)
                for target in dict.fromkeys(s.edit.target for s in step.staged)
            ],
        )
        for step in steps
    ]
    checked = record_check(plan, answered)
    assert (checked.staged, checked.past) == (plan.staged, plan.past)
    assert set(checked.outcomes) == {s.edit.slot for s in plan.staged}
    edits = random_edits(rng, WORLD, snapshot)
    more = stage(checked, edits, snapshot)
    touched = {subject(s.edit.target) for s in (*more.added, *more.replaced)}
    for staged in more.plan.staged:
        is_touched = subject(staged.edit.target) in touched
        assert (more.plan.outcome(staged.edit) is None) == is_touched


@law
def test_a_prediction_shares_what_the_plan_does_not_touch(rng: Random) -> None:
    before = busy_cluster(rng).describe()
    plan = staged_on(rng, before)
    predicted = predict(before, plan)
    touched = {type(step.request) for step in compile_plan(plan, facts(before))}
    parts: dict[str, set[type]] = {
        "quotas": {changes.AlterQuotas},
        "acls": {changes.CreateAcls, changes.DeleteAcls},
        "scram": {changes.AlterScram},
        "topics": {changes.CreateTopics, changes.CreatePartitions, changes.DeleteTopics},
        "configs": {changes.AlterConfigs, changes.CreateTopics, changes.DeleteTopics},
    }
    for part, requests in parts.items():
        assert requests & touched or getattr(predicted, part) is getattr(before, part)
    assert predict(before, EMPTY) == before
