"""All that a journal has, at once: what the product reads piece by piece."""

from __future__ import annotations

from console.journal.entries import still_runs
from console.journal.history import History, history
from console.session.session import Session


async def read_history(session: Session) -> History:
    """All changes of the session's cluster."""
    contents = (await session.journal()).read()
    return history(contents.records, contents.problems, still_runs)
