"""``kac lake update``, ``run`` and ``demo``: the jobs that run the lake's application on Spark."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from console.cli import lake as cli_lake
from console.cli.opening import DONE, FAILED, USAGE, open_log_file
from console.contexts import ContextError
from console.contexts.context import LAKE_VARIABLE, lake_place
from console.model.numbers import json_text, time_of_day
from console.terminal import complain, leave, put

if TYPE_CHECKING:
    from console.cli.lake_progress import Shown
    from console.collecting.demo import Demo
    from console.lake.app import Session
    from console.lake.inputs import Inputs
    from console.lake.lake import Lake, Report
    from console.lake.runs import Plan

DAY = 86_400.0


def run_update(options: argparse.Namespace) -> int:
    """Process the new data of the lake once.

    Returns:
        The exit code: 0 done; 1 failed, or the lake has a problem; 2 invalid arguments.
    """
    from console.cli.lake_progress import shown

    plan = _plan(options)
    if isinstance(plan, int):
        return plan
    open_log_file()
    with shown() as progress:
        report = _guarded("update", lambda: update_once(plan, on_spark(options), progress))
    if report is None:
        return FAILED
    put(report_text(options, report))
    return DONE


class OnSpark(NamedTuple):
    """The options that determine where and how Spark runs.

    Attributes:
        master: the URL of a Spark cluster, or ``local[…]``; None for all processors of this machine.
        conf: Spark's settings, name -> value.
    """

    master: str | None
    conf: Mapping[str, str]


def on_spark(options: argparse.Namespace) -> OnSpark:
    """Return the values of ``--master`` and ``--conf``."""
    return OnSpark(getattr(options, "master", None), dict(getattr(options, "conf", ())))


def update_once(plan: Plan, where: OnSpark, progress: Shown) -> Report:
    """Process the new data of a lake once, and return the report. Spark is not started if there is no new data and no
    topic to read.
    """
    from console.lake.runs import begun_report, news, nothing_done, refusals_recorded, settings_of

    with refusals_recorded(plan.lake, begun_report("update")):
        with settings_of(plan) as settings:
            wanted = news(plan.lake, settings)
        if not wanted and not plan.topics:
            return nothing_done()
        from console.lake.app import update

    # `is_whole` lets the session record its classes for Java's archive: an update that reads logs and makes gold loads
    # every class that any other update needs.
    return update(plan, _session(plan, where, progress, is_whole=len(wanted) > 1), progress.step)


def _session(plan: Plan, where: OnSpark, progress: Shown, *, is_whole: bool = False) -> Session:
    """Return the function that starts Spark for a plan.

    Args:
        is_whole: whether the session does all the work of an update, as in `lake_session`.
    """
    from console.collecting.gateway import is_local
    from console.collecting.java import groups_of
    from console.collecting.spark_session import lake_session

    return partial(
        lake_session,
        os.environ,
        master=where.master,
        conf=where.conf,
        groups=groups_of(plan.lake.where, topics=bool(plan.topics)),
        settings=plan.lake.files.spark_settings(is_local=is_local(where.master)),
        is_whole=is_whole,
        say=progress.say,
    )


def run_on(options: argparse.Namespace) -> int:
    """Process new data continuously; with --every also poll clusters meanwhile.

    Returns:
        The exit code: 0 ended by Ctrl-C or SIGTERM, 1 failed, 2 invalid arguments.
    """
    from console.cli.lake_progress import shown

    plan = _plan(options)
    try:
        every = cli_lake.seconds_between(getattr(options, "every", None))
    except ValueError as error:
        return leave(USAGE, str(error))
    if isinstance(plan, int):
        return plan
    if every is None and hasattr(options, "all"):
        return leave(USAGE, "--all polls clusters: say how often, as --every 5min")
    open_log_file()
    stop = threading.Event()

    def told(line: str) -> None:
        put(f"{time_of_day(datetime.now(UTC))}  {line}\n")

    def go_on() -> Report:
        from console.lake.app import run

        with shown() as progress, _polling(options, plan.lake, every, told, stop):
            session = _session(plan, on_spark(options), progress)
            return run(plan, session, told, stop, lambda: cli_lake.write_metrics(options, plan.lake))

    with _ended_by_signals(stop):
        report = _guarded("run", go_on)
    return FAILED if report is None else DONE


@contextmanager
def _ended_by_signals(stop: threading.Event) -> Iterator[None]:
    """Set `stop` on SIGTERM and Ctrl-C inside the ``with`` block; a second signal raises KeyboardInterrupt."""

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _polling(
    options: argparse.Namespace, lake: Lake, every: float | None, tell: Callable[[str], None], stop: threading.Event
) -> Iterator[None]:
    """Poll clusters in a thread inside the ``with`` block.

    Args:
        every: the interval in seconds; None to poll nothing.
        tell: called with lines for the operator.
    """
    if every is None:
        yield
        return
    from console.collecting.collect import keep_collecting
    from console.collecting.results import poll_line

    contexts = cli_lake.contexts_of(options)
    polls = threading.Thread(
        target=keep_collecting,
        args=(
            lake,
            lambda: cli_lake.contexts_of(options) or contexts,
            every,
            lambda report: tell(poll_line(report)),
            stop,
        ),
        kwargs={"names": cli_lake.names_of},
        name="polls",
    )
    polls.start()
    try:
        yield
    finally:
        stop.set()
        polls.join()


def _plan(options: argparse.Namespace) -> Plan | int:
    """Return the plan of a run for the options. If they are invalid, print their problems and return the exit code."""
    from console.collecting.sources import missing
    from console.lake.plans import MAX_BAD_RATIO
    from console.lake.runs import Plan
    from console.model.yaml_places import FileProblems
    from console.plan.amounts import parse_duration

    where = cli_lake.lake_of_options(options)
    try:
        inputs = inputs_of(where)
        days = parse_duration(options.keep) / 1000 / DAY if hasattr(options, "keep") else None
    except FileProblems as wrong:
        return _refused(options, USAGE, list(map(str, wrong.problems)))
    except (ValueError, OSError) as wrong:
        return _refused(options, USAGE, [str(wrong)])
    if days is not None and days < 1:
        return leave(USAGE, f"--keep {options.keep}: a day or more")
    if absent := list(missing(inputs)):
        return _refused(options, FAILED, absent)
    lake = cli_lake.open_lake(options, create=True)
    ratio = getattr(options, "max_bad_ratio", MAX_BAD_RATIO)
    plan = Plan(lake, inputs, ratio, keep_days=days)
    if inputs.controllers:
        import console.collecting.controllers  # noqa: F401 - its source is known then
    if inputs.request_topics:
        from console.collecting.sources import topics_of

        try:
            topics, login = topics_of(inputs.request_topics, os.environ)
        except ContextError as wrong:
            return _refused(options, USAGE, [str(wrong)])
        plan = replace(plan, topics=topics, login=login)
    return plan


def _refused(options: argparse.Namespace, code: int, why: Sequence[str]) -> int:
    """Print why the inputs are refused and return `code`; if the lake exists, store this as a failed run."""
    from console.lake.files import LakeError
    from console.lake.runs import begun_report, keep_failure

    for line in why:
        complain(line)
    with suppress(LakeError):
        keep_failure(cli_lake.open_lake(options), begun_report(options.job), "; ".join(why))
    return code


def inputs_of(where: str) -> Inputs:
    """Return the inputs in the `sources.yaml` of the lake at this location; empty if there is no such file. Raises
    FileProblems, OSError.
    """
    from console.collecting.sources import FILE, read_sources
    from console.contexts.lake_files import lake_files
    from console.lake.inputs import Inputs
    from console.lake.lake import Lake

    files = lake_files(where)
    lake = Lake.at_path(where, files)
    text = lake.own_file(FILE)
    if text is None:
        return Inputs()
    return read_sources(text.decode(), lake.path(FILE), Path(lake.where) if files is None else Path.cwd())


def _guarded(job: str, do: Callable[[], Report]) -> Report | None:
    """Call `do` and return its report. If it fails with an unexpected error, print a message without a traceback and
    return None. LakeError, NoSpark and ModuleNotFoundError are raised, for the caller to print; so is
    KeyboardInterrupt.
    """
    from console.collecting.java import NoSpark
    from console.lake.files import LakeError

    try:
        return do()
    except KeyboardInterrupt:
        complain("interrupted: what was taken in until then is in the lake, the rest comes with the next update")
        raise
    except (LakeError, NoSpark, ModuleNotFoundError):
        raise  # the caller prints these
    except Exception as error:
        from console.lake.spark import interrupted

        if interrupted(error):
            raise KeyboardInterrupt from error
        _log(job, error)
        complain(f"{_words(error).rstrip('.')}; what was taken in before is in the lake")
        return None


def _log(job: str, error: Exception) -> None:
    """Write the traceback of an error to the log, without the error's text, which may contain values from the data."""
    trace = "".join(traceback.format_tb(error.__traceback__))
    logging.getLogger(__name__).error("the job %s failed: %s\n%s", job, type(error).__name__, trace)


