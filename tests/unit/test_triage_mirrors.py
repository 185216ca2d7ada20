"""Tests of MirrorMaker in triage: a flow that stopped is one row; one that sends heartbeats, was removed or is paused
is no row.
"""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model.cluster import Partition, Topic
from console.model.connect import FAILED, PAUSED, RUNNING
from console.model.failure import Failure
from console.model.mirror import Beat, Flow
from console.model.parts import Part
from console.model.snapshot import Snapshot, with_failures
from console.triage.diagnosis import Verdict, diagnose
from console.triage.symptoms import HALTED_MIRROR, Subject
from console.tui.keymap import MIRRORS
from console.tui.panes.now import evidence_of
from tests.support import connectors as made
from tests.unit.test_triage import START, TICK, healthy, kept_logs, watched

COPY = "east.orders"
NAME = "main/east-source"
TICKS = 8


def beat(seconds: float, seen: float = 0.0, every: int | None = 1_000) -> Beat:
    """Return a heartbeat that was written `seconds` before the first poll, and first seen `seen` seconds after it.

    every: the interval of heartbeats in ms; None if it is unknown.
    """
    at = START - timedelta(seconds=seconds)
    return Beat(round(at.timestamp() * 1000), every, START + timedelta(seconds=seen))


def flow(last: Beat | None, copied: Beat | None = None, source: str = "east", **more: object) -> Flow:
    return replace(Flow(source, "west", (f"{source}.orders",)), beat=last, copied=copied, **more)


