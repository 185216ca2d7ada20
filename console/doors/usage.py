"""``kac usage``: who uses what of which quota, read from a lake."""

from __future__ import annotations

import argparse

from console.doors.lake_reading import Opened, add_lake, add_output, add_window, print_table, read_lake, window
from console.doors.opening import DONE
from console.model.numbers import natural_number, option

KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")
_NOTE = "rates are estimates from request logs: bytes of records, without headers"


def usage_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac usage``."""
    parser.set_defaults(run=run_usage)
    add_window(parser)
    parser.add_argument("--key", choices=KEYS, help="only this quota")
    parser.add_argument("--principal", metavar="USER", help="only pairs of this user")
    parser.add_argument(
        "--limit", metavar="N", type=option(natural_number), default=30, help="so many pairs, the hottest (default 30)"
    )
    add_lake(parser)
    add_output(parser)


def run_usage(options: argparse.Namespace) -> int:
    """0 told, 1 the lake could not be read, 2 not understood."""

    def work(opened: Opened) -> int:
        from console.commands.lake_tables import usage_table
        from console.history.reader.queries import Window, hottest
        from console.history.schema import QUOTA_USAGE

        since, until = window(options, opened.now)
        clusters = [opened.cluster] if opened.cluster is not None else opened.tables.clusters(QUOTA_USAGE)
        asked = [Window(each, since, until, options.key, options.principal) for each in clusters]
        rows = [row for each in asked for row in hottest(opened.tables, each, max(1, options.limit))]
        table = usage_table(rows, clusters=opened.cluster is None)
        print_table(table, options.output, lambda: [*opened.fresh(QUOTA_USAGE), _NOTE])
        return DONE

    return read_lake(options, work)
