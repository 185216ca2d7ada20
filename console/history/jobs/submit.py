"""The jobs under `spark-submit`: their names, their arguments, and the lake on the filesystem that they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from pyspark.sql import SparkSession

from console.history.jobs.build import build
from console.history.jobs.ingest import ingest
from console.history.jobs.inputs import Inputs
from console.history.jobs.record import MAX_BAD_RATIO
from console.history.jobs.session import session
from console.history.store import Lake, LakeError
from console.history.store.errors import PACKAGE
from console.history.store.filesystem import Filesystem
from console.history.store.release import KEEP
from console.model.numbers import decimal_number, json_text, natural_number, option


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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a job, as ``spark-submit --py-files kac-lake.zip kac_lake.py build s3a://b/lake``, in the session that is
    there or a new one: the report as JSON on standard output and 0, or 1 with why on standard error."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    common.add_argument(
        "--keep", type=option(natural_number), default=KEEP, help="versions to keep (default: %(default)s)"
    )
    options = argparse.ArgumentParser(prog="kac_lake.py")
    jobs = options.add_subparsers(dest="job", required=True, metavar="ingest|build", help="-h behind it says more")
    taking = jobs.add_parser("ingest", parents=[common], description="Takes in what is new in logs and journals.")
    taking.add_argument("inputs", help="a JSON file, or the JSON itself: metadata_logs, request_logs, journals")
    taking.add_argument(
        "--max-bad-ratio", type=option(decimal_number, 0, 1), default=MAX_BAD_RATIO, help="(default: %(default)s)"
    )
    making = jobs.add_parser("build", parents=[common], description="Makes tables of what was taken in.")
    making.add_argument("tables", nargs="*", metavar="TABLE", help="which (default: all)")
    making.add_argument("--all", action="store_true", help="everything again, not only what follows from what is new")
    given = options.parse_args(argv)
    inputs = Inputs()
    if given.job == "ingest":
        try:
            text = given.inputs if given.inputs.lstrip().startswith("{") else Path(given.inputs).read_text("utf-8")
            inputs = msgspec.json.decode(text, type=Inputs)
        except (OSError, ValueError) as wrong:
            taking.error(f"the inputs can't be read: {wrong}")
    with session({"spark.app.name": f"kac lake {given.job}"}) as spark:
        try:
            lake = lake_at(spark, given.lake, create=given.job == "ingest")
            if given.job == "ingest":
                report = ingest(lambda: spark, lake, inputs, max_bad_ratio=given.max_bad_ratio, keep=given.keep)
            else:
                report = build(lambda: spark, lake, given.tables or None, whole=given.all, keep=given.keep)
        except (LakeError, OSError) as wrong:
            sys.stderr.write(f"kac_lake.py {given.job}: {wrong}\n")
            return 1
    sys.stdout.write(json_text(asdict(report)) + "\n")
    return 0