def with_flows(flows: Iterable[Flow], base: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot with flows that were read at a tick."""
    copies = {each: Topic(each, (Partition(0, 1, (1, 2, 3), (1, 2, 3)),)) for one in flows for each in one.topics}
    read_at = {**base.read_at, Part.MIRRORS: START + tick * TICK}
    mirrors = {each.name: each for each in flows}
    return replace(base, mirrors=mirrors, topics={**base.topics, **copies}, read_at=read_at)


def verdict(
    *flows: Flow,
    base: Snapshot | None = None,
    ticks: int = TICKS,
    grows: bool = False,
    failure: Failure | None = None,
) -> Verdict:
    """Return the verdict after `ticks` polls on flows that do not change. grows: whether records are written to the
    copy of the first flow. failure: of reading the flows; None if they were read.
    """

    def at(_: Snapshot, tick: int) -> Snapshot:
        found = with_flows(flows, base or healthy(), tick)
        return found if failure is None else with_failures(found, Part.MIRRORS, [("heartbeats", failure)])

    facts = kept_logs(lambda tick: {(COPY, 0): 10 + tick * grows})
    return diagnose(watched(at, ticks, before=at(healthy(), 0), facts=facts))


def rows(found: Verdict) -> list[tuple[str, str, str]]:
    return [(each.claim.cause, each.claim.severity, each.claim.title) for each in found.causes]


SECONDS = TICKS * TICK.total_seconds()
"""The duration of the observations in seconds."""


def test_a_flow_that_stopped_is_a_row_with_its_last_heartbeats() -> None:
    found = verdict(flow(beat(300), beat(301)))
    minutes = f"{(300 + SECONDS) / 60:.1f}"
    title = f"mirror east->west: no heartbeat of MirrorMaker for {minutes} min, so 1 copy here gets no records"
    assert rows(found) == [("mirror-stopped", "high", title)]
    (row,) = found.causes
    assert row.claim.subject == Subject(entity="mirror east->west")
    assert (row.claim.certainty, row.claim.since) == ("likely", START - timedelta(seconds=300))
    assert any("no copy has grown" in each.fact for each in row.claim.evidence)
    assert "see that MirrorMaker runs" in row.claim.next[0].text
    assert row.explains == {"mirror-silent": 1}
    assert evidence_of(row.claim.cause, row.claim.subject)[0].view == MIRRORS


@pytest.mark.parametrize(
    "last",
    [
        beat(1, SECONDS - 1),  # it beats in time
        beat(30),  # too early to tell
        beat(3_600, SECONDS - 1),  # its host's clock is behind: heartbeats come, but look old
        beat(300, every=60_000),  # it beats once a minute
        beat(8 * 86_400),  # removed a week ago
        None,  # no right to read heartbeats
    ],
)
def test_a_flow_that_beats_was_taken_down_or_is_unknown_is_no_row(last: Beat | None) -> None:
    found = verdict(flow(last))
    assert (rows(found), found.unexplained) == ([], ())


def test_a_flow_without_copies_of_days_ago_or_whose_copies_grow_is_no_trouble() -> None:
    """A flow without heartbeats has no row if it has no copies, because by default MirrorMaker writes heartbeats
    also for the opposite flow, even if that flow copies no topic. A flow that stopped days ago, or whose copies
    still grow, has a row without an alarm.
    """
    assert rows(verdict(replace(flow(beat(300)), topics=()))) == []
    ((name, severity, _),) = rows(verdict(flow(beat(2 * 86_400))))
    assert (name, severity) == ("mirror-stopped", "info")
    assert verdict(flow(beat(2 * 86_400))).is_calm
    ((_, severity, title),) = rows(verdict(flow(beat(300)), grows=True))
    assert severity == "info"
    assert title.endswith("but 1 copy here still grows")
    failure = Failure("TOPIC_AUTHORIZATION_FAILED", "no", "ask")  # nor a flow that can't be read
    assert [cause for cause, *_ in rows(verdict(flow(beat(300)), failure=failure))] == ["access-denied"]


def test_flows_that_stopped_together_are_one_row_and_others_another_one() -> None:
    found = verdict(flow(beat(300)), flow(beat(303), source="north"), flow(beat(900), source="south"))
    assert {title.partition(":")[0] for _, _, title in rows(found)} == {
        "mirror south->west",
        "mirrors north->west, east->west",
    }
    assert not found.unexplained


LATER = int(HALTED_MIRROR / TICK.total_seconds()) + 2


def test_a_mirrormaker_that_runs_and_copies_nothing_is_a_row() -> None:
    halted = flow(beat(0, HALTED_MIRROR), beat(300))
    alive = replace(halted, beat=Beat(halted.beat.at_ms + int(HALTED_MIRROR * 1_000), 1_000, START + LATER * TICK))  # type: ignore[union-attr]
    ((name, severity, title),) = rows(verdict(alive, ticks=LATER))
    assert (name, severity) == ("mirror-halted", "warning")
    assert title.startswith("mirror east->west: MirrorMaker runs, but no heartbeat of east has come through for ")
    assert rows(verdict(alive, ticks=LATER, grows=True)) == []
    assert rows(verdict(alive, ticks=4)) == []  # it may have started a moment ago


def with_connector(state: str, *tasks: str) -> Snapshot:
    mine = made.connector("east-source", [made.task(n, each) for n, each in enumerate(tasks)], state, "source")
    return made.with_connect(healthy(), made.cluster(mine))


def of_connector(state: str, *tasks: str) -> list[tuple[str, str, str]]:
    return rows(verdict(flow(beat(300), connectors=(NAME,)), base=with_connector(state, *tasks)))


def test_the_connector_of_a_flow_is_the_row_or_the_place_to_look() -> None:
    found = verdict(flow(beat(300), connectors=(NAME,)), base=with_connector(RUNNING, FAILED))
    assert [cause for cause, *_ in rows(found)] == ["task-failed"]
    assert found.causes[0].explains == {"task-failed": 1, "mirror-silent": 1}
    assert not found.unexplained
    assert [(cause, severity) for cause, severity, _ in of_connector(PAUSED, PAUSED)] == [("connector-paused", "info")]
    found = verdict(flow(beat(300), connectors=(NAME,)), base=with_connector(RUNNING, RUNNING))
    ((cause, _, _),) = rows(found)
    assert cause == "mirror-stopped"
    assert found.causes[0].claim.next[0].text.startswith(f"look at connector {NAME}")


def test_a_silent_connect_cluster_is_the_row() -> None:
    base = with_connector(RUNNING, RUNNING)
    silent = with_failures(base, Part.CONNECT, [("main", Failure("UNREACHABLE", "no worker", "look"))])
    found = rows(verdict(flow(beat(300), connectors=(NAME,)), base=silent))
    assert [cause for cause, *_ in found] == ["connect-unreachable"]
