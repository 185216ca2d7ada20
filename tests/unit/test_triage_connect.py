"""Tests of Connect in triage: one row for each reason, and no row for connectors that are healthy, restart, or pause
for a short time.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.connect import (
    FAILED,
    PAUSED,
    RUNNING,
    SOURCE,
    STOPPED,
    UNASSIGNED,
    ConnectCluster,
    ConnectorTarget,
    cause_line,
)
from console.model.connect import SINK as SINK_KIND
from console.model.failure import Failure
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after
from console.model.parts import Part
from console.model.snapshot import Snapshot, with_failures
from console.plan.edits import RestartConnector, SetConfig
from console.triage.causes.connect import BALANCES, CAUSES, PAUSED_LONG, RESTARTED, RESTARTS
from console.triage.connectors import sharing
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Author, Facts
from console.triage.symptoms import Subject
from tests.support import connectors as made
from tests.unit.test_triage import START, TICK, healthy, moved, named, watched

SINK = "main/orders-sink"
GROUP = "connect-orders-sink"


def whole(*clusters: ConnectCluster, **more: object) -> Snapshot:
    return made.with_connect(healthy(), *clusters or (made.cluster(),), **more)  # type: ignore[arg-type]


def verdict(
    became: Callable[[int], Snapshot],
    ticks: int = 8,
    before: Snapshot | None = None,
    facts: Callable[[int], Facts] = lambda _: Facts(),
) -> Verdict:
    """Return the verdict after `ticks` polls of a Connect cluster that was healthy at first.

    became: tick -> the snapshot. before: the snapshot at the first poll; None for the healthy one. facts: tick ->
    further facts.
    """
    return diagnose(watched(lambda _, tick: became(tick), ticks, before=before or whole(), facts=facts))


def rows(found: Verdict) -> list[tuple[str, str, str]]:
    return [(each.claim.cause, each.claim.severity, each.claim.title) for each in found.causes]


def failed(*numbers: int, count: int = 2, reason: str = made.REASON) -> Snapshot:
    tasks = [made.task(n, FAILED if n in numbers else RUNNING, reason=reason) for n in range(count)]
    return whole(made.cluster(made.connector(tasks=tasks)))


def test_a_cluster_that_is_well_has_no_row_and_a_connector_that_fails_with_its_tasks_one() -> None:
    found = verdict(lambda _: whole())
    assert (rows(found), found.unexplained, found.is_healthy) == ([], (), True)
    tasks = [made.task(0, FAILED)]
    found = verdict(lambda _: whole(made.cluster(made.connector(state=FAILED, tasks=tasks))))
    assert rows(found) == [("connector-failed", "high", f"connector {SINK} failed, with 1 task: {made.REASON}")]


def test_a_failed_task_is_a_row_with_its_reason_and_its_restart() -> None:
    found = verdict(lambda _: failed(1))
    assert rows(found) == [("task-failed", "high", f"connector {SINK}: task 1 failed: {made.REASON}")]
    (row,) = found.causes
    assert row.claim.since == START + TICK
    advice, restart = row.claim.next
    assert advice.text == "see that the system behind it answers"
    assert [command_of(each) for each in restart.edits] == [f"restart connector {SINK} failed"]
    assert not found.unexplained


def test_equal_reasons_of_many_connectors_are_one_row() -> None:
    """Failed tasks with the same reason are one row, even if numbers and line numbers in their traces differ."""
    many = [
        made.connector(
            f"sink-{n}",
            tasks=[made.task(each, FAILED, reason=f"{made.REASON} after {n}00 ms", line=n) for each in (0, 1)],
        )
        for n in range(20)
    ]
    found = verdict(lambda _: whole(made.cluster(*many)))
    ((cause, _, title),) = rows(found)
    assert cause == "task-failed"
    assert title == f"40 tasks of 20 connectors of Connect main failed: {made.REASON} after 000 ms"
    assert not found.unexplained


def test_two_reasons_of_a_connector_are_two_rows() -> None:
    tasks = [made.task(0, FAILED), made.task(1, FAILED, reason="java.io.IOException: No space left on device")]
    found = verdict(lambda _: whole(made.cluster(made.connector(tasks=tasks))))
    assert sorted(title.partition(" failed: ")[2] for _, _, title in rows(found)) == [
        "java.io.IOException: No space left on device",
        made.REASON,
    ]
    assert len(named(found)) == 2
    assert not found.unexplained


def with_group(snapshot: Snapshot, committed: int, end: int, state: str = "Stable") -> Snapshot:
    """Return the snapshot with the sink's group, at these committed and end offsets of orders/0."""
    lagging = moved(snapshot, {0: (committed, end)}, state, "m1" if state == "Stable" else "")
    group, lag = lagging.groups["billing"], lagging.lags["billing"]
    return replace(
        lagging,
        groups={**snapshot.groups, GROUP: replace(group, name=GROUP)},
        lags={**snapshot.lags, GROUP: lag},
        had_members=frozenset({GROUP}),
    )


