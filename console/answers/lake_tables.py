"""Tables of a lake's timeline, drift, usage and denials for the command line, and the filter for their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from console.answers.results import Table, table_of
from console.lake.denials import Denied
from console.lake.reader import Change, Drifted, Usage
from console.plan.amounts import moment
from console.present.lake_rows import DENIED, HISTORY, USAGE, dated, drifted_columns

ONE_CLUSTER = frozenset({"cluster"})
"""The columns that a table about one cluster omits."""


def history_table(
    changes: Sequence[Change], *, clusters: bool, first_polls: Mapping[str, datetime], zone: tzinfo | None = None
) -> Table:
    """Return the changes over time as a table.

    Args:
        clusters: whether the table has a column for the cluster.
        first_polls: cluster -> time of its first poll. Values that were seen first in that poll may have changed long
            before.
        zone: the time zone of the times; None for this host's.
    """
    rows = (dated(change, first_polls.get(change.cluster_id), zone) for change in changes)
    return table_of("history", HISTORY if clusters else HISTORY.without(ONE_CLUSTER), rows, empty="nothing changed")


def drift_table(rows: Sequence[Drifted], *, clusters: bool, zone: tzinfo | None = None) -> Table:
    """Return the differences between entities that should be alike, the most severe first.

    Args:
        clusters: whether the table has a column for the cluster.
        zone: the time zone of the times; None for this host's.
    """
    columns = drifted_columns(zone)
    return table_of("drift", columns if clusters else columns.without(ONE_CLUSTER), rows, empty="nothing differs")


def usage_table(rows: Sequence[Usage], *, clusters: bool) -> Table:
    """Return the usage of clients as a table, the highest first. clusters: whether the table has a column for the
    cluster.
    """
    columns = USAGE if clusters else USAGE.without(ONE_CLUSTER)
    return table_of("usage", columns, rows, empty="nothing was used in this window")


def denied_table(rows: Sequence[Denied], *, clusters: bool, has_logs: bool) -> Table:
    """Return the denied accesses, the latest first.

    Args:
        clusters: whether the table has a column for the cluster.
        has_logs: whether the lake has any decisions of authorizers; if not, the empty table says so.
    """
    empty = "nothing was denied" if has_logs else "the lake has no authorizer logs: docs/lake.md"
    return table_of("denied", DENIED if clusters else DENIED.without(ONE_CLUSTER), rows, empty=empty)


# The filter that selects a part of the past, as words: ``since=2h key=retention.* by=alice dlq``.

NAMES = ("since", "until", "key", "by")


class LakeFilter(NamedTuple):
    """The conditions for rows of a lake; None for no condition."""

    since: datetime | None = None
    until: datetime | None = None
    key: str | None = None
    principal: str | None = None
    text: str = ""
    """A text that rows must contain; ``""`` for no condition."""


def lake_filter(text: str, now: datetime) -> LakeFilter:
    """Parse a filter: words ``NAME=VALUE`` with a name of `NAMES`; all other words are a text that rows must contain.

    Raises:
        ValueError: a time in the filter is invalid. The message is for the operator.
    """
    found: dict[str, str] = {}
    rest = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals or name not in NAMES:
            rest.append(word)
        elif value:
            found[name] = value
    since, until = (moment(found[name], now) if name in found else None for name in ("since", "until"))
    return LakeFilter(since, until, found.get("key"), found.get("by"), " ".join(rest))
