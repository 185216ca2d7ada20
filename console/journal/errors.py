"""Why the journal could not be written or read."""

from __future__ import annotations

from console.model.failure import Failure


class JournalError(Exception):
    """What is wrong with the journal, where, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
