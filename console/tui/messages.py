"""What the workers tell the app."""

from __future__ import annotations

from textual.message import Message

from console.commands.events import SessionEvent
from console.model.failure import Failure


class SessionTold(Message):
    """The session knows more, or the plan is another."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class ClusterReached(Message):
    """A read came back."""


class ClusterLost(Message):
    """A read did not come back. final: trying again by itself would do harm (wrong credentials lock accounts)."""

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
