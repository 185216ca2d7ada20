"""A command that does one thing with a session: connects, does it, and says in a line why it could not."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from console.doors.opening import FAILED, USAGE, client_of, complain, context_of, open_log_file

if TYPE_CHECKING:
    from console.commands.session import Session


def with_session(options: argparse.Namespace, door: str, work: Callable[[Session], Awaitable[int]]) -> int:
    """What `work` gives for a session on the cluster of the options: the exit code. door: for the journal."""
    context = context_of(options)
    if context is None:
        return USAGE
    from console.admin.errors import AdminError
    from console.commands.session import Refused, Session

    open_log_file()
    client = client_of(context)

    async def working() -> int:
        return await work(Session(client, context, door))

    try:
        return asyncio.run(working())
    except (AdminError, Refused) as error:
        complain(f"{error.failure}. {error.failure.remedy}".rstrip(". ") + ".")
        return FAILED
    finally:
        client.close()
