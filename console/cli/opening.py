"""The steps with which every command that connects to a cluster begins: from options to a context, a client and a
session; and the list of contexts that ``kac contexts`` prints.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from console.admin.errors import AdminError, WayFailed
from console.model.numbers import option
from console.present.text import clean
from console.terminal import THEMES, complain, folded, leave, waiting

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context, Contexts
    from console.contexts.console_settings import ConsoleSettings
    from console.flight.recorder import Recorder
    from console.session.session import Session


T = TypeVar("T")

__all__ = ["DONE", "FAILED", "USAGE", "client_of", "command_client", "complain", "context_of", "leave", "open_log_file"]

DONE, FAILED, USAGE, UNAPPLIED = 0, 1, 2, 3
"""The exit codes that all commands share. UNAPPLIED: nothing was sent, because warnings are not accepted."""


def context_of(options: argparse.Namespace) -> Context | None:
    """Return the context that flags, environment and files name. If it can't be used, print the reason and
    return None.
    """
    from msgspec.structs import replace

    from console.contexts import ContextError, load, resolve

    try:
        found = load(os.environ, Path.home())
        context = resolve(
            found,
            name=getattr(options, "context", None),
            bootstrap=getattr(options, "bootstrap_server", None),
            controllers=getattr(options, "bootstrap_controller", None),
            command_config=getattr(options, "command_config", None),
            via=getattr(options, "via", None),
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


SAID_AFTER = 2.0
"""Seconds without a response after which a command prints which brokers it waits for."""


def client_of(context: Context, recorder: Recorder | None = None, *, ask: bool = True) -> AdminClient:
    """Return a client for the context's cluster, started on its own thread. The caller closes it.

    Args:
        recorder: gets every response of the brokers; None to record nothing.
        ask: whether the login at an SSH host (`via`) may prompt on the terminal.
    """
    if ask:
        log_in_on_the_way(context)
    from msgspec.structs import replace

    from console.admin.client import AdminClient

    tap = None
    if recorder is not None:
        from console.flight.tap import Tap

        tap = Tap(recorder.take)
    client = AdminClient(replace(context.settings, read_only=context.read_only), tap)
    client.start()
    return client


def command_client(context: Context, recorder: Recorder | None = None) -> AdminClient:
    """Return a client from `client_of` for a command. If no broker responds within `SAID_AFTER` seconds, it prints a
    line with the brokers for which the command waits.
    """
    client = client_of(context, recorder)

    def say() -> None:
        from console.contexts.context import format_bootstrap

        if client.waits_in_vain:
            waiting(f"no answer yet from {clean(format_bootstrap(context.settings.bootstrap), 200)}; still trying")

    # Use a thread, not the client's loop, which a slow name lookup may block.
    late = threading.Timer(SAID_AFTER, say)
    late.daemon = True
    late.start()
    return client


def log_in_on_the_way(context: Context) -> None:
    """Log in at the SSH host or Kubernetes through which the context connects, before the screen is drawn, while the
    terminal is free for a prompt; do nothing without a terminal. A failure is not reported here, but by the first
    connection.
    """
    if context.settings.via is None:
        return
    from console.contexts.configured import on_a_terminal

    if not on_a_terminal():
        return
    from console.admin.ways import way

    with suppress(WayFailed):
        way(context.settings.via).start(ask=True)


def recorded_client(context: Context) -> AdminClient:
    """Return a client from `client_of` that keeps the brokers' responses of the last half hour in memory."""
    from console.flight.recorder import Recorder
    from console.session.kept_record import in_memory

    recorder = Recorder()
    client = client_of(context, recorder)
    client.recorder = recorder
    in_memory(recorder, context.name)
    return client


def open_log_file() -> None:
    """Open the log file; print a warning if that fails."""
    from console.log_file import open_log

    problem = open_log(os.environ)
    if problem:
        complain(f"warning: {problem}")


# A command that does one task with a session: connects, does it, and prints a line if it failed.


def with_session(
    options: argparse.Namespace,
    front_end: str,
    work: Callable[[Session], Awaitable[T]],
    recorder: Recorder | None = None,
) -> T | int:
    """Connect to the cluster that the options name, call `work` with a session, and close the connection.

    Args:
        front_end: the command, for the journal.
        recorder: gets every response of the brokers; None to record nothing.

    Returns:
        The result of `work`: data, or an exit code. After printing the reason: 1 for AdminError and Refused, 2 without
        a usable context.
    """
    context = context_of(options)
    if context is None:
        return USAGE
    from console import event_loop
    from console.session.session import Session
    from console.session.snapshot_reader import Refused

    open_log_file()
    client = command_client(context, recorder)

    async def working() -> T:
        return await work(Session(client, context, front_end))

    try:
        return event_loop.run(working())
    except (AdminError, Refused) as error:
        return leave(FAILED, error.failure.told.rstrip(". ") + ".")
    finally:
        client.close()


