"""Access to a journal from the session's event loop, through a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from console.journal.file import JournalFile

T = TypeVar("T")


async def in_journal(journal: JournalFile, use: Callable[[JournalFile], T]) -> T:
    """Call `use` with the journal in a thread and return its result. Raises Refused if the journal can't be read or
    written.
    """
    from console.journal.segments import JournalError
    from console.session.snapshot_reader import Refused

    try:
        return await asyncio.to_thread(use, journal)
    except JournalError as error:
        raise Refused(error.failure) from error
