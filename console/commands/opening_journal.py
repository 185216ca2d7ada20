"""The journal of a session's cluster."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from console.journal.file import JournalFile, journal_path
from console.log_file import state_directory

if TYPE_CHECKING:
    from console.commands.session import Session


async def journal_of(session: Session) -> JournalFile:
    """The journal of the session's cluster. Raises JournalError, and AdminError where the cluster is lost."""
    if not session.snapshot.cluster.cluster_id:
        await session.read_cluster()
    return JournalFile(journal_path(state_directory(os.environ), session.snapshot.cluster.cluster_id or ""))
