"""The jobs' arguments under `spark-submit`, and the lake on whatever filesystem they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone

from pyspark.sql import SparkSession

from console.model.numbers import json_text, natural_number, option

from ..store import Lake, LakeError
from ..store.sweep import KEEP
from .hadoop import HadoopFilesystem
from .report import Report
from .session import Settings, session


def parser(job: str, description: str) -> argparse.ArgumentParser:
    """With what all jobs take."""
    made = argparse.ArgumentParser(prog=f"kac-lake-{job}", description=description)
    made.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    made.add_argument(
        "--keep", type=option(natural_number), default=KEEP, help="versions to keep (default: %(default)s)"
    )
    return made


def moment(text: str) -> datetime:
    """A time as ISO 8601; UTC where it names no zone. ValueError."""
    read = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return read if read.tzinfo is not None else read.replace(tzinfo=timezone.utc)


def lake_at(spark: SparkSession, where: str, *, create: bool = False) -> Lake:
    """The lake, by Hadoop's filesystems where it is not on this machine's. LakeError."""
    elsewhere = "://" in where and not where.startswith("file://")
    filesystem = HadoopFilesystem(spark) if elsewhere else None
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
