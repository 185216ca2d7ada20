"""``kac lake``: its options, and the jobs that need no Spark: collect, status, doctor, package."""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.cli.opening import DONE, FAILED, USAGE, context_of, open_log_file
from console.extras import how_to_add
from console.model.numbers import decimal_number, option
from console.terminal import complain, leave

if TYPE_CHECKING:
    from console.collecting.collect import Report
    from console.contexts import Context
    from console.lake.lake import Lake


class Job(NamedTuple):
    """A job of `kac lake`: the module and the function that run it, its help, and its options besides ``--lake``,
    ``--output`` and those that name a cluster.
    """

    module: str
    function: str
    help: str
    options: tuple[str, ...] = ()


_SPARK = ("master", "conf", "max_bad_ratio", "keep", "prometheus")
JOBS = {
    "collect": Job(
        "console.cli.lake",
        "run_collect",
        "poll clusters, and write the changes since the last poll; needs no Spark",
        ("every", "all"),
    ),
    "update": Job(
        "console.cli.lake_update",
        "run_update",
        "read the new data of polls, logs and journals once, and make history from it",
        _SPARK,
    ),
    "run": Job(
        "console.cli.lake_update",
        "run_on",
        "repeat update in one session of Spark, until Ctrl-C; with polls by --every",
        (*_SPARK, "every", "all"),
    ),
    "status": Job(
        "console.cli.lake",
        "run_status",
        "show the tables of the lake, and the results of its last runs",
        ("prometheus",),
    ),
    "report": Job(
        "console.cli.history",
        "run_report",
        "write a page about the events of some hours, for a post-mortem",
        ("html", "cluster", "since", "until"),
    ),
    "doctor": Job("console.cli.lake", "run_doctor", "check this host and the lake, with a remedy for each problem"),
    "package": Job("console.cli.lake", "run_package", "write the zip that a Spark cluster needs", ("file",)),
    "demo": Job(
        "console.cli.lake_update",
        "run_lake_demo",
        "make a lake with a day of three clusters, to try the lake",
        ("master", "conf"),
    ),
}


