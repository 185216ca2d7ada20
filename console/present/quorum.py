"""The quorum of the metadata log: voters and observers with their lag in records. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.model import quorum as model_quorum
from console.model.cluster import Quorum, QuorumReplica
from console.model.numbers import known_number, time_of
from console.model.snapshot import Snapshot
from console.present import columns
from console.present.text import Cell, clean


class QuorumRow(NamedTuple):
    """A replica of the metadata log, with its role and its lag."""

    replica: QuorumReplica
    role: str
    """``leader``, ``voter`` or ``observer``."""
    endpoint: str
    """``LISTENER HOST:PORT`` of a controller; ``""`` if unknown, and for a broker."""
    note: str = ""
    """A note about the replica; ``""`` for no note."""
    epoch: int | None = None
    """The leader epoch, on the row of the leader; None for other replicas."""


def quorum_rows(snapshot: Snapshot, *, is_led: bool = True) -> list[QuorumRow]:
    """Return the leader, then the other voters, then the observers. If the quorum was not described, return the voters
    that are known from elsewhere; empty if none is known. is_led: whether the quorum has a leader, as for
    `console.present.brokers.quorum_line`.
    """
    quorum = snapshot.quorum
    if quorum is None:
        if (known := model_quorum.known_voters(snapshot)) is None:
            return []
        return [_configured(each, known) for each in known.ids]
    # The leader comes first: the lags of the others are relative to its end offset.
    voters = sorted(quorum.voters, key=lambda voter: (voter.id != quorum.leader_id, voter.id))
    may_vote = model_quorum.observing_controllers(snapshot)
    # The last description may name a leader that is gone by now.
    leads = quorum.leader_id if is_led and not model_quorum.is_unanswered(snapshot) else -1
    return [
        *(
            _row(quorum, each, "leader" if each.id == leads else "voter", _of_voter(quorum, each, leads))
            for each in voters
        ),
        *(
            _row(quorum, each, "observer", _of_observer(quorum, each, each in may_vote), listens=each in may_vote)
            for each in quorum.observers
        ),
    ]


def _configured(voter: int, known: model_quorum.KnownVoters) -> QuorumRow:
    """Return the row of a voter that is known only from a configuration, without lag."""
    return QuorumRow(QuorumReplica(voter, -1, -1), "voter", "", f"by {known.source}")


def _of_voter(quorum: Quorum, voter: QuorumReplica, leads: int) -> str:
    if voter.id == quorum.leader_id != leads:
        return "led when it was last said"
    if again := model_quorum.formatted_again(quorum, voter):
        return f"formatted again: it runs with directory {again.directory_id}"
    return "" if model_quorum.fetches(quorum, voter) else "does not fetch"


def _of_observer(quorum: Quorum, observer: QuorumReplica, may_vote: bool) -> str:
    if not model_quorum.fetches(quorum, observer):
        # The leader lists replicas that fetched within the last minutes, including those that were formatted again or
        # removed since.
        others = [*quorum.voters, *quorum.observers]
        runs = any(
            each.id == observer.id and each is not observer and model_quorum.fetches(quorum, each) for each in others
        )
        return f"a former directory of {observer.id}" if runs else "does not fetch"
    if any(each.id == observer.id and each.directory_id != observer.directory_id for each in quorum.voters):
        return f"voter {observer.id}, formatted again"
    return "a controller: may be added as a voter" if may_vote else ""


def _row(quorum: Quorum, replica: QuorumReplica, role: str, note: str, *, listens: bool = True) -> QuorumRow:
    """Return the row of a replica. listens: whether the node is known to be a controller; if not, the row of an
    observer has no endpoint.
    """
    # An observer that is a broker has no controller's listener.
    found = next((each for each in quorum.endpoints if each.id == replica.id and (listens or role != "observer")), None)
    endpoint = "" if found is None else f"{found.listener} {found.host}:{found.port}"
    return QuorumRow(replica, role, endpoint, note, quorum.leader_epoch if role == "leader" else None)


def _iso(milliseconds: int) -> str | None:
    at = time_of(milliseconds)
    return None if at is None else at.isoformat(timespec="milliseconds")


def _lag(row: QuorumRow) -> Cell:
    lag = row.replica.lag
    return ("–", "muted") if lag < 0 else (f"{lag:,}", "failed") if lag and row.role == "voter" else f"{lag:,}"


QUORUM: columns.Columns[QuorumRow] = columns.Columns(
    columns.Column(
        "role",
        type="word",
        cell=lambda row: (row.role, "strong" if row.role == "leader" else ""),
        layout=columns.on_screen(8),
    ),
    columns.Column(
        "node", get=lambda row: row.replica.id, type="number", layout=columns.on_screen((5, 11), priority=95)
    ),
    columns.Column("epoch", columns.LISTED | columns.DETAIL, type="number"),
    columns.Column(
        "log_end_offset",
        get=lambda row: known_number(row.replica.log_end_offset),
        type="number",
        cell=lambda row: "–" if row.replica.log_end_offset < 0 else f"{row.replica.log_end_offset:,}",
        layout=columns.on_screen((10, 20), "End offset", priority=80),
    ),
    columns.Column(
        "lag",
        get=lambda row: known_number(row.replica.lag),
        type="number",
        cell=_lag,
        layout=columns.on_screen((6, 14), priority=90, sort_key="L"),
    ),
    columns.Column(
        "last_fetch",
        get=lambda row: _iso(row.replica.last_fetch_ms),
        cell=lambda row: columns.clock(time_of(row.replica.last_fetch_ms)),
        layout=columns.on_screen(10, priority=70),
    ),
    columns.Column(
        "last_caught_up",
        get=lambda row: _iso(row.replica.last_caught_up_ms),
        title="Last caught up",
        cell=lambda row: columns.clock(time_of(row.replica.last_caught_up_ms)),
        layout=columns.on_screen(10, "Caught up", priority=75),
    ),
    columns.Column(
        "directory_id", columns.LISTED | columns.DETAIL, lambda row: row.replica.directory_id or None, title="Directory"
    ),
    columns.Column("endpoint", columns.LISTED | columns.DETAIL, lambda row: row.endpoint or None),
    columns.Column(
        "note",
        get=lambda row: row.note or None,
        cell=lambda row: (
            clean(row.note),
            "failed" if "formatted again" in row.note or "does" in row.note else "muted",
        ),
        layout=columns.on_screen((14, 60), priority=85),
    ),
    columns.Column(
        "where",
        columns.SCREEN,
        text=lambda row: row.endpoint,
        layout=columns.on_screen((26, 60), "Endpoint", flex=1, priority=60),
    ),
    columns.Column(
        "directory",
        columns.SCREEN,
        cell=lambda row: (clean(row.replica.directory_id), "muted"),
        layout=columns.on_screen(22, priority=40),
    ),
    tie=lambda row: row.replica.id,
    views=columns.EVERYWHERE | columns.DETAIL,
)
