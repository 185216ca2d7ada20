"""Tests of the events of Connect clusters: one for a rebalance of any number of tasks, and one for each changed
connector.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from msgspec.structs import replace

from console.model.connect import FAILED, PAUSED, RUNNING, UNASSIGNED, ConnectCluster
from console.model.severity import Severity
from console.model.snapshot import Snapshot
from console.present.events import EVENTS, line, what_text, who_text
from console.present.names import NOTHING
from console.triage.events import Event, Record, differences, events
from tests.support import connectors as made

THEN = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
NOW = THEN + timedelta(seconds=5)


def seen(*clusters: ConnectCluster, **configs: object) -> Snapshot:
    known = made.with_connect(Snapshot(), *clusters, **configs)  # type: ignore[arg-type]
    return replace(known, read_at={"connect": THEN}, configs_at=dict.fromkeys(known.configs, THEN))


def between(old: Snapshot, new: Snapshot, at: datetime = NOW) -> list[Event]:
    later = replace(new, read_at={"connect": at}, configs_at=dict.fromkeys(new.configs, at))
    return events(differences(old, later), old, later, at)


def told(found: list[Event]) -> list[tuple[str, str | None, str | None, Severity]]:
    return [(what_text(each), each.was, each.became, each.severity) for each in found]


def with_tasks(*states: str, state: str = RUNNING) -> ConnectCluster:
    tasks = [made.task(number, each) for number, each in enumerate(states)]
    return made.cluster(made.connector(tasks=tasks, state=state))


NAME = "connector main/orders-sink"


def test_a_connector_comes_fails_pauses_and_goes() -> None:
    empty, whole = ConnectCluster("main", (made.worker(), made.worker(made.W2))), with_tasks(RUNNING, RUNNING)
    assert told(between(seen(empty), seen(whole))) == [(NAME, None, RUNNING, Severity.INFO)]
    assert told(between(seen(whole), seen(with_tasks(RUNNING, FAILED)))) == [
        (f"{NAME} tasks", "2 RUNNING", "1 FAILED, 1 RUNNING", Severity.HIGH)
    ]
    assert told(between(seen(with_tasks(RUNNING, FAILED)), seen(whole))) == [
        (f"{NAME} tasks", "1 FAILED, 1 RUNNING", "2 RUNNING", Severity.INFO)
    ]
    paused = with_tasks(PAUSED, PAUSED, state=PAUSED)
    (state, tasks) = between(seen(whole), seen(paused))
    assert told([state]) == [(NAME, RUNNING, PAUSED, Severity.WARNING)]
    assert (who_text(state), who_text(tasks)) == ("not kac", NOTHING)
    assert told(between(seen(whole), seen(empty))) == [(NAME, RUNNING, None, Severity.WARNING)]


def test_a_rebalance_of_many_connectors_is_one_event_from_its_beginning_to_its_end() -> None:
    def cluster(state: str) -> ConnectCluster:
        return made.cluster(*(made.connector(f"c{n}", [made.task(0, state), made.task(1, state)]) for n in range(50)))

    before, during = cluster(RUNNING), cluster(UNASSIGNED)
    began = between(seen(before), seen(during))
    ended = between(seen(during), seen(before), NOW + timedelta(seconds=5))
    assert told(began) == [("Connect main rebalances", None, "100", Severity.INFO)]
    (one,) = Record(THEN).with_events(began).with_events(ended).events
    assert what_text(one) == "Connect main rebalances, 2 changes"
    assert "→ all run" in line(one)
    again = between(seen(before), seen(during), NOW + timedelta(hours=1))
    assert len(Record(THEN).with_events(began).with_events(ended).with_events(again).events) == 2


def test_what_fails_during_a_rebalance_and_a_worker_that_goes_are_events() -> None:
    assert told(between(seen(with_tasks(RUNNING, UNASSIGNED)), seen(with_tasks(RUNNING, FAILED)))) == [
        ("Connect main rebalances", "1", None, Severity.INFO),
        (f"{NAME} tasks", "1 RUNNING, 1 UNASSIGNED", "1 FAILED, 1 RUNNING", Severity.HIGH),
    ]
    whole = made.cluster()
    gone = made.cluster(workers=(made.worker(), made.worker(made.W2, gone=True)))
    name = f"worker {made.W2} of Connect main"
    assert told(between(seen(whole), seen(gone))) == [(name, "up", None, Severity.WARNING)]
    assert told(between(seen(gone), seen(whole))) == [(name, None, "up", Severity.INFO)]


def test_a_config_changes_as_others_do_and_a_secret_is_never_told() -> None:
    whole = made.cluster()
    before, after = (seen(whole, configs={"main/orders-sink": made.config(file=each)}) for each in ("/a", "/b"))
    (changed,) = between(before, after)
    assert told([changed]) == [(f"{NAME} file", "/a", "/b", Severity.WARNING)]
    assert who_text(changed) == "not kac"
    none, one, other = (
        seen(whole, configs={"main/orders-sink": made.config(database_password=each)})
        for each in ("", "hunter22", "hunter23")
    )
    assert between(one, other) == []
    (hidden,) = between(none, one)
    assert "hunter" not in line(hidden) + str(EVENTS.data(hidden))


@pytest.mark.parametrize("old", [Snapshot(), seen()])
def test_what_is_read_for_the_first_time_is_no_event(old: Snapshot) -> None:
    assert between(old, seen(made.cluster())) == []


@given(made.connect_clusters(), made.connect_clusters())
def test_whatever_changes_events_are_few_and_told(one: ConnectCluster, other: ConnectCluster) -> None:
    found = between(seen(one), seen(other))
    connectors = one.connectors.keys() | other.connectors.keys()
    assert len(found) <= 2 * len(connectors) + len(one.workers) + 1
    assert between(seen(one), seen(one)) == []
    for each in found:
        assert what_text(each)
        assert line(each)