def test_the_group_of_a_failed_sink_is_no_row_and_that_of_a_slow_one_names_its_connector() -> None:
    found = verdict(
        lambda tick: with_group(failed(0, 1), 100, 100 + 500 * tick, "Empty"), before=with_group(whole(), 100, 100)
    )
    assert [cause for cause, *_ in rows(found)] == ["task-failed"]
    assert found.causes[0].explains["lag-grows"] == 1
    assert not found.unexplained
    found = verdict(
        lambda tick: with_group(whole(), 100 + 50 * tick, 100 + 500 * tick), before=with_group(whole(), 100, 100)
    )
    ((cause, _, title),) = rows(found)
    assert cause == "consumer-slow"
    assert title.startswith(f"group {GROUP} of sink {SINK} lags ")
    assert any(f"sink {SINK}, RUNNING: 2 of 2 tasks run" in each.fact for each in found.causes[0].claim.evidence)


@pytest.mark.parametrize(("kafka", "names"), [("c", ["other/orders-sink"]), ("d", [SINK])])
def test_a_group_is_of_the_sink_whose_tasks_run(kafka: str, names: list[str]) -> None:
    snapshot = made.with_connect(healthy(), *two_sinks(kafka, "main"))
    assert [each.name for each in sharing(GROUP, snapshot.connect, snapshot.configs)] == names


@pytest.mark.parametrize(("client", "step"), [("connector-consumer-orders-sink-0", "restart task 1 of it"), ("c", "")])
def test_the_tasks_of_a_sink_that_are_not_in_its_group_are_named(client: str, step: str) -> None:
    """If a slow sink has two running tasks and its group only one member, the evidence says that not all tasks are
    in the group. If the member's client id shows its task, the step restarts the other task.
    """

    def at(committed: int, end: int) -> Snapshot:
        now = with_group(whole(), committed, end)
        (member,) = now.groups[GROUP].members or ()
        group = replace(now.groups[GROUP], members=(replace(member, client_id=client),))
        return replace(now, groups={GROUP: group})

    found = verdict(lambda tick: at(100 + 50 * tick, 100 + 500 * tick), before=at(100, 100))
    (claim,) = [each.claim for each in found.causes if each.claim.cause == "consumer-slow"]
    assert any("not all of them are in it" in each.fact for each in claim.evidence)
    assert [each.text[: len("restart task 1 of it")] for each in claim.next if "task" in each.text] == [step] * bool(
        step
    )


def two_sinks(kafka: str, stopped: str = "") -> list[ConnectCluster]:
    """Return two Connect clusters, each with a sink of the same name.

    Args:
        kafka: the id of the second one's Kafka cluster; that of the first one is c.
        stopped: the Connect cluster whose sink has no tasks; ``""`` for neither.
    """
    both = [
        made.cluster(),
        made.cluster(name="other", workers=[replace(made.worker("http://o1:8083"), kafka_cluster_id=kafka)]),
    ]
    for at, one in enumerate(both):
        if one.name == stopped:
            sinks = {name: replace(each, state="STOPPED", tasks=()) for name, each in one.connectors.items()}
            both[at] = replace(one, connectors=sinks)
    return both


