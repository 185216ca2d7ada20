"""Changes that others than the metadata log report: polls, requests, and kac's own journal. Pure; times are
microseconds since 1970."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from console.history.transforms.kraft_changes import SINCE_BEFORE, Entity, Event, sha256

# -- polls: the differences between one and the next -----------------------------------------------------------------


class Seen(NamedTuple):
    """What a poll saw of an entity: a row of `snapshot`. attr: None where the entity was deleted."""

    ts: int
    attr: str | None
    value: str | None


def poll_changes(cluster_id: str, entity: Entity, seen: Iterable[Seen], beats: Sequence[int]) -> Iterator[Event]:
    """Changes between polls, without their authors. beats: the times of the polls of that entity type, in order.

    The rows of an entity replace its former rows. A change is as old as the poll that first saw it, and at most as old
    as the poll of that entity type before it; before the first poll nothing is known (`SINCE_BEFORE`).
    """
    by_attr: dict[str, list[Seen]] = defaultdict(list)
    all_times = set()
    for row in seen:
        all_times.add(row.ts)
        if row.attr is not None:
            by_attr[row.attr].append(row)
    times = sorted(all_times)
    places = {ts: place for place, ts in enumerate(times)}

    def event(ts: int, row: Seen, attr: str, op: str) -> Event:
        before = bisect_left(beats, ts)
        since = ts // 1000 - beats[before - 1] // 1000 if before else SINCE_BEFORE
        value = row.value if op == "set" else None
        digest = None if value is None else sha256(value)
        return Event(
            *(cluster_id, ts, since, None, *entity, attr, op, value, digest, "snapshot"),
        )

    for attr, rows in by_attr.items():
        rows.sort(key=lambda row: row.ts)
        for place, row in enumerate(rows):
            at = places[row.ts]
            last = rows[place - 1] if place else None
            if last is None or places[last.ts] != at - 1 or last.value != row.value:
                yield event(row.ts, row, attr, "set")
            stays = place + 1 < len(rows) and places[rows[place + 1].ts] == at + 1
            if at + 1 < len(times) and not stays:
                yield event(times[at + 1], row, attr, "delete")


# -- requests and kac's journal: changes with their authors ----------------------------------------------------------


TOLERANCE = 2_000_000
"""How far the clocks of brokers and hosts may be apart, in microseconds."""


class Author(NamedTuple):
    """A change with its author. start, end: the time in which it was made. told_by: request or journal. is_copy:
    whether a row for the original of a forwarded request exists too."""

    attr: str
    op: str
    value: str | None
    start: int
    end: int
    principal: str | None
    client_id: str | None
    client_host: str | None
    told_by: str
    api: str | None
    is_copy: bool


class Asked(NamedTuple):
    """A row of `alter_request` of a request that succeeded and changed something."""

    attr: str
    op: str
    value: str | None
    start: int
    end: int
    principal: str
    client_id: str | None
    client_host: str | None
    api: str
    is_forwarded: bool
    broker_id: int
    byte_pos: int


class Noted(NamedTuple):
    """A row of `journal` of an edit that was applied."""

    attr: str
    op: str
    old_value: str | None
    value: str | None
    intent: int
    end: int | None
    principal: str | None
    client_host: str | None


_NAMELESS = ("certificate", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
"""What kac's journal writes if the settings do not determine the principal."""
_DEFAULT = "-1"
"""What a topic's creation asks for to get the brokers' default: the value is unknown."""
_NEVER = 1 << 62


def authors_of_requests(asked: Iterable[Asked]) -> Iterator[Author]:
    """The changes of requests. asked: of one entity."""
    alike: dict[tuple[str | None, ...], list[Asked]] = defaultdict(list)
    for each in asked:
        alike[each.principal, each.attr, each.op, each.value, each.api].append(each)
    for rows in alike.values():
        rows.sort(key=lambda row: (row.start, row.end, row.broker_id, row.byte_pos))
        # An original began before the copy and ended no earlier than the copy began, or began while the copy lasted.
        ends = list(accumulate((-_NEVER if row.is_forwarded else row.end for row in rows), max))
        starts = list(accumulate((_NEVER if row.is_forwarded else row.start for row in reversed(rows)), min))[::-1]
        for row, ended, begins in zip(rows, ends, starts, strict=True):
            has_original = ended + TOLERANCE >= row.start or begins - TOLERANCE <= row.end
            is_default = row.attr in (":partitions", ":replication") and row.value == _DEFAULT
            value = None if is_default else row.value
            yield Author(
                *(row.attr, row.op, value, row.start, row.end, row.principal, row.client_id, row.client_host),
                *("request", row.api, row.is_forwarded and has_original),
            )


def authors_of_journal(noted: Iterable[Noted]) -> Iterator[Author]:
    """The changes of the journal. `append` and `subtract` become the whole list if the journal has the former one."""
    for row in noted:
        op, value = row.op, row.value
        if op in ("append", "subtract") and row.old_value is not None and value is not None:
            op, value = "set", changed_list(row.old_value, op, value)
        end = row.intent if row.end is None else max(row.intent, row.end)
        yield Author(
            *(row.attr, op, value, row.intent, end, _principal(row.principal), None, row.client_host),
            *("journal", None, False),
        )


def _principal(name: str | None) -> str | None:
    """The principal as brokers write it: the journal has only the login's name."""
    return name if name is None or ":" in name or name in _NAMELESS else f"User:{name}"


def changed_list(base: str, op: str, items: str) -> str:
    """A list's value after `append` or `subtract`. Brokers do not add an item again."""
    had = [each for each in base.split(",") if each]
    given = dict.fromkeys(items.split(","))
    if op == "append":
        return ",".join((*had, *(each for each in given if each not in had)))
    return ",".join(dict.fromkeys(each for each in had if each not in given))


def author_changes(cluster_id: str, entity: Entity, authors: Iterable[Author]) -> Iterator[Event]:
    """The changes that authors report themselves, each once."""
    for each in authors:
        if each.is_copy:
            continue
        value = each.value
        digest = sha256(value) if value is not None and each.op in ("set", "delete") else None
        lasted = -((each.start - each.end) // 1000)
        source = "request_log" if each.told_by == "request" else "journal"
        yield Event(
            *(cluster_id, each.end, lasted, None, *entity, each.attr, each.op, value, digest, source),
            *(each.principal, each.client_id, each.client_host, each.told_by),
        )
