"""Tests of connectors as rows: states as text, root causes, times since the state began, and the connectors of a
topic.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.model import connect
from console.model.codes import DEFAULT_CONFIG
from console.model.config import ConfigEntry, ConfigSet, own_source
from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import Snapshot, with_connect
from console.model.topic_use import matches, topic_uses
from console.present.connectors import (
    CONNECTORS,
    connector_lines,
    connector_rows,
    silent_line,
    since_text,
    tasks_text,
    trace_lines,
    worker_rows,
)
from console.present.text import plain
from tests.support.hostile_text import SENT, acted_upon

AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
STATES = ("RUNNING", "FAILED", "PAUSED", "UNASSIGNED", "RESTARTING")
TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: Couldn't find or create file\n"
    "\tat org.apache.kafka.connect.file.FileStreamSinkTask.start(FileStreamSinkTask.java:84)\n"
    "Caused by: java.io.IOException: it is full\n\tat java.base/x\n"
    "Caused by: java.nio.file.NoSuchFileException: /no/such\n\tat java.base/y\n\t... 4 more\n"
)


def task(number: int, state: str = "RUNNING", trace: str = "") -> connect.Task:
    return connect.Task(number, state, "w:1", trace)


def connector(
    name: str = "orders", kind: str = "sink", state: str = "RUNNING", *tasks: connect.Task
) -> connect.Connector:
    return connect.Connector(name, kind, state, "w:1", tasks=tasks)


def config(**values: str) -> ConfigSet:
    own = own_source(connect.connector_resource("", ""))
    return ConfigSet(tuple(ConfigEntry(key.replace("_", "."), value, own) for key, value in sorted(values.items())))


def read(
    known: Snapshot, at: datetime, *found: connect.Connector, failure: Failure | None = None, **its: ConfigSet
) -> Snapshot:
    """Return the snapshot after a read of the Connect cluster `main` at a time.

    Args:
        found: the connectors of the cluster.
        failure: the reason why the cluster could not be read; None if it was read.
        its: name of a connector -> its config; other connectors have a default config.
    """
    if failure is not None:
        return with_connect(known, connect.ConnectListing({}, {}, {"main": failure}), at)
    worker = connect.Worker("http://w:8083", "4.3.0")
    cluster = connect.ConnectCluster("main", (worker,), {each.name: each for each in found})
    configs = {connect.connector_resource("main", each.name): its.get(each.name, config()) for each in found}
    return with_connect(known, connect.ConnectListing({"main": cluster}, configs, {}), at)


@given(st.lists(st.sampled_from(STATES), min_size=1, max_size=12))
def test_every_task_is_counted_once(states: list[str]) -> None:
    text = tasks_text([task(number, state) for number, state in enumerate(states)])
    running, _, rest = text.partition(" running")
    assert running == f"{states.count('RUNNING')}/{len(states)}"
    others = dict(reversed(part.split()) for part in rest.split(", ") if part)
    assert {state.upper(): int(count) for state, count in others.items()} == {
        state: states.count(state) for state in set(states) - {"RUNNING"}
    }


LINES = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(st.lists(LINES, max_size=8), st.lists(st.tuples(LINES, LINES), max_size=3))
def test_the_cause_is_one_line_of_the_trace(head: list[str], causes: list[tuple[str, str]]) -> None:
    trace = "\n".join([*head, *(f"Caused by: {cause}\n{below}" for cause, below in causes)])
    cause = connect.cause_line(trace)
    assert len(cause.splitlines()) <= 1
    assert cause in trace
    assert bool(cause) == bool(trace.strip()) or "Caused by:" in trace


def test_the_cause_is_the_last_one_else_the_first_line() -> None:
    assert connect.cause_line(TRACE) == "java.nio.file.NoSuchFileException: /no/such"
    assert connect.cause_line("\n  boom: no\n\tat x") == "boom: no"
    assert connect.cause_line(" \n") == ""
    first, _, *rest = trace_lines(TRACE)
    assert plain(first) == connect.cause_line(TRACE)
    assert len(rest) == len(TRACE.splitlines())


@pytest.mark.parametrize(
    ("named", "version"),
    [
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", "1"),
        ("FileStreamSinkConnector", "1"),
        ("FileStreamSink", "1"),
        ("FileStream", ""),
        ("", ""),
    ],
)
def test_a_class_is_known_by_its_short_names(named: str, version: str) -> None:
    plugins = [connect.Plugin("org.apache.kafka.connect.file.FileStreamSinkConnector", "sink", "1")]
    assert connect.plugin_version(plugins, named) == version


@given(st.lists(st.sampled_from(STATES), min_size=1, max_size=12))
def test_a_state_keeps_its_time_as_long_as_it_stays(states: list[str]) -> None:
    known, since, before = Snapshot(), AT, ""
    for place, state in enumerate(states):
        at = AT + timedelta(minutes=place)
        since, before = (since if state == before else at), state
        known = read(known, at, connector("orders", "sink", state))
        (row,) = connector_rows(known)
        assert row.seen is not None
        assert row.seen.since == since
        assert row.seen.is_first == (len(set(states[: place + 1])) == 1)


def test_a_read_without_a_change_changes_no_object_and_what_appears_later_has_an_exact_time() -> None:
    one = read(Snapshot(), AT, connector())
    two = read(one, AT + timedelta(minutes=1), connector())
    assert (two.connect, two.connect_seen) == (one.connect, one.connect_seen)
    assert two.connect is one.connect
    assert two.connect_seen is one.connect_seen
    known = read(read(Snapshot(), AT, connector()), AT + timedelta(minutes=1), connector(), connector("new"))
    new, orders = connector_rows(known)
    assert since_text(orders).startswith("< ")
    assert not since_text(new).startswith("< ")


def test_the_rows_of_a_silent_cluster_stay_and_are_unknown() -> None:
    why = Failure("UNREACHABLE", "no worker is reached", "See that its workers run.")
    known = read(Snapshot(), AT, connector("orders", "sink", "RUNNING", task(0)))
    known = read(known, AT + timedelta(minutes=5), failure=why)
    (row,) = connector_rows(known)
    assert (row.state, plain(CONNECTORS.cells(row)[2]), plain(CONNECTORS.cells(row)[3])) == ("?", "?", "?")
    assert row.in_trouble
    text = "".join(text for text, _ in silent_line(known))
    assert text.startswith("Connect main does not answer since ")
    assert "no worker is reached" in text
    assert "then it was RUNNING, 1/1 running" in plain(connector_lines(row)[0])
    assert [each.problem for each in worker_rows(known)] == [
        "UNREACHABLE: no worker is reached. See that its workers run."
    ]
    assert silent_line(read(known, AT + timedelta(minutes=6), connector())) == []


def test_a_cluster_that_never_answered_has_its_workers_of_the_settings() -> None:
    known = read(Snapshot(), AT, failure=Failure("UNREACHABLE", "no"))
    assert [each.worker.address for each in worker_rows(known, {"main": ["http://b", "http://a"]})] == [
        "http://a",
        "http://b",
    ]
    assert Part.CONNECT in known.read_at


def test_nothing_from_a_worker_reaches_the_terminal_as_it_is() -> None:
    its = connect.Connector(SENT, "sink", SENT, SENT, SENT, (task(0, "FAILED", f"{SENT}\nCaused by: {SENT}"),), (SENT,))
    known = read(Snapshot(), AT, its, **{SENT: config(connector_class=SENT, errors_deadletterqueue_topic_name=SENT)})
    (row,) = connector_rows(known)
    shown = [plain(cell) for cell in CONNECTORS.cells(row)]
    shown += ["".join(text for text, _ in line) for line in (*connector_lines(row), *trace_lines(its.trace))]
    assert acted_upon("".join(shown)) == ""


@pytest.mark.parametrize(
    ("kind", "its", "use"),
    [
        ("sink", config(topics="a, lines"), ("reads", "sure")),
        ("sink", config(topics_regex="li.*"), ("reads", "sure")),
        ("sink", config(topics_regex="li(?=n).*"), ("reads", "possible")),
        ("sink", config(topics_regex="ine"), None),
        ("sink", config(topics="line"), None),
        ("source", config(topic="lines"), ("writes", "likely")),
        ("source", config(topic_prefix="li"), ("writes", "likely")),
        ("source", config(errors_deadletterqueue_topic_name="lines"), ("writes", "sure")),
        ("source", config(topic="others"), None),
    ],
)
def test_a_config_names_its_topics(kind: str, its: ConfigSet, use: tuple[str, str] | None) -> None:
    known = read(Snapshot(), AT, connector("orders", kind), orders=its)
    found = [(each.what, each.sure) for each in topic_uses(known, "lines")]
    assert found == ([use] if use is not None else [])


def test_a_used_topic_is_surer_than_a_value_that_names_it_and_a_default_names_none() -> None:
    used = connect.Connector("orders", "source", "RUNNING", "w:1", topics=("lines",))
    known = read(Snapshot(), AT, used, orders=config(topic="lines"))
    (use,) = topic_uses(known, "lines")
    assert (use.sure, use.why) == ("sure", "it wrote the topic")
    entry = ConfigEntry("topic", "lines", DEFAULT_CONFIG)
    assert topic_uses(read(Snapshot(), AT, connector("orders", "source"), orders=ConfigSet((entry,))), "lines") == []


@given(st.text(max_size=40), st.from_regex(r"[a-z._-]{1,20}", fullmatch=True))
def test_any_pattern_is_judged_or_unknown(pattern: str, topic: str) -> None:
    assert matches(pattern, topic) in (True, False, None)
    assert matches(topic.replace(".", r"\."), topic) is True
