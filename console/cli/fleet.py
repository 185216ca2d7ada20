"""``kac fleet``: all contexts at once, the worst cluster first."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.cli.opening import DONE, FAILED, USAGE, open_log_file
from console.terminal import leave, waiting

EXAMPLES = """\
examples:
  kac fleet                        each context: its verdict, worst cause, brokers, URP and lag
  kac fleet prod stage             these alone
  kac fleet --output json
"""


def fleet_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac fleet``."""
    parser.epilog = EXAMPLES
    parser.add_argument("names", nargs="*", metavar="NAME", help="the name of a context (default: all)")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the rows")


def run_fleet(options: argparse.Namespace) -> int:
    """Read the cluster of each context once, and print a row for each, the one in the worst state first.

    Returns:
        The exit code: 0 all clusters are healthy; 1 a cluster is in trouble, does not answer or was not read
        completely, or a context can't be used or needs a secret from the operator; 2 no context, or a named context
        does not exist.
    """
    from console import event_loop
    from console.answers.results import Printer, table_of
    from console.contexts.configured import Configured
    from console.present.fleet import FLEET, worst_first
    from console.session.fleet import Fleet

    configured = Configured(os.environ, Path.home()).all()
    chosen = [each for each in configured if not options.names or each.name in options.names]
    if missing := [name for name in options.names if name not in {each.name for each in configured}]:
        return leave(USAGE, f"there is no context {missing[0]!r}; `kac contexts` lists what there is")
    if not chosen:
        return leave(USAGE, "no contexts are configured: kac contexts add NAME -b HOST:PORT")
    open_log_file()
    waiting(f"looking at {len(chosen)} clusters…" if len(chosen) > 1 else "looking at the cluster…")

    async def look() -> Fleet:
        fleet = Fleet()
        fleet.take(chosen)
        try:
            await fleet.once()
        finally:
            await fleet.leave()
        return fleet

    rows = worst_first(event_loop.run(look()).rows.values())
    Printer(options.output)(table_of("clusters", FLEET, rows))
    return DONE if all(row.is_healthy for row in rows) else FAILED