def lake_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac lake``."""
    width = max(map(len, JOBS))
    listing = "".join(f"  {name:{width}}  {job.help}\n" for name, job in JOBS.items())
    parser.epilog = (
        f"jobs:\n{listing}\ndocs/lake.md says how to begin, what sources.yaml contains, and how to run on a cluster."
    )
    hidden = argparse.SUPPRESS
    jobs = list(JOBS)
    parser.add_argument("job", choices=jobs, metavar="JOB", help="the job, see below")
    where = "the lake (default: KAC_LAKE, the context's, or ~/.local/share/kac/lake)"
    parser.add_argument("--lake", metavar="DIR", default=hidden, help=where)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")
    add = parser.add_argument
    add("--all", action="store_true", default=hidden, help="collect, run: poll every context, see kac contexts")
    every = "collect, run: poll clusters at this interval, until Ctrl-C: 5min"
    add("--every", metavar="TIME", default=hidden, help=every)
    add("--master", metavar="URL", default=hidden, help="where Spark runs: local[*], local[4], spark://…, yarn …")
    conf = "update, run, demo: a setting of Spark, such as spark.ui.enabled=true; may be repeated"
    add("--conf", type=_conf, action="append", metavar="NAME=VALUE", default=hidden, help=conf)
    keep = "update, run: how long to keep rows that no history needs: 90d (default: for ever)"
    add("--keep", metavar="TIME", default=hidden, help=keep)
    add("--since", metavar="TIME", default=hidden, help="report: since a time: 2h and 7d (ago), 2026-11-20T14:05")
    add("--until", metavar="TIME", default=hidden, help="report: before a time, in the same forms")
    add("--cluster", metavar="ID", default=hidden, help="report: a cluster of the lake (default: all)")
    add("--html", metavar="FILE", default=hidden, help="report: the page to write; - is standard output")
    bad = "update, run: the share of a log that may be unreadable (default: 0.01)"
    add("--max-bad-ratio", type=_ratio, metavar="RATIO", default=hidden, help=bad)
    metrics = "update, run, status: write metrics of the last runs into this file, for a textfile collector"
    add("--prometheus", type=Path, metavar="FILE", default=hidden, help=metrics)
    add("--file", type=Path, metavar="FILE", default=hidden, help="package: the zip (default: kac-lake.zip)")


def run_lake(options: argparse.Namespace) -> int:
    """Run a job on a lake.

    Returns:
        The job's exit code: 0 done, 1 failed, 2 invalid arguments.
    """
    if unwanted := [name for name in _given(options) if name not in JOBS[options.job].options]:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in unwanted)
        return leave(USAGE, f"lake {options.job} takes no {names}; see kac lake --help")
    from console.collecting.java import NoSpark
    from console.lake.files import LakeError

    try:
        return _measured(options, JOBS[options.job])
    except (LakeError, NoSpark) as error:
        for line in str(error).splitlines():
            complain(line.strip())
        return FAILED
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] in ("console", "widgets", "themes"):
            raise
        return leave(FAILED, f"{missing.name} is not installed: {how_to_add('lake')}, then run this again")


def _measured(options: argparse.Namespace, job: Job) -> int:
    """Run a job and return its exit code; write the file of ``--prometheus`` also if the job fails, because alerts read
    it.
    """
    from console.lake.files import LakeError

    try:
        code = int(getattr(import_module(job.module), job.function)(options))
    except BaseException:
        with suppress(LakeError, ModuleNotFoundError):
            _write_metrics_of(options)
        raise
    _write_metrics_of(options)
    return code


def _write_metrics_of(options: argparse.Namespace) -> None:
    """Write the file of ``--prometheus`` if the lake exists. Raises LakeError."""
    from console.lake.lake import NoLake

    if hasattr(options, "prometheus"):
        with suppress(NoLake):
            write_metrics(options, open_lake(options))


def _given(options: argparse.Namespace) -> list[str]:
    known = {name for job in JOBS.values() for name in job.options}
    return [name for name, value in vars(options).items() if name in known and value not in (None, [])]


_ratio = option(decimal_number, 0, 1)


def _conf(text: str) -> tuple[str, str]:
    from console.collecting.operator_settings import setting_of

    try:
        return setting_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# The location of the lake of `kac lake`.


def lake_of_options(options: argparse.Namespace) -> str:
    """Return the lake's path or URI: that of ``--lake``, of KAC_LAKE, of the named or default context, or the default
    folder.
    """
    from console.contexts import ContextError, load, resolve
    from console.contexts.context import LAKE_VARIABLE, lake_place

    given = getattr(options, "lake", None)
    setting = None
    if not given and not os.environ.get(LAKE_VARIABLE):
        try:
            named = getattr(options, "context", None)
            setting = resolve(load(os.environ, Path.home()), name=named, environ=os.environ).lake
        except ContextError:
            setting = None
    return lake_place(given, os.environ, setting, Path.home())


def open_lake(options: argparse.Namespace, *, create: bool = False) -> Lake:
    """Return the lake at `lake_of_options`. Raises LakeError.

    Args:
        create: whether to create the lake if there is none.
    """
    from console.contexts.lake_files import lake_files
    from console.lake.lake import Lake

    where = lake_of_options(options)
    return (Lake.create if create else Lake.open)(where, lake_files(where))


# ``kac lake collect``: poll one cluster, or those of all contexts.

LEAST_SECONDS = 5.0


def run_collect(options: argparse.Namespace) -> int:
    """Poll clusters into the lake, once, or repeatedly with --every.

    Returns:
        The exit code: 0 everything was read, 1 a cluster or a part was not, 2 invalid arguments.
    """
    from console.answers.results import Printer
    from console.cli.lake_progress import shown
    from console.collecting.collect import collect, keep_collecting
    from console.collecting.results import collect_result

    try:
        every = seconds_between(getattr(options, "every", None))
    except ValueError as error:
        return leave(USAGE, str(error))
    contexts = contexts_of(options)
    if not contexts:
        return USAGE
    open_log_file()
    lake = open_lake(options, create=True)
    printer = Printer(options.output)
    with shown() as progress:

        def step(said: str, done: int, total: int) -> None:
            progress.count("collect", done, total, said)

        def told(report: Report) -> None:
            printer(collect_result(report))

        if every is not None:
            stop = threading.Event()
            keep_collecting(lake, lambda: contexts_of(options) or contexts, every, told, stop, step, names=names_of)
        report = collect(lake, contexts, step, names=names_of())
    told(report)
    return DONE if report.complete else FAILED


def contexts_of(options: argparse.Namespace) -> Sequence[Context]:
    """Return the contexts to poll, and print the problems of contexts. If there is no usable context, print the reason
    and return an empty list.
    """
    if not hasattr(options, "all"):
        context = context_of(options)
        return () if context is None else (context,)
    from console.contexts import load

    found = load(os.environ, Path.home())
    for each in found.broken:
        complain(f"warning: context {each.name} is left out: {each.problem}")
    for context in found.contexts:
        for line in context.settings.exposures:
            complain(f"warning: context {context.name}: {line}")
    if not found.contexts:
        complain("there is no context: kac contexts says where they are looked for")
    return found.contexts


def names_of() -> frozenset[str]:
    """Return the names of all configured contexts, usable or not."""
    from console.contexts import load

    found = load(os.environ, Path.home())
    return frozenset([*(each.name for each in found.contexts), *(each.name for each in found.broken)])


def seconds_between(text: str | None) -> float | None:
    """Return the interval of ``--every`` in seconds; None without the option. Raises ValueError: the text is not a
    duration, or is shorter than 5 s (`LEAST_SECONDS`).
    """
    if text is None:
        return None
    from console.plan.amounts import parse_duration

    seconds = parse_duration(text) / 1000
    if seconds < LEAST_SECONDS:
        raise ValueError(f"--every {text}: not more often than every {LEAST_SECONDS:g}s")
    return seconds


# ``kac lake status``: the contents of the lake, and the results of its last runs.


def run_status(options: argparse.Namespace) -> int:
    """Print the contents of the lake; return 0. Raises LakeError."""
    from console.answers.results import Printer
    from console.collecting.results import status, status_result

    Printer(options.output)(status_result(status(open_lake(options))))
    return DONE


def write_metrics(options: argparse.Namespace, lake: Lake) -> None:
    """Write the file of ``--prometheus`` if the option is given; if that fails, print the reason."""
    from console.collecting.results import prometheus_text, status
    from console.safe_files import write_whole

    if file := getattr(options, "prometheus", None):
        try:
            write_whole(file, prometheus_text(status(lake)))
        except OSError as error:
            complain(f"metrics not written: {error}")


# ``kac lake doctor``: checks of Spark's requirements on this host, each with a remedy.


def run_doctor(options: argparse.Namespace) -> int:
    """Print the checks whether this host can run a lake.

    Returns:
        The exit code: 0 all requirements are met, 1 one is not.
    """
    from console.answers.checks import any_bad, checks_result
    from console.answers.results import Printer
    from console.collecting.doctor import checks

    found = list(checks(os.environ, lake_of_options(options)))
    Printer(options.output)(checks_result(found))
    return FAILED if any_bad(found) else DONE


# ``kac lake package``: the zip that a Spark cluster needs, and its use.


def run_package(options: argparse.Namespace) -> int:
    """Write the package for a Spark cluster, and print the command that submits it.

    Returns:
        The exit code: 0 written, 1 the file can't be written.

    Raises:
        NoSpark: no Java can run Spark, or the jars can't be fetched.
    """
    from console.answers.results import Printer
    from console.collecting.executor_package import submit_lines, write_package
    from console.collecting.java import Group, find_java, spark_jars

    wanted = getattr(options, "file", Path("kac-lake.zip"))
    jars = spark_jars(os.environ, [Group.DELTA], find_java(os.environ).program)
    try:
        file, script = write_package(wanted)
    except OSError as error:
        return leave(FAILED, f"can't write {wanted}: {error.strerror or error}")
    lines = submit_lines(file, script, jars)
    text = "\n".join(
        (f"{file} and {script.name} beside it; on a cluster, with its URL in place:", *map("  {}".format, lines))
    )
    Printer(options.output).note(text, {"package": str(file), "script": str(script), "lines": list(lines)})
    return DONE
