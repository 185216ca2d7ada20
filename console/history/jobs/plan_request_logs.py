"""What is new in request logs, and whose it is; without Spark."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from glob import glob
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..requests import progress
from ..requests.files import LogChangedError
from ..requests.lines import line_times
from ..requests.parts import BrokerLog
from ..requests.progress import CutInPlaceError, Span
from .inputs import RequestLog
from .taken import UnreadableInput

SOURCE = "request_log"
_REMEMBERED = "request_log:"
REMEMBERED_DAYS = 30
"""How long a file is remembered that is not there any more. One that comes back later would be counted again."""
OVERLAP = timedelta(minutes=1)
"""How long two files of one broker may be written to at the same time: around a rotation it is less than a second."""
_BROKERS_ADDRESS = re.compile(rb'"connection":"([^"]{1,200}?:\d+)-')


@dataclass(frozen=True)
class PlannedLogs:
    """What to read, what to remember once it is read, and how many files have nothing new."""

    logs: tuple[BrokerLog, ...]
    remember: Mapping[str, Any]
    unchanged: int


def plan_request_logs(inputs: Mapping[str, Any], logs: Sequence[RequestLog]) -> PlannedLogs:
    """inputs: what the last run remembered. UnreadableInput: no file is found, a file is cut or of two brokers, a zone
    is unknown. LogChangedError: a file was deleted just now; OSError."""
    brokers: list[BrokerLog] = []
    unchanged = 0
    remember: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for log in logs:
        owner = f"{log.cluster_id}/{log.broker_id}"
        key = f"{_REMEMBERED}{owner}"
        known = {**inputs.get(key, {}), **remember.get(key, {})}
        plan = _plan(log, known, owner)
        for place, path in plan.places.items():
            if owners.setdefault(place, owner) != owner:
                raise UnreadableInput(
                    f"{path} is given as the request log of {owners[place]} and of {owner} (cluster/broker): its "
                    "requests would count twice. Name files of each broker that no other one has."
                )
        remember[key] = _still_known(plan, remember.get(key, {}))
        unchanged += plan.unchanged
        if plan.spans:
            brokers.append(BrokerLog(log.cluster_id, log.broker_id, plan.spans, _zone(log), tuple(log.paths)))
    _refuse_two_brokers(brokers)
    return PlannedLogs(tuple(brokers), remember, unchanged)


def _plan(log: RequestLog, known: progress.Progress, owner: str) -> progress.Plan:
    try:
        return progress.plan(_found(log), known, owner=owner)
    except EOFError as wrong:
        raise UnreadableInput(f"A packed request log is cut: {wrong}. Wait until it is whole.") from wrong
    except CutInPlaceError as wrong:
        raise UnreadableInput(f"{wrong}.") from wrong
    except FileNotFoundError as gone:
        raise LogChangedError.of(str(gone.filename or gone), "is not there any more") from gone


def _still_known(plan: progress.Plan, before: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What is remembered of files, less those that are long gone. before: of the same broker's other files, from this
    run. seen: the last day they were there, since 1970."""
    today = int(time.time()) // 86_400
    dated = {
        identity: {
            **each,
            "seen": today if identity in plan.there else before.get(identity, {}).get("seen", each.get("seen", today)),
        }
        for identity, each in plan.progress.items()
    }
    return {identity: each for identity, each in dated.items() if today - each["seen"] <= REMEMBERED_DAYS}


def _refuse_two_brokers(brokers: Iterable[BrokerLog]) -> None:
    """UnreadableInput: two files are given as one broker's, and were written by two. Their lines are of the same time,
    and the addresses that clients were connected to have nothing in common."""
    spans: dict[tuple[str, int], list[Span]] = {}
    for broker in brokers:
        spans.setdefault((broker.cluster_id, broker.broker_id), []).extend(broker.spans)
    for (cluster_id, broker_id), files in spans.items():
        shown = [(span, _times(span), _addresses(span)) for span in files]
        for number, (one, times, addresses) in enumerate(shown):
            for other, its_times, its_addresses in shown[number + 1 :]:
                if (
                    _overlap(times, its_times) > OVERLAP
                    and addresses
                    and its_addresses
                    and not (addresses & its_addresses)
                ):
                    raise UnreadableInput(
                        f"{one.path} and {other.path} are both given as the request log of broker {broker_id} of "
                        f"{cluster_id}, but have lines of the same time from two brokers "
                        f"({min(addresses)} and {min(its_addresses)}). Name each broker's own files."
                    )


def _times(span: Span) -> tuple[datetime, datetime] | None:
    """Of the first and of the last line, as they show it."""
    times = [*line_times(span.head), *line_times(span.tail)]
    return (min(times), max(times)) if times else None


def _overlap(one: tuple[datetime, datetime] | None, other: tuple[datetime, datetime] | None) -> timedelta:
    if one is None or other is None:
        return timedelta(0)
    return min(one[1], other[1]) - max(one[0], other[0])


def _addresses(span: Span) -> set[str]:
    """The broker's own side of connections in some of the lines."""
    return {each.decode("utf-8", "replace") for each in _BROKERS_ADDRESS.findall(span.head + span.tail)}


def _found(log: RequestLog) -> list[str]:
    """Files of this machine by pattern; a URI names one file."""
    found = [path for pattern in log.paths for path in ([pattern] if "://" in pattern else glob(pattern))]  # noqa: PTH207 - absolute patterns, which Path.glob takes not
    if not found:
        raise UnreadableInput(f"No request log of broker {log.broker_id} is at {', '.join(log.paths)}.")
    return sorted(set(found))


def _zone(log: RequestLog) -> str:
    try:
        return ZoneInfo(log.time_zone).key
    except (ZoneInfoNotFoundError, ValueError) as wrong:
        raise UnreadableInput(f"{log.time_zone!r} is no time zone; they are called Europe/Berlin or UTC.") from wrong
