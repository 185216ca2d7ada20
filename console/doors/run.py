"""``kac run``: commands of the language without a screen."""

from __future__ import annotations

import argparse

from console.doors.opening import USAGE, client_of, complain, context_of


def run_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac run``."""
    parser.set_defaults(run=run_run)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-e", "--execute", metavar="SCRIPT", action="append", help="commands, parted by ;")
    source.add_argument("-f", "--file", metavar="FILE", help="a script file, - for standard input")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_run(options: argparse.Namespace) -> int:
    """0 done, 1 failed, 2 not understood, 3 edits left unapplied."""
    from console.commands.run import read_script, run_script

    text = read_script(options.execute, options.file)
    if text is None:
        complain(f"can't read {options.file}")
        return USAGE
    return run_script(text, lambda: context_of(options), client_of, output=options.output)