@pytest.mark.parametrize(
    ("clusters", "named"),
    [
        pytest.param(two_sinks("c"), "sinks main/orders-sink and other/orders-sink", id="one Kafka cluster"),
        pytest.param(two_sinks("c", "other"), f"sink {SINK}", id="the other one is stopped"),
        pytest.param(two_sinks("d"), f"sink {SINK}", id="another Kafka cluster"),
        pytest.param(two_sinks(""), f"sink {SINK}", id="the Kafka cluster is unknown"),
        pytest.param([made.cluster()], f"sink {SINK}", id="no other one"),
    ],
)
def test_two_sinks_of_one_name_share_a_group_if_their_clusters_have_one_kafka(
    clusters: list[ConnectCluster], named: str
) -> None:
    base = made.with_connect(healthy(), *clusters)
    found = verdict(lambda tick: with_group(base, 100 + 50 * tick, 100 + 500 * tick), before=with_group(base, 100, 100))
    (claim,) = [each.claim for each in found.causes if each.claim.cause == "consumer-slow"]
    assert claim.title.startswith(f"group {GROUP} of {named} lags ")
    shares = named.startswith("sinks")
    assert any("read with one group" in each.fact for each in claim.evidence) is shares
    assert any("consumer.override.group.id" in each.text for each in claim.next) is shares
    assert any("not all of them are in it" in each.fact for each in claim.evidence) is not shares, (
        "one member, two tasks"
    )


# -- restarts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [0.0, 5.0, 9.9])
def test_a_task_that_failed_again_after_a_restart_is_not_offered_another_one(minutes: float) -> None:
    restarted = Author("ada", 7, START + TICK - timedelta(minutes=minutes))
    found = verdict(lambda _: failed(1), facts=lambda _: Facts(restarts={SINK: restarted}))
    (row,) = found.causes
    assert not any(each.edits or each.command for each in row.claim.next)
    assert any("by ada at " in each.text and "does not mend it" in each.text for each in row.claim.next)


def test_a_task_that_failed_long_after_a_restart_is_offered_one() -> None:
    long_ago = Author("ada", 7, START + TICK - RESTARTED - timedelta(seconds=1))
    (row,) = verdict(lambda _: failed(1), facts=lambda _: Facts(restarts={SINK: long_ago})).causes
    assert [each.edits for each in row.claim.next] == [(), (RestartConnector(SINK, only_failed=True, tasks=True),)]


@given(st.sets(st.integers(0, 9), min_size=1), st.sets(st.integers(0, 9)))
def test_whatever_failed_a_restart_names_each_connector_once_and_none_twice(down: set[int], again: set[int]) -> None:
    found = verdict(
        lambda _: whole(made.cluster(*(made.connector(f"s{n}", [made.task(0, FAILED)]) for n in down))),
        ticks=1,
        facts=lambda _: Facts(restarts={f"main/s{n}": Author("ada", n, START) for n in again}),
    )
    (row,) = found.causes
    found_names = [each.name for step in row.claim.next for each in step.edits if isinstance(each, RestartConnector)]
    assert sorted(found_names) == [f"main/s{n}" for n in sorted(down - again)]


# -- workers -----------------------------------------------------------------------------------------------------------


def one_gone(tasks: bool = True) -> Snapshot:
    placed = made.connector() if tasks else made.connector(tasks=[made.task(0), made.task(1)])
    return whole(made.cluster(placed, workers=(made.worker(), made.worker(made.W2, gone=True))))


