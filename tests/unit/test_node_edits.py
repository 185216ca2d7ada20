"""Tests of edits that delete records, change features or unregister brokers: which ones kac stages, and which it
refuses.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import cluster
from console.model.changes import FeatureTarget, NewTopic, Status
from console.model.codes import DYNAMIC_TOPIC_CONFIG, ConfigType
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, topic_resource
from console.model.failure import Failure
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicReaders
from console.plan import edits
from console.plan.current_state import moved, verdict
from console.plan.kinds.registrations import RemoveRegistration
from console.plan.plan import EMPTY, Plan, stage
from console.plan.retention import bytes_freed
from console.plan.reversal import reversal
from console.plan.risk_rules import RiskFacts
from console.plan.risks import effects, risks
from console.plan.staged import UNREAD, Dropped, Refusal, Staged, Verdict

NOW = datetime(2026, 11, 20, tzinfo=UTC)
MD = "metadata.version"
ELR = "eligible.leader.replicas.version"
offsets = st.integers(0, 1_000)


OLD_TEXT = "It is also possible to specify both policies in a comma-separated list."
NEW_TEXT = f"{OLD_TEXT} An empty list means infinite retention."


def snapshot(
    policy: str = "delete", *, start: int = 10, end: int = 100, internal: bool = False, text: str | None = OLD_TEXT
) -> Snapshot:
    entry = ConfigEntry("cleanup.policy", policy, DYNAMIC_TOPIC_CONFIG, type=ConfigType(7), documentation=text)
    partitions = tuple(cluster.Partition(number, 1, (1, 2), (1, 2)) for number in range(2))
    return Snapshot(
        topics={"orders": cluster.Topic("orders", partitions, internal, "id")},
        configs={topic_resource("orders"): ConfigSet((entry,))},
        log_ranges={("orders", number): cluster.LogRange(start, end) for number in range(2)},
        read_at={"topics": NOW},
    )


def judged(edit: edits.Edit, known: Snapshot, plan: Plan = EMPTY) -> Verdict | Refusal:
    report = stage(plan, [edit], known)
    return (*report.added, *report.dropped, *report.refused)[0]


def reason(edit: edits.Edit, known: Snapshot, plan: Plan = EMPTY) -> str:
    found = judged(edit, known, plan)
    assert isinstance(found, Refusal), found
    assert found.remedy
    return found.reason


@given(offsets, offsets, st.integers(-5, 1_005))
def test_an_offset_is_staged_only_within_the_log(one: int, other: int, before: int) -> None:
    start, end = sorted((one, other))
    found = judged(edits.TrimLog("orders", 0, before), snapshot(start=start, end=end))
    if before < 0 or before > end:
        assert isinstance(found, Refusal)
    elif before <= start:
        assert isinstance(found, Dropped)
    else:
        assert isinstance(found, Staged)
        assert found.was == cluster.LogRange(start, end)


@pytest.mark.parametrize("policy", ["compact", "", "none"])
def test_records_of_a_topic_without_delete_in_its_policy_stay(policy: str) -> None:
    assert f"cleanup.policy of orders is {policy or 'empty'}" in reason(
        edits.TrimLog("orders", 0, 50), snapshot(policy)
    )
    appended = stage(
        EMPTY, [edits.SetConfig(topic_resource("orders"), "cleanup.policy", "delete")], snapshot(policy)
    ).plan
    assert isinstance(judged(edits.TrimLog("orders", 0, 50), snapshot(policy), appended), Staged)


@pytest.mark.parametrize(
    ("policy", "text", "taken"),
    [
        ("", NEW_TEXT, True),
        (" ", NEW_TEXT, True),
        ("", None, True),
        ("", OLD_TEXT, False),
        ("compact", NEW_TEXT, False),
        ("compact , delete", OLD_TEXT, True),
    ],
)
def test_an_empty_policy_is_as_the_brokers_own_text_has_it(policy: str, text: str | None, taken: bool) -> None:
    """kac accepts an edit that deletes records of a topic with an empty cleanup.policy if the brokers' documentation
    allows it (since 4.2), or if kac has not read the documentation.
    """
    assert isinstance(judged(edits.TrimLog("orders", 0, 50), snapshot(policy, text=text)), Staged) is taken


@pytest.mark.parametrize(
    "edit",
    [
        edits.SetConfig(topic_resource("orders"), "cleanup.policy", " "),
        edits.SubtractConfig(topic_resource("orders"), "cleanup.policy", "delete"),
        edits.SetConfig(CLUSTER_DEFAULT, "log.cleanup.policy", ""),
        edits.CreateTopic(NewTopic("new", 1, 1, configs={"cleanup.policy": ""})),
    ],
)
def test_kept_for_ever_is_said_when_it_is_staged(edit: edits.Edit) -> None:
    plan = stage(EMPTY, [edit], snapshot()).plan
    (lines,) = effects(plan.staged, snapshot()).values()
    assert any(line.startswith("without a cleanup.policy nothing is deleted or compacted") for line in lines)
    other = stage(EMPTY, [edits.SetConfig(topic_resource("orders"), "cleanup.policy", "compact")], snapshot()).plan
    assert not effects(other.staged, snapshot())


def test_records_that_no_request_deletes() -> None:
    assert "brokers keep their own records" in reason(edits.TrimLog("orders", 0, 50), snapshot(internal=True))
    assert "no partition 7" in reason(edits.TrimLog("orders", 7, 50), snapshot())
    assert "there is no topic nope" in reason(edits.TrimLog("nope", 0, 50), snapshot())
    deleted = stage(EMPTY, [edits.DeleteTopic("orders")], snapshot()).plan
    assert "the plan deletes topic orders" in reason(edits.TrimLog("orders", 0, 50), snapshot(), deleted)
    created = stage(EMPTY, [edits.CreateTopic(NewTopic("new", 1, 1))], snapshot()).plan
    assert "the plan creates topic new" in reason(edits.TrimLog("new", 0, 50), snapshot(), created)


@given(start=offsets, end=offsets)
def test_retention_in_between_is_no_conflict_below_the_offset(start: int, end: int) -> None:
    edit, was = edits.TrimLog("orders", 0, 50), cluster.LogRange(10, 100)
    now = cluster.LogRange(min(start, end), max(start, end))
    assert moved(edit, was, now) == (now.start >= 50 or now.end < 50)
    expected = Status.APPLIED if now.start >= 50 else Status.UNKNOWN if now.end < 50 else Status.NOT_APPLIED
    assert verdict(edit, was, now) is expected


def test_what_is_said_of_all_partitions_of_a_topic() -> None:
    known = snapshot()
    plan = stage(EMPTY, [edits.TrimLog("orders", 0, 60), edits.TrimLog("orders", 1, 100)], known).plan
    readers = TopicReaders({("a", 0): 60, ("b", 0): 30, ("b", 1): 0, ("c", 1): 99}, 500, 200, "")
    found = risks(plan.staged, known, RiskFacts(readers={"orders": readers}))
    assert {risk.accepted_as for risk in found} == {"records-deleted=orders"}
    assert [risk.text for risk in found] == [
        "up to 140 records of orders are deleted for good, in 2 partitions",
        "not read yet by groups b (120), c (1)",
        "only 200 of 500 groups were looked at for what they have read",
    ]
    assert [line for lines in effects(plan.staged, known).values() for line in lines] == [
        "offsets 10 to 59 go, 50 of 90",
        "offsets 10 to 99 go, 90 of 90",
    ]
    assert {reversal(each).edits for each in plan.staged} == {()}
    assert all(reversal(each).loss for each in plan.staged)


@given(offsets, offsets, st.lists(st.integers(0, 10**9), max_size=3), st.integers(1, 10**9))
def test_the_bytes_are_a_range_of_the_replicas(before: int, end: int, sizes: list[int], segment: int) -> None:
    freed = bytes_freed(min(before, end), cluster.LogRange(0, end), sizes, segment)
    assert 0 <= freed.least <= freed.most <= sum(sizes)
    if not before:
        assert freed == (0, 0)


def with_brokers(*brokers: cluster.Broker, shows_fenced: bool = True) -> Snapshot:
    topics = {"orders": cluster.Topic("orders", tuple(cluster.Partition(n, 1, (1, 4), (1,)) for n in range(5)))}
    return Snapshot(
        cluster=cluster.ClusterInfo("c", 1, brokers, shows_fenced=shows_fenced),
        quorum=cluster.Quorum(1, 1, 1, (cluster.QuorumReplica(4, 1, 0),), ()),
        topics=topics,
        read_at={"cluster": NOW, "topics": NOW},
    )


ALIVE, DOWN = cluster.Broker(4, "b4", 9092), cluster.Broker(4, "b4", 9092, fenced=True)


def test_a_broker_that_is_down_is_unregistered() -> None:
    edit = RemoveRegistration(4)
    known = with_brokers(DOWN)
    plan = stage(EMPTY, [edit], known).plan
    (risk,) = risks(plan.staged, known)
    assert risk.accepted_as == "replicas-remain"
    assert risk.text.startswith("5 partitions have a replica on broker 4 (orders/0, orders/1, orders/2, …)")
    assert "stays a voter" in next(iter(effects(plan.staged, known).values()))[0]
    assert "broker 4 is alive" in reason(edit, with_brokers(ALIVE))
    assert isinstance(judged(edit, with_brokers()), Dropped)
    assert "registers again" in reversal(plan.staged[0]).loss


def test_before_kafka_4_a_broker_that_is_missing_may_be_registered() -> None:
    edit = RemoveRegistration(4)
    staged = judged(edit, with_brokers(shows_fenced=False))
    assert isinstance(staged, Staged)
    assert staged.was is not UNREAD
    assert moved(edit, staged.was, ALIVE), "it came back"
    assert not moved(edit, staged.was, staged.was)
    assert verdict(edit, staged.was, staged.was) is Status.UNKNOWN
    assert verdict(edit, DOWN, None) is Status.APPLIED
    assert verdict(edit, DOWN, DOWN) is Status.NOT_APPLIED
    assert moved(edit, DOWN, ALIVE)


def with_features(finalized: dict[str, int], *nodes: dict[str, tuple[int, int]] | None) -> Snapshot:
    made = tuple(
        cluster.NodeFeatures(
            number, f"n{number}:1", number > 2, levels or {}, None if levels else Failure("TIMED_OUT", "", "")
        )
        for number, levels in enumerate(nodes, 1)
    )
    return Snapshot(features=cluster.ClusterFeatures(finalized, made), read_at={"features": NOW})


NEW = {MD: (7, 30), ELR: (0, 1), "kraft.version": (0, 1), "group.version": (0, 1)}
OLD = {MD: (7, 25), "kraft.version": (0, 1), "group.version": (0, 1)}


def test_a_level_has_to_be_supported_by_every_node_that_answered() -> None:
    known = with_features({MD: 22}, NEW, OLD, None)
    assert reason(edits.SetFeature(MD, 26), known) == f"level 26 of {MD} is not supported by node 2 (7 to 25)"
    assert reason(edits.SetFeature(ELR, 1), known) == f"level 1 of {ELR} is not supported by node 2 (none)"
    assert "no node has a feature nope" in reason(edits.SetFeature("nope", 1), known)
    plan = stage(EMPTY, [edits.SetFeature(MD, 25)], known).plan
    lines = next(iter(effects(plan.staged, known).values()))
    assert lines[-1] == "whether controller 3 supports it is not known here; the controller checks it"
    assert "brings at 23 (4.0-IV1): the base of eligible leader replicas (KIP-966)" in lines


def test_what_can_not_be_lowered_again_has_to_be_typed_and_is_not_lowered() -> None:
    known = with_features({MD: 22}, NEW)
    plan = stage(EMPTY, [edits.SetFeature(MD, 25), edits.SetFeature("group.version", 1)], known).plan
    assert [risk.accepted_as for risk in risks(plan.staged, known)] == [f"feature-irreversible={MD}"]
    back = {each.edit.target: reversal(each).edits for each in plan.staged}
    assert back == {FeatureTarget(MD): (), FeatureTarget("group.version"): (edits.SetFeature("group.version", 0),)}
    assert "can't go from 25 to 22" in reason(edits.SetFeature(MD, 22), with_features({MD: 25}, NEW))
    assert isinstance(judged(edits.SetFeature(MD, 23), with_features({MD: 25}, NEW)), Staged)
    assert "can't be lowered" in reason(edits.SetFeature("kraft.version", 0), with_features({"kraft.version": 1}, NEW))


def test_a_level_needs_others_and_features_that_were_not_read_are_staged_upon_nothing() -> None:
    known = with_features({MD: 22}, NEW)
    assert f"{ELR} 1 needs {MD} 23 or higher" in reason(edits.SetFeature(ELR, 1), known)
    raised = stage(EMPTY, [edits.SetFeature(MD, 25)], known).plan
    assert isinstance(judged(edits.SetFeature(ELR, 1), known, raised), Staged)
    assert isinstance(judged(edits.SetFeature(MD, 22), known), Dropped)
    staged = judged(edits.SetFeature(MD, 25), Snapshot())
    assert isinstance(staged, Staged)
    assert staged.was is UNREAD
