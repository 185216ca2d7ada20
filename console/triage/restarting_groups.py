"""Finds groups each of whose members leaves soon after it came, again and again, while the group falls behind. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from console.model.cluster import Group
from console.model.numbers import first_few, time_of_day
from console.triage import memberships, symptoms
from console.triage.folding import FEW
from console.triage.memberships import Departure
from console.triage.observations import Observations

OFTEN = 3
"""Minimum number of times that each client left. A deployment, or a start that fails once, has fewer."""
MEANWHILE = 2
"""The minimum number of these times since the group fell behind: a job that runs every minute catches up each time."""
BEFORE, LATELY = timedelta(minutes=1), timedelta(minutes=2)
"""The time before the group fell behind from which departures count; and the maximum time since the last one."""


class Restarting(NamedTuple):
    """A group whose members leave again and again."""

    group: Group
    clients: Sequence[str]
    """Client id and host of its members, the most frequent first."""
    times: int
    """The number of times that members left."""
    since: datetime
    """The time of the first poll without one of them, UTC."""
    last: datetime
    """The time of the last departure, UTC."""

    @property
    def said(self) -> str:
        """The departures, as text."""
        return (
            f"{first_few(self.clients, FEW)} left group {self.group.name} {self.times} times since "
            f"{time_of_day(self.since)}, last at {time_of_day(self.last)}, and came again"
        )


def members_restarting(observations: Observations, name: str) -> Restarting | None:
    """Return how the members of a group leave again and again; None if one of them stays, if all stay longer than
    before, if they left less than `OFTEN` times each, if the last one left more than `LATELY` ago, or if the group is
    not behind.
    """
    group, now = observations.last.snapshot.groups.get(name), observations.last.at
    departures = observations.past.members.departures.get(name, ())
    symptom = observations.of_groups(symptoms.LAG_GROWS).get(name)
    if group is None or symptom is None or len(departures) < OFTEN or departures[-1].at <= now - LATELY:
        return None
    if not group.is_vacant and memberships.members_stay(departures, now):
        return None
    began = observations.since(symptom) or observations.began
    left = [each for each in departures if each.at >= began - BEFORE]
    clients = _each_again(left, group)
    if not clients or sum(each.at >= began for each in left) < MEANWHILE:
        return None
    return Restarting(group, clients, len(left), left[0].at, left[-1].at)


def _each_again(left: Sequence[Departure], group: Group) -> Sequence[str]:
    """Return client id and host of the members that left at least `OFTEN` times, the most frequent first. Empty if
    another member left less often, or is there now and never left: that may be a deployment.
    """
    alike: dict[str, int] = {}
    for each in left:
        alike[each.who] = max(each.alike, alike.get(each.who, 1))
    times = Counter(each.who for each in left)
    here = {memberships.who(each) for each in group.members or ()}
    if not here <= times.keys() or any(count < OFTEN * alike[who] for who, count in times.items()):
        return ()
    return [who for who, _ in times.most_common()]
