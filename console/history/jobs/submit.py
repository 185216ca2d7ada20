"""The jobs under `spark-submit`: their names, their arguments, and the lake on the filesystem that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module

from pyspark.sql import SparkSession

from console.history.jobs.hadoop import spark_files
from console.history.jobs.record import Report
from console.history.jobs.session import Settings, session
from console.history.store import Lake, LakeError
from console.history.store.sweep import KEEP
from console.model.numbers import json_text, natural_number, option

# The jobs' arguments under `spark-submit`, and the lake on whatever filesystem they name.


def parser(job: str, description: str) -> argparse.ArgumentParser:
    """With what all jobs take."""
    made = argparse.ArgumentParser(prog=f"kac-lake-{job}", description=description)
    made.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    made.add_argument(
        "--keep", type=option(natural_number), default=KEEP, help="versions to keep (default: %(default)s)"
    )
    return made


def lake_at(spark: SparkSession, where: str, *, create: bool = False) -> Lake:
    """The lake, as Spark reaches it where it is not on this machine's filesystem. LakeError."""
    filesystem = spark_files(spark, where) if "://" in where and not where.startswith("file://") else None
    return Lake.create(where, filesystem) if create else Lake.open(where, filesystem)


def submitted(job: str, run: Callable[[SparkSession], Report]) -> int:
    """Runs a job under `spark-submit`, in the session that is there or a new one; gives the exit code."""
    with session(Settings(name=f"kac lake {job}")) as spark:
        try:
            report = run(spark)
        except (LakeError, OSError) as wrong:
            sys.stderr.write(f"kac-lake-{job}: {wrong}\n")
            return 1
    sys.stdout.write(json_text(asdict(report)) + "\n")
    return 0


# The jobs by their names, for `spark-submit`: ``spark-submit --py-files kac-lake.zip kac_lake.py build s3a://b/lake``.

JOBS = ("ingest", "build")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the job that the first argument names with the others; gives the exit code."""
    job, *arguments = (sys.argv[1:] if argv is None else argv) or [""]
    if job not in JOBS:
        sys.stderr.write(f"kac_lake.py: name a job, {' or '.join(JOBS)}, and what it takes; -h behind it says more\n")
        return 2
    return int(import_module(f".{job}", __package__).main(arguments))
