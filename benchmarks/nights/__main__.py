"""Makes nights (troubles that operators of other clusters published) on real brokers, and collects the rows that the
console shows about each night and its twin, a healthy cluster that resembles it.

``python -m benchmarks.nights [--only NAME]… [--from NAME] [--version 4.3] [--twins-only | --no-twins]`` makes each
night and its twin on three brokers while the console watches, and stores its rows, a flight record and the scores in
`tests/nights`. Without ``--only`` it continues with those that were not made yet. ``--make-only`` makes them without
the console. ``--again`` judges the records with the present code, without brokers; its exit code is 1 if a night scores
less than stored, and ``--keep`` stores the new scores. ``--table`` writes the stored results into
docs/triage-measured.md.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks.nights import kept, table
from benchmarks.nights.catalogue import chosen
from benchmarks.nights.making import make_only, watched
from benchmarks.nights.night import Night
from benchmarks.nights.said import NIGHT, TWIN, Half
from benchmarks.nights.score import average, worse
from tests.support.kafka_jars import RELEASES

LONGEST = 300
"""Maximum number of characters printed of the reason why a night could not be made."""


def _halves(night: Night, options: argparse.Namespace) -> Iterator[str]:
    if options.release not in night.versions:
        return
    if not options.twins_only:
        yield NIGHT
    if not options.no_twins:
        yield TWIN


async def make_all(nights: dict[str, Night], options: argparse.Namespace) -> int:
    """Make nights and twins without the console. Return the number of nights and twins that could not be made."""
    failed = 0
    for slug, night in nights.items():
        for half in _halves(night, options):
            try:
                done = await make_only(night, half, RELEASES[options.release])
            except Exception as error:  # noqa: BLE001 - a night that can't be made does not end the others
                failed += 1
                done = _not_made(error)
            print(f"{slug} {half}: {done}", flush=True)
    return failed


async def watch_all(nights: dict[str, Night], options: argparse.Namespace) -> int:
    """Make nights and twins while the console watches, and store its rows. Return the number of nights and twins that
    could not be made.
    """
    version, failed = RELEASES[options.release], 0
    for slug, night in nights.items():
        there = {each.half for each in _kept(slug, version)}
        wanted = [half for half in _halves(night, options) if options.only or half not in there]
        for half in wanted:
            try:
                await _watch(slug, night, half, version)
            except Exception as error:  # noqa: BLE001 - a night that can't be made does not end the others
                failed += 1
                print(f"{slug} {half}: {_not_made(error)}", flush=True)
        if wanted and (live := _kept(slug, version)):
            print(await asyncio.to_thread(_scored, night, live), flush=True)
    return failed


async def _watch(slug: str, night: Night, half: str, version: str) -> None:
    """Make a night or its twin (`half`) while the console watches. Store the flight record and the console's rows, both
    or neither.
    """
    record = kept.record_of(slug, half, version)
    part = record.with_suffix(".part")
    try:
        made = await watched(slug, night, half, version, part)
        part.replace(record)
        kept.keep(made)
    finally:
        part.unlink(missing_ok=True)


def _scored(night: Night, live: list[Half]) -> str:
    """Store the scores that a night's flight records give. Return the night's line for the output, with each score that
    differs between the console's live rows and the records.
    """
    (score,) = kept.judged({live[0].slug: night}, live)
    (of_records,) = kept.judged({live[0].slug: night}, [kept.again(each) for each in live])
    kept.keep_scores([of_records])
    differs = worse(of_records, score) + worse(score, of_records)
    return table.line(score) + (f"\n    by its records: {'; '.join(differs)}" if differs else "")


def _kept(slug: str, version: str) -> list[Half]:
    return [each for each in kept.halves() if (each.slug, each.version) == (slug, version)]


def _not_made(error: Exception) -> str:
    return f"not made: {type(error).__name__}: {str(error)[:LONGEST]}"


def judge_again(nights: dict[str, Night], options: argparse.Namespace) -> int:
    """Judge the flight records of nights with the present code. Return the number of nights that score less than
    stored; with `--keep`, store the new scores and return 0.
    """
    version = RELEASES[options.version] if options.version else None
    there = [each for each in kept.halves() if each.slug in nights and version in (None, each.version)]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        found = kept.judged(nights, list(pool.map(kept.again, there)))
    then = {(each.version, each.slug): each for each in kept.scores()}
    fallen = 0
    for each in found:
        known = then.get((each.version, each.slug))
        less = worse(each, known) if known is not None else []
        fallen += bool(less)
        print(table.line(each) + "".join(f"  LESS: {one}" for one in less))
    print(table.summary(average(found)))
    if options.keep:
        kept.keep_scores(found)
        return 0
    return fallen


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nights", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a slug, or a part of it")
    parser.add_argument("--from", dest="first", metavar="NAME", help="the slug to begin with")
    parser.add_argument("--version", choices=tuple(RELEASES), help="of the brokers (default: 4.3; of records: all)")
    halves = parser.add_mutually_exclusive_group()
    halves.add_argument("--twins-only", action="store_true")
    halves.add_argument("--no-twins", action="store_true")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--make-only", action="store_true", help="make them without the console: does the script work?")
    what.add_argument("--again", action="store_true", help="judge the records by the code of now, without brokers")
    what.add_argument("--table", action="store_true", help="write what is kept into its page")
    parser.add_argument("--keep", action="store_true", help="with --again: keep the new scores")
    return parser


def main() -> int:
    """Run the nights that the options choose, and return the exit code."""
    parser = arguments()
    options = parser.parse_args()
    options.release = options.version or "4.3"
    try:
        nights = chosen(options.only, options.first)
    except LookupError as error:
        parser.error(str(error))
    if options.table:
        page = table.PAGE.read_text("utf-8")
        table.PAGE.write_text(table.written(page, nights, kept.scores(), kept.judged(nights, kept.halves())), "utf-8")
        return 0
    # End the brokers and clients also if this process gets a signal.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if options.again:
        return 1 if judge_again(nights, options) else 0
    return 1 if asyncio.run((make_all if options.make_only else watch_all)(nights, options)) else 0


if __name__ == "__main__":
    sys.exit(main())
