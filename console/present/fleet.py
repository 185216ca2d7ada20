"""All contexts as rows: the verdict of triage on each cluster, its worst cause, and a few counts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.model.failure import Failure
from console.model.name_order import in_order
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.model.time_lag import UNSEEN, Behind
from console.model.topic_counts import TopicCounts
from console.plan.amounts import Unit
from console.present import columns
from console.present import triage as shown_triage
from console.present.failures import failure_text
from console.present.text import Cell, Line, clean

if TYPE_CHECKING:
    from console.triage.diagnosis import Verdict

LOST, REFUSED, UNKNOWN, UNUSABLE = "LOST", "REFUSED", "unknown", "unusable"
ASKS, READING, HEALTHY = "asks", "reading", "healthy"
"""Verdicts on a cluster that no cause names. LOST: no broker answers. REFUSED: the brokers refuse the login, another
cluster answers, or a secret could not be fetched. UNKNOWN: a part could not be read. UNUSABLE: the context can't be
used. ASKS: the operator has to type its secret. READING: kac is reading it. HEALTHY: nothing is wrong."""
_MEANINGS = {
    LOST: "danger",
    REFUSED: "danger",
    "CRIT": "danger",
    "HIGH": "failed",
    "WARN": "pending",
    UNKNOWN: "pending",
    UNUSABLE: "pending",
    ASKS: "muted",
    READING: "muted",
    HEALTHY: "",
}
"""Verdict as a word -> the meaning of its colour; the worst verdict first."""
_RANKS = {word: rank for rank, word in enumerate(_MEANINGS)}
ASKS_TEXT = "asks for its secret: Enter opens it"
TRIES, TRIES_OWN = "open this pane again for another attempt", "r is another attempt"
"""The next step after a refused login: to another cluster, and to the cluster that the console shows."""
MOST_CAUSES = 12
"""Maximum number of causes in the details of a cluster."""


class Health(NamedTuple):
    """The result of one read and diagnosis of a cluster."""

    at: datetime
    """The time of the read, UTC."""
    verdict: Verdict
    brokers: int
    up: int
    """The number of brokers that are not fenced."""
    under_replicated: int
    offline: int
    lag: int | None
    """The lag of all groups in records, as far as it is known; 0 without groups, None if no lag is known."""
    group: str
    """The group with the record that has waited longest; ``""`` if unknown."""
    behind: Behind
    """The time for which that record has waited."""
    muted: Mapping[str, datetime] = MappingProxyType({})
    """Id of a cause -> the end of its mute."""

    @property
    def rows(self) -> list[shown_triage.CauseRow]:
        """The causes and unexplained symptoms that count as trouble, the worst first."""
        return [row for row in shown_triage.cause_rows(self.verdict, self.muted) if row.counts]


def health(
    verdict: Verdict,
    snapshot: Snapshot,
    muted: Mapping[str, datetime] = MappingProxyType({}),
    at: datetime | None = None,
) -> Health:
    """Return the health of a cluster, from a verdict and its snapshot.

    Args:
        verdict: the verdict of triage.
        snapshot: the snapshot that was diagnosed.
        muted: id of a cause -> the end of its mute.
        at: time of the read, UTC; None for the time of the verdict.
    """
    counts = TopicCounts().after(snapshot.topics)
    nodes = snapshot.cluster.brokers or snapshot.cluster.controllers
    # Without any groups the lag is 0; until they are listed it is unknown.
    is_without_groups = Part.GROUPS in snapshot.read_at and not snapshot.groups
    totals = [total for lag in snapshot.lags.values() if (total := lag.known_total) is not None]
    waits = [(trend.longest_behind, name) for name, trend in snapshot.lag_trends.items()]
    longest = max((each for each in waits if each[0].seconds), key=lambda each: each[0].seconds or 0, default=None)
    behind, group = longest or (UNSEEN, "")
    return Health(
        at or verdict.at,
        verdict,
        len(nodes),
        sum(not node.fenced for node in nodes),
        counts.under_replicated,
        counts.offline,
        sum(totals) if totals or is_without_groups else None,
        group,
        behind,
        muted,
    )


class FleetRow(NamedTuple):
    """A context, with the result of the last read of its cluster."""

    name: str
    origin: str = ""
    """The source of the context, such as a file, as text."""
    health: Health | None = None
    """The result of the last successful read; None before the first."""
    failure: Failure | None = None
    """The reason why the brokers do not answer; None if the last read succeeded."""
    since: datetime | None = None
    """The time since which the brokers have not answered, UTC: that of the last answer, or of the first attempt; None
    while they answer, and before the first read.
    """
    is_refused: bool = False
    """Whether kac has stopped trying, because another login attempt could lock the account."""
    problem: str = ""
    """The reason why the context can't be used; ``""`` if it can."""
    asks: bool = False
    """Whether the operator would have to type the context's secret, so that kac does not read the cluster."""
    is_shown: bool = False
    """Whether this is the cluster that the console is connected to."""

    @property
    def verdict(self) -> str:
        """The verdict as one word."""
        if self.problem:
            return UNUSABLE
        # kac never looks at a context that is unusable or asks for a secret: test these before the results of looks.
        if self.asks:
            return ASKS
        if self.failure is not None:
            return REFUSED if self.is_refused else LOST
        if self.health is None:
            return READING
        if rows := self.health.rows:
            return shown_triage.WORDS[min((row.claim.severity for row in rows), key=_severity_rank)]
        return UNKNOWN if self.health.verdict.unread else HEALTHY

    @property
    def is_healthy(self) -> bool:
        """Whether the cluster is known to be healthy."""
        return self.verdict == HEALTHY

    @property
    def troubles(self) -> int:
        """The number of causes and symptoms that count as trouble; 0 while the cluster does not answer."""
        return len(self.health.rows) if self.health is not None and self.failure is None else 0

    @property
    def began(self) -> datetime | None:
        """The time at which the worst trouble began, or since which the brokers have not answered, UTC; None if it
        is unknown, or there is no trouble.
        """
        # Ignore the last look: its counts stay visible, but its causes are those of a cluster that answered.
        if self.failure is not None:
            return self.since
        rows = self.health.rows if self.health is not None else []
        return rows[0].claim.since if rows else None

    @property
    def cause(self) -> str:
        """The title of the worst cause, with the number of further ones; else the reason why there is no verdict, or
        the parts of the cluster that were not read. ``""`` if nothing is wrong, and before the first read.
        Untrusted text.
        """
        if self.problem or self.asks:
            return self.problem or ASKS_TEXT
        if self.failure is not None:
            return str(self.failure)
        if self.health is None:
            return ""
        if rows := self.health.rows:
            more = f"  and {len(rows) - 1:,} more" if len(rows) > 1 else ""
            return f"{rows[0].claim.title}{more}"
        unread = self.health.verdict.unread
        return f"not read: {shown_triage.part_names(unread)}" if unread else ""


