"""``kac drift``: what differs from its peers, read from a lake."""

from __future__ import annotations

import argparse

from console.doors.lake_reading import Opened, add_lake, add_output, print_table, read_lake
from console.doors.opening import DONE

SCOPES = ("broker", "cluster", "baseline")


def drift_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac drift``."""
    parser.set_defaults(run=run_drift)
    parser.add_argument("--scope", choices=SCOPES, help="among brokers, among clusters, or from the baseline file")
    parser.add_argument("--key", metavar="KEY", help="only this key; * and ? stand for others")
    add_lake(parser)
    add_output(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit with 3 where something differs")


def run_drift(options: argparse.Namespace) -> int:
    """0 told, 1 the lake could not be read, 2 not understood, 3 with --exit-code: something differs."""

    def work(opened: Opened) -> int:
        from console.commands.lake_tables import drift_table
        from console.history.reader.queries import drift
        from console.history.schema import DRIFT

        rows = drift(opened.tables, opened.cluster, options.scope, options.key)
        table = drift_table(rows, clusters=opened.cluster is None)
        print_table(table, options.output, lambda: opened.fresh(DRIFT))
        return 3 if rows and options.exit_code else DONE

    return read_lake(options, work)
