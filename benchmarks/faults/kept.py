"""The stored results of trials: a file with the causes that triage named, a flight record of each trial, and the causes
that triage names now for the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks import kept
from benchmarks.faults.trial import Names, Trial
from console.cli.replay import replay_verdict
from console.triage.diagnosis import Verdict
from console.triage.observations import Observations

_KEPT = Path(__file__).resolve().parents[2] / "tests" / "faults"
"""The folder of the stored results, which tests read."""
RESULTS = _KEPT / "results.json"
NEIGHBOUR_RESULTS = _KEPT / "neighbours" / "results.json"
REAL_NEIGHBOUR_RESULTS = _KEPT / "neighbours" / "real" / "results.json"
"""The results of neighbours on real brokers, by the neighbour's name and form (healthy, or with the fault)."""
RECORDS = _KEPT / "records"
RECORDED = RECORDS / "trials.json"
"""The trials whose flight records are stored; the trials in `RESULTS` may be newer."""


def trials(file: Path = RESULTS) -> list[Trial]:
    """Return the trials in a file; empty if there is no file."""
    return kept.read(file, Trial)


def keep(file: Path, trial: Trial) -> None:
    """Store a trial in a file; it replaces the stored trial with the same faults and version."""
    others = [each for each in trials(file) if (each.version, each.faults) != (trial.version, trial.faults)]
    every = sorted([*others, trial], key=lambda each: (each.version, len(each.faults), each.faults))
    kept.write(file, every)


def record_name(version: str, faults: Sequence[str]) -> str:
    """Return the file name of a trial's flight record."""
    return "+".join(name.replace(" ", "-") for name in faults) + f"-{version}.kacrec"


def judged_again(trial: Trial, record: Path) -> Trial:
    """Return a trial with the causes that the present rules name for the recorded responses. Raises an exception if the
    record can't be replayed.
    """
    names = Names()

    def tell(verdict: Verdict, _observations: Observations) -> None:
        seconds = verdict.at.timestamp() - trial.began_ms / 1000
        if seconds >= 0:
            names.add(verdict, seconds)

    found = replay_verdict(record, None, (), tell, every=True)
    assert isinstance(found, Verdict), f"{record.name}: exit code {found}"
    return msgspec.structs.replace(trial, told=names.told, unexplained=names.unexplained)
