"""Commands that may run from cron: ``kac due`` reverts changes with a limited duration, ``kac leftovers`` finds
replication throttles that no reassignment uses.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from console.answers.results import Column, Printer, Row, Table
from console.cli.opening import DONE, FAILED, UNAPPLIED, with_session
from console.language.interpret import command_of
from console.language.snapshot_parts import Needs
from console.model.codes import BROKER, TOPIC
from console.model.config import CLUSTER_DEFAULT
from console.model.numbers import natural_number, option
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import SetConfig
from console.plan.stale_throttles import LOG_DIRS_RATE, RATES, StaleThrottle, stale_throttles
from console.present import names
from console.present.values import config_value
from console.session.reading import read_needs
from console.terminal import complain, leave, put

if TYPE_CHECKING:
    from console.journal.history import Change
    from console.operations.operation import Operation
    from console.session.operating import Operations
    from console.session.session import Session


def due_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac due``."""
    parser.add_argument("--apply", action="store_true", help="revert all changes that are due")
    accept = "with --apply: continue in spite of these warnings"
    parser.add_argument("--accept", metavar="NAME[=SUBJECT],…", default="", help=accept)
    parser.add_argument(
        "--forget", metavar="CHANGE", type=option(natural_number), help="keep the values of this expiring change"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_due(options: argparse.Namespace) -> int:
    """Print the changes with a limited duration; revert those whose duration has ended, or make one permanent.

    Returns:
        The exit code: 0 done, or nothing was due; 1 a change could not be reverted, or the change to make permanent has
        no edit with a limited duration; 2 no context; 3 warnings about a revert are not accepted.
    """
    from datetime import UTC, datetime

    from console.answers.history_results import ahead_lines
    from console.plan.risk_rules import accepted
    from console.session.due import due_table, forget, take_back
    from console.session.former_changes import read_open, reconcile_open
    from console.session.terminal_front import Terminal

    tell = Printer(options.output)

    async def work(session: Session) -> int:
        journal = await session.journal()
        await reconcile_open(session.client, session.context, session.snapshot, journal)
        session.former_told = True
        if options.forget is not None:
            kept = await forget(journal, options.forget)
            complain(f"{kept} edits of change {options.forget} are to stay")
            return DONE if kept else FAILED
        if options.apply:
            now = datetime.now(UTC)
            if all(due.until > now for due in (await read_open(journal)).expiring()):
                return leave(DONE, "nothing is due")
            taken = await take_back(session, tell, Terminal(), accepted(options.accept))
            return FAILED if taken.failed else UNAPPLIED if taken.warned else DONE
        past = await read_open(journal)
        for line in (*past.problems, *ahead_lines(past.changes.values(), datetime.now(UTC))):
            complain(line)
        tell(due_table(past.expiring(), datetime.now(UTC)))
        return DONE

    return with_session(options, "due", work)


def leftovers_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac leftovers``."""
    parser.add_argument(
        "--script", action="store_true", help="print the commands that remove the throttles, for kac run -f -"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_leftovers(options: argparse.Namespace) -> int:
    """Print replication throttles that no reassignment uses any more, or the commands that remove them.

    Returns:
        The exit code: 0 printed, whatever was found; 1 failed; 2 no context.
    """
    left = with_session(options, "leftovers", read_leftovers)
    if isinstance(left, int):
        return left
    free = [each for each in left.throttles if _is_free(each, left.owners)]
    if options.script:
        put("".join(f"{removal_command(each)}\n" for each in free))
        return DONE
    Printer(options.output)(stale_throttles_table(left.throttles, left.cluster, left.owners, left.changes))
    if free and options.output == "text":
        put("\nto remove them: kac leftovers --script | kac run -f -   (and apply --yes after a look)\n")
    return DONE


# `kac leftovers`: replication throttles that no reassignment uses any more, and the commands that remove them.

_NEEDS = Needs(
    parts=frozenset({Part.CLUSTER, Part.REASSIGNMENTS, Part.LOG_DIRS, Part.TOPICS}),
    every=frozenset({BROKER, TOPIC}),
    resources=frozenset({CLUSTER_DEFAULT}),
)
_NO_OWNERS: Mapping[StaleThrottle, Operation] = {}
CHANGES = 10_000
"""Maximum number of changes in the journal, the latest first, among which the change that set a throttle is
searched.
"""
ENDED = 100
"""Maximum number of ended operations among which the one that left a throttle is searched."""
_COLUMNS = tuple(map(Column, ("Entity", "Key", "Value", "Why", "Owner")))
UNKNOWN_OWNER = "unknown"


class Leftovers(NamedTuple):
    """Throttles that no reassignment uses, and the snapshot of the cluster, whose failures show which reads failed."""

    throttles: tuple[StaleThrottle, ...]
    cluster: Snapshot
    owners: Mapping[StaleThrottle, Operation]
    """Throttle -> the operation in this host's journal that set it. An open operation will remove the throttle itself;
    an ended one has left it.
    """
    changes: Mapping[StaleThrottle, int]
    """Throttle -> the number of the change in this host's journal by which an operator set it."""


async def read_leftovers(session: Session) -> Leftovers:
    """Read the cluster's unused throttles, except those that the context keeps on purpose, and the origins of the
    throttles in this host's journal; no origins if there is no journal. Raises Refused, AdminError.
    """
    from console.session.former_changes import any_journal
    from console.session.journal_changes import read_latest
    from console.session.operating import read_operations

    cluster, meant = await read_needs(session, _NEEDS), session.context.throttles
    found = tuple(each for each in stale_throttles(cluster) if (each.edit.resource, each.edit.key) not in meant)
    if not found or not any_journal(os.environ):
        return Leftovers(found, cluster, {}, {})
    owners = _owners(found, await read_operations(session, ended=ENDED))
    others = [each for each in found if each not in owners]
    changes: Mapping[StaleThrottle, int] = {}
    if others and session.context.journal:
        changes = await read_latest(await session.journal(), partial(_changes, others))
    return Leftovers(found, cluster, owners, changes)


def _owners(throttles: Iterable[StaleThrottle], known: Operations) -> dict[StaleThrottle, Operation]:
    owners: dict[StaleThrottle, Operation] = {}
    for operation in (*known.open, *(each for each in known.ended if each.gives_up)):
        for each in throttles:
            if operation.owned().has(each):
                owners.setdefault(each, operation)
    return owners


def _changes(throttles: Iterable[StaleThrottle], latest: Iterator[Change]) -> dict[StaleThrottle, int]:
    """Return throttle -> the number of the last applied change of its key. A throttle is missing if that change did not
    set the throttle's present value, or is not in `latest`.

    Args:
        latest: the changes in the journal, the latest first, of which the first `CHANGES` are searched.
    """
    from console.journal.history import State

    wanted = {each.edit.slot: each for each in throttles}
    made: dict[StaleThrottle, int] = {}
    for change in islice(latest, CHANGES):
        for place in change.in_state(State.APPLIED):
            edit = change.entries[place].staged.edit
            throttle = wanted.pop(edit.slot, None)
            if throttle is not None and isinstance(edit, SetConfig) and edit.value == throttle.value:
                made[throttle] = change.number
        if not wanted:
            break
    return made


def stale_throttles_table(
    throttles: tuple[StaleThrottle, ...],
    snapshot: Snapshot,
    owners: Mapping[StaleThrottle, Operation] = _NO_OWNERS,
    changes: Mapping[StaleThrottle, int] = MappingProxyType({}),
) -> Table:
    """Return a table of the throttles that can be removed, each with the reason and its origin, as far as the journal
    has it. The table's problems are the reads that failed.

    Args:
        owners: throttle -> the operation that set it; throttles of an open operation are not removable by hand.
        changes: throttle -> the number of the change by which an operator set it.
    """
    rows = tuple(
        Row(
            (
                names.target(each.edit.target),
                each.edit.key,
                _value(each),
                each.why,
                _owner(owners.get(each), changes.get(each)),
            ),
            {
                "entity": names.target(each.edit.target),
                "key": each.edit.key,
                "value": each.value,
                "why": each.why,
                "operation": owners[each].number if each in owners else None,
                "change": changes.get(each),
                "given_up": each in owners and owners[each].ended is not None,
                "command": removal_command(each),
            },
        )
        for each in throttles
    )
    parts = (Part.REASSIGNMENTS, Part.LOG_DIRS, Part.TOPICS, Part.CONFIGS)
    problems = tuple(failed for failed in snapshot.failures if failed.part in parts)
    return Table("leftovers", _COLUMNS, rows, empty="no throttle is left over", problems=problems)


def _owner(operation: Operation | None, change: int | None) -> str:
    if operation is None:
        return UNKNOWN_OWNER if change is None else f"change {change} of this journal"
    how = "takes it off" if operation.ended is None else "gave it up"
    return f"operation {operation.number}, which {how}"


def _is_free(throttle: StaleThrottle, owners: Mapping[StaleThrottle, Operation]) -> bool:
    """Return whether no open operation will remove the throttle itself."""
    return throttle not in owners or owners[throttle].ended is not None


def _value(each: StaleThrottle) -> str:
    human = config_value(each.edit.key, each.value) if each.edit.key in (*RATES, LOG_DIRS_RATE) else ""
    return f"{each.value} ({human})" if human else each.value


def removal_command(each: StaleThrottle) -> str:
    """Return the statement of the command language that stages the removal of a throttle."""
    return command_of(each.edit)
