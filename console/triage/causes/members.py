"""Members of groups as a cause: processes that take the place of each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from console.model.severity import Certainty, Severity
from console.triage import cause, symptoms
from console.triage.observations import Observations

OFTEN, LATELY = 3, timedelta(seconds=60)
"""Fewest times that an instance id changes hands within this time: a restart, or a deployment, is one."""


def _contested(observations: Observations) -> Iterator[cause.Claim]:
    now = observations.last.at
    for (group, instance), joined in sorted(observations.past.joined.items()):
        recent = [each for each in joined if each.at > now - LATELY]
        if len(recent) < OFTEN or group not in observations.last.snapshot.groups:
            continue
        yield cause.Claim(
            cause="instance-contested",
            subject=symptoms.Subject(group=group),
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"group {group}: two processes seem to share the instance id {instance}",
            since=joined[0].at,
            times=len(joined),
            evidence=(
                cause.Evidence(
                    f"another member took the instance id {instance} {len(recent)} times within "
                    f"{LATELY.total_seconds():.0f} s, the last one as {recent[-1].client}",
                    "DescribeGroups, many looks",
                ),
                cause.Evidence(
                    "each member that joins fences the former one with the same group.instance.id", "KIP-345"
                ),
            ),
            predicted=cause.predict(
                symptoms.REBALANCING, symptoms.LAG_GROWS, symptoms.COMMIT_STANDS_STILL, group=group
            ),
            next=(
                cause.Next(
                    "stop the second process, or give each one a group.instance.id of its own; a single process that "
                    "starts again and again does the same"
                ),
            ),
        )


CAUSES = (cause.CauseRule("instance-contested", _contested),)
