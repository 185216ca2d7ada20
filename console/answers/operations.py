"""Operations and running moves as results. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from console.answers.results import Table, table_of
from console.model.journal_lines import Origin
from console.model.snapshot import ReadFailure, Snapshot
from console.operations.operation import Operation
from console.present import moves


def operations_table(some: Sequence[Operation], holder: Origin | None) -> Table:
    """Return operations with their progress. holder: the process that carries out the open operation; None if no
    process does.
    """
    rows = (moves.OperationRow(each, holder) for each in some)
    table = table_of("operations", moves.OPERATIONS, rows, "operations", "no operation is in the journal of this host")
    return replace(table, notes=tuple(_notes(some, holder)))


def _notes(some: Sequence[Operation], holder: Origin | None) -> Iterator[str]:
    for operation in some:
        if operation.ended is not None:
            continue
        if operation.progress is not None:
            for line in operation.progress.waits:
                yield f"! {operation.number} waits: {line}"
        if holder is not None:
            yield f"{operation.number}: process {holder.pid} on {holder.host} works on it"
        else:
            yield f"! {operation.number}: no process works on it; kac moves --continue does"


def running_moves_table(
    snapshot: Snapshot, operations: Sequence[Operation] = (), problems: tuple[ReadFailure, ...] = ()
) -> Table:
    """Return all running reassignments. operations: the open operations in this host's journal, to which moves may
    belong.
    """
    rows = moves.running_rows(snapshot, operations)
    return table_of("moves", moves.MOVES, rows, "moving now", "no partition moves", problems)


def dir_copies_table(
    snapshot: Snapshot, operations: Sequence[Operation] = (), problems: tuple[ReadFailure, ...] = ()
) -> Table:
    """Return the replicas that brokers copy from one log directory to another. operations: the open operations in
    this host's journal, to which copies may belong.
    """
    title = "copied between directories of a broker"
    empty = "no replica is copied between directories of a broker"
    return table_of("dir_copies", moves.COPIES, moves.copy_rows(snapshot, operations), title, empty, problems)
