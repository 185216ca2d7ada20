"""Looks whether there is anything new to take in, before Spark is started for it; without Spark."""

from __future__ import annotations

import time
from dataclasses import replace

from console.history.journals import read_journals
from console.history.store.write import writing

from ..cluster_ids import id_problem
from ..store import Lake
from ..store.sweep import KEEP
from .inputs import Inputs, RequestLog
from .plan_metadata_logs import folders_of, plan_metadata_logs, remembered
from .plan_request_logs import plan_request_logs
from .report import Report
from .taken import UnreadableInput

JOB = "ingest"
JOURNAL_REMEMBERED = "journal:"


def nothing_new(lake: Lake, inputs: Inputs, *, keep: int = KEEP) -> Report | None:
    """The report of a run that took in nothing, which it commits; None where there is something, or where something is
    damaged: then nothing is written. UnreadableInput, LakeBusy, OSError."""
    began = time.monotonic()
    read = inputs.as_json()
    with writing(lake, JOB, keep=keep, inputs=read) as write:
        logs = plan_metadata_logs(write, inputs.metadata_logs)
        if any(each.plan.splits or each.plan.troubles for each in logs):
            return None
        requests = plan_request_logs(write.manifest.inputs, owned(inputs))
        if requests.logs:
            return None
        known = {
            key.removeprefix(JOURNAL_REMEMBERED): value
            for key, value in write.manifest.inputs.items()
            if key.startswith(JOURNAL_REMEMBERED)
        }
        rows, bad, now = read_journals([each.path for each in inputs.journals], known)
        if rows.num_rows or bad.num_rows:
            return None
        write.remember(remembered(logs))
        write.remember(requests.remember)
        write.remember({f"{JOURNAL_REMEMBERED}{path}": value for path, value in now.items()})
        write.commit(inputs=read)
    unchanged = len(logs) + requests.unchanged + sum(known.get(path) == value for path, value in now.items())
    notes = (f"Took over the lock of a run that died: {write.taken_over}.",) if write.taken_over else ()
    return Report(write.run_id, JOB, {}, 0, unchanged, time.monotonic() - began, notes)


def owned(inputs: Inputs) -> list[RequestLog]:
    """The request logs, each with its cluster: one that names none is of the cluster whose metadata log is read.
    UnreadableInput: there is none, or more than one; an id can't be kept."""
    for log in inputs.request_logs:
        if log.cluster_id and (problem := id_problem(log.cluster_id)):
            raise UnreadableInput(f"The request log of broker {log.broker_id}: {problem}.")
    if all(log.cluster_id for log in inputs.request_logs):
        return list(inputs.request_logs)
    clusters = list(folders_of(inputs.metadata_logs))
    if len(clusters) != 1:
        raise UnreadableInput("A request log does not say whose it is: name its cluster's id, lines do not have it.")
    return [replace(log, cluster_id=log.cluster_id or clusters[0]) for log in inputs.request_logs]
