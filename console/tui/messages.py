"""What the workers tell the app."""

from __future__ import annotations

from datetime import datetime

from textual.message import Message

from console.commands.events import SessionEvent
from console.model.failure import Failure
from console.tui.places import Place


class SessionTold(Message):
    """The session knows more, or the plan is another."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class ClusterReached(Message):
    """A look at the cluster for a place was answered. silent: the brokers that do not answer. unread: why what is shown
    there could not be read nevertheless, None if it was. since: UTC, when it was read last, or first asked for."""

    def __init__(self, silent: frozenset[int], place: Place, since: datetime, unread: Failure | None = None) -> None:
        self.silent = silent
        self.place = place
        self.since = since
        self.unread = unread
        super().__init__()


class ClusterLost(Message):
    """A look and its repetition were not answered by any broker. final: trying again by itself would do harm (wrong
    credentials lock accounts)."""

    def __init__(self, failure: Failure, final: bool) -> None:
        self.failure = failure
        self.final = final
        super().__init__()


class Said(Message):
    """A worker has something for the message line."""

    def __init__(self, text: str, meaning: str = "") -> None:
        self.text = text
        self.meaning = meaning
        super().__init__()
