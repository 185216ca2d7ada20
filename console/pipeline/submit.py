"""The application under `spark-submit`, on a cluster: its arguments, and the lake on the filesystem that they name."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from pyspark.sql import SparkSession

import console
from console.model.numbers import decimal_number, json_text, natural_number, option
from console.pipeline.app import run, update
from console.pipeline.errors import PACKAGE, LakeError
from console.pipeline.files import Filesystem
from console.pipeline.inputs import Inputs
from console.pipeline.lake import Lake
from console.pipeline.plans import MAX_BAD_RATIO
from console.pipeline.runs import Plan, message_of
from console.pipeline.spark import session


def files_of_s3a(spark: SparkSession, where: str) -> Filesystem:
    """Return the files of a lake in a bucket, by the settings of Hadoop's S3A; without keys there obstore looks for
    them. LakeError: obstore is not installed.
    """
    try:
        from console.pipeline.s3 import S3Files, S3Keys
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
    scratch = Path(spark.conf.get("spark.local.dir", None) or "/tmp")  # noqa: S108 - Spark's own default
    return S3Files(bucket, endpoint, said("endpoint.region"), (lambda: keys) if keys.access_key else None, scratch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the application, as ``spark-submit … --py-files kac-lake.zip kac_lake.py update /mnt/lake inputs.json``, in
    the existing session or a new one: what it did as JSON on standard output and 0, or 1 with why on standard error.
    """
    options = argparse.ArgumentParser(prog="kac_lake.py")
    options.add_argument("job", choices=("update", "run"), help="take in once what is new, or go on")
    options.add_argument("lake", help="the lake: a path, or a URI as s3a://bucket/lake")
    options.add_argument("inputs", help="a JSON file, or the JSON itself: metadata_logs, request_logs, journals")
    options.add_argument("--max-bad-ratio", type=option(decimal_number, 0, 1), default=MAX_BAD_RATIO)
    options.add_argument("--keep-days", type=option(natural_number, lowest=1))
    given = options.parse_args(argv)
    try:
        text = given.inputs if given.inputs.lstrip().startswith("{") else Path(given.inputs).read_text("utf-8")
        inputs = msgspec.json.decode(text, type=Inputs)
    except (OSError, ValueError) as wrong:
        options.error(f"the inputs can't be read: {wrong}")
    # Where the driver has it: Spark's sources are planned by a Python of their own there.
    zipped = str(Path(console.__file__).parents[1])
    with session({"spark.app.name": f"kac lake {given.job}", "spark.executorEnv.PYTHONPATH": zipped}) as spark:
        try:
            in_bucket = urlsplit(given.lake).scheme in ("s3", "s3a")
            lake = Lake.create(given.lake, files_of_s3a(spark, given.lake) if in_bucket else None)
            plan = Plan(lake, inputs, given.max_bad_ratio, keep_days=given.keep_days)
            if given.job == "update":
                report = update(plan, lambda: nullcontext(spark))
            else:
                stop = threading.Event()
                signal.signal(signal.SIGTERM, lambda *_: stop.set())
                report = run(plan, lambda: nullcontext(spark), _say, stop)
        except Exception as wrong:
            if (said := message_of(wrong)) is None:
                raise  # Spark's own: its page shows it whole
            sys.stderr.write(f"kac_lake.py {given.job}: {said}\n")
            return 1
    sys.stdout.write(json_text(asdict(report)) + "\n")
    return 0


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