def _words(error: Exception) -> str:
    """Return a message for an error that ended a job: the error's own message if it is one of the lake, of Spark or of
    a file; otherwise only its class, and the path of the log.
    """
    from console.collecting.spark_session import spark_log
    from console.lake.runs import SparkFailed, message_of

    log = spark_log(os.environ)
    if isinstance(error, SparkFailed):
        return f"{error}; {log} says where"
    if (said := message_of(error)) is not None:
        return said
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return f"kac itself failed: {type(error).__name__}; kac.log beside {log} says where"


def report_text(options: argparse.Namespace, report: Report) -> str:
    """Return the report of a run in the form of ``--output``."""
    from console.collecting.results import report_lines
    from console.present.text import clean

    if options.output == "json":
        return json_text(report.data()) + "\n"
    return "".join(f"{clean(line)}\n" for line in report_lines(report))


# ``kac lake demo``: a day of three clusters in its own lake, made the same way as any other, to try everything on.

NAME = "demo-lake"


def run_lake_demo(options: argparse.Namespace) -> int:
    """Create the demo's lake and process its data.

    Returns:
        The exit code: 0 made, 1 failed.

    Raises:
        LakeError, NoSpark: the lake can't be made.
    """
    from console.cli.lake_progress import shown
    from console.collecting.demo import make
    from console.collecting.java import groups_of
    from console.collecting.spark_session import ready
    from console.lake.runs import Plan

    open_log_file()
    where = place(options)
    with shown() as progress:
        # Check that Spark works before making a day of data and deleting a former demo.
        ready(os.environ, groups_of(where, topics=False), progress.say)
        try:
            made = make(where, datetime.now(UTC), lambda said, done, of: progress.count("demo", done, of, said))
            plan = Plan(made.lake, inputs_of(made.lake.where))
        except OSError as error:
            return leave(FAILED, f"the demo can't be written to {where}: {error.strerror or error}")
        report = _guarded("demo", lambda: update_once(plan, on_spark(options), progress))
    if report is None:
        return FAILED
    put(_how_to_go_on(made))
    return DONE


def place(options: argparse.Namespace) -> str:
    """Return the path of ``--lake``, else of a lake next to the default one: the demo never writes into a lake
    in use.
    """
    named = getattr(options, "lake", None)
    data: dict[str, Any] = {name: os.environ[name] for name in ("XDG_DATA_HOME",) if name in os.environ}
    return str(named or Path(lake_place(None, data, None, Path.home())).with_name(NAME))


def _how_to_go_on(made: Demo) -> str:
    from console.language.quoting import shell_line

    lake = made.lake.where
    demo = shell_line("kac", "demo", "--scenario", "fleet", "--still", "--state", str(made.state))
    clusters = ", ".join(f"{name} ({cluster_id})" for name, cluster_id in made.clusters.items())
    return (
        f"In {lake}, up to now: {clusters}.\nTo look at it:\n"
        f"  {LAKE_VARIABLE}={shell_line(lake)} {demo}\n"
        + "".join(f"  {shell_line('kac', verb, '--lake', lake)}\n" for verb in ("history", "drift", "usage"))
    )
