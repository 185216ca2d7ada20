"""The jobs by their names, for `spark-submit`: ``spark-submit --py-files kac-lake.zip kac_lake.py build s3a://b/lake``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

JOBS = ("ingest", "build")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the job that the first argument names with the others; gives the exit code."""
    job, *arguments = (sys.argv[1:] if argv is None else argv) or [""]
    if job not in JOBS:
        sys.stderr.write(f"kac_lake.py: name a job, {' or '.join(JOBS)}, and what it takes; -h behind it says more\n")
        return 2
    return int(import_module(f".{job}", __package__).main(arguments))
