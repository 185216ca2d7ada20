"""What a change's lines come to: how each edit of it ended, and the rows that say so. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .lines import Intent, Note

OVER = frozenset({"applied", "failed", "not applied"})
"""How an edit stands when no later line can say more."""


@dataclass(frozen=True)
class Ending:
    """How an edit stands. at: when that was known. error: the brokers' name for what went wrong, and their words.
    is_settled: a later look or an operator said so; an operator may say otherwise later."""

    status: str
    at: datetime | None = None
    error: str | None = None
    message: str | None = None
    is_settled: bool = False


def endings(intent: Intent, notes: Iterable[Note]) -> tuple[Ending, ...]:
    """How each edit stands, by its place. An answer counts before a later look or an operator's word, unless it is that
    the outcome is unknown."""
    answered: dict[int, Ending] = {}
    found: dict[int, Ending] = {}
    sent: set[int] = set()
    for note in notes:
        if note.sent is not None:
            sent.add(note.sent)
        for place, (status, error, message) in (note.ended or {}).items():
            answered[place] = Ending(status, note.at, error, message)
        for place, status in (note.found or {}).items():
            if status in OVER:
                found[place] = Ending(status, note.at)
    return tuple(
        _ending(answered.get(place), found.get(place), edit.request in sent) for place, edit in enumerate(intent.edits)
    )


def _ending(answered: Ending | None, found: Ending | None, sent: bool) -> Ending:
    if answered is not None and answered.status in OVER:
        return answered
    if found is not None:
        error = answered or found
        return Ending(found.status, found.at, error.error, error.message, is_settled=True)
    if answered is not None:
        return Ending("unknown", None, answered.error, answered.message)
    return Ending("unknown" if sent else "not sent")


def change_rows(cluster_id: str, intent: Intent, ends: Iterable[Ending]) -> Iterator[dict[str, Any]]:
    """The change in the columns of the table `journal`, less the run. Where a secret was set, what the brokers said of
    it is left out: they may have repeated it."""
    for place, (edit, end) in enumerate(zip(intent.edits, ends, strict=True)):
        for setting in edit.settings:
            words = end.message if end.message and not setting.is_sensitive else None
            yield {
                "cluster_id": cluster_id,
                "change_id": intent.change,
                "edit": place,
                "host": intent.host,
                "intent_ts": intent.at,
                "end_ts": end.at,
                "status": end.status,
                **setting._asdict(),
                "principal": intent.principal,
                "os_user": intent.os_user,
                "client_host": intent.client_host,
                "door": intent.door,
                "reverts": edit.reverts,
                "error": f"{end.error}: {words}" if end.error and words else end.error,
            }


def is_over(ends: Iterable[Ending]) -> bool:
    """Whether no later line can say more of a change."""
    return all(end.status in OVER and not end.is_settled for end in ends)
