"""Runs of the application on a lake, without Spark: the check whether there is new data, the settings, progress and
report of a run.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from console.lake import delta_log, policy_files, schema
from console.lake.files import LakeError, new_run_id
from console.lake.inputs import Inputs, Topic, UnreadableInput
from console.lake.lake import Lake, Report
from console.lake.plans import MAX_BAD_RATIO, SOURCES, Offset, RequestLogs, Settings
from console.lake.spark import interrupted
from console.model.foreign_json import json_of
from console.model.yaml_places import FileProblem

GOLD = "gold"
"""The name of the stream that reads the bronze tables and makes silver and gold."""


# -- batches of streams, and the check for new data --------------------------------------------------------------------


def batches(lake: Lake, stream: str) -> tuple[int | None, int | None]:
    """Return the numbers of the last planned and of the last completed batch of a stream; None for each that does not
    exist.
    """
    logs = (lake.files.entries(lake.path(f"checkpoints/{stream}/{log}")) for log in ("offsets", "commits"))
    planned, ended = (max((int(each.name) for each in log if each.name.isdigit()), default=None) for log in logs)
    return planned, ended


def committed(lake: Lake, stream: str) -> list[Offset] | None:
    """Return the end offset of each source of a stream. None if the stream has no checkpoint, or if its last batch is
    incomplete.
    """
    planned, ended = batches(lake, stream)
    return None if planned is None or planned != ended else offsets(lake, stream, planned)


def begun(lake: Lake, stream: str) -> int | None:
    """Return the number of the incomplete batch of a stream; None if every planned batch is complete."""
    planned, ended = batches(lake, stream)
    return None if planned == ended else planned


def offsets(lake: Lake, stream: str, batch: int) -> list[Offset]:
    """Return the end offset of each source of a stream's batch, in the order of the sources; {} for a source without
    data. Spark writes them before it runs the batch.
    """
    text = lake.files.read(lake.path(f"checkpoints/{stream}/offsets/{batch}")).decode()
    return [json_of(line) if line != "-" else {} for line in text.splitlines()[2:]]


def news(lake: Lake, settings: Settings) -> list[str]:
    """Return the names of the streams that have work to do, `GOLD` last; empty if no stream has. A source without new
    data releases the data that the lake has already (`Source.committed`). If the input of a source is refused and
    other streams have work, the stream of the source is also returned: its own run then raises the error.

    Raises:
        UnreadableInput: an input is refused, and no other stream has work.
        OSError: an input can't be read.
    """
    found, refusals = [], []
    for name, make in SOURCES.items():
        source = make(settings)
        at = committed(lake, name)
        start = at[0] if at else source.initial()
        is_unended = at is None and batches(lake, name)[0] is not None
        try:
            is_new = source.newest(start) != start
        except UnreadableInput as wrong:
            refusals.append(wrong)
            is_new = True
        if is_new or is_unended:
            found.append(name)
        else:
            source.committed(start)
    if refusals and len(found) == len(refusals) and not (settings.inputs.request_topics or is_behind(lake)):
        raise refusals[0]
    return [*found, GOLD] if found or is_behind(lake) else []


def is_behind(lake: Lake) -> bool:
    """Return whether gold lacks rows of bronze or changes of the operator's files, or was made by another version of
    kac. False for a lake without bronze tables.
    """
    versions = [lake.version(table) for table in schema.BRONZE]
    if max(versions) < 0:
        return False
    at = committed(lake, GOLD)
    if at is None or is_of_another(lake):
        return True
    read = (each.get("reservoirVersion", 0) for each in at)
    is_read = all(of_stream > of_table for of_stream, of_table in zip(read, versions, strict=True))
    return not is_read or unjudged(lake) is not None


class Unjudged(NamedTuple):
    """The part of `history` for which violations and drift were not determined yet."""

    version: int
    """The present version of `history`."""
    clusters: frozenset[str] | None
    """The clusters with new rows in `history`; None if all clusters have to be judged."""
    rules: tuple[str, ...]
    """The names of the tables whose rules have changed in the operator's files."""


