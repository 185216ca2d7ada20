"""Measures the precision, recall and times of triage over the faults of `benchmarks/faults`, made on three real
brokers.

``python -m benchmarks.triage [--version 4.3.0] [--only NAME]… [--no-singles] [--pairs N] [--healthy MINUTES] [--keep
FILE]``: each fault by itself, then N pairs, then a healthy cluster under load. FILE keeps the named causes of the
latest run for each version and fault, and `--from FILE` scores them again without brokers. Needs Java and root.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from benchmarks.faults import healthy
from benchmarks.faults.catalogue import FAULTS, pairs
from benchmarks.faults.fault import Fault
from benchmarks.faults.kept import keep, record_name, trials
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.score import Judged, judge, score
from benchmarks.faults.trial import Told, Trial
from benchmarks.figures import load, report, report_ratio
from tests.support.kafka_jars import KAFKA_4_3

PRECISION, RECALL, SECONDS = 0.95, 0.9, 15.0


async def run(options: argparse.Namespace) -> list[Trial]:
    """Run the trials that the options choose on one cluster, and return them. A trial whose fault could not be made is
    reported and left out.
    """
    chosen: list[tuple[Fault, ...]] = []
    if not options.no_singles:
        chosen += [(fault,) for name, fault in FAULTS.items() if not options.only or name in options.only]
    chosen += pairs(options.pairs)
    done = []
    async with Laboratory(options.version) as lab:
        for faults in chosen:
            try:
                trial = await lab.trial(*faults, record=_record(options.records, options.version, faults))
            except (RuntimeError, TimeoutError, OSError) as error:
                report("not made", faults=[fault.name for fault in faults], error=str(error)[:300])
                await lab.bring_up()
                continue
            done.append(trial)
            _report_trial(judge(trial))
            if options.keep is not None:
                keep(options.keep, trial)
        for well in (healthy.quiet, healthy.rolling_restart) if options.healthy else ():
            trial = await well(lab, 30 * options.healthy)
            _report_trial(judge(trial))
            if options.keep is not None:
                keep(options.keep, trial)
    return done


def _record(folder: Path | None, version: str, faults: Sequence[Fault]) -> Path | None:
    return folder / record_name(version, [fault.name for fault in faults]) if folder is not None else None


def _report_trial(judged: Judged) -> None:
    trial = judged.trial
    report(
        " + ".join(trial.faults),
        named={name: _first(found) for name, found in judged.named.items()},
        missed=judged.missed,
        alarms=[_told(told) for told in judged.alarms],
        guesses=[_told(told) for told in judged.guesses],
        unexplained=trial.unexplained,
        seconds=trial.seconds,
        load=trial.load,
    )


def _first(found: Sequence[Told]) -> str:
    first = min(found, key=lambda told: told.after)
    return f"{first.after} s, {first.certainty}"


def _told(told: Told) -> str:
    subject = " ".join(f"{key} {value}" for key, value in told.subject.items())
    return f"{told.cause} {subject}: {told.certainty} after {told.after} s".replace(" :", ":")


def report_score(done: Iterable[Trial]) -> None:
    """Print the scores of the trials for each version, next to the limits for false alarms, missed causes and
    seconds.
    """
    by_version: dict[str, list[Judged]] = {}
    for trial in done:
        if FAULTS.keys() & set(trial.faults):  # a healthy cluster has no cause: its false alarms are reported
            by_version.setdefault(trial.version, []).append(judge(trial))
    for version, judged in by_version.items():
        found = score(judged)
        report(f"score on {version}", **msgspec.structs.asdict(found))
        report_ratio(f"{version}: share of false alarms", 1 - found.precision, round(1 - PRECISION, 3))
        report_ratio(f"{version}: share of missed causes", 1 - found.recall, round(1 - RECALL, 3))
        report_ratio(f"{version}: median seconds to the name", found.median, SECONDS)


def main() -> int:
    """Run the trials that the options choose, or read stored trials from a file, and print their scores as lines of
    JSON. Return 0.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.triage", description=__doc__)
    parser.add_argument("--version", default=KAFKA_4_3)
    parser.add_argument("--only", action="append", choices=tuple(FAULTS), default=[])
    parser.add_argument("--no-singles", action="store_true")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--healthy", type=float, default=0, metavar="MINUTES")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="keep a flight record of each trial")
    parser.add_argument("--from", dest="kept", type=Path, help="count what a file keeps, without brokers")
    options = parser.parse_args()
    if options.kept is not None:
        report_score(trials(options.kept))
        return 0
    # End the brokers and unmount the small filesystem also if this process gets a signal.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    report("machine", **load())
    report_score(asyncio.run(run(options)))
    report("machine", **load())
    return 0


if __name__ == "__main__":
    sys.exit(main())