def test_a_worker_that_restarts_is_no_trouble_and_one_that_stays_away_is() -> None:
    """A Connect worker that is away for a minute and comes back is no trouble; one that stays away is."""
    assert timedelta(minutes=1) < RESTARTS
    gone = verdict(lambda _: one_gone(), ticks=12)
    assert gone.is_healthy
    assert [(cause, severity) for cause, severity, _ in rows(gone)] == [("worker-gone", "info")]
    back = verdict(lambda tick: one_gone() if tick < 12 else whole(), ticks=14)
    assert rows(back) == []
    found = verdict(lambda _: one_gone(), ticks=24)
    assert rows(found) == [
        ("worker-gone", "high", f"worker {made.W2} of Connect main does not answer, and 1 task is given to it")
    ]
    idle = verdict(lambda _: one_gone(tasks=False), ticks=24)
    assert [severity for _, severity, _ in rows(idle)] == ["warning"]
    found = verdict(lambda _: one_gone(), ticks=1, before=one_gone())  # gone at the first poll: at once
    assert [(cause, severity) for cause, severity, _ in rows(found)] == [("worker-gone", "high")]


def waiting(on: str = "w2:8083", other: str = RUNNING) -> Snapshot:
    tasks = [made.task(0, other), made.task(1, UNASSIGNED, on=on), made.task(2, UNASSIGNED, on=on)]
    return whole(made.cluster(made.connector(tasks=tasks)))


def test_a_rebalance_is_no_trouble_and_tasks_that_wait_for_long_are_a_row() -> None:
    ticks = round(BALANCES / TICK)
    assert rows(verdict(lambda _: waiting(), ticks=ticks - 1)) == []
    assert not verdict(lambda _: waiting(), ticks=ticks - 1).unexplained
    found = verdict(lambda _: waiting(), ticks=14)
    assert rows(found) == [("connect-rebalancing", "warning", "Connect main gives 2 instances to no worker")]
    assert found.causes[0].claim.subject == Subject(entity="Connect main")
    late = verdict(lambda _: waiting(), ticks=80)
    assert [severity for _, severity, _ in rows(late)] == ["high"]
    found = verdict(lambda _: waiting(on="w3:8083"), ticks=14)  # a worker that the settings do not name
    assert rows(found) == [
        ("worker-gone", "high", "worker w3:8083 of Connect main is gone, and 2 instances wait for it")
    ]


def test_the_tasks_of_a_worker_that_is_gone_are_no_row_of_their_own() -> None:
    def gone(_tick: int) -> Snapshot:
        tasks = [made.task(0), made.task(1, UNASSIGNED, on="w2:8083")]
        workers = (made.worker(), made.worker(made.W2, gone=True))
        return whole(made.cluster(made.connector(tasks=tasks), workers=workers))

    found = verdict(gone, ticks=30)
    assert [cause for cause, *_ in rows(found)] == ["worker-gone"]
    assert not found.unexplained


NO_ANSWER = [("main", Failure("UNREACHABLE", "Connect main: http://w1:8083: it is not reached", "See that it runs."))]


def test_a_cluster_without_an_answer_is_unknown_never_healthy_and_not_judged() -> None:
    found = verdict(lambda _: with_failures(whole(), "connect", NO_ANSWER), ticks=1)
    assert not found.is_healthy
    assert found.unread == ("connect",)
    long = verdict(lambda _: with_failures(whole(), "connect", NO_ANSWER), ticks=24)
    assert [(cause, severity) for cause, severity, _ in rows(long)] == [("connect-unreachable", "high")]
    never = verdict(
        lambda _: with_failures(healthy(), "connect", NO_ANSWER),
        before=with_failures(healthy(), "connect", NO_ANSWER),
    )
    assert [(cause, severity) for cause, severity, _ in rows(never)] == [("connect-unreachable", "warning")]
    assert never.unread == ("connect",)
    found = verdict(lambda _: with_failures(failed(1), "connect", NO_ANSWER), before=failed(1), ticks=24)
    assert [cause for cause, *_ in rows(found)] == ["connect-unreachable"]


