"""Nights: troubles that others had, made on real brokers, and what the console says of each and of its healthy twin.

``python -m benchmarks.nights [--only NAME]… [--from NAME] [--version 4.3] [--twins-only | --no-twins] [--make-only]``
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterator

from benchmarks.nights.catalogue import chosen
from benchmarks.nights.making import make_only
from benchmarks.nights.night import Make, Night
from tests.support.kafka_jars import RELEASES


def _halves(night: Night, options: argparse.Namespace) -> Iterator[tuple[str, Make]]:
    if not options.twins_only:
        yield "night", night.make
    if not options.no_twins:
        yield "twin", night.twin


async def make_all(nights: dict[str, Night], options: argparse.Namespace) -> int:
    """Make nights without the console. Returns how many could not be made."""
    failed = 0
    for slug, night in nights.items():
        for half, make in _halves(night, options):
            try:
                done = await make_only(night, make, RELEASES[options.version])
            except Exception as error:  # noqa: BLE001 - a night that can't be made does not end the others
                failed += 1
                done = f"not made: {type(error).__name__}: {error}"
            print(f"{slug} {half}: {done}", flush=True)
    return failed


def main() -> int:
    """Do what the options say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights", description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a slug, or a part of it")
    parser.add_argument("--from", dest="first", metavar="NAME", help="the slug to begin with")
    parser.add_argument("--version", default="4.3", choices=tuple(RELEASES))
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--twins-only", action="store_true")
    halves.add_argument("--no-twins", action="store_true")
    parser.add_argument("--make-only", action="store_true", help="make them without the console: does the script work?")
    options = parser.parse_args()
    try:
        nights = chosen(options.only, options.first)
    except LookupError as error:
        parser.error(str(error))
    # Ended politely or not, the brokers and clients end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    return 1 if asyncio.run(make_all(nights, options)) else 0


if __name__ == "__main__":
    sys.exit(main())
