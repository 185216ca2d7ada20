"""The record of a run: what it did, what it took from inputs, and the versions of the programs it was made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from console.history.jobs.progress import running
from console.history.store import LakeError
from console.history.store.write import Write

# What a job did.


@dataclass(frozen=True)
class Report:
    """What a run did.

    rows: written, by table. unchanged: inputs that had nothing new. notes: what the operator should know, as
    text: a lock taken over, an input that could not be read.
    """

    run_id: str
    job: str
    rows: Mapping[str, int] = field(default_factory=dict)
    quarantined: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


# Which programs a run was made with, for its record.


def note_versions(write: Write) -> None:
    """Adds Spark's version, and the driver's Java, where Spark runs."""
    if (context := running()) is not None:
        write.versions["spark"] = context.version
        write.versions["java"] = str(context._jvm.System.getProperty("java.version"))


# What was taken from inputs: counts, and whether too much was unreadable.

MAX_BAD_RATIO = 0.01
"""How much of an input may be unreadable by default."""


@dataclass(frozen=True)
class Taken:
    """What one kind of input gave.

    source: as the table `quarantine` names it. unit: of good and bad, as text (lines, batches). good, bad: how many
    could be read, and how many could not. unchanged: inputs with nothing new. notes: see Report.
    """

    source: str
    unit: str
    good: int = 0
    bad: int = 0
    unchanged: int = 0
    notes: tuple[str, ...] = ()


class UnreadableInput(LakeError):
    """An input is not what it should be: what, and what to do."""


class TooMuchIsBad(LakeError):
    """More of an input is unreadable than may be; nothing was committed."""

    def __init__(self, message: str, quarantined: int) -> None:
        super().__init__(message)
        self.quarantined = quarantined


def judge(taken: Iterable[Taken], most: float) -> None:
    """Raises TooMuchIsBad where the share of what is bad is above `most` (0 to 1) in any kind of input."""
    all_of_it = list(taken)
    for each in all_of_it:
        total = each.good + each.bad
        if each.bad > most * total:
            raise TooMuchIsBad(
                f"{each.bad} of {total} {each.unit} of the source {each.source} can't be read: {each.bad / total:.1%}, "
                f"and {most:.1%} may be. Nothing was taken in. Look whether the files and their options are right; if "
                "they are, and the damage is known, run it again with a higher --max-bad-ratio.",
                sum(one.bad for one in all_of_it),
            )
