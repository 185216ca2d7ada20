"""``kac run`` and ``kac shell``: run statements of the command language from a script, and at a prompt."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.opening import USAGE, client_of, command_client, context_of, open_log_file
from console.terminal import leave, put

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context


def run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac run``."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-e", "--execute", metavar="SCRIPT", action="append", help="commands, separated by ;")
    source.add_argument("-f", "--file", metavar="FILE", help="a script file, - for standard input")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_run(options: argparse.Namespace) -> int:
    """Run a script.

    Returns:
        The exit code: 0 done, 1 failed, 2 the script is invalid, 3 edits were staged and not applied.
    """
    from console.session.script_runner import read_script, run_script

    text = read_script(options.execute, options.file)
    if text is None:
        return leave(USAGE, f"can't read {options.file}")
    return run_script(text, lambda: context_of(options), command_client, output=options.output)


# ``kac shell``: the language at a prompt; from a pipe, a script.


def shell_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac shell``."""
    parser.add_argument("--vi", action="store_true", help="the keys of vi, without a setting in the config file")


def run_shell(options: argparse.Namespace) -> int:
    """Run the shell; if standard input is not a terminal, run it as a script.

    Returns:
        The exit code: 0 done, 1 the last entry failed, 2 no context or an invalid script, 3 edits were staged and not
        applied.
    """
    if not sys.stdin.isatty():
        from console.session.script_runner import read_script, run_script

        script = read_script(None, "-")
        if script is None:
            return leave(USAGE, "can't read standard input: it is too large, or no text in UTF-8")
        return run_script(script, lambda: context_of(options), command_client, output="text")
    context = context_of(options)
    if context is None:
        return USAGE
    open_log_file()
    return _interactive(context, options)


def _interactive(context: Context, options: argparse.Namespace) -> int:
    from console import event_loop
    from console.contexts import load
    from console.contexts.configured import Configured
    from console.session.command_history import command_history
    from console.session.session import Session
    from console.shell.line import Line
    from console.shell.shell import Shell, greeting

    vi = options.vi or load(os.environ, Path.home()).settings.editing_mode == "vi"
    history = command_history(os.environ)
    clients: list[AdminClient] = []

    def end_client() -> None:
        while clients:
            clients.pop().close()

    def connect(chosen: Context) -> Session:
        end_client()
        clients.append(client_of(chosen))
        return Session(clients[0], chosen, "shell")

    async def work() -> int:
        shell = Shell(
            context,
            connect,
            Configured(os.environ, Path.home()),
            lambda completer, toolbar: Line(completer, toolbar, history=history, vi=vi),
        )
        put(f"{greeting(context)}\n")
        return await shell.run()

    try:
        return event_loop.run(work())
    finally:
        end_client()
