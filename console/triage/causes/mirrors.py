"""Causes in flows of MirrorMaker 2 to this cluster: flows that have stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from console.model import connect
from console.model.mirror import Beat, Flow, newest
from console.model.numbers import first_few, plural, time_of
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.amounts import measured_time, utc_time
from console.triage import cause, symptoms
from console.triage.observations import Observations

LATELY, LONG, RETIRED = timedelta(hours=1), timedelta(days=1), timedelta(days=7)
"""The age of a flow's last heartbeat within which the flow is needed; above which it may have been removed on purpose;
and above which it was."""
TOGETHER = timedelta(seconds=10)
"""Maximum time between the last heartbeats of flows that one process may have written."""
MOST_NAMED = 3
_FETCHED = "Fetch of MirrorMaker's own topics"


def _stopped(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for flows without heartbeats; flows that stopped at the same time have one claim."""
    found: list[tuple[datetime, Flow]] = []
    for flow in _flows(observations, symptoms.MIRROR_SILENT):
        at = None if flow.beat is None else time_of(flow.beat.at_ms)
        if at is not None and observations.last.at - at < RETIRED:
            found.append((at, flow))
    together: list[list[tuple[datetime, Flow]]] = []
    for each in sorted(found, key=lambda pair: (pair[0], pair[1].name)):
        if together and each[0] - together[-1][-1][0] <= TOGETHER:
            together[-1].append(each)
        else:
            together.append([each])
    for mine in together:
        yield _silent(observations, mine[0][0], [flow for _, flow in mine])


def _flows(observations: Observations, name: str) -> Iterator[Flow]:
    """Yield the flows with a symptom of this name that none of their connectors explains: a failed connector is a cause
    of its own, and a paused connector is expected to copy nothing.
    """
    snapshot = observations.last.snapshot
    silent = {each.entity for each in snapshot.failures if each.part == Part.CONNECT}
    seen = {each.subject for each in observations.of(name)}
    for flow in snapshot.mirrors.values():
        if symptoms.mirror_subject(flow.name) in seen:
            known = [connect.connector_in(snapshot.connect, each) for each in flow.connectors]
            is_told = any(connect.split_name(each)[0] in silent for each in flow.connectors)
            if not is_told and all(each is not None and _runs(each) for each in known):
                yield flow


def _runs(connector: connect.Connector) -> bool:
    return connector.state == connect.RUNNING and len(connector.tasks_in(connect.RUNNING)) == len(connector.tasks)


def _silent(observations: Observations, at: datetime, flows: Sequence[Flow]) -> cause.Claim:
    poll = observations.last
    silence = poll.at - at
    # Whether kac saw a heartbeat arrive after its first look at the topic.
    was_seen = any(flow.beat is not None and flow.beat.seen > observations.began + TOGETHER for flow in flows)
    grow = any(symptoms.copies_grow(poll, flow) for flow in flows)
    is_needed = silence < LATELY or was_seen
    age = measured_time(silence.total_seconds())
    names = f"{'mirror' if len(flows) == 1 else 'mirrors'} {first_few([each.name for each in flows], MOST_NAMED)}"
    count = sum(len(flow.topics) for flow in flows)
    copies = f"{plural(count, 'copy', 'copies')} here"
    what = f"but {copies} still" if grow else f"so {copies}"
    does = ("grows" if count == 1 else "grow") if grow else ("gets no records" if count == 1 else "get no records")
    return cause.Claim(
        cause="mirror-stopped",
        subject=symptoms.mirror_subject(flows[0].name),
        severity=Severity.INFO if grow or silence >= LONG else Severity.HIGH if is_needed else Severity.WARNING,
        certainty=Certainty.CERTAIN if was_seen and not grow else Certainty.LIKELY,
        title=f"{names}: no heartbeat of MirrorMaker for {age}, {what} {does}",
        since=at,
        evidence=tuple(_evidence(observations, flows)),
        predicted=_predicted(flows, symptoms.MIRROR_SILENT),
        next=tuple(_steps(flows, silence)),
    )


def _halted(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each flow whose MirrorMaker runs but copies nothing."""
    for flow in _flows(observations, symptoms.MIRROR_HALTED):
        at = None if flow.copied is None else time_of(flow.copied.at_ms)
        if at is None or observations.last.at - at >= RETIRED:
            continue
        silence = observations.last.at - at
        age = measured_time(silence.total_seconds())
        yield cause.Claim(
            cause="mirror-halted",
            subject=symptoms.mirror_subject(flow.name),
            severity=Severity.INFO if silence >= LONG else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"mirror {flow.name}: MirrorMaker runs, but no heartbeat of {flow.source} has come through for {age}",
            since=at,
            evidence=tuple(_evidence(observations, [flow])),
            predicted=_predicted([flow], symptoms.MIRROR_HALTED),
            next=(
                *_steps([flow], silence),
                cause.Next(f"see that {flow.source} is reached, and that MirrorMaker still writes heartbeats there"),
            ),
        )


def _predicted(flows: Sequence[Flow], name: str) -> tuple[cause.Prediction, ...]:
    return cause.predict_each((symptoms.mirror_subject(each.name) for each in flows), name)


def _evidence(observations: Observations, flows: Sequence[Flow]) -> Iterator[cause.Evidence]:
    for flow in flows[:MOST_NAMED]:
        told = [f"its last heartbeat here is of {_time(flow.beat)}"]
        if flow.copied is not None:
            told.append(f"the last one of {flow.source} that came through is of {_time(flow.copied)}")
        if (at := newest(at for _, at in flow.checkpoints)) is not None:
            told.append(f"its newest checkpoint is of {utc_time(at)}")
        yield cause.Evidence(f"{flow.name}: {'; '.join(told)}", _FETCHED)
        grow = symptoms.copies_grow(observations.last, flow)
        yield cause.Evidence(
            f"{'a copy grew' if grow else 'no copy has grown'} while kac looked", "ListOffsets over time"
        )


def _time(beat: Beat | None) -> str:
    return "an unknown time" if beat is None else utc_time(beat.at_ms)


def _steps(flows: Sequence[Flow], silence: timedelta) -> Iterator[cause.Next]:
    names = sorted({name for flow in flows for name in flow.connectors})
    if names:
        which = f"{'connector' if len(names) == 1 else 'connectors'} {first_few(names, MOST_NAMED)}"
        yield cause.Next(f"look at {which}, RUNNING by its worker, and at the log of that worker")
    else:
        yield cause.Next(
            "see that MirrorMaker runs, and why not: its log says it. If it runs in a Connect cluster, name that in "
            "the context, [contexts.NAME.connect.CLUSTER]: kac then shows its connectors"
        )
    if silence >= LATELY:
        yield cause.Next(
            "if it was taken down on purpose, nothing is wrong: kac says no more of it a week after the last heartbeat"
        )


CAUSES = (
    cause.CauseRule(
        "mirror-stopped",
        _stopped,
        reads="Fetch of heartbeats, SOURCE.heartbeats and SOURCE.checkpoints.internal; GET /connectors",
        takes=(
            "certain if kac saw heartbeats before, else likely: the last heartbeat is older than two minutes and ten "
            "intervals, none came while kac watched, and the flow's connectors run or are unknown. Flows that stopped "
            "together are one row. Information if the copies still grow, and after a day; not named after a week, or "
            "without copies"
        ),
    ),
    cause.CauseRule(
        "mirror-halted",
        _halted,
        reads="as for mirror-stopped",
        takes=(
            "likely: heartbeats come, but for two minutes none was copied from the source, and no copy got a record; "
            "information after a day"
        ),
    ),
)
