"""``kac topics``."""

from __future__ import annotations

import argparse

from console.doors import noun


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac topics``."""
    noun.add_options(parser, "topics")


def run(options: argparse.Namespace) -> int:
    """0 done, 1 failed, 2 not understood and nothing done."""
    return noun.run(options, "topics")
