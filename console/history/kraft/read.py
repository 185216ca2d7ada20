"""A metadata log as Arrow batches of `kraft_record`, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from .decoder import ChangedWhileReadError, Decoder, Origin, Report
from .plan import LogPlan, Split, plan_log


def read_log(
    folders: Iterable[str],
    key: bytes | None,
    report: Report,
    *,
    cluster_id: str | None = None,
    start_offset: int = 0,
    end_offset: int | None = None,
) -> tuple[LogPlan, Iterator[pa.RecordBatch]]:
    """Look through a log, then read it as the batches are taken. Options as `plan_log` has them.

    The plan tells where to begin the next time. The rows have `kraft_record`'s columns less `run_id`, in the order of
    files. key: for the HMAC of secrets, None for none. report: is told of what can't be read, damaged batches first.
    Raises NoMetadataLogError, OSError; while batches are taken ChangedWhileReadError.
    """
    plan = plan_log(folders, cluster_id=cluster_id, start_offset=start_offset, end_offset=end_offset)
    for trouble in plan.troubles:
        report(trouble)
    return plan, read_splits(plan.splits, key, report)


def read_splits(splits: Iterable[Split], key: bytes | None, report: Report) -> Iterator[pa.RecordBatch]:
    """The rows of some splits, with one decoder that remembers what recurs. Raises ChangedWhileReadError, OSError."""
    decoder = Decoder(key, report)
    for split in splits:
        file = split.file
        origin = Origin(file.cluster_id, file.path, file.name, file.offset if file.is_snapshot else None, split.at)
        yield from decoder.rows(_bytes_of(split), origin, split.wants if split.dropped else None)


def _bytes_of(split: Split) -> bytes:
    try:
        with Path(split.file.path).open("rb") as file:
            file.seek(split.at)
            data = file.read(split.end - split.at)
    except FileNotFoundError as gone:
        raise ChangedWhileReadError(
            f"{split.file.path} was deleted while it was about to be read, as brokers do with old segments. "
            "Nothing was taken from it; run it again, a snapshot has what it said"
        ) from gone
    if len(data) < split.end - split.at:
        raise ChangedWhileReadError(
            f"{split.file.path} is shorter than a moment ago: the broker cut its log. Nothing was taken; run it again"
        )
    return data
