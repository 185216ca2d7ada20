"""Tests of a changed schema as the cause of failed connectors: linked by topic, time and stack trace, and reverted as a
whole.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model.config import ConfigResource, ConfigSet, own_source
from console.model.connect import FAILED, RUNNING, SINK, SOURCE, Connector
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.model.subjects import COMPATIBILITY, SchemaVersion, Subject, subject_resource
from console.plan.compile import predict
from console.plan.plan import EMPTY, stage
from console.triage.diagnosis import Verdict, diagnose
from tests.support import connectors as made
from tests.support import samples
from tests.unit.test_triage import START, TICK, healthy, watched
from tests.unit.test_triage_connect import GROUP, with_group

NAME = "orders-value"
SINK_NAME, TWIN = "main/emails", "main/archive"
MISSING = "java.lang.IllegalArgumentException: Unknown field: email"
TOLERABLE = (
    "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
    "\tat org.apache.kafka.connect.runtime.TransformationChain.apply(TransformationChain.java:58)\n"
    "Caused by: {}\n\tat org.apache.kafka.connect.transforms.ExtractField.apply(ExtractField.java:90)\n"
)
"""The stack trace of a record that a transform refused, as a worker of Kafka 4.3 reports it."""
Versions = Mapping[int, bool]
"""Version number -> whether the version is deleted. The schema id of version N is 10 N."""
ONE: Versions = {1: False}
TWO: Versions = {1: False, 2: False}
WHEN = 5
"""The tick at which the schema changes."""


def subject(versions: Versions, name: str = NAME) -> Subject:
    return Subject(name, tuple(SchemaVersion(n, 10 * n, "AVRO", is_deleted=gone) for n, gone in versions.items()))


def level(value: str) -> dict[ConfigResource, ConfigSet]:
    resource = subject_resource(NAME)
    return {resource: samples.config_set({COMPATIBILITY: value}, own_source(resource))}


def emails(
    *, trace: str = "", topics: tuple[str, ...] = ("orders",), kind: str = SINK, name: str = "emails"
) -> Connector:
    task = made.task(0, FAILED if trace else RUNNING)
    return replace(made.connector(name, [task], kind=kind, topics=topics), tasks=(replace(task, trace=trace),))


def config(**changed: str) -> ConfigSet:
    plain = {"errors_tolerance": "", "errors_deadletterqueue_topic_name": ""}
    return made.config(**{**plain, **changed})


def whole(
    *connectors: Connector,
    schemas: Versions = ONE,
    tick: int = 0,
    of: Mapping[str, ConfigSet] | None = None,
    checks: str = "BACKWARD",
) -> Snapshot:
    """Return a snapshot with connectors and a schema, read at a tick.

    Args:
        schemas: the versions of the subject.
        of: connector -> its config; None for the default configs.
        checks: the subject's compatibility level.
    """
    known = {f"main/{each.name}": config(topics=",".join(each.topics)) for each in connectors}
    snapshot = made.with_connect(healthy(), made.cluster(*connectors), configs={**known, **(of or {})})
    read_at = {**snapshot.read_at, Part.SCHEMAS: START + tick * TICK}
    snapshot = replace(snapshot, schemas={NAME: subject(schemas)}, read_at=read_at)
    return replace(snapshot, configs={**snapshot.configs, **level(checks)})


BOTH = (emails(), emails(name="archive"))
BAD = (emails(trace=TOLERABLE.format(MISSING)), emails(name="archive"))


def verdict(became: Callable[[int], Snapshot], ticks: int = WHEN + 5, before: Snapshot | None = None) -> Verdict:
    return diagnose(watched(lambda _, tick: became(tick), ticks, before=before or whole(*BOTH)))


def changed(
    *connectors: Connector, schemas: Versions = TWO, fails: int = WHEN, of: Mapping[str, ConfigSet] | None = None
) -> Verdict:
    """Return the verdict after the schema changed at `WHEN` to these versions, with these connectors from the tick
    `fails` on. of: as for `whole`.
    """

    def became(tick: int) -> Snapshot:
        there = connectors if tick >= fails else tuple(_well(each) for each in connectors)
        return whole(*there, schemas=schemas if tick >= WHEN else ONE, tick=tick, of=of)

    before = whole(*(_well(each) for each in connectors), of=of)
    return verdict(became, max(fails, WHEN) + 5, before)


def _well(each: Connector) -> Connector:
    return replace(each, tasks=tuple(replace(task, state=RUNNING, trace="") for task in each.tasks))


def rows(found: Verdict) -> list[tuple[str, str]]:
    return [(each.claim.cause, each.claim.title) for each in found.causes]


def staged(found: Verdict) -> list[str]:
    """Return the commands that the first step of a verdict stages."""
    return [command_of(each) for each in found.causes[0].claim.next[0].edits]


def test_a_new_version_is_the_cause_of_the_sink_that_fails_by_it_and_its_twin_is_well() -> None:
    found = changed(*BAD)
    assert rows(found) == [
        ("changed-lately", f"schema {NAME}: version 2 registered before connector {SINK_NAME} failed")
    ]
    claim = found.causes[0].claim
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert not found.unexplained
    facts = [each.fact for each in claim.evidence]
    assert f"connector {SINK_NAME} task 0 is FAILED: {MISSING}" in facts
    assert f"topic orders uses schema {NAME} by its name" in facts
    assert not any(TWIN in fact for fact in facts)
    assert staged(found) == [
        f"delete schema {NAME} version 2",
        f"set connector {SINK_NAME} errors.tolerance=all",
        f"set connector {SINK_NAME} errors.deadletterqueue.topic.name=orders-dead-letters",
        f"set connector {SINK_NAME} errors.deadletterqueue.context.headers.enable=true",
        f"restart connector {SINK_NAME} failed",
    ]


@pytest.mark.parametrize("ticks", [-3, 0, 30, 600, 721])
def test_the_first_bad_record_may_come_long_after_the_version_and_not_before_it(ticks: int) -> None:
    """Triage names a new schema version as the cause if a task fails within an hour after it, because producers may use
    the version later, and triage reads schemas less often than connectors; not if the task fails before it, or
    later.
    """
    found = changed(*BAD, fails=WHEN + ticks)
    is_tied = timedelta() <= ticks * TICK <= timedelta(hours=1)
    assert [cause for cause, _ in rows(found)] == ["changed-lately" if is_tied else "task-failed"]


@pytest.mark.parametrize(
    "connector",
    [
        emails(trace=TOLERABLE.format(MISSING), topics=("payments",)),
        emails(trace=made.trace()),
        emails(trace=TOLERABLE.format("java.net.ConnectException: Connection refused")),
        emails(trace=made.trace("java.nio.file.NoSuchFileException: /no/such/folder/out")),
    ],
    ids=["another topic", "a database", "the registry is gone", "a folder"],
)
def test_a_failure_of_another_reason_is_not_tied(connector: Connector) -> None:
    assert [cause for cause, _ in rows(changed(connector))] == ["task-failed"]


def test_a_first_version_dead_letters_and_what_is_read_by_its_id_are_no_causes() -> None:
    before = replace(whole(*BOTH), schemas={})
    found = verdict(lambda tick: whole(*BAD, tick=tick) if tick >= WHEN else before, before=before)
    assert [cause for cause, _ in rows(found)] == ["task-failed"]
    assert rows(changed(*BOTH)) == []
    # The sink does not read the dead letters' topic, so that topic's schema is no cause.
    of = {SINK_NAME: config(topics="payments", errors_deadletterqueue_topic_name="orders")}
    found = changed(emails(trace=TOLERABLE.format(MISSING), topics=("payments",)), of=of)
    assert [cause for cause, _ in rows(found)] == ["task-failed"]
    assert [cause for cause, _ in rows(changed(*BAD, schemas={1: True}))] == ["task-failed"]


def test_an_equal_reason_of_another_topic_is_a_row_of_its_own() -> None:
    other = emails(name="payments-emails", trace=TOLERABLE.format(MISSING), topics=("payments",))
    found = changed(BAD[0], other)
    assert sorted(cause for cause, _ in rows(found)) == ["changed-lately", "task-failed"]
    assert not found.unexplained


def test_the_group_of_the_sink_is_no_row_of_its_own() -> None:
    """If a sink connector failed, triage explains the growing lag of its group by the same cause, and does not name the
    group separately.
    """
    sink = emails(name=GROUP.removeprefix("connect-"), trace=TOLERABLE.format(MISSING))

    def became(tick: int) -> Snapshot:
        fails = tick >= WHEN
        snapshot = whole(sink if fails else _well(sink), schemas=TWO if fails else ONE, tick=tick)
        return with_group(snapshot, 100, 100 + 500 * max(0, tick - WHEN), "Empty" if fails else "Stable")

    found = verdict(became, 14, before=with_group(whole(_well(sink)), 100, 100))
    assert [cause for cause, _ in rows(found)] == ["changed-lately"]
    assert found.causes[0].explains["lag-grows"] == 1
    assert not found.unexplained


def test_a_level_that_let_the_version_in_is_one_row_with_it() -> None:
    before = whole(*BOTH)

    def became(tick: int) -> Snapshot:
        has_version = tick >= WHEN + 2
        checks = "NONE" if tick >= WHEN else "BACKWARD"
        return whole(*(BAD if has_version else BOTH), schemas=TWO if has_version else ONE, tick=tick, checks=checks)

    found = verdict(became, 12, before=before)
    assert rows(found) == [
        ("changed-lately", f"schema {NAME}: version 2 registered and 1 more before connector {SINK_NAME} failed")
    ]
    assert staged(found)[:2] == [f"set schema {NAME} compatibility=BACKWARD", f"delete schema {NAME} version 2"]
    assert any("its compatibility is NONE" in each.fact for each in found.causes[0].claim.evidence)


def test_a_level_alone_fails_no_sink_but_a_source_that_is_refused_by_it() -> None:
    refused = (
        "org.apache.kafka.common.errors.InvalidConfigurationException: Schema being registered is incompatible with an "
        f'earlier schema for subject "{NAME}"'
    )

    def after(trace: str, kind: str) -> Verdict:
        connector = emails(trace=TOLERABLE.format(trace), kind=kind)

        def became(tick: int) -> Snapshot:
            is_strict = tick >= WHEN
            there = connector if is_strict else _well(connector)
            return whole(there, tick=tick, checks="FULL" if is_strict else "BACKWARD")

        return verdict(became, before=became(0))

    assert [cause for cause, _ in rows(after(MISSING, SINK))] == ["task-failed"]
    found = after(refused, SOURCE)
    assert rows(found) == [
        ("changed-lately", f"schema {NAME}: compatibility changed before connector {SINK_NAME} failed")
    ]
    assert staged(found) == [f"set schema {NAME} compatibility=BACKWARD", f"restart connector {SINK_NAME} failed"]


def test_a_deleted_version_is_registered_again_or_from_a_file() -> None:
    missing = emails(trace=TOLERABLE.format("RestClientException: Schema not found; error code: 40403"))
    found = changed(missing, schemas={1: True})
    assert rows(found) == [("changed-lately", f"schema {NAME}: version 1 deleted before connector {SINK_NAME} failed")]
    assert staged(found) == [f"undelete schema {NAME} version 1", f"restart connector {SINK_NAME} failed"]
    missing = emails(trace=TOLERABLE.format("RestClientException: Schema not found; error code: 40403"))
    found = changed(missing, schemas={})
    (step,) = found.causes[0].claim.next
    assert not step.edits
    assert step.text.startswith(f"register version 1 again from a file (schema {NAME} @FILE)")


def test_a_sink_leaves_out_no_record_that_its_system_refuses_and_keeps_its_dead_letters() -> None:
    refuses = emails(trace=made.trace('java.sql.BatchUpdateException: column "note" of relation "o" does not exist'))
    found = changed(refuses)
    assert staged(found) == [f"delete schema {NAME} version 2"]
    assert any("reset its offsets behind them" in each.text for each in found.causes[0].claim.next)
    of = {SINK_NAME: config(topics="orders", errors_deadletterqueue_topic_name="dlq")}
    assert staged(changed(*BAD, of=of))[1:-1] == [f"set connector {SINK_NAME} errors.tolerance=all"]


@pytest.mark.parametrize(
    ("pattern", "topic"), [("orders.*", "dead-letters-orders"), (".*orders", "orders-dead-letters"), (".*", "")]
)
def test_a_sink_does_not_read_its_own_dead_letters(pattern: str, topic: str) -> None:
    of = {SINK_NAME: config(topics="", topics_regex=pattern)}
    found = staged(changed(*BAD, of=of))
    named = [each for each in found if "topic.name=" in each]
    assert named == ([f"set connector {SINK_NAME} errors.deadletterqueue.topic.name={topic}"] if topic else [])
    assert any("errors.tolerance" in each for each in found) == bool(topic)


def test_a_cluster_of_one_broker_keeps_one_replica_of_dead_letters() -> None:
    def became(tick: int) -> Snapshot:
        snapshot = whole(*(BAD if tick >= WHEN else BOTH), schemas=TWO if tick >= WHEN else ONE, tick=tick)
        return replace(snapshot, cluster=replace(snapshot.cluster, brokers=snapshot.cluster.brokers[:1]))

    found = verdict(became, before=became(0))
    (row,) = [each for each in found.causes if each.claim.cause == "changed-lately"]
    assert f"set connector {SINK_NAME} errors.deadletterqueue.topic.replication.factor=1" in [
        command_of(each) for each in row.claim.next[0].edits
    ]


def test_what_is_taken_back_is_no_cause_of_what_fails_later() -> None:
    """A schema version that was deleted again is not named for a task that fails later. A record with it stays in the
    topic, so a restarted sink fails at it again.
    """

    def became(tick: int) -> Snapshot:
        there = BAD if tick >= WHEN + 4 else BOTH
        return whole(*there, schemas=ONE if tick < WHEN else TWO if tick < WHEN + 2 else {1: False, 2: True}, tick=tick)

    assert [cause for cause, _ in rows(verdict(became, 14))] == ["task-failed"]


_STEPS = st.lists(st.sampled_from(("register", "delete newest", "delete oldest", "undelete")), max_size=6)


def _after(versions: list[SchemaVersion], step: str) -> list[SchemaVersion]:
    live = [each for each in versions if not each.is_deleted]
    gone = [each for each in versions if each.is_deleted and all(each.id != other.id for other in live)]
    number = 1 + max((each.number for each in versions), default=0)
    if step == "register":
        return [*versions, SchemaVersion(number, 10 * number, "AVRO")]
    if step == "undelete":
        return [*versions, replace(gone[-1], number=number, is_deleted=False)] if gone else versions
    if not live:
        return versions
    chosen = live[-1] if step == "delete newest" else live[0]
    return [replace(each, is_deleted=True) if each is chosen else each for each in versions]


@given(_STEPS)
def test_whatever_happened_a_subject_has_one_row_and_its_way_back_restores_its_schemas(steps: list[str]) -> None:
    history = [[SchemaVersion(1, 10, "AVRO"), SchemaVersion(2, 20, "AVRO")]]
    for step in steps:
        history.append(_after(history[-1], step))
    fails = len(history)

    def became(tick: int) -> Snapshot:
        versions = history[min(tick, len(history) - 1)]
        there = BAD if tick >= fails else BOTH
        return replace(whole(*there, tick=tick), schemas={NAME: Subject(NAME, tuple(versions))})

    found = verdict(became, fails + 4, before=became(0))
    mine = [each.claim for each in found.causes if each.claim.subject.entity == f"schema {NAME}"]
    assert len(mine) <= 1
    before, now = ({each.id for each in versions if not each.is_deleted} for versions in (history[0], history[-1]))
    assert bool(mine) == bool(now - before), "a schema that came is named; one that went fails no sink like this"
    if not mine:
        return
    edits = mine[0].next[0].edits
    report = stage(EMPTY, edits, became(fails + 4))
    assert not report.refused
    after = predict(became(fails + 4), report.plan).schemas[NAME]
    assert {each.id for each in after.live} == before
