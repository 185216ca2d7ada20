"""``kac`` without a command: the screen."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.no_screen import no_screen
from console.doors.opening import USAGE, client_of, complain, context_of, open_log_file

if TYPE_CHECKING:
    from console.contexts import Context
    from console.contexts.choice import Choice


def run(options: argparse.Namespace) -> int:
    """Open the console on the cluster that the options name; 2 if there is no context, or no terminal for it."""
    why = no_screen(os.environ)
    if why:
        complain(why)
        return USAGE
    context = context_of(options)
    if context is None:
        return USAGE
    from console.contexts.choice import Configured

    open_log_file()
    return show(context, Configured(os.environ, Path.home()), getattr(options, "lake", None))


def show(context: Context, contexts: Choice, lake: str | None = None) -> int:
    """Open the console on a context, until it is left. contexts: those that it can switch to. lake: where its past is,
    before what the environment and the context say."""
    from console.contexts import load
    from console.tui.connecting import Connecting

    found = load(os.environ, Path.home())
    for problem in found.own_problems:
        complain(f"warning: {problem}")
    connecting = Connecting(client_of)
    try:
        # The first reads are on their way while Textual is imported here.
        session = connecting.session(context)
        from console.tui.app import run_console

        return run_console(session, found.settings, connecting.session, contexts, lake)
    finally:
        connecting.close()