# -- work --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [PAUSED, STOPPED])
def test_a_connector_that_is_paused_is_information_after_a_while(state: str) -> None:
    def paused(_tick: int = 0) -> Snapshot:
        return whole(made.cluster(made.connector(state=state, tasks=[made.task(0, PAUSED)])))

    assert rows(verdict(paused)) == []
    kept = verdict(paused, ticks=round(PAUSED_LONG / TICK) + 2)
    assert rows(kept) == [("connector-paused", "info", f"connector {SINK} is {state.lower()}")]
    assert kept.is_healthy
    assert [cause for cause, *_ in rows(verdict(paused, ticks=1, before=paused()))] == ["connector-paused"]


def test_a_group_that_waits_for_its_paused_sink_is_no_trouble() -> None:
    def paused(tick: int) -> Snapshot:
        known = whole(made.cluster(made.connector(state=STOPPED, tasks=[made.task(0, PAUSED)])))
        return with_group(known, 100, 100 + 500 * tick, "Empty")

    found = verdict(paused, before=with_group(whole(), 100, 100))
    assert rows(found) == [("connector-paused", "info", f"connector {SINK} is stopped, and 4,000 records wait")]


@pytest.mark.parametrize(
    ("ticks", "at_first", "author", "severity"),
    [(123, False, None, "warning"), (100, False, None, "info"), (123, True, None, "info"), (123, False, "ada", "info")],
    ids=["forgotten", "work of a few minutes", "before kac looked", "paused here"],
)
def test_a_sink_that_another_client_paused_is_a_warning_if_records_wait(
    ticks: int, author: str | None, severity: str, *, at_first: bool
) -> None:
    def paused(tick: int) -> Snapshot:
        is_paused = at_first or tick > 1
        own = made.connector(state=PAUSED if is_paused else RUNNING, tasks=[made.task(0, PAUSED)])
        return with_group(whole(made.cluster(own)), 100 + 500 * min(tick, 1), 100 + 500 * tick, "Stable")

    by = {(ConnectorTarget(SINK), "state", PAUSED): Author("ada", 1, START)} if author is not None else {}
    found = verdict(paused, ticks, paused(0), lambda _: Facts(authors=by))
    assert [row[1] for row in rows(found) if row[0] == "connector-paused"] == [severity]


def test_dead_letters_that_come_are_a_warning_until_none_comes() -> None:
    topics = {**healthy().topics, "dlq": replace(healthy().topics["orders"], name="dlq")}
    world = replace(whole(), topics=topics)
    history = [ObservedLogs()]
    for tick in range(61):
        at = (START + tick * TICK).timestamp()
        end = 40 + min(tick, 5)
        history.append(logs_after(history[-1], {("dlq", 0): LogOffsets(0, end, end)}, at))

    def looked(ticks: int) -> list[tuple[str, str, str]]:
        return rows(verdict(lambda _: world, ticks, world, lambda tick: Facts(logs=history[tick + 1])))

    title = f"sink {SINK} writes records that it can't process to dlq: 5 since the first look"
    assert looked(8) == [("dead-letters-growing", "warning", title)]
    assert looked(60) == []


# -- causes ------------------------------------------------------------------------------------------------------------


def test_a_change_of_its_config_is_the_cause_and_f_takes_it_back() -> None:
    before = whole(configs={SINK: made.config(file="/data/out")})
    tasks = [made.task(0, FAILED, reason="java.nio.file.NoSuchFileException: /no/such")]

    def changed(_tick: int) -> Snapshot:
        return whole(made.cluster(made.connector(tasks=tasks)), configs={SINK: made.config(file="/no/such")})

    found = verdict(changed, before=before)
    assert rows(found) == [
        ("changed-lately", "high", f"connector {SINK}: file changed right before connector {SINK} failed")
    ]
    (row,) = found.causes
    (step,) = row.claim.next
    assert [(each.key, each.value) for each in step.edits if isinstance(each, SetConfig)] == [("file", "/data/out")]
    assert any("NoSuchFileException" in each.fact for each in row.claim.evidence)


