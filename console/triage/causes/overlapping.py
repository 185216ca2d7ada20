"""Causes in restarts of several brokers: stops that overlap, and brokers that are killed one after another. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from console.model.inheritance import values_of_brokers
from console.model.numbers import plural, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.causes.brokers import AWAY, follows
from console.triage.observations import FLAPS, Interval, Observations
from console.triage.restarts import LEAVES, restarting

_HARM = (symptoms.LEADERLESS, symptoms.COORDINATOR_LEADERLESS, symptoms.UNDER_MIN_ISR)


def _overlapping(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for brokers that were stopped in order at the same time, if partitions need more than one
    of them.
    """
    restarts = restarting(observations)
    stopped = {id_: each.handed_over for id_, each in restarts.items() if each.handed_over is not None}
    if len(stopped) < 2:
        return
    hurt: dict[str, int] = {}
    found: set[int] = set()
    for name in _HARM:
        for each in observations.of(name):
            mine = stopped.keys() & set(each.brokers)
            if len(mine) > 1:
                found |= mine
                hurt[name] = hurt.get(name, 0) + 1
    if not found:
        return
    by_time: list[tuple[datetime, int]] = sorted((stopped[id_], id_) for id_ in found)
    ids = " and ".join(map(str, sorted(found)))
    later = [
        f"broker {id_} was stopped {(at - before).total_seconds():.0f} s after broker {other}"
        for (before, other), (at, id_) in pairwise(by_time)
    ]
    below, without = hurt.get(symptoms.UNDER_MIN_ISR, 0), sum(hurt.values()) - hurt.get(symptoms.UNDER_MIN_ISR, 0)
    counts = [f"{plural(without, 'partition')} without a leader"] if without else []
    counts += [f"{plural(below, 'partition')} below min ISR"] if below else []
    back = [id_ for id_ in sorted(found) if restarts[id_].back is not None]
    rest = [id_ for id_ in sorted(found) if id_ not in back]
    title = f"brokers {ids} are stopped at the same time: {later[0]}, before that was in sync again"
    what = f"bring one of brokers {ids} back"
    if back:
        title = f"restarts of brokers {ids} overlap: {later[0]}, before that was in sync again"
        its = f"broker{'s' if back[1:] else ''} {' and '.join(map(str, back))}"
        what = f"wait until {its} {'are' if back[1:] else 'is'} in sync"
        if rest:
            what += f", and start broker{'s' if rest[1:] else ''} {' and '.join(map(str, rest))} again"
    yield cause.Claim(
        cause="restarts-overlap",
        subject=symptoms.CLUSTER,
        severity=Severity.CRITICAL if without else Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"{title}; {', '.join(counts)}",
        since=by_time[1][0],
        evidence=(
            *(
                cause.Evidence(f"broker {id_} was stopped in order at {time_of_day(at)}", "DescribeCluster, Metadata")
                for at, id_ in by_time
            ),
            *(cause.Evidence(each, "Metadata") for each in later[1:]),
        ),
        predicted=follows(*found),
        next=(
            cause.Next(
                f"stop the rolling restart or the drain, and {what}: the next one may go only once "
                "no partition is under-replicated (a disruption budget of one broker, the operator's own check)"
            ),
        ),
    )


def _crashes(observations: Observations) -> list[tuple[int, Interval]]:
    """Return the brokers that stopped answering while they led partitions, within the last 10 minutes (`AWAY`), and are
    back, each with the interval of its absence, the earliest first. Brokers that go up and down repeatedly are left
    out.
    """
    oldest = observations.last.at - AWAY
    found = []
    for subject, mine in observations.intervals_of(symptoms.BROKER_GONE).items():
        last = mine[-1]
        if subject.broker is None or len(mine) >= FLAPS or last.ended is None or last.began < oldest:
            continue
        fell, stop = observations.fell.get(subject.broker), observations.handed_over.get(subject.broker)
        is_crash = fell is not None and abs(fell - last.began) <= LEAVES
        if is_crash and (stop is None or abs(stop.at - last.began) > LEAVES):
            found.append((subject.broker, last))
    return sorted(found, key=lambda each: each[1].began)


def _killed(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for brokers that went away one after another without handing their leaders over, and came back: a
    rolling restart that kills them.
    """
    crashes = _crashes(observations)
    if len(crashes) < 2 or any(
        one.ended is None or one.ended > other.began for (_, one), (_, other) in pairwise(crashes)
    ):
        return
    ids = ", ".join(str(id_) for id_, _ in crashes)
    switched = values_of_brokers(observations.last.snapshot, "controlled.shutdown.enable")
    is_off = all(switched.get(id_) == "false" for id_, _ in crashes)
    why = "controlled.shutdown.enable is false" if is_off else "they may be killed before their shutdown ends"
    yield cause.Claim(
        cause="brokers-killed",
        subject=symptoms.CLUSTER,
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY if is_off else Certainty.POSSIBLE,
        title=f"brokers {ids} went away one after the other without handing their leaders over: {why}",
        since=crashes[0][1].began,
        times=len(crashes),
        evidence=(
            *(
                cause.Evidence(
                    f"broker {id_} fell silent while it led, was fenced at {time_of_day(each.began)}, and is back",
                    "ApiVersions, Metadata, DescribeCluster",
                )
                for id_, each in crashes
            ),
            *([cause.Evidence(why, "DescribeConfigs")] if is_off else ()),
        ),
        next=(
            cause.Next(
                "set controlled.shutdown.enable=true in the brokers' files"
                if is_off
                else "if this was a rolling restart, give brokers more time to stop (terminationGracePeriodSeconds, "
                "TimeoutStopSec) to hand over and close their logs; else look at what ends them, as a limit of memory"
            ),
        ),
        alone=not is_off,
        brokers=tuple(symptoms.Subject(broker=id_) for id_, _ in crashes),
    )


CAUSES = (
    cause.CauseRule(
        "restarts-overlap",
        _overlapping,
        reads="Metadata and DescribeCluster over time",
        takes=(
            "likely: two brokers were stopped in order, the second one before the first was in sync again, and a "
            "partition with replicas on both is below min ISR (high) or has no leader (critical)"
        ),
    ),
    cause.CauseRule(
        "brokers-killed",
        _killed,
        reads="DescribeCluster and Metadata over time, DescribeConfigs",
        takes=(
            "possible: within 10 minutes two brokers fell silent one after the other while they led, and came back; "
            "likely if controlled.shutdown.enable is false"
        ),
    ),
)