def _severity_rank(severity: str) -> int:
    return _RANKS[shown_triage.WORDS[severity]]


def worst_first(rows: Iterable[FleetRow]) -> list[FleetRow]:
    """Return the rows with the worst verdict first; those with the same verdict by number of troubles, the most first,
    then by name.
    """
    known = {row.name: row for row in rows}
    # Sort numbers within names by value: prod-2 before prod-10.
    names = {name: place for place, name in enumerate(in_order(known))}
    return sorted(known.values(), key=lambda row: (_RANKS[row.verdict], -row.troubles, names[row.name]))


def _verdict_cell(row: FleetRow) -> Cell:
    word = row.verdict
    # Mark bad verdicts also by a sign, because --plain and some terminals have no colours.
    sign = "! " if _MEANINGS[word] in ("danger", "failed") else "  "
    return (f"{sign}{word}", _MEANINGS[word])


def _healths(count: Callable[[Health], int | None]) -> Callable[[FleetRow], int | None]:
    """Return a function that gets a count from a row's health, and returns None if the cluster was not read."""
    return lambda row: None if row.health is None else count(row.health)


def _counted(row: FleetRow, count: int, text: str = "") -> Cell:
    """Return a cell with a count that is bad if it is not 0: red, or muted if the cluster does not answer any more.
    Blank for 0, and if the cluster was not read.

    Args:
        text: a text in place of the number; ``""`` for the number.
    """
    if row.health is None or not count:
        return ""
    # Mute a count of the last look if the cluster does not answer any more: it is no evidence of a present problem.
    return (text or f"{count:,}", "muted" if row.failure is not None else "failed")


def _number(row: FleetRow, text: str) -> Cell:
    return "" if row.health is None else (text, "muted" if row.failure is not None else "")


def _brokers(row: FleetRow) -> Cell:
    """Return the number of brokers; as ``2/3`` if one of three is down; blank if the cluster was not read."""
    if row.health is None:
        return ""
    up, brokers = row.health.up, row.health.brokers
    return _number(row, f"{brokers:,}") if up == brokers else _counted(row, brokers, f"{up:,}/{brokers:,}")


