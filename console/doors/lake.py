"""``kac lake``: the pipeline of what was, who did it, what differs and who uses what."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from console.doors.opening import FAILED, USAGE, complain
from console.model.numbers import decimal_number, natural_number, option

JOBS = {
    "collect": (
        "console.doors.lake_collect",
        "run_collect",
        "look at clusters, and write down what has changed since the last look",
    ),
    "ingest": (
        "console.doors.lake_jobs",
        "run_jobs",
        "take in what is new in metadata logs, request logs and journals",
    ),
    "build": ("console.doors.lake_jobs", "run_jobs", "make the tables that the console shows: TABLE …, or all of them"),
    "status": ("console.doors.lake_status", "run_status", "tell what is in the lake, and how its last runs went"),
    "report": (
        "console.doors.lake_report",
        "run_report",
        "write what happened in some hours as a page, for a post-mortem",
    ),
    "verify": ("console.doors.lake_jobs", "run_jobs", "check that the lake is what it says it is"),
    "compact": ("console.doors.lake_jobs", "run_jobs", "make few files of many, and delete versions that are not kept"),
    "doctor": (
        "console.doors.lake_doctor",
        "run_doctor",
        "tell what is here and what is missing to run it, and what to do",
    ),
    "package": ("console.doors.lake_package", "run_package", "write the zip that a Spark cluster needs"),
    "demo": ("console.doors.lake_demo", "run_lake_demo", "make a lake with a day of three clusters, to try it all on"),
}
"""Each job: the module and the function that run it, and what it does."""

_SPARK = ("master", "keep")
TAKES: dict[str, tuple[str, ...]] = {
    "collect": ("every", "all"),
    "ingest": (*_SPARK, "metadata_log", "request_log", "journal", "cluster_id", "timezone", "max_bad_ratio"),
    "build": (*_SPARK, "since", "format", "tables"),
    "status": (),
    "report": ("html", "cluster", "since", "until"),
    "verify": ("master",),
    "compact": _SPARK,
    "doctor": ("archive",),
    "package": ("file",),
    "demo": ("master",),
}
"""The options of each job besides ``--lake``, ``--output`` and those that name a cluster."""

_NAMES = {"tables": "TABLE", "all": "--all"}


def lake_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac lake``."""
    parser.set_defaults(run=run_lake)
    width = max(map(len, JOBS))
    listing = "".join(f"  {name:{width}}  {what}\n" for name, (_, _, what) in JOBS.items())
    parser.epilog = f"jobs:\n{listing}\ndocs/lake.md says how to begin, what sources.yaml holds, and how on a cluster."
    hidden = argparse.SUPPRESS
    jobs = list(JOBS)
    parser.add_argument("job", choices=jobs, metavar="JOB", help="what to do, see below")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="build: only these tables")
    where = "the lake; else KAC_LAKE, the context's, ~/.local/share/kac/lake"
    parser.add_argument("--lake", metavar="DIR", default=hidden, help=where)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")
    add = parser.add_argument
    add("--all", action="store_true", default=hidden, help="collect: every context there is, see kac contexts")
    add("--every", metavar="TIME", default=hidden, help="collect: again and again, until Ctrl-C: 5min")
    add("--master", metavar="URL", default=hidden, help="where Spark runs: local[*], local[4], spark://…, yarn …")
    add("--keep", type=_count, metavar="N", default=hidden, help="versions of the lake to keep (default 10)")
    add("--since", metavar="TIME", default=hidden, help="build, report: from then: 2h and 7d (ago), 2026-11-20T14:05")
    add("--until", metavar="TIME", default=hidden, help="report: before then, likewise")
    add("--cluster", metavar="ID", default=hidden, help="report: a cluster of the lake; all that it has, else")
    add("--html", metavar="FILE", default=hidden, help="report: the page to write; - is standard output")
    formats = "build: parquet, or delta for Delta's own readers too"
    add("--format", choices=("parquet", "delta"), default=hidden, help=formats)
    add("--metadata-log", action="append", metavar="DIR", default=hidden, help="ingest: a folder __cluster_metadata-0")
    requests = "ingest: request logs of a broker: '1=/logs/kafka-request.log*'"
    add("--request-log", action="append", metavar="BROKER=FILES", default=hidden, help=requests)
    journal = "ingest: a journal, or a folder of them; this host's where none is named"
    add("--journal", action="append", nargs="?", const="", metavar="PATH", default=hidden, help=journal)
    add("--cluster-id", metavar="ID", default=hidden, help="ingest: the cluster that these logs are of")
    add("--timezone", metavar="ZONE", default=hidden, help="ingest: of the times in request logs (default UTC)")
    bad = "ingest: how much of an input may be unreadable (default 0.01)"
    add("--max-bad-ratio", type=_ratio, metavar="RATIO", default=hidden, help=bad)
    add("--archive", action="store_true", default=hidden, help="doctor: build the archive of Spark's classes anew")
    add("--file", type=Path, metavar="FILE", default=hidden, help="package: the zip (default kac-lake.zip)")


def run_lake(options: argparse.Namespace) -> int:
    """0 done, 1 failed, 2 not understood."""
    if unwanted := [name for name in _given(options) if name not in TAKES[options.job]]:
        names = ", ".join(_NAMES.get(name, f"--{name.replace('_', '-')}") for name in unwanted)
        complain(f"lake {options.job} takes no {names}; see kac lake --help")
        return USAGE
    from console.history.store.errors import LakeError
    from console.lake.spark_session import NoSpark

    try:
        module, function, _ = JOBS[options.job]
        return int(getattr(import_module(module), function)(options))
    except (LakeError, NoSpark) as error:
        complain(str(error))
        return FAILED
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] in ("console", "widgets", "themes"):
            raise
        complain(f"{missing.name} is not installed: pip install 'kafka-admin-console[lake]', then run this again")
        return FAILED


def _given(options: argparse.Namespace) -> list[str]:
    known = {name for names in TAKES.values() for name in names}
    return [name for name, value in vars(options).items() if name in known and value not in (None, [])]


_count = option(natural_number, lowest=1)
_ratio = option(decimal_number, 0, 1)
