"""The quorum of the metadata log: voters and observers with their lag, and the line on its leader. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from console.model.cluster import Quorum, QuorumReplica
from console.model.snapshot import Snapshot
from console.present.columns import DATA, DETAIL, EVERYWHERE, SCREEN, Column, Columns, clock
from console.present.text import Cell, clean
from widgets.row_source import Column as ScreenColumn


class QuorumRow(NamedTuple):
    """A replica of the metadata log. role: ``leader``, ``voter`` or ``observer``; endpoint: ``LISTENER HOST:PORT``,
    ``""`` where it is unknown."""

    replica: QuorumReplica
    role: str
    endpoint: str


def quorum_rows(snapshot: Snapshot) -> list[QuorumRow]:
    """Return the leader, then the other voters, then the observers; none where the quorum is unknown."""
    quorum = snapshot.quorum
    if quorum is None:
        return []
    voters = sorted(quorum.voters, key=lambda voter: (voter.id != quorum.leader_id, voter.id))
    return [
        *(_row(quorum, each, "leader" if each.id == quorum.leader_id else "voter") for each in voters),
        *(_row(quorum, each, "observer") for each in quorum.observers),
    ]


def _row(quorum: Quorum, replica: QuorumReplica, role: str) -> QuorumRow:
    found = next((each for each in quorum.endpoints if each.id == replica.id and role != "observer"), None)
    return QuorumRow(replica, role, "" if found is None else f"{found.listener} {found.host}:{found.port}")


def _at(milliseconds: int) -> datetime | None:
    """Return the time of Unix milliseconds; None for -1, and for a time outside of the calendar."""
    try:
        return None if milliseconds < 0 else datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _iso(milliseconds: int) -> str | None:
    at = _at(milliseconds)
    return None if at is None else at.isoformat(timespec="milliseconds")


def _lag(row: QuorumRow) -> Cell:
    lag = row.replica.lag
    return ("–", "muted") if lag < 0 else (f"{lag:,}", "failed") if lag and row.role == "voter" else f"{lag:,}"


QUORUM: Columns[QuorumRow] = Columns(
    Column(
        "role",
        EVERYWHERE | DETAIL,
        lambda row: row.role,
        "word",
        title="Role",
        cell=lambda row: (row.role, "strong" if row.role == "leader" else ""),
        layout=ScreenColumn("role", "Role", width=8),
    ),
    Column(
        "node",
        EVERYWHERE | DETAIL,
        lambda row: row.replica.id,
        "number",
        title="Node",
        layout=ScreenColumn("node", "Node", min_width=5, max_width=11, align="right", priority=95),
    ),
    Column(
        "log_end_offset",
        EVERYWHERE | DETAIL,
        lambda row: None if row.replica.log_end_offset < 0 else row.replica.log_end_offset,
        "number",
        title="End offset",
        cell=lambda row: "–" if row.replica.log_end_offset < 0 else f"{row.replica.log_end_offset:,}",
        layout=ScreenColumn("end", "End offset", min_width=10, max_width=20, align="right", priority=80),
    ),
    Column(
        "lag",
        EVERYWHERE | DETAIL,
        lambda row: None if row.replica.lag < 0 else row.replica.lag,
        "number",
        title="Lag",
        cell=_lag,
        layout=ScreenColumn("lag", "Lag", min_width=6, max_width=14, align="right", priority=90, sort_key="L"),
    ),
    Column(
        "last_fetch",
        EVERYWHERE | DETAIL,
        lambda row: _iso(row.replica.last_fetch_ms),
        title="Last fetch",
        cell=lambda row: clock(_at(row.replica.last_fetch_ms)),
        layout=ScreenColumn("fetch", "Last fetch", width=10, priority=70),
    ),
    Column(
        "last_caught_up",
        EVERYWHERE | DETAIL,
        lambda row: _iso(row.replica.last_caught_up_ms),
        title="Last caught up",
        cell=lambda row: clock(_at(row.replica.last_caught_up_ms)),
        layout=ScreenColumn("caught", "Caught up", width=10, priority=75),
    ),
    Column("directory_id", DATA | DETAIL, lambda row: row.replica.directory_id or None),
    Column("endpoint", DATA | DETAIL, lambda row: row.endpoint or None),
    Column(
        "where",
        SCREEN,
        title="Endpoint",
        cell=lambda row: clean(row.endpoint),
        layout=ScreenColumn("where", "Endpoint", flex=1, min_width=12, max_width=60, priority=60),
    ),
    Column(
        "directory",
        SCREEN,
        title="Directory",
        cell=lambda row: (clean(row.replica.directory_id), "muted"),
        layout=ScreenColumn("directory", "Directory", width=22, priority=40),
    ),
    tie=lambda row: row.replica.id,
)