def unjudged(lake: Lake) -> Unjudged | None:
    """Return the part of `history` that violations and drift do not cover yet; None if they cover all of it, by the
    operator's present rules.
    """
    version, note = lake.version(schema.HISTORY), next(lake.notes(schema.POLICY_VIOLATION), {})
    judged, differ = int(note.get("history", -1)), rules_differ(lake)
    if version <= judged and not differ:
        return None
    parts = delta_log.parts_since(lake.files, lake.folder(schema.HISTORY), judged) if judged >= 0 else None
    name = next(iter(schema.HISTORY.partitions))
    clusters = None if parts is None else frozenset(filter(None, (each.get(name) for each in parts)))
    return Unjudged(version, None if schema.POLICY_VIOLATION.name in differ else clusters, tuple(differ))


def is_of_another(lake: Lake) -> bool:
    """Return whether another version of kac made gold: it wrote `history`, or the checkpoint is for another number of
    bronze tables.
    """
    note, at = next(lake.notes(schema.HISTORY), None), committed(lake, GOLD)
    is_of_other_tables = at is not None and len(at) != len(schema.BRONZE)
    return is_of_other_tables or (note is not None and note.get("kac") != kac_version())


def is_undone(lake: Lake) -> bool:
    """Return whether the last batch of request logs was undone, because the time zone of a log is wrong. If the run
    died before it deleted the stream's checkpoint, the checkpoint still exists.
    """
    return bool(next(ends(lake, RequestLogs.name), {}).get("is_undone"))


def ends(lake: Lake, stream: str, table: schema.Table = schema.REQUEST) -> Iterator[dict[str, Any]]:
    """Yield the notes about a stream that contain end offsets, from the commits of a bronze table, newest first."""
    return (note for note in lake.notes(table) if note.get("stream") == stream and "end" in note)


def rules_differ(lake: Lake) -> list[str]:
    """Return the names of the tables whose rules in the operator's files have changed since the tables were made."""
    now = digests(lake)
    found = {table.name: next(lake.notes(table), {}).get("rules") for table in (schema.DRIFT, schema.POLICY_VIOLATION)}
    return [name for name, digest in found.items() if digest is not None and digest != now[name]]


def digests(lake: Lake) -> dict[str, str]:
    """Return the name of a table -> the SHA-256, in hex, of the operator's file that it depends on."""
    files = {schema.DRIFT.name: policy_files.BASELINE_FILE, schema.POLICY_VIOLATION.name: policy_files.POLICIES_FILE}
    return {table: hashlib.sha256(lake.own_file(name) or b"").hexdigest() for table, name in files.items()}


def rules_of(lake: Lake) -> policy_files.Rules:
    """Return the rules in the operator's files; if there is no file of policies, kac's default policies. Raises
    UnreadableInput: a file is invalid.
    """

    def read(name: str, parse: Callable[[str, str], Any], otherwise: Any) -> Any:
        own = lake.own_file(name)
        try:
            return otherwise if own is None else parse(own.decode("utf-8-sig"), lake.path(name))
        except FileProblem as wrong:
            raise UnreadableInput(str(wrong)) from wrong

    policies = read(policy_files.POLICIES_FILE, policy_files.read_policies, None)
    return policy_files.Rules(
        policy_files.default_policies() if policies is None else policies,
        read(policy_files.BASELINE_FILE, policy_files.read_baseline, ()),
        digests(lake),
    )


# -- one run ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The settings of a run of the application. `max_bad_ratio` is the share, from 0 to 1, of the lines of a part that
    may be unreadable.
    """

    lake: Lake
    inputs: Inputs
    max_bad_ratio: float = MAX_BAD_RATIO
    every: float = 1.0
    """The interval in seconds between two batches of a stream that runs continuously."""
    keep_days: float | None = None
    """The number of days for which rows that no history is made from are kept; None to keep them for ever."""
    topics: tuple[Topic, ...] = ()
    """The topics with request logs."""
    login: str = field(default="", repr=False)
    """The text of a Java login file (JAAS) for the topics; ``""`` if they need no login."""

    @property
    def root(self) -> str:
        """The lake's location as Spark needs it: `s3a://` in place of `s3://`."""
        return re.sub(r"\As3://", "s3a://", self.lake.where)


