"""Finds logs that lost their last records, and the groups that brokers sent back because of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.changes import GroupTarget, TopicTarget
from console.model.observed_logs import Fall, Place
from console.triage import symptoms
from console.triage.events import ID
from console.triage.judged_changes import JudgedChange
from console.triage.observations import Observations

LASTS = 5.0
"""Seconds for which a log has to end earlier than before to count: the high watermark of a new leader may lag for a
moment.
"""
FOLLOWS = 60.0
"""Maximum seconds between the fall of a log's end and the poll that shows a group's offset set back because of it."""


class Begun(NamedTuple):
    """A group that began again in a shorter log."""

    group: str
    was: int
    offset: int
    """The offset at which it began again; `was` is the one before."""


def shorter(observations: Observations) -> Mapping[Place, Fall]:
    """Return partition -> the latest fall of its end, for the logs that lost records which brokers had confirmed to
    producers: the end is lower than before, or new records brought it back. Left out are elections from outside the
    ISR, which have claims of their own, and the logs of a topic that was created again.
    """
    logs = observations.last.facts.logs
    if not logs.falls:
        return {}
    again = {each.place.about for each in observations.past.judged if each.place.key == ID}
    found = {}
    for fall in {(each.topic, each.partition): each for each in logs.falls}.values():
        place = fall.topic, fall.partition
        subject = symptoms.Subject(topic=fall.topic, partition=fall.partition)
        lower = (fall.again_at or logs.at) - fall.at
        if (
            place in logs.logs
            and lower >= LASTS
            and (fall.again_at is None or fall.is_rewritten)
            and TopicTarget(fall.topic) not in again
            and (symptoms.UNCLEAN_LEADER, subject) not in observations.seen
        ):
            found[place] = fall
    return found


def begun_again(judged: Iterable[JudgedChange], falls: Mapping[Place, Fall]) -> Mapping[Place, list[Begun]]:
    """Return partition -> the groups that began again there because their offset was beyond the new end of the log.

    Args:
        judged: the known changes.
        falls: the result of `shorter`.
    """
    found: dict[Place, list[Begun]] = {}
    for change in judged if falls else ():
        about = change.place.about
        if isinstance(about, GroupTarget) and is_effect(change, falls):
            for place, (was, now) in change.offsets.items():
                found.setdefault(place, []).append(Begun(about.name, was, now))
    return found


def is_effect(change: JudgedChange, falls: Mapping[Place, Fall]) -> bool:
    """Return whether a group's members set its offsets back only because the logs had become shorter: each offset was
    beyond the new end, so that brokers refused it.

    Args:
        falls: the result of `shorter`.
    """
    if not change.by_member or not falls or not falls.keys() >= change.offsets.keys():
        return False
    return bool(change.offsets) and all(
        falls[place].end < was and now < was and abs(change.at.timestamp() - falls[place].at) <= FOLLOWS
        for place, (was, now) in change.offsets.items()
    )
