"""``kac contexts``: the contexts found, and where."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from console.terminal import put


def contexts_options(parser: argparse.ArgumentParser) -> None:
    """None."""
    parser.set_defaults(run=run_contexts)


def run_contexts(options: argparse.Namespace) -> int:  # noqa: ARG001 - as every command
    """Print them; 0."""
    from console.commands.contexts_listing import listing
    from console.contexts import load

    put(f"{listing(load(os.environ, Path.home()))}\n")
    return 0
