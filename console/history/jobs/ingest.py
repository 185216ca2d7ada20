"""Takes in what is new in metadata logs, request logs and journals; commits rows and places read to at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from console.history.jobs.plan_inputs import owned
from console.history.jobs.record import (
    MAX_BAD_RATIO,
    Report,
    Taken,
    TooMuchIsBad,
    UnreadableInput,
    judge,
    note_versions,
)
from console.history.jobs.take import Session, Watch, take_journals, take_metadata_logs, take_request_logs
from console.history.store.write import writing
from console.model.numbers import decimal_number, option

from ..requests.files import LogChangedError
from ..store import Lake
from ..store.release import KEEP
from .check_clocks import check_clocks
from .inputs import Inputs
from .progress import Listener, Steps, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = "ingest"
ATTEMPTS = 3


def ingest(
    session: Session | None,
    lake: Lake,
    inputs: Inputs,
    progress: Listener = silent,
    *,
    max_bad_ratio: float = MAX_BAD_RATIO,
    keep: int = KEEP,
) -> Report:
    """Takes in what was not yet: the same inputs again are no change. Where a log is rotated away while it is read,
    nothing of the attempt holds, and all is planned again, `ATTEMPTS` times at most.

    session: of the executors that read request logs; None: processes of this machine read all. max_bad_ratio: the share
    of lines or batches, from 0 to 1, of each kind of input that may be unreadable. What is unreadable is in the table
    `quarantine`, its secrets taken out.

    TooMuchIsBad: more is; nothing is taken in, and the run is among those that failed. UnreadableInput, OSError: an
    input is not what it should be, or can't be read. LakeBusy.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(LogChangedError):
            return _ingest(session, lake, inputs, progress, max_bad_ratio, keep)
    try:
        return _ingest(session, lake, inputs, progress, max_bad_ratio, keep)
    except LogChangedError as changed:
        raise UnreadableInput(
            f"{changed}. It was tried {ATTEMPTS} times, and nothing was taken in. If logs are deleted sooner than they "
            "are read, keep more of them; then run it again."
        ) from changed


def _ingest(
    session: Session | None, lake: Lake, inputs: Inputs, progress: Listener, max_bad_ratio: float, keep: int
) -> Report:
    """An attempt. LogChangedError: a log was rotated away meanwhile; nothing of it holds."""
    began = time.monotonic()
    read = msgspec.to_builtins(inputs)
    with writing(lake, JOB, keep=keep, inputs=read) as write:
        note_versions(write)
        metadata, alone = inputs.metadata_logs, session is not None
        kinds: list[tuple[str, object, Callable[[Watch], Taken]]] = [
            ("metadata log", metadata, lambda watch: take_metadata_logs(write, metadata, watch, alone=alone)),
            ("request log", inputs.request_logs, lambda watch: take_request_logs(session, write, owned(inputs), watch)),
            ("journal", inputs.journals, lambda _: take_journals(write, inputs.journals)),
        ]
        given = [(name, take) for name, of_kind, take in kinds if of_kind]
        steps = Steps(JOB, len(given), progress)
        taken = []
        for name, take in given:
            with steps.step(name) as wrote:
                before = sum(write.rows.values())
                taken.append(take(steps.done))
                wrote(sum(write.rows.values()) - before)
        told = check_clocks(write, inputs.request_logs)
        rows = dict(write.rows)
        quarantined = sum(each.bad for each in taken)
        try:
            judge(taken, max_bad_ratio)
        except TooMuchIsBad as bad:
            write.fail(str(bad), inputs=read, quarantined=quarantined)
            raise
        by_kind = {each.source: {"good": each.good, "bad": each.bad} for each in taken}
        write.commit(inputs=read, quarantined=quarantined, taken=by_kind)
    notes = [f"Took over the lock of a run that died: {write.taken_over}."] if write.taken_over else []
    return Report(
        write.run_id,
        JOB,
        rows,
        quarantined,
        sum(each.unchanged for each in taken),
        time.monotonic() - began,
        (*notes, *(note for each in taken for note in each.notes), *told),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Under `spark-submit`: the report as JSON on standard output; 0, or 1 with why on standard error."""
    from console.history.jobs.submit import lake_at, parser, submitted

    options = parser(JOB, "Takes in what is new in logs and journals.")
    options.add_argument("inputs", help="a JSON file, or the JSON itself: metadata_logs, request_logs, journals")
    options.add_argument(
        "--max-bad-ratio", type=option(decimal_number, 0, 1), default=MAX_BAD_RATIO, help="(default: %(default)s)"
    )
    given = options.parse_args(argv)
    try:
        text = given.inputs if given.inputs.lstrip().startswith("{") else Path(given.inputs).read_text("utf-8")
        inputs = msgspec.json.decode(text, type=Inputs)
    except (OSError, ValueError) as wrong:
        options.error(f"the inputs can't be read: {wrong}")

    def run(spark: SparkSession) -> Report:
        lake = lake_at(spark, given.lake, create=True)
        return ingest(lambda: spark, lake, inputs, max_bad_ratio=given.max_bad_ratio, keep=given.keep)

    return submitted(JOB, run)


if __name__ == "__main__":
    sys.exit(main())