@contextmanager
def settings_of(plan: Plan) -> Iterator[Settings]:
    """Yield the settings of a plan's sources. Inside the ``with`` block, the lake's key and the access to its bucket
    are in files that only this user can read.
    """
    lake = plan.lake
    with tempfile.NamedTemporaryFile(prefix="kac-key-") as key, lake.files.lent() as store:
        key.write(lake.key())
        key.flush()
        yield Settings(lake.where, plan.inputs, key.name, plan.max_bad_ratio, begins(lake), store)


def begins(lake: Lake) -> dict[str, Offset]:
    """Return the name of each source that has lost its checkpoint -> its start offset (`begin_of`)."""
    return {name: at for name, of in SOURCES.items() if (at := begin_of(lake, name, of.table)) is not None}


def begin_of(lake: Lake, stream: str, table: str) -> Offset | None:
    """Return the start offset of a source that has lost its checkpoint: the end offset of the source in the newest
    commit of bronze. None if bronze has no commit of the source. Also None if the checkpoint has a completed
    batch, since Spark then does not ask for a start offset.
    """
    if batches(lake, stream)[1] is not None:
        return None
    found: Offset | None = next(ends(lake, stream, schema.TABLES[table]), {}).get("end")
    return found


@contextmanager
def recorded(lake: Lake, report: Report) -> Iterator[Callable[[], None]]:
    """Store the report of a run in the lake at the beginning and at the end of the ``with`` block, also if the block
    fails. Yield a function that stores the report meanwhile.
    """
    counted = {table: lake.version(table) for table in schema.TABLES.values()}
    lake.put_run(report.run_id, report.data())

    def keep() -> None:
        _count(lake, report, counted)
        report.ended = datetime.now(timezone.utc)
        lake.put_run(report.run_id, report.data())

    try:
        yield keep
    except BaseException as wrong:
        report.fail(_said_of(wrong))
        raise
    finally:
        ended(report)
        with suppress(OSError):
            keep()


def begun_report(job: str) -> Report:
    """Return the report of a run that begins now."""
    return Report(new_run_id(), job, datetime.now(timezone.utc), versions=versions())


@contextmanager
def refusals_recorded(lake: Lake, report: Report) -> Iterator[None]:
    """Store the report of a run as failed if the ``with`` block fails before `recorded` begins, for example because an
    input is refused.
    """
    try:
        yield
    except BaseException as wrong:
        if report.status != "failed":  # otherwise `recorded` has kept it
            keep_failure(lake, report, _said_of(wrong))
        raise


def keep_failure(lake: Lake, report: Report, message: str) -> None:
    """Store the report of a run as failed with this message; do nothing if the lake can't be written."""
    report.fail(message)
    with suppress(OSError, LakeError):
        lake.put_run(report.run_id, ended(report).data())


def _said_of(wrong: BaseException) -> str:
    """Return the message of an error for a report: the lake's own message, or only the class of any other error, whose
    text may contain values from the data.
    """
    return message_of(wrong) or type(wrong).__name__


def nothing_done() -> Report:
    """Return the report of a run that found no new data: done, without an id."""
    return ended(Report("", "update", datetime.now(timezone.utc)))


def ended(report: Report) -> Report:
    """Set the end of a report to the present time, and its status to done unless it failed; return the same report."""
    report.ended = datetime.now(timezone.utc)
    report.status = "done" if report.status == "running" else report.status
    return report


def _count(lake: Lake, report: Report, counted: dict[schema.Table, int]) -> None:
    """Add the rows and bytes in the run's commits of Delta to the report. counted: table -> the newest version that
    is already in the report; it is updated.
    """
    for table, before in counted.items():
        counted[table] = max(before, lake.version(table))
        for note in lake.commits(table):
            if note["version"] <= before:
                break
            if note["version"] > counted[table]:
                continue
            metrics = note.get("operationMetrics") or {}
            rows, size = (int(metrics.get(name, 0)) for name in ("numOutputRows", "numOutputBytes"))
            report.rows[table.name] = report.rows.get(table.name, 0) + rows
            report.bytes += size


class SparkFailed(Exception):
    """An error of Spark itself; the message has the name of the error, and the place is in Spark's log."""


_TOLD = re.compile(
    r"^(?:\w+\.)*(UnreadableInput|TooMuchIsBad|LogChangedError|ChangedWhileReadError|BadLanding|LeaseLost|StoreError"
    r"|LakeError): (.+(?:\n {2}\S.*)*)$",
    re.MULTILINE,
)
"""Matches an error of the lake at the end of a traceback from one of Spark's Python workers: its line, and the indented
lines below it.
"""


