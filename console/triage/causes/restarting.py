"""The cause that every member of a group leaves soon after it came, again and again, so that the group falls behind."""

from __future__ import annotations

from collections.abc import Iterator

from console.model.numbers import first_few, plural, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.causes import changed
from console.triage.folding import FEW
from console.triage.observations import Observations
from console.triage.restarting_groups import OFTEN, Restarting, members_restarting


def _restarting(observations: Observations) -> Iterator[cause.Claim]:
    for name in observations.past.members.departures:
        rebalances = observations.intervals.get((symptoms.REBALANCING, symptoms.Subject(group=name)), ())
        # The claim that a group rebalances names its members too.
        found = members_restarting(observations, name) if len(rebalances) < OFTEN else None
        if found is not None:
            yield _claim(found, observations)


def _claim(found: Restarting, observations: Observations) -> cause.Claim:
    group = found.group
    subject = symptoms.Subject(group=group.name)
    suspect = changed.suspect(observations, subject)
    who = first_few(found.clients, FEW)
    whose = f"its members {who} leave and come" if found.clients[1:] else f"its only member {who} leaves and comes"
    return cause.Claim(
        cause="members-restart",
        subject=subject,
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"group {group.name}: {whose} again and again, {plural(found.times, 'time')} since "
        f"{time_of_day(found.since)}",
        since=found.since,
        times=found.times,
        evidence=cause.given(
            cause.Evidence(found.said, "DescribeGroups over time"),
            cause.Evidence(f"the group is {group.state} now, and records wait", "ListGroups, OffsetFetch"),
            cause.Evidence(f"before that: {suspect.said.fact}", suspect.said.source) if suspect is not None else None,
        ),
        predicted=cause.predict(
            symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, symptoms.REBALANCING, group=group.name
        ),
        next=(
            cause.Next(
                f"look at the log of {who}: why does its process end soon after its start, or its client leave the "
                "group (as after max.poll.interval.ms without a poll)? Reset no offset: the group has read all records "
                "up to its commits"
            ),
        ),
    )


CAUSE = cause.CauseRule(
    "members-restart",
    _restarting,
    bare=True,
    reads="DescribeGroups over time, OffsetFetch, ListOffsets",
    takes=(
        "likely: each member of a group left at least 3 times, the group's lag grows, and members left at least twice "
        "since it began to grow"
    ),
)
