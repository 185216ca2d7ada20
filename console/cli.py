"""The command line: what to do with which cluster. Each command imports what it needs when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context

USAGE = 2
FAILED = 1
INTERRUPTED = 130

EXAMPLES = """examples:
  kac -b broker1:9092                                open the console
  kac --context prod                                 the same, with a context of the config file
  kac run -b broker1:9092 -e 'describe topic a'      one command, no screen
  kac run -b broker1:9092 -e 'set topic a retention.ms=1d; apply --yes'
  kac snapshot -b broker1:9092 > cluster.json        the whole state as JSON
"""


def parser() -> argparse.ArgumentParser:
    """The options and commands of `kac`."""
    connection = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = connection.add_argument_group("which cluster")
    group.add_argument("-b", "--bootstrap-server", metavar="HOST:PORT,…", help="brokers to ask first")
    group.add_argument("-c", "--context", metavar="NAME", help="a context, see `kac contexts`")
    group.add_argument(
        "--command-config", metavar="FILE", type=Path, help="a client.properties as Kafka's tools take it"
    )
    group.add_argument("--read-only", action="store_true", help="refuse every change")

    top = argparse.ArgumentParser(
        prog="kac",
        description="The admin console for Apache Kafka. Without a command it opens the screen.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[connection],
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")

    run = commands.add_parser("run", parents=[connection], help="run commands without a screen")
    source = run.add_mutually_exclusive_group(required=True)
    source.add_argument("-e", "--execute", metavar="SCRIPT", action="append", help="commands, parted by ;")
    source.add_argument("-f", "--file", metavar="FILE", help="a script file, - for standard input")
    run.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")

    snapshot = commands.add_parser("snapshot", parents=[connection], help="print the whole state as JSON")
    snapshot.add_argument("--output", choices=("json",), default="json", help="form of the state")
    snapshot.add_argument("--overrides", action="store_true", help="only what is set on an entity itself")

    commands.add_parser("contexts", help="list the contexts found, and where")
    return top


def run(argv: Sequence[str]) -> int:
    """Run one command line; the result is the exit code: 0 done, 1 failed, 2 not understood, 3 edits left unapplied."""
    options = parser().parse_args(argv)
    try:
        if options.version:
            return _version()
        if options.command == "contexts":
            return _contexts()
        if options.command == "run":
            return _run(options)
        if options.command == "snapshot":
            return _snapshot(options)
        return _console(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`kac … | head`); keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def complain(text: str) -> None:
    """One line for the operator, on standard error."""
    print(f"kac: {text}", file=sys.stderr)  # noqa: T201


def _version() -> int:
    from importlib.metadata import version

    print(f"kac {version('kafka-admin-console')}")  # noqa: T201
    return 0


def _contexts() -> int:
    from console.commands.contexts_listing import listing
    from console.contexts import load

    found = load(os.environ, Path.home())
    print(listing(found))  # noqa: T201
    return 0


def _context(options: argparse.Namespace) -> Context | None:
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
    for warning in context.warnings:
        complain(f"warning: {warning}")
    return replace(context, read_only=True) if getattr(options, "read_only", False) else context


def _client(context: Context) -> AdminClient:
    from dataclasses import replace

    from console.admin.client import AdminClient

    client = AdminClient(replace(context.settings, read_only=context.read_only))
    client.start()
    return client


def _log() -> None:
    from console.log_file import open_log

    problem = open_log(os.environ)
    if problem:
        complain(f"warning: {problem}")


def _run(options: argparse.Namespace) -> int:
    from console.commands.run import read_script, run_script

    text = read_script(options.execute, options.file)
    if text is None:
        complain(f"can't read {options.file}")
        return USAGE
    return run_script(text, lambda: _context(options), _client, output=options.output)


def _snapshot(options: argparse.Namespace) -> int:
    from console.commands.snapshot import print_snapshot

    context = _context(options)
    if context is None:
        return USAGE
    _log()
    client = _client(context)
    try:
        return print_snapshot(client, context, sys.stdout, overrides=options.overrides, complain=complain)
    finally:
        client.close()


def _console(options: argparse.Namespace) -> int:
    context = _context(options)
    if context is None:
        return USAGE
    from console.contexts import load
    from console.tui.connecting import Connecting

    _log()
    found = load(os.environ, Path.home())
    for problem in found.own_problems:
        complain(f"warning: {problem}")
    connecting = Connecting(_client)
    try:
        # The first reads are on their way while Textual is imported here.
        session = connecting.session(context)
        from console.tui.app import run_console

        return run_console(session, found.settings, connecting.session)
    finally:
        connecting.close()
