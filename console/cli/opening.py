"""From options to a context, a client and a session: what every command that talks to a cluster begins with."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from console.terminal import complain

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context
    from console.session.session import Session


__all__ = ["DONE", "FAILED", "USAGE", "client_of", "complain", "context_of", "open_log_file"]

DONE, FAILED, USAGE = 0, 1, 2
"""Exit codes that all commands share."""


def context_of(options: argparse.Namespace) -> Context | None:
    """The context that flags, environment and files name; None after saying why there is none."""
    from dataclasses import replace

    from console.contexts import ContextError, load, resolve

    try:
        found = load(os.environ, Path.home())
        context = resolve(
            found,
            name=getattr(options, "context", None),
            bootstrap=getattr(options, "bootstrap_server", None),
            command_config=getattr(options, "command_config", None),
            environ=os.environ,
        )
    except ContextError as error:
        complain(str(error))
        return None
    for warning in (*context.warnings, *context.settings.exposures):
        complain(f"warning: {warning}")
    if getattr(options, "no_journal", False):
        complain("warning: changes are not written into the journal: nothing can tell them later or take them back")
        context = replace(context, journal=False)
    return replace(context, read_only=True) if getattr(options, "read_only", False) else context


def client_of(context: Context) -> AdminClient:
    """A client of the context's cluster, started on its own thread; the caller closes it."""
    from dataclasses import replace

    from console.admin.client import AdminClient

    client = AdminClient(replace(context.settings, read_only=context.read_only))
    client.start()
    return client


def open_log_file() -> None:
    """Open the log file; where that fails say so and go on."""
    from console.log_file import open_log

    problem = open_log(os.environ)
    if problem:
        complain(f"warning: {problem}")


# A command that does one thing with a session: connects, does it, and says in a line why it could not.


def with_session(options: argparse.Namespace, door: str, work: Callable[[Session], Awaitable[int]]) -> int:
    """What `work` gives for a session on the cluster of the options: the exit code. door: for the journal."""
    context = context_of(options)
    if context is None:
        return USAGE
    from console.admin.errors import AdminError
    from console.session.session import Refused, Session

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
