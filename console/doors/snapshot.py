"""``kac snapshot``: the whole state of a cluster as JSON."""

from __future__ import annotations

import argparse

from console.doors.opening import USAGE, client_of, complain, context_of, open_log_file
from console.terminal import stdout


def snapshot_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac snapshot``."""
    parser.set_defaults(run=run_snapshot)
    parser.add_argument("--output", choices=("json",), default="json", help="form of the state")
    parser.add_argument("--overrides", action="store_true", help="only what is set on an entity itself")


def run_snapshot(options: argparse.Namespace) -> int:
    """0 printed, 1 failed, 2 no context."""
    from console.commands.snapshot import print_snapshot

    context = context_of(options)
    if context is None:
        return USAGE
    open_log_file()
    client = client_of(context)
    try:
        return print_snapshot(client, context, stdout(), overrides=options.overrides, complain=complain)
    finally:
        client.close()