_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large")


def message_of(wrong: BaseException) -> str | None:
    """Return the lake's own message of an error, also if it was raised within Spark, or a message about a full disk;
    None for any other error.
    """
    text = str(wrong)
    if isinstance(wrong, LakeError | SparkFailed):
        return text
    if found := _TOLD.findall(text):
        return str(found[-1][1])
    if (room := _NO_ROOM.search(text)) is None:
        return None
    return f"{room[0]}: the lake, or Spark's folder for temporary files, needs more room; then run this again"


def is_refusal(wrong: BaseException) -> bool:
    """Return whether an error means that the input of one source is refused, also if the error was raised
    within Spark.
    """
    found = _TOLD.findall(str(wrong))
    return isinstance(wrong, UnreadableInput) or bool(found and found[-1][0] in ("UnreadableInput", "TooMuchIsBad"))


@contextmanager
def in_words() -> Iterator[None]:
    """Convert Spark's errors inside the ``with`` block to LakeError or SparkFailed: Spark's errors read their text from
    Java, which ends with the session. If an interrupt came before the error, raise KeyboardInterrupt instead.
    """
    try:
        yield
    except Exception as wrong:
        if interrupted(wrong):
            raise KeyboardInterrupt from wrong
        if type(wrong).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        if (said := message_of(wrong)) is not None:
            raise LakeError(said) from wrong
        condition = getattr(wrong, "getCondition", lambda: None)() or ""
        raise SparkFailed(f"it failed in Spark: {type(wrong).__name__} {condition}".rstrip()) from wrong


def kac_version() -> str:
    """Return the version of kac; empty under `spark-submit`, where it is not installed."""
    try:
        return version("kafka-admin-console")
    except PackageNotFoundError:
        return ""


def versions() -> dict[str, str]:
    """Return name -> version of the programs that run the application."""
    found = {"kac": kac_version(), "python": platform.python_version()}
    with suppress(PackageNotFoundError):
        found["pyspark"] = version("pyspark")
    return found


# -- progress of an application ----------------------------------------------------------------------------------------

SECONDS_BETWEEN = 0.25


@dataclass(frozen=True)
class Progress:
    """The progress of a job: the present step, and the tasks done in it."""

    job: str
    step: str
    """The name of the stream that the present step runs."""
    number: int
    """The number of the present step, from 1."""
    steps: int
    """The number of steps."""
    done: int = 0
    """The number of tasks of the step that are done."""
    total: int = 0
    """The number of tasks that Spark has planned so far, which may grow; 0 before any is known."""
    rows: int | None = None
    """The number of rows that a source's step has read; None until the step ends."""
    ended: bool = False


Listener = Callable[[Progress], None]


class Steps:
    """The steps of one job, reported to a listener."""

    def __init__(self, job: str, steps: int, listener: Listener) -> None:
        self._listener = listener
        self._at = Progress(job, "", 0, steps)

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[int], None]]:
        """Report the beginning, the progress and the end of a step, which is the ``with`` block. Yield a function to
        call with the number of rows that the step read.
        """
        self._at = at = replace(self._at, step=name, number=self._at.number + 1)
        rows: list[int] = []
        self._listener(at)
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(at, ended), name="lake progress", daemon=True)
        watch.start()
        try:
            yield rows.append
        finally:
            ended.set()
            watch.join()
        self._listener(replace(at, rows=sum(rows) if rows else None, ended=True))

    def _watch(self, at: Progress, ended: threading.Event) -> None:
        told = (0, 0)
        while not ended.wait(SECONDS_BETWEEN):
            if (now := _tasks()) != told:
                told = now
                self._listener(replace(at, done=now[0], total=now[1]))


def _tasks() -> tuple[int, int]:
    """Return the number of completed tasks and the number of all tasks in Spark's active stages; (0, 0) while Spark
    does not run.
    """
    context: Any = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    active: Any = getattr(context, "_active_spark_context", None)
    # During its start and after its stop, the SparkContext exists without its Java.
    if getattr(active, "_jsc", None) is None:
        return 0, 0
    tracker = active.statusTracker()
    found = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    stages = [each for each in found if each is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
