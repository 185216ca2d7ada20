"""``kac mcp``: an agent may read a cluster and propose changes to it; a person applies them."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli import opening
from console.extras import how_to_add
from console.terminal import leave, say

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context

ABOUT = """\
kac mcp is for agents: a program that speaks the Model Context Protocol starts it, and asks it through standard input.
It looks at one cluster, and writes proposals as plan files, which a person applies: kac apply -f FILE. It changes none.

In the client's configuration:

  {"mcpServers": {"kafka": {"command": "kac", "args": ["mcp", "--context", "prod"]}}}

docs/mcp.md says more: what is offered, what is never given, and with which rights of its own an agent should look."""


def mcp_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac mcp``."""
    parser.description = "Let an agent look at a cluster and propose changes, by the Model Context Protocol on stdio."
    parser.add_argument(
        "--plans",
        metavar="FOLDER",
        type=Path,
        help="the folder for the plan files of proposals (default: the folder proposals in kac's state folder)",
    )


def run_mcp(options: argparse.Namespace) -> int:
    """Serve an agent over standard input and output, until the input ends or the client stops reading.

    Returns:
        The exit code: 0 served; 1 the package is missing; 2 there is no context, standard input is a terminal, or the
        folder for plans does not exist.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        say(ABOUT)
        return opening.USAGE
    try:
        from console.cli.mcp.serving import serve
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] in ("console", "widgets"):
            raise
        return leave(opening.FAILED, f"{missing.name} is not installed: {how_to_add('mcp')}, then run this again")
    context = opening.context_of(options)
    if context is None:
        return opening.USAGE
    if options.plans is not None and not options.plans.is_dir():
        return leave(opening.USAGE, f"--plans {options.plans}: there is no such folder")
    from console import event_loop
    from console.cli.mcp.proposing import Proposals
    from console.cli.mcp.queries import Queries
    from console.cli.mcp.tools import Offer

    opening.open_log_file()
    _quiet()
    client = reading_client(context)
    try:
        queries = Queries(client, context)
        proposals = Proposals(queries, options.plans and options.plans.absolute(), connection_of(options, context))
        event_loop.run(serve(Offer(queries, proposals)))
        return opening.DONE
    except (OSError, BaseExceptionGroup) as error:
        if not client_has_gone(error):
            raise
        # Replace standard output: flushing its buffer at the interpreter's exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return opening.DONE
    finally:
        client.close()


def client_has_gone(error: BaseException) -> bool:
    """Return whether an error only means that the client does not read any more."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(client_has_gone, error.exceptions))
    return isinstance(error, BrokenPipeError | ConnectionResetError)


def reading_client(context: Context) -> AdminClient:
    """Return a started client that refuses to send any change, even if the context allows changes. The caller closes
    it.
    """
    from msgspec.structs import replace

    return opening.client_of(replace(context, read_only=True), ask=False)


def _quiet() -> None:
    """Keep the log lines that the protocol's package writes for each message out of kac's log."""
    import logging

    logging.getLogger("mcp").setLevel(logging.WARNING)


CONTROLLERS = "--bootstrap-controller"


def connection_of(options: argparse.Namespace, context: Context) -> tuple[str, ...]:
    """Return the command-line options with which a person's kac connects to the same cluster."""
    from console.contexts.context import COMMAND_LINE, format_bootstrap

    given: list[str] = []
    controllers = ("bootstrap_controller", CONTROLLERS)
    for name, flag in (("bootstrap_server", "-b"), controllers, ("context", "-c"), ("via", "--via")):
        if (value := getattr(options, name, None)) is not None:
            given += [flag, value]
    if (file := getattr(options, "command_config", None)) is not None:
        given += ["--command-config", str(Path(os.path.abspath(file)))]  # noqa: PTH100 - a link stays a link
    if given:
        return tuple(given)
    if context.tool == COMMAND_LINE:
        flag = CONTROLLERS if context.settings.controllers else "-b"
        return (flag, format_bootstrap(context.settings.bootstrap))
    return ("-c", context.name)
