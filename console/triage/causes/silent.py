"""Topics whose producers stopped without a change that explains it: no API has the reason, only a place to look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from console.model.numbers import first_few, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage.observations import Observations
from console.triage.silence import Silence, silences
from console.triage.symptoms import CLUSTER, Subject

NAME = "writes-stopped"
FEW = 3
"""Limit of topics with rows of their own; more are one row."""
_LOOK = (
    "look at the producers' logs: brokers close the connection of a client whose version, user or records they refuse, "
    "and no API names that client; the brokers' request logs do"
)


def _stopped(observations: Observations) -> Iterator[cause.Claim]:
    found = silences(observations)
    for some in [[each] for each in found] if len(found) <= FEW else [found]:
        yield _claim(some)


def _claim(some: Sequence[Silence]) -> cause.Claim:
    first = some[0]
    since = datetime.fromtimestamp(first.grew_at, UTC)
    names = first_few([each.topic for each in some], FEW)
    return cause.Claim(
        cause=NAME,
        subject=Subject(topic=first.topic) if len(some) == 1 else CLUSTER,
        # Producers may rightly have nothing to write: this is no trouble of the cluster.
        severity=Severity.INFO,
        certainty=Certainty.CERTAIN,
        title=f"{names}: no new record since {time_of_day(since)}",
        since=since,
        evidence=tuple(
            cause.Evidence(
                f"{each.topic} had new records at least every {each.pause:.0f} s until {_time(each)}",
                "ListOffsets, many looks",
            )
            for each in some[:FEW]
        ),
        next=(cause.Next(_LOOK),),
        yields=True,
        idle=True,
    )


def _time(silence: Silence) -> str:
    return time_of_day(datetime.fromtimestamp(silence.grew_at, UTC))


CAUSES = (
    cause.CauseRule(
        NAME,
        _stopped,
        reads="ListOffsets over time",
        takes="information: no new record for longer than 3 times the longest pause before",
    ),
)
