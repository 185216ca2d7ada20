"""The record of a run: what it did, what it took from inputs, the table `quarantine` of what was unreadable, and the
versions of the programs it was made with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from console.history.jobs.tables import read_table, write_partitions
from console.history.schema import QUARANTINE
from console.history.store import LakeError, parquet_files
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


def note_versions(write: Write, spark: SparkSession) -> None:
    """Adds Spark's version, and the driver's Java."""
    write.versions["spark"] = spark.version
    jvm = spark.sparkContext._jvm
    if jvm is not None:
        write.versions["java"] = str(jvm.System.getProperty("java.version"))


# What was taken from inputs: counts, whether too much was unreadable, and the table `quarantine`, which keeps
# each unreadable thing once.

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


# What can't be read, written to the table `quarantine`, each thing once however often it is met.


def quarantine(spark: SparkSession, write: Write, rows: DataFrame) -> int:
    """Appends rows of QUARANTINE (less `run_id`) that are not there yet; gives how many."""
    key = list(QUARANTINE.key)
    there = read_table(spark, write.lake, write.draft, QUARANTINE).select(*key)
    new = rows.dropDuplicates(key).join(there, on=key, how="left_anti")
    before = write.rows.get(QUARANTINE.name, 0)
    for partition, folders in write_partitions(write, QUARANTINE, new).items():
        for folder in folders:
            write.append(QUARANTINE.name, partition, folder)
    return write.rows.get(QUARANTINE.name, 0) - before


def quarantine_arrow(write: Write, rows: pa.Table) -> int:
    """The same for few rows that are here already; without Spark."""
    if not rows.num_rows:
        return 0
    there = parquet_files.read(write.lake.filesystem, write.lake.files(write.draft, QUARANTINE), QUARANTINE)
    known = set(_keys(there))
    fresh = []
    for place, key in enumerate(_keys(rows)):
        if key not in known:
            known.add(key)
            fresh.append(place)
    return write.add_arrow(QUARANTINE.name, rows.take(fresh)) if fresh else 0


def _keys(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in QUARANTINE.key), strict=True)