def seconds(text: str) -> float:
    """Return the number of seconds in the text of a duration. Raises ValueError: the text is not a duration."""
    from console.plan.amounts import parse_duration

    return parse_duration(text) / 1000


def add_duration(
    parser: argparse.ArgumentParser,
    what: str,
    default: float | None = None,
    read: Callable[[str], float] = seconds,
) -> None:
    """Add the option ``--for``, a duration in seconds.

    Args:
        what: the help of the option.
        default: seconds without the option; None for no limit.
        read: parses the text to seconds; raises ValueError.
    """
    parser.add_argument("--for", dest="seconds", metavar="DURATION", type=option(read), default=default, help=what)


def throttle_rate(text: str) -> int:
    """Return the bytes per second in the text of a throttle. Raises ValueError: the text is not a rate."""
    from console.operations.throttle import rate_of

    return rate_of(text)


def add_plain(parser: argparse.ArgumentParser) -> None:
    """Add ``--plain``, for commands that open the screen."""
    why = "the console as lines, for screen readers and pipes (setting: accessible = true)"
    parser.add_argument("--plain", action="store_true", default=argparse.SUPPRESS, help=why)


def add_theme(parser: argparse.ArgumentParser) -> None:
    """Add ``--theme``, for commands that open the screen."""
    why = "the screen's colours (default: KAC_THEME, the settings, by the terminal's background)"
    parser.add_argument("--theme", choices=THEMES, default=argparse.SUPPRESS, help=why)


def screen_settings(contexts: Contexts, options: argparse.Namespace) -> ConsoleSettings:
    """Return the settings of the screen from kac's own file and the options; print their problems."""
    from console.contexts.console_settings import with_theme

    settings, problem = with_theme(contexts.settings, os.environ, getattr(options, "theme", None))
    if problem:
        complain(f"warning: {problem}")
    return settings


# `kac contexts`: the configuration of this host, its files, and their errors.

NONE = """No contexts are configured. Name a cluster with -b HOST:PORT or --command-config FILE, or put one into {file}:

  kac contexts add prod -b broker1:9092,broker2:9092

which writes

  [contexts.prod]
  "bootstrap.servers" = "broker1:9092,broker2:9092"
"""

NONE_USABLE = "No context can be used. Mend what is named below, or name a cluster with -b HOST:PORT:"


def listing(contexts: Contexts, width: int | None = None) -> str:
    """Return the lines of ``kac contexts``: the usable contexts, with `*` at the default context, then the broken
    contexts and the problems.

    Args:
        width: the width of the terminal, in cells; None for no limit.
    """
    from console.answers.table_text import Column, table_lines
    from console.contexts.own_file import own_path

    file = contexts.surroundings.shown(own_path(contexts.surroundings))
    titles = ["", "Name", "Brokers", "Security", "Guards", "From"]
    rows = [_context_row(context, contexts.current) for context in contexts.contexts]
    if any(context.schemas is not None for context in contexts.contexts):
        titles.insert(-1, "Schemas")
        rows = [
            (*row[:-1], clean(str(context.schemas), 60) if context.schemas is not None else "-", row[-1])
            for row, context in zip(rows, contexts.contexts, strict=True)
        ]
    columns = tuple(map(Column, titles))
    if rows:
        lines = table_lines(columns, rows, width)
    else:
        none = NONE_USABLE if contexts.broken or contexts.problems else NONE.format(file=file).rstrip("\n")
        lines = folded(none, width)
    said = [f"! {clean(b.name)}: {clean(b.problem)}  ({clean(b.origin)})" for b in contexts.broken]
    said += [f"! {clean(problem)}" for problem in contexts.problems]
    return "\n".join([*lines, *(part for line in said for part in folded(line, width))])


def _context_row(context: Context, current: str | None) -> tuple[str, ...]:
    from console.admin.settings import show_via
    from console.contexts.context import format_bootstrap

    settings = context.settings
    security = settings.security_protocol + (f" {settings.sasl.mechanism}" if settings.sasl else "")
    security += f" via {clean(show_via(settings.via), 60)}" if settings.via else ""
    security += ", addresses mapped" if settings.addresses else ""
    guards = [name for name, held in (("read-only", context.read_only), ("confirm", context.confirm)) if held]
    guards += ["cluster id"] if context.cluster_id else []
    mark = "*" if context.name == current else ""
    brokers = format_bootstrap(settings.bootstrap)
    return (mark, clean(context.name), clean(brokers, 60), security, ", ".join(guards) or "-", clean(context.origin))
