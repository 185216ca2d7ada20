"""Finds the author of a change: the requests and journal entries whose time covers it and whose content is the same.

If exactly one author fits, it is named; if several do, all are named; never a guess. Those whose own time covers the
change are preferred to those that are off by a little, and these to those that are off by more: see `STEPS`. A request
that set a value again fits as well as the one that changed it, if both fit in time: then both are named.

The same content is: a value that is set; for a hidden value, its name alone; for `append` a list that has all items,
for `subtract` one that has none of them. A topic's deletion deletes all its attributes, its creation also sets its id,
and ALTER_CONFIGS, which replaces everything, deletes the configs that it does not name. A journal that does not know
the principal (`certificate`) gives way to requests, which do. Pure; times are microseconds since 1970.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from console.history.transforms.kraft_changes import Event
from console.history.transforms.reported import TOLERANCE, Author, principals

STEPS = (0, 25_000, 250_000)
"""How far a change may be from its request, in microseconds: not at all; on one host, where a line is logged a little
after the request's end and its start is computed from there; and in one data centre. Requests that are further off
count only if none is as near."""
_ALL = "*"
_ALL_CONFIGS = "* configs"


class _ByTime:
    """What authors may have changed of one attribute, in the order of its beginning."""

    def __init__(self, offered: Iterable[Author]) -> None:
        self._offered = sorted(offered, key=lambda each: each.start)
        self._starts = [each.start for each in self._offered]
        self._longest = max(each.end - each.start for each in self._offered)

    def within(self, since: int, until: int) -> Iterator[Author]:
        """What overlaps with that time."""
        first, last = bisect_left(self._starts, since - self._longest), bisect_right(self._starts, until)
        return (each for each in self._offered[first:last] if each.end >= since)


def attributed(changes: Iterable[Event], authors: Sequence[Author]) -> Iterator[Event]:
    """The changes of the log and of polls with their authors; equal changes are one. All of one entity."""
    offered: dict[str, list[Author]] = defaultdict(list)
    distinct = dict.fromkeys(changes)
    of_topic = any(change.entity_type == "topic" for change in distinct)
    for author in authors:
        for each in _covered(author, of_topic):
            offered[each.attr].append(each)
    by_attr = {attr: _ByTime(of_attr) for attr, of_attr in offered.items()}
    for change in distinct:
        found = set()
        if by_attr and change.ts_uncertainty_ms >= 0:
            since = change.event_ts - change.ts_uncertainty_ms * 1000
            for attr in _sought(change, of_topic):
                if attr in by_attr:
                    for each in by_attr[attr].within(since - TOLERANCE, change.event_ts + TOLERANCE):
                        if each.principal is not None and _same_content(each, change):
                            off = max(each.start - change.event_ts, since - each.end, 0)
                            found.add((sum(off > step for step in STEPS), each))
        yield _named(change, found) if found else change


def _sought(change: Event, of_topic: bool) -> Iterator[str]:
    """The attributes by which authors of a change may be found."""
    yield change.attr
    if change.op == "delete":
        if of_topic:
            yield _ALL
        if not change.attr.startswith(":"):
            yield _ALL_CONFIGS


def _covered(author: Author, of_topic: bool) -> Iterator[Author]:
    """Each thing that an author may have changed."""
    yield author
    if of_topic and author.op == "delete" and author.attr == ":topic_id":
        yield author._replace(attr=_ALL, value=None)
    if of_topic and author.op == "set" and author.attr == ":replication" and author.api in (None, "CREATE_TOPICS"):
        yield author._replace(attr=":topic_id", value=None)
    # A topic's replication is that of its first partition; a reassignment names the wanted replicas.
    if of_topic and author.op == "set" and author.attr == ":reassignment/0" and author.value is not None:
        yield author._replace(attr=":replication", value=str(len(author.value.split(","))))
    if author.api == "ALTER_CONFIGS":
        yield author._replace(attr=_ALL_CONFIGS, op="delete", value=None)


def _same_content(offered: Author, change: Event) -> bool:
    was_set = change.op == "set"
    if offered.op == "delete":
        return not was_set
    asked, became = offered.value, change.value
    if not was_set or asked is None or became is None:
        return was_set
    if offered.op == "set":
        return asked == became
    items, those = set(asked.split(",")), set(became.split(","))
    return items <= those if offered.op == "append" else items.isdisjoint(those)


def _named(change: Event, found: set[tuple[int, Author]]) -> Event:
    """The change with its author. found: all that fit, with their `STEPS`."""
    best = min(tier for tier, _ in found)
    fitting = [author for tier, author in found if tier == best]
    names = principals(author.principal for author in fitting)
    by_request = [author for author in fitting if not author.by_journal]
    by_journal = [author for author in fitting if author.by_journal]
    alone = len(names) == 1
    # A forwarded copy may be the one that fits, yet only its original has the client's address.
    own = [each for _, each in found if not (each.by_journal or each.is_copy) and each.principal in names]
    hosts = {author.client_host for author in own or by_request or by_journal}
    return change._replace(
        principal=", ".join(names),
        client_id=_only({author.client_id for author in by_request}) if alone else None,
        client_host=_only(hosts) if alone else None,
        attribution="several" if not alone else "journal" if by_journal else "request",
    )


def _only(values: set[str | None]) -> str | None:
    known = values - {None}
    return known.pop() if len(known) == 1 else None