@pytest.mark.parametrize(
    ("kind", "key", "is_named"),
    [(SOURCE, "value_converter", True), (SINK_KIND, "value_converter", False), (SOURCE, "poll_interval_ms", False)],
)
def test_a_converter_of_a_source_is_why_a_group_of_its_topic_stands_still(
    kind: str, key: str, *, is_named: bool
) -> None:
    """If a group stops reading both partitions of orders when the config of the source connector pg changes, triage
    names the change if it concerns the converter.
    """

    def changed(tick: int) -> Snapshot:
        own = made.config(topics="", **{key: "1" if tick < 8 else "2"})
        known = made.with_connect(healthy(), made.cluster(made.connector("pg", kind=kind)), configs={"main/pg": own})
        at, end = 100 + 50 * min(tick, 8), 100 + 50 * tick
        read = {**known.read_at, Part.CONFIGS: START + tick * TICK}
        return replace(moved(known, {0: (at, end), 1: (at, end)}), read_at=read)

    found = [row for row in rows(verdict(changed, 18, changed(0))) if row[2].startswith("connector main/pg: ")]
    assert [title for _, _, title in found] == (
        ["connector main/pg: value.converter changed right before group billing fell behind"] if is_named else []
    )


def test_a_topic_that_its_trace_names_is_the_cause_when_it_is_deleted() -> None:
    reason = "org.apache.kafka.common.errors.TimeoutException: Topic orders not present in metadata after 60000 ms."

    def gone(snapshot: Snapshot) -> Snapshot:
        return replace(snapshot, topics={}, lags={}, groups={}, log_dirs=snapshot.log_dirs)

    found = verdict(lambda _: gone(failed(0, reason=reason)))
    first = found.causes[0].claim
    assert (first.cause, first.subject) == ("changed-lately", Subject(topic="orders"))
    assert first.title == f"topic orders: deleted right before connector {SINK} failed"
    other = verdict(lambda _: gone(failed(0)))
    assert "task-failed" in {cause for cause, *_ in rows(other)}


def test_a_right_that_was_taken_is_the_cause_of_a_task_that_lacks_it() -> None:
    allow = Acl(
        AclResourceType.parse("TOPIC"),
        "orders",
        PatternType.parse("LITERAL"),
        "User:connect",
        "*",
        AclOperation.parse("READ"),
        Permission.parse("ALLOW"),
    )
    other = allow._replace(principal="User:other")
    reason = "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: [orders]"
    read = dict.fromkeys((*healthy().read_at, "acls"), START)
    before = replace(whole(), acls=(allow, other), read_at=read)
    found = verdict(lambda _: replace(failed(0, reason=reason), acls=(other,), read_at=read), before=before)
    assert [cause for cause, *_ in rows(found)] == ["access-changed"]
    assert f"connector {SINK} failed since" in found.causes[0].claim.title
    unlike = verdict(lambda _: replace(failed(0), acls=(other,), read_at=read), before=before)
    assert [cause for cause, *_ in rows(unlike)] == ["task-failed"]


# -- laws --------------------------------------------------------------------------------------------------------------


@given(made.connect_clusters(), st.integers(1, 30))
def test_whatever_connect_says_each_symptom_is_explained_and_each_row_is_named_once(
    found: ConnectCluster, ticks: int
) -> None:
    told = verdict(lambda _: whole(found), ticks)
    assert not told.unexplained
    assert len(named(told)) == len(told.causes)
    assert {cause for cause, _ in named(told)} <= {rule.name for rule in CAUSES}
    assert any(each.claim.counts for each in told.causes) or told.is_healthy


@given(st.text(), st.text())
def test_the_reason_of_a_trace_is_a_line_of_it(before: str, reason: str) -> None:
    found = cause_line(f"{before}\nCaused by: {reason}")
    assert found in f"{before}\nCaused by: {reason}"
    assert "\n" not in found
