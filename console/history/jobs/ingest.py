"""Takes in what is new in metadata logs, request logs and journals; commits rows and places read to at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from console.history.jobs.inputs import Inputs, owned
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

from ..requests.files import LogChangedError
from ..store import Lake
from ..store.release import KEEP
from .check_clocks import check_clocks
from .progress import Listener, Steps, silent

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