FLEET: columns.Columns[FleetRow] = columns.Columns(
    columns.Column(
        "name",
        cell=lambda row: (clean(row.name, 200), "strong" if row.is_shown else ""),
        layout=columns.on_screen((10, 30), "Context", sort_key="N"),
    ),
    columns.Column(
        "verdict",
        type="word",
        cell=_verdict_cell,
        text=lambda row: row.verdict,
        order=lambda row: _RANKS[row.verdict],
        layout=columns.on_screen(10, "  Verdict", priority=100, sort_key="V"),
    ),
    columns.Column("healthy", columns.OBJECT, lambda row: row.is_healthy, "boolean"),
    columns.Column("troubles", columns.OBJECT, type="number"),
    columns.Column(
        "since",
        get=lambda row: row.began.isoformat() if row.began is not None else None,
        cell=lambda row: columns.clock(row.began) or ((shown_triage.AT_FIRST, "muted") if row.troubles else ""),
        order=lambda row: columns.highest_first(row.began.timestamp() if row.began is not None else None),
        layout=columns.on_screen(8, "Since", priority=92),
    ),
    columns.Column(
        "cause",
        get=lambda row: row.cause or None,
        cell=lambda row: (clean(row.cause, 300), "muted" if row.asks else ""),
        text=lambda row: row.cause,
        layout=columns.on_screen((20, None), "Worst cause", flex=1, priority=95),
    ),
    columns.Column(
        "brokers",
        get=_healths(lambda health: health.brokers),
        type="number",
        cell=_brokers,
        layout=columns.on_screen(5, "Brok", priority=80, sort_key="B"),
    ),
    columns.Column("brokers_up", columns.OBJECT, _healths(lambda health: health.up), "number"),
    columns.Column(
        "under_replicated",
        get=_healths(lambda health: health.under_replicated),
        type="number",
        cell=lambda row: _counted(row, row.health.under_replicated if row.health is not None else 0),
        layout=columns.on_screen(5, "URP", priority=90, sort_key="R"),
    ),
    columns.Column(
        "offline",
        get=_healths(lambda health: health.offline),
        type="number",
        title="Offline",
        cell=lambda row: _counted(row, row.health.offline if row.health is not None else 0),
        layout=columns.on_screen(5, "Off", priority=75, sort_key="L"),
    ),
    columns.Column(
        "lag",
        get=_healths(lambda health: health.lag),
        type="number",
        unknown=True,
        cell=lambda row: _number(row, "·" if row.health is None or row.health.lag is None else f"{row.health.lag:,}"),
        layout=columns.on_screen((7, 14), "Lag", priority=85, sort_key="G"),
    ),
    columns.Column(
        "lag_seconds",
        get=lambda row: (
            None if row.health is None or row.health.behind.seconds is None else round(row.health.behind.seconds)
        ),
        type="number",
        unit=Unit.SECONDS,
        unknown=True,
        cell=lambda row: _number(row, columns.behind_text(row.health.behind) if row.health is not None else ""),
        layout=columns.on_screen(9, "Behind", priority=60, sort_key="T"),
    ),
    columns.Column("lag_group", columns.OBJECT, lambda row: (row.health and row.health.group) or None),
    columns.Column("at", columns.OBJECT, lambda row: row.health.at.isoformat() if row.health is not None else None),
    columns.Column("origin", columns.OBJECT),
)
"""The columns of contexts. lag: the lag of all groups in records; lag_seconds: the longest time for which a record has
waited for a group.
"""


def fleet_lines(row: FleetRow) -> list[Line]:
    """Return the details of a context: the failure, the first `MOST_CAUSES` causes of its troubles, the group with the
    record that has waited longest, and the context's source.
    """
    lines: list[Line] = []
    if row.failure is not None:
        what = "refused" if row.is_refused else "no answer"
        since = f"{what} since {columns.clock(row.since)}: " if row.since is not None else f"{what}: "
        lines.append([(since, "failed"), (failure_text(row.failure), "")])
        if row.is_refused:
            lines.append([(f"kac does not try again by itself: {TRIES_OWN if row.is_shown else TRIES}", "muted")])
    elif row.cause and row.troubles == 0:
        lines.append([(clean(row.cause, 600), "")])
    for cause in row.health.rows[:MOST_CAUSES] if row.health is not None else ():
        word = shown_triage.WORDS[cause.claim.severity]
        began = columns.clock(cause.claim.since) or shown_triage.AT_FIRST
        meaning = "muted" if row.failure is not None else _MEANINGS[word]
        lines.append([(f"{word:<6}", meaning), (f"{began:<10}", "muted"), (clean(cause.claim.title, 300), "")])
    if row.health is not None and row.health.group:
        behind = columns.behind_text(row.health.behind)
        lines.append([("Behind ", "muted"), (f"{clean(row.health.group, 100)}: {behind}", "")])
    if row.origin:
        lines.append([("From   ", "muted"), (clean(row.origin, 300), "")])
    return lines
