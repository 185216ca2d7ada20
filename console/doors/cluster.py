"""``kac cluster``: the embedded cluster alone, for any client."""

from __future__ import annotations

import argparse

from console.embedded import command


def cluster_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac cluster``."""
    parser.set_defaults(run=run_cluster)
    command.add_options(parser)


def run_cluster(options: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT: 0 ended, 1 could not start, 2 options that can't be."""
    return command.run_cluster(options)
