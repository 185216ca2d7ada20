"""Takes in kac's journals; without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from console.history.journals import merge_journal, read_journals
from console.history.schema import JOURNAL

from ..store import parquet_files
from ..store.write import Write
from .inputs import Journals
from .nothing_new import JOURNAL_REMEMBERED
from .quarantined import quarantine_arrow
from .taken import Taken


def take_journals(write: Write, journals: Sequence[Journals]) -> Taken:
    """What is new in these journals. A change that is told of again, now with its end, replaces what was there."""
    known = {
        key.removeprefix(JOURNAL_REMEMBERED): value
        for key, value in write.manifest.inputs.items()
        if key.startswith(JOURNAL_REMEMBERED)
    }
    rows, bad, now = read_journals([each.path for each in journals], known)
    for cluster_id in rows.column("cluster_id").unique().to_pylist():
        _merge(write, rows.filter(pc.equal(rows.column("cluster_id"), cluster_id)))
    quarantined = quarantine_arrow(write, bad)
    write.remember({f"{JOURNAL_REMEMBERED}{path}": value for path, value in now.items()})
    unchanged = sum(known.get(path) == value for path, value in now.items())
    return Taken("journal", "lines", rows.num_rows, quarantined, unchanged)


def _merge(write: Write, rows: pa.Table) -> None:
    """rows: of one cluster, which is one partition."""
    files = write.lake.filesystem
    fitted = parquet_files.fitted(JOURNAL, rows, write.run_id)
    ((partition, _),) = parquet_files.split(JOURNAL, fitted)
    paths = write.lake.files(write.draft, JOURNAL, [partition])
    merged = merge_journal(parquet_files.read(files, paths, JOURNAL), fitted)
    write.replace(JOURNAL.name, write.put_arrow(JOURNAL.name, merged))
