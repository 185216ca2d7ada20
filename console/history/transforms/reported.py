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

Seen = tuple[int, str | None, str | None]
"""What a poll saw of an entity: time, attribute (None where the entity was deleted), and value."""


def poll_changes(cluster_id: str, entity: Entity, seen: Iterable[Seen], beats: Sequence[int]) -> Iterator[Event]:
    """Changes between polls, without their authors. beats: the times of the polls of that entity type, in order.

    The rows of an entity replace its former rows. A change is as old as the poll that first saw it, and at most as old
    as the poll of that entity type before it; before the first poll nothing is known (`SINCE_BEFORE`).
    """
    states: dict[int, dict[str, str | None]] = defaultdict(dict)
    for ts, attr, value in seen:
        state = states[ts]
        if attr is not None:
            state[attr] = value
    last: dict[str, str | None] = {}
    for ts, state in sorted(states.items()):
        before = bisect_left(beats, ts)
        since = ts // 1000 - beats[before - 1] // 1000 if before else SINCE_BEFORE
        about = (cluster_id, ts, since, None, *entity)
        for attr in last.keys() - state.keys():
            yield Event(*about, attr, "delete", None, None, "snapshot")
        for attr, value in state.items():
            if attr not in last or last[attr] != value:
                yield Event(*about, attr, "set", value, None if value is None else sha256(value), "snapshot")
        last = state


# -- requests and kac's journal: changes with their authors ----------------------------------------------------------


TOLERANCE = 2_000_000
"""How far the clocks of brokers and hosts may be apart, in microseconds."""


class Author(NamedTuple):
    """A change with its author. start, end: the time in which it was made. api: of a request; None: the journal has it.
    is_copy: whether it is a forwarded request, of whose original a row exists too."""

    attr: str
    op: str
    value: str | None
    start: int
    end: int
    principal: str | None
    client_id: str | None
    client_host: str | None
    api: str | None
    is_copy: bool

    @property
    def by_journal(self) -> bool:
        """Whether kac's journal reports it, and not a request log."""
        return self.api is None


def principals(names: Iterable[str | None]) -> list[str]:
    """The principals among names, each once, in order; names without a type only where none has one."""
    known = {name for name in names if name is not None}
    return sorted({name for name in known if ":" in name} or known)


_NAMELESS = ("certificate", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
"""What kac's journal writes if the settings do not determine the principal."""
_DEFAULT = "-1"
"""What a topic's creation asks for to get the brokers' default: the value is unknown."""
_NEVER = 1 << 62


def authors_of_requests(asked: Iterable[Author]) -> Iterator[Author]:
    """The changes of requests. asked: of one entity; is_copy: those that were forwarded."""
    alike: dict[tuple[str | None, ...], list[Author]] = defaultdict(list)
    for each in asked:
        alike[each.principal, each.attr, each.op, each.value, each.api].append(each)
    for rows in alike.values():
        rows.sort(key=lambda row: (row.start, row.end))
        # An original began before the copy and ended no earlier than the copy began, or began while the copy lasted.
        ends = list(accumulate((-_NEVER if row.is_copy else row.end for row in rows), max))
        starts = list(accumulate((_NEVER if row.is_copy else row.start for row in reversed(rows)), min))[::-1]
        for row, ended, begins in zip(rows, ends, starts, strict=True):
            has_original = ended + TOLERANCE >= row.start or begins - TOLERANCE <= row.end
            is_default = row.attr in (":partitions", ":replication") and row.value == _DEFAULT
            yield row._replace(value=None if is_default else row.value, is_copy=row.is_copy and has_original)


def author_of_journal(
    attr: str,
    op: str,
    old: str | None,
    value: str | None,
    intent: int,
    end: int | None,
    name: str | None,
    client_host: str | None,
) -> Author:
    """A change of the journal. `append` and `subtract` become the whole list if the journal has the former one; the
    name is the principal as brokers write it, where the journal has only the login's."""
    if op in ("append", "subtract") and old is not None and value is not None:
        op, value = "set", changed_list(old, op, value)
    principal = name if name is None or ":" in name or name in _NAMELESS else f"User:{name}"
    return Author(attr, op, value, intent, max(intent, end or intent), principal, None, client_host, None, False)


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
        source, told_by = ("journal", "journal") if each.by_journal else ("request_log", "request")
        yield Event(
            *(cluster_id, each.end, lasted, None, *entity, each.attr, each.op, value, digest, source),
            *(each.principal, each.client_id, each.client_host, told_by),
        )
