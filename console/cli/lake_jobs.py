"""``kac lake ingest``, ``build``, ``verify``, ``compact`` and ``demo``: the jobs that may need Spark."""

from __future__ import annotations

import argparse
import logging
import os
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.cli.lake import lake_of_options
from console.cli.opening import DONE, FAILED, USAGE, open_log_file
from console.contexts.context import LAKE_VARIABLE, lake_place
from console.model.numbers import json_text
from console.terminal import complain, put

if TYPE_CHECKING:
    from console.history.jobs.inputs import Inputs
    from console.history.jobs.record import Report
    from console.history.store import Lake
    from console.lake.demo.make import Demo
    from console.lake.progress import Shown


_NOTHING_TO_READ = (
    "nothing to read: name --metadata-log, --request-log or --journal, or write {file} (docs/lake.md shows one)"
)
_SOURCE_OPTIONS = ("metadata_log", "request_log", "journal", "cluster_id", "timezone")

Session = Callable[[], Any]
"""Starts Spark once, and gives its session."""
Job = Callable[[Session, "Lake", "Shown"], int]
"""Gets what starts Spark, the lake, and where to say how far it is; gives the exit code."""


def run_jobs(options: argparse.Namespace) -> int:
    """0 done, 1 failed, or something is wrong with the lake, 2 not understood."""
    open_log_file()
    return {"ingest": _ingest, "build": _build, "verify": _verify, "compact": _compact}[options.job](options)


def _ingest(options: argparse.Namespace) -> int:
    from console.lake.sources import missing

    where = lake_of_options(options)
    inputs = inputs_of(options, where)
    if isinstance(inputs, int):
        return inputs
    assert inputs is not None  # they are needed
    if absent := list(missing(inputs)):
        for line in absent:
            complain(line)
        return FAILED

    def job(session: Session, lake: Lake, shown: Shown) -> int:
        from console.history.jobs.ingest import ingest
        from console.history.jobs.record import MAX_BAD_RATIO

        ratio, executors = getattr(options, "max_bad_ratio", MAX_BAD_RATIO), session if on_a_cluster(options) else None
        return _told(options, ingest(executors, lake, inputs, shown.step, max_bad_ratio=ratio, keep=keep_of(options)))

    return with_spark(options, where, job, create=True)


def inputs_of(options: argparse.Namespace, where: str, *, needed: bool = True) -> Inputs | int | None:
    """What to read; the exit code where that is wrong, and said; None where there is nothing, and none is needed."""
    from console.model.yaml_places import FileProblems

    try:
        found = _inputs(options, where)
    except FileProblems as wrong:
        for problem in wrong.problems:
            complain(str(problem))
        return USAGE
    except (ValueError, OSError) as wrong:
        complain(str(wrong))
        return USAGE
    if found is None and needed:
        complain(_NOTHING_TO_READ.format(file=Path(where) / "sources.yaml"))
        return USAGE
    return found


def _inputs(options: argparse.Namespace, where: str) -> Inputs | None:
    """None: nothing is named. Raises FileProblems, OSError, ValueError with a message for the operator."""
    from console.contexts.lake_files import lake_files
    from console.lake.sources import FILE, given_sources, read_sources
    from console.log_file import state_directory

    file = Path(where) / FILE
    if any(hasattr(options, name) for name in _SOURCE_OPTIONS):
        own = str(state_directory(os.environ) / "journal")
        given = given_sources(
            metadata_logs=getattr(options, "metadata_log", ()),
            request_logs=getattr(options, "request_log", ()),
            journals=[path or own for path in getattr(options, "journal", ())],
            cluster_id=getattr(options, "cluster_id", None),
            zone=getattr(options, "timezone", None),
            folder=Path.cwd(),
        )
        if given.paths:
            return given
    elif (files := lake_files(where)) is not None:
        with suppress(FileNotFoundError):
            return read_sources(files.read(f"{where}/{FILE}").decode(), f"{where}/{FILE}", Path.cwd())
    elif "://" not in where and file.is_file():
        return read_sources(file.read_text(encoding="utf-8"), str(file), Path(where).absolute())
    return None


def _build(options: argparse.Namespace) -> int:
    everything = hasattr(options, "all")

    def job(session: Session, lake: Lake, shown: Shown) -> int:
        from console.history.jobs.build import build

        report = build(session, lake, options.tables or None, shown.step, whole=everything, keep=keep_of(options))
        return _told(options, report)

    where = lake_of_options(options)
    if not options.tables and not everything and not on_a_cluster(options):
        from console.contexts.lake_files import lake_files
        from console.history.jobs.plan_build import nothing_to_build
        from console.history.store import Lake

        files = lake_files(where)
        if (files is not None or "://" not in where) and (report := nothing_to_build(Lake.open(where, files))):
            return _told(options, report)
    return with_spark(options, where, job)


def _verify(options: argparse.Namespace) -> int:
    def job(_: Session, lake: Lake, shown: Shown) -> int:
        from console.answers.results import Printer
        from console.history.jobs.verify import verify
        from console.lake.results import findings_result

        findings = verify(lake, shown.step)
        Printer(options.output)(findings_result(findings))
        return FAILED if findings else DONE

    return with_spark(options, lake_of_options(options), job)


def _compact(options: argparse.Namespace) -> int:
    def job(_: Session, lake: Lake, shown: Shown) -> int:
        from console.history.jobs.compact import compact

        return _told(options, compact(lake, shown.step, keep=keep_of(options)))

    return with_spark(options, lake_of_options(options), job)


