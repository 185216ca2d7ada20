"""``kac lake run``: takes in and builds what is new, round by round in one process, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.cli.lake import lake_of_options, open_lake, seconds_between, write_metrics
from console.cli.lake_jobs import (
    inputs_of,
    keep_of,
    log_failure,
    of_spark,
    on_a_cluster,
    report_text,
    started_once,
    words,
)
from console.cli.opening import DONE, USAGE, open_log_file
from console.model.numbers import time_of_day
from console.terminal import complain, put

if TYPE_CHECKING:
    from console.history.jobs.inputs import Inputs
    from console.history.jobs.record import Report
    from console.history.store import Lake
    from console.lake.progress import Shown

EVERY = 20.0
"""Seconds between two rounds."""
_ASKED = 25
_PATIENCE = 0.2
"""How often, and after how many seconds, a round asks for the lake again that another run writes to."""


def run_rounds(options: argparse.Namespace) -> int:
    """0 ended by Ctrl-C or SIGTERM, 2 not understood; the lake's own errors before the first round."""
    from console.lake.progress import shown

    follows = hasattr(options, "controller") or hasattr(options, "request_topic")
    try:
        every = seconds_between(getattr(options, "every", None)) or EVERY
    except ValueError as error:
        complain(str(error))
        return USAGE
    where = lake_of_options(options)
    inputs = inputs_of(options, where, needed=not follows)
    if isinstance(inputs, int):
        return inputs
    open_log_file()
    lake = open_lake(options, create=True)
    stop = threading.Event()
    try:
        with shown() as progress, ended_by_signals(), ExitStack() as open_things:
            if follows:
                open_things.enter_context(_following(options))
            rounds = _Rounds(options, lake, inputs, progress, open_things.enter_context(ExitStack()))
            while True:
                rounds.once()
                stop.wait(every)
    except KeyboardInterrupt:
        return DONE


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """For the context SIGTERM does what Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _following(options: argparse.Namespace) -> Iterator[None]:
    """The metadata log is followed beside, in a thread."""
    from console.cli.lake_follow import follow_until

    stop = threading.Event()
    thread = threading.Thread(target=follow_until, args=(options, stop), name="follow")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _all_there(inputs: Inputs) -> Inputs:
    """The same. Raises UnreadableInput for what is missing."""
    from console.history.jobs.record import UnreadableInput
    from console.lake.sources import missing

    if absent := "; ".join(missing(inputs)):
        raise UnreadableInput(absent)
    return inputs


class _Rounds:
    """What one round after the other does. session: where Spark is entered, once it is needed."""

    def __init__(
        self, options: argparse.Namespace, lake: Lake, inputs: Inputs | None, progress: Shown, session: ExitStack
    ) -> None:
        self._options = options
        self._lake = lake
        self._inputs = inputs
        self._progress = progress
        self._session = session
        self._started = started_once(options, session, progress)
        self._failed: dict[str, str] = {}

    def once(self) -> None:
        """Takes in what is new, and builds what follows from it. What fails is said once, and tried the next time."""
        inputs = self._inputs
        if inputs is not None and not self._did("ingest", lambda: self._take_in(_all_there(inputs))):
            # One input that is broken does not keep the others out.
            for number, part in enumerate(_parts(inputs), 1):
                self._did(f"ingest of input {number}", lambda part=part: self._take_in(part))  # type: ignore[misc]
        self._did("build", self._build)
        write_metrics(self._options, self._lake)

    def _take_in(self, inputs: Inputs) -> Report | None:
        from console.history.jobs.inputs import anything_new

        if not anything_new(self._lake, inputs):
            return None
        from console.history.jobs.ingest import ingest
        from console.history.jobs.record import MAX_BAD_RATIO

        ratio = getattr(self._options, "max_bad_ratio", MAX_BAD_RATIO)
        keep = keep_of(self._options)
        executors = self._started if on_a_cluster(self._options) else None
        return ingest(executors, self._lake, inputs, self._progress.step, max_bad_ratio=ratio, keep=keep)

    def _build(self) -> Report | None:
        from console.history.jobs.plan_build import nothing_to_build

        if nothing_to_build(self._lake) is not None:
            return None
        from console.history.jobs.build import build

        return build(self._started, self._lake, progress=self._progress.step, keep=keep_of(self._options))

    def _did(self, name: str, job: Callable[[], Report | None]) -> bool:
        """Whether it was done, or waits for another run; what it did is reported."""
        from console.history.jobs.interrupts import interrupted

        try:
            report = _patiently(job)
        except Exception as error:
            if interrupted(error):
                raise KeyboardInterrupt from error
            line = words(error).rstrip(".")
            if self._failed.get(name) != line:
                log_failure(name, error)
                complain(f"{time_of_day(datetime.now(UTC))}  {name}: {line}. It is tried again.")
            self._failed[name] = line
            if of_spark(error):  # Java may have ended
                self._session.close()
                self._started = started_once(self._options, self._session, self._progress)
            return False
        if self._failed.pop(name, None) is not None:
            put(f"{time_of_day(datetime.now(UTC))}  {name}: it works again\n")
        if report is not None:
            put(f"{time_of_day(datetime.now(UTC))}  {report_text(self._options, report)}")
        return True


def _patiently(job: Callable[[], Report | None]) -> Report | None:
    """Waits for another run that writes, for a few seconds; then for the next round: None."""
    from console.history.store import LakeBusy

    for _ in range(_ASKED):
        try:
            return job()
        except LakeBusy:
            threading.Event().wait(_PATIENCE)
    return None


def _parts(inputs: Inputs) -> Iterator[Inputs]:
    """Each input by itself; none where there is one. A request log that names no cluster needs the metadata logs."""
    from console.history.jobs.inputs import Inputs

    if len(inputs.metadata_logs) + len(inputs.request_logs) + len(inputs.journals) < 2:
        return
    yield from (Inputs(metadata_logs=(each,)) for each in inputs.metadata_logs)
    for each in inputs.request_logs:
        yield Inputs(metadata_logs=() if each.cluster_id else inputs.metadata_logs, request_logs=(each,))
    yield from (Inputs(journals=(journal,)) for journal in inputs.journals)
