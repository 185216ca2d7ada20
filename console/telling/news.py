"""The decision which messages receivers get about a cause: one when it is new (`CAME`), one each time it gets worse
(`WORSE`), and one when it is gone (`GONE`). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.severity import Certainty, Severity
from console.present.triage import UNEXPLAINED, CauseRow, cause_id
from console.triage.cause import Claim, Evidence, Next
from console.triage.diagnosis import Named
from console.triage.folding import one_of
from console.triage.settling import HELD
from console.triage.symptoms import CLUSTER

NO_ANSWER = "no-answer"
"""The name of the cause that reports a cluster of which no node answers."""
LOOK = "look at the network between this host and the cluster, and at the cluster's processes"
"""The step that the cause `NO_ANSWER` recommends."""
_SEVERITIES = tuple(Severity)


class What(StrEnum):
    """The kinds of message about a cause: it is new to receivers, got worse, or is gone."""

    CAME = "came"
    WORSE = "worse"
    GONE = "gone"


class News(NamedTuple):
    """A message about a cause that is new, got worse or is gone."""

    what: What
    id: str
    """The id of the cause, the same in all messages about it."""
    row: CauseRow
    at: datetime
    """The time of the poll, UTC."""
    was: Severity | None = None
    """The severity in the previous message about the cause; None if this is the first message."""


class Told(Struct, frozen=True):
    """A cause about which receivers got a message, and which was not yet reported as gone."""

    worst: Severity
    """The highest severity in the messages about the cause."""
    row: CauseRow
    """The cause as the last poll that found it shows it."""
    missing: float | None = None
    """The time since which polls do not find the cause any more, in seconds of a monotonic clock; None if the last poll
    found it.
    """
    members: Mapping[str, float | None] = field(default_factory=dict)
    """For a cause whose row combines several states: id of each reported state -> the time since which polls do not
    find it, as in `missing`. Empty for other causes.
    """


class Known(Struct, frozen=True):
    """The state from one verdict to the next: the causes about which receivers were told."""

    told: Mapping[str, Told] = field(default_factory=dict)
    """Id of a cause -> its last message and state."""
    first: Mapping[str, float] = field(default_factory=dict)
    """Id of an unexplained symptom -> the time when it was first seen, in seconds of a monotonic clock."""


def news(
    known: Known, rows: Sequence[CauseRow], at: datetime, now: float, *, blind: bool = False
) -> tuple[Known, tuple[News, ...]]:
    """Compare the causes of a verdict with those that receivers know. Return what receivers know afterwards, and the
    messages to send.

    CAME: a cause that receivers do not know counts on the screen: it is certain, not muted, and more severe than
    information. An unexplained symptom has to last for `HELD` (1 minute) first. WORSE: a cause reached a severity above
    those in its messages. GONE: no poll has found the cause for `HELD`, even if it was muted meanwhile. If a row
    combines several states, a state that is added gets a CAME of its own, and GONE is sent once all of them are gone.

    Args:
        known: the result after the previous verdict.
        rows: the causes of the verdict, the worst first.
        at: the time of the poll, UTC, for the messages.
        now: the same time in seconds of a monotonic clock, which no step of the wall clock changes.
        blind: whether facts that a verdict needs could not be read: then no cause counts as gone.
    """
    seen = dict[str, CauseRow]()
    for row in rows:
        if row.claim.severity is not Severity.INFO:
            seen.setdefault(_id(row.claim), row)  # rows come with the worst first, so keep the first of each id
    folded = [row.claim for row in seen.values() if row.claim.fold is not None]
    told, first, found = dict(known.told), dict[str, float](), list[News]()
    held = HELD.total_seconds()
    for name, row in seen.items():
        before, severity = told.get(name), row.claim.severity
        if before is not None:
            is_worse = row.counts and _SEVERITIES.index(severity) < _SEVERITIES.index(before.worst)
            mine = _states(row.claim)
            added = [each for id_, each in mine.items() if id_ not in before.members]
            if is_worse:
                found.append(News(What.WORSE, name, row, at, before.worst))
            elif added and row.counts:
                found.append(News(What.CAME, name, _row_of(added, row), at))
            kept = {id_: now if since is None else since for id_, since in before.members.items() if id_ not in mine}
            members: dict[str, float | None] = {
                id_: since for id_, since in kept.items() if blind or now - since < held
            }
            members |= dict.fromkeys(mine if row.counts else before.members.keys() & mine.keys())
            told[name] = Told(severity if is_worse else before.worst, row, members=members)
        elif row.counts:
            if row.claim.cause.startswith(UNEXPLAINED):
                first[name] = known.first.get(name, now)
                if now - first[name] < held:
                    continue
            told[name] = Told(severity, row, members=dict.fromkeys(_states(row.claim)))
            found.append(News(What.CAME, name, row, at))
    for name, each in known.told.items():
        if name in seen:
            continue
        stays = blind or any(_has_taken_in(claim, each.row.claim) for claim in folded)
        missing = None if stays else now if each.missing is None else each.missing
        if missing is not None and now - missing >= held:
            del told[name]
            found.append(News(What.GONE, name, each.row, at, each.worst))
        elif missing != each.missing:
            told[name] = replace(each, missing=missing)
    return Known(told, first), tuple(found)


def no_answer(why: str, step: str = LOOK) -> CauseRow:
    """Return the row for a cluster in which no node answers, or that kac can't watch.

    Args:
        why: the reason, in one line.
        step: the next step.
    """
    claim = Claim(
        cause=NO_ANSWER,
        subject=CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        evidence=(Evidence(why, "connections from this host"),),
        title=why,
        next=(Next(step),),
    )
    return CauseRow(Named(claim, {}))


def _id(claim: Claim) -> str:
    # Leave out the subject where it changes from poll to poll: the subject of an unexplained symptom contains its
    # count, and the subject of several states is that of the worst one.
    return claim.cause if claim.cause.startswith(UNEXPLAINED) or claim.stands is not None else cause_id(claim)


def _states(claim: Claim) -> Mapping[str, Claim]:
    """Return id -> state, for each state that the row of a cause combines, or for the only state of the row. Empty
    if the cause is not a lasting state that lint finds.
    """
    return {cause_id(each): each for each in claim.members or (claim,)} if claim.stands is not None else {}


def _row_of(added: Sequence[Claim], row: CauseRow) -> CauseRow:
    """Return a row for only the added states. Its recommended steps are those of the whole row, because triage has
    checked only these.
    """
    return CauseRow(Named(replace(one_of(added), next=row.claim.next), {}))


def _has_taken_in(claim: Claim, former: Claim) -> bool:
    """Return whether a cause about several groups, or about several partitions of a topic, now includes the subject
    of a former cause of the same kind. The former cause has then not gone.
    """
    mine, its = claim.subject, former.subject
    pairs = ((mine.group, its.group), (mine.topic, its.topic), (mine.partition, its.partition))
    return claim.cause == former.cause and mine.entity == its.entity and all(one in (None, of) for one, of in pairs)
