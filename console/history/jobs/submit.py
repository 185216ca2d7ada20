"""The jobs under `spark-submit`: their names, their arguments, and the lake on the filesystem that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from console.history.jobs.record import Report
from console.history.jobs.session import session
from console.history.store import Lake, LakeError
from console.history.store.errors import PACKAGE
from console.history.store.filesystem import Filesystem
from console.history.store.release import KEEP
from console.model.numbers import json_text, natural_number, option


def parser(job: str, description: str) -> argparse.ArgumentParser:
    """With what all jobs take."""
    made = argparse.ArgumentParser(prog=f"kac-lake-{job}", description=description)
    made.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    made.add_argument(
        "--keep", type=option(natural_number), default=KEEP, help="versions to keep (default: %(default)s)"
    )
    return made


def lake_at(spark: SparkSession, where: str, *, create: bool = False) -> Lake:
    """The lake at a path, or in a bucket that Spark reaches by itself. LakeError."""
    files = files_of_s3a(spark, where) if urlsplit(where).scheme in ("s3", "s3a") else None
    return Lake.create(where, files) if create else Lake.open(where, files)


def files_of_s3a(spark: SparkSession, where: str) -> Filesystem:
    """The files of a lake in a bucket, by the settings of Hadoop's S3A; without keys there obstore and delta-rs look
    for them. LakeError: obstore is not installed."""
    try:
        from console.history.store.s3 import S3Files, S3Keys
    except ImportError:
        raise LakeError(f"{where} needs obstore beside the driver, which is not installed: {PACKAGE}") from None
    bucket = urlsplit(where).netloc
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()

    def said(name: str) -> str:
        return str(conf.get(f"fs.s3a.bucket.{bucket}.{name}") or conf.get(f"fs.s3a.{name}") or "")

    endpoint = said("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if said('connection.ssl.enabled').lower() == 'false' else 'https'}://{endpoint}"
    keys = S3Keys(said("access.key"), said("secret.key"), said("session.token") or None, "spark.hadoop.fs.s3a")
    return S3Files(bucket, endpoint, said("endpoint.region"), (lambda: keys) if keys.access_key else None, None)


def submitted(job: str, run: Callable[[SparkSession], Report]) -> int:
    """Runs a job under `spark-submit`, in the session that is there or a new one; gives the exit code."""
    with session({"spark.app.name": f"kac lake {job}"}) as spark:
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