def with_spark(
    options: argparse.Namespace,
    where: str,
    job: Job,
    *,
    create: bool = False,
) -> int:
    """Runs a job; a session that it asks for is started then, and ends with it."""
    from console.contexts.lake_files import lake_files
    from console.history.store import Lake, LakeError
    from console.lake.java import NoSpark
    from console.lake.progress import shown

    files = lake_files(where)
    by_spark = files is not None and on_a_cluster(options)
    # What is wrong with the lake is said before Spark is started for it.
    lake = None if by_spark else (Lake.create if create else Lake.open)(where, files)
    try:
        with shown() as progress, ExitStack() as running:
            session = started_once(options, running, progress)
            if lake is None:
                from console.history.jobs.submit import lake_at

                lake = lake_at(session(), where, create=create)
            return job(session, lake, progress)
    except KeyboardInterrupt:
        complain("interrupted: the lake is as it was")
        raise
    except (LakeError, NoSpark, ModuleNotFoundError):
        raise  # the caller prints it
    except Exception as error:  # never a traceback in the face
        from console.history.jobs.interrupts import interrupted

        if interrupted(error):
            complain("interrupted: the lake is as it was")
            raise KeyboardInterrupt from error
        log_failure(options.job, error)
        complain(f"{words(error).rstrip('.')}; the lake is as it was")
        return FAILED


def started_once(options: argparse.Namespace, running: ExitStack, progress: Shown) -> Session:
    """Starts Spark where it is called, and gives the same session again; it ends with `running`."""
    from console.lake.spark_session import lake_session

    @cache
    def session() -> Any:
        master = getattr(options, "master", None)
        return running.enter_context(lake_session(os.environ, master=master, say=progress.say))

    return session


def on_a_cluster(options: argparse.Namespace) -> bool:
    """Whether workers on other machines write the lake, who reach a bucket by Hadoop's filesystems."""
    return not getattr(options, "master", "local").startswith("local")


def log_failure(job: str, error: Exception) -> None:
    """In the log file, where it was raised. Not its text, which may hold values of the lines that were read."""
    # What another process raised has its own in its notes.
    trace = "".join((*traceback.format_tb(error.__traceback__), *getattr(error, "__notes__", ())))
    logging.getLogger(__name__).error("the job %s failed: %s\n%s", job, type(error).__name__, trace)


def words(error: Exception) -> str:
    """What is wrong, and where more stands, in a line."""
    from console.history.store import LakeError
    from console.lake.java import NoSpark
    from console.lake.spark_session import spark_log

    if isinstance(error, (LakeError, NoSpark)):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    if of_spark(error):
        condition = getattr(error, "getCondition", lambda: None)()
        what = f"{type(error).__name__}{f' {condition}' if condition else ''}"
        return f"the job failed in Spark: {what}; {spark_log(os.environ)} says where"
    return f"kac itself failed: {type(error).__name__}; kac.log beside {spark_log(os.environ)} says where"


def of_spark(error: Exception) -> bool:
    """Whether Spark raised it, or the connection to its Java."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j")


def _told(options: argparse.Namespace, report: Report) -> int:
    put(report_text(options, report))
    return DONE


def report_text(options: argparse.Namespace, report: Report) -> str:
    """What a run did, in the form of ``--output``."""
    from console.lake.results import report_lines
    from console.present.text import clean

    if options.output == "json":
        return json_text(asdict(report)) + "\n"
    return "".join(f"{clean(line)}\n" for line in report_lines(report))


def keep_of(options: argparse.Namespace) -> int:
    """The versions of the lake that stay."""
    from console.history.store.release import KEEP

    return getattr(options, "keep", KEEP)


# ``kac lake demo``: a day of three clusters in a lake of its own, taken in and built, to try everything on.

NAME = "demo-lake"


def run_lake_demo(options: argparse.Namespace) -> int:
    """0 made and built, 1 failed; the lake's own errors otherwise."""
    from console.lake.demo.make import make
    from console.lake.progress import shown

    open_log_file()
    where = place(options)
    try:
        with shown() as progress:
            made = make(where, datetime.now(UTC), lambda said, done, of: progress.count("demo", done, of, said))
    except OSError as error:
        complain(f"the demo can't be written to {where}: {error.strerror or error}")
        return FAILED
    code = with_spark(options, made.lake.where, _take_in_and_build)
    if code == DONE:
        put(_how_to_go_on(made))
    return code


def place(options: argparse.Namespace) -> str:
    """Of ``--lake``, else beside where lakes are: the demo does not go into anybody's own lake."""
    named = getattr(options, "lake", None)
    data = {name: os.environ[name] for name in ("XDG_DATA_HOME",) if name in os.environ}
    return str(named or Path(lake_place(None, data, None, Path.home())).with_name(NAME))


def _take_in_and_build(session: Session, lake: Lake, shown: Shown) -> int:
    from console.history.jobs.build import build
    from console.history.jobs.ingest import ingest
    from console.lake.sources import FILE, read_sources

    file = Path(lake.where) / FILE
    inputs = read_sources(file.read_text(encoding="utf-8"), str(file), Path(lake.where))
    ingest(None, lake, inputs, shown.step)
    build(session, lake, progress=shown.step)
    return DONE


def _how_to_go_on(made: Demo) -> str:
    from console.language.quoting import shell_line

    lake = made.lake.where
    demo = shell_line("kac", "demo", "--scenario", "fleet", "--still", "--state", str(made.state))
    clusters = ", ".join(f"{each.name} ({each.cluster_id})" for each in made.clusters)
    return (
        f"In {lake}, up to now: {clusters}.\nTo look at it:\n"
        f"  {LAKE_VARIABLE}={shell_line(lake)} {demo}\n"
        + "".join(f"  {shell_line('kac', verb, '--lake', lake)}\n" for verb in ("history", "drift", "usage"))
    )
