"""A proposal of moves as results: the moves, the partitions that can't move now, and each broker before and after.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import TypeVar

from msgspec.structs import replace

from console.answers.results import Row, Table, table_of
from console.language.interpret import command_of
from console.model.grouping import grouped
from console.model.numbers import json_text
from console.model.snapshot import ReadFailure
from console.operations.forecast import BrokerForecast, Forecast
from console.operations.goals import Goal, within_a_broker
from console.operations.proposal import Proposal
from console.operations.throttle import throttle_edits
from console.plan.amounts import byte_count, duration
from console.plan.edits import MoveReplicaDir, MoveReplicas
from console.plan.kinds.replica_dirs import directories_of
from console.present.columns import Columns
from console.present.moves import BROKERS_AFTER, DIR_MOVES, DIRS_AFTER, RELOCATIONS
from console.present.names import plural

R = TypeVar("R")
UNMOVED = "no replica has to move"
SOME = 2
"""Maximum number of partitions that a line names from a longer list."""


def moves_tables(
    goal: Goal, proposal: Proposal, said: Forecast, problems: tuple[ReadFailure, ...] = ()
) -> tuple[Table, ...]:
    """Return tables of the moves between brokers, the moves between directories, the partitions that can't move now,
    the brokers before and after, and the directories before and after. Tables that the proposal does not need are
    left out.
    """
    held = Table("held", (), tuple(map(_held_row, proposal.held)), notes=tuple(held_lines(proposal)))
    waiting = (held,) if proposal.held else ()
    notes = (*_notes(said), *(f"! {line}" for line in proposal.waits))
    within = within_a_broker(goal)
    found: list[Table] = []
    if proposal.moves or not within:
        found.append(table_of("moves", RELOCATIONS, proposal.moves, str(goal), UNMOVED))
    if proposal.dirs or within:
        # A list of replicas may need moves of both kinds; the notes on all of them are on the first table.
        title, empty = ("", "") if found else (str(goal), UNMOVED)
        found.append(table_of("dir_moves", DIR_MOVES, proposal.dirs, title, empty))
    found[0] = replace(found[0], notes=notes, problems=problems)
    found += waiting
    if proposal.moves or not within:
        found.append(table_of("brokers", BROKERS_AFTER, said.brokers, "brokers before → after"))
    if proposal.dirs or within:
        found.append(table_of("dirs", DIRS_AFTER, said.dirs, "directories before → after"))
    return tuple(found)


def _held_row(held: tuple[str, int, str]) -> Row:
    topic, number, why = held
    return Row((), {"topic": topic, "partition": number, "why": why})


def held_lines(proposal: Proposal) -> Iterator[str]:
    """Yield a line for each reason why partitions can't move: ``219 partitions can't move: …``, with some of their
    names.
    """
    by_reason = grouped((why, f"{topic}/{number}") for topic, number, why in proposal.held)
    for why, places in by_reason.items():
        if len(places) == 1:
            yield f"{places[0]} can't move: {why}"
        else:
            more = f" and {len(places) - SOME:,} more" if len(places) > SOME else ""
            yield f"{len(places):,} partitions can't move: {why} ({', '.join(places[:SOME])}{more})"


def _notes(said: Forecast) -> Iterator[str]:
    if not said.partitions and not said.replicas:
        return
    line = f"{moved_text(said)}, {byte_count(said.bytes)} to copy"
    if said.seconds is not None:
        line += f"; at least {duration(ceil(said.seconds) * 1000)} at the throttle"
    yield line
    if said.fewer_racks:
        topic, number = said.fewer_racks[0]
        others = f" and {len(said.fewer_racks) - 1:,} more" if len(said.fewer_racks) > 1 else ""
        yield f"! {topic}/{number}{others}: in fewer racks than before, since no other rack is left"


def moved_text(said: Forecast) -> str:
    """Return the number of moves as text: ``3 partitions``; ``3 replicas`` for replicas that stay on their broker; or
    both.
    """
    counts = [plural(said.partitions, "partition")] if said.partitions or not said.replicas else []
    return " and ".join([*counts, *([plural(said.replicas, "replica")] if said.replicas else [])])


MOST_LINES = 8
"""Maximum number of brokers, and of partitions that can't move, that a question lists."""


def forecast_lines(proposal: Proposal, said: Forecast, throttle: int | None) -> list[str]:
    """Return the lines of the question before an operation begins: its cost, the brokers or directories before and
    after it, and the partitions that can't move now. A line has at most 76 cells unless names are long.

    Args:
        throttle: bytes per second; None for no throttle.
    """
    lines = [line.removeprefix("! ") for line in _notes(said)] or ["no replica can move yet"]
    lines += proposal.waits
    lines += ["no throttle: copies take what disks and network give"] if throttle is None and said.bytes else []
    if said.dirs:
        lines += _lines_of(DIRS_AFTER.without({"broker"}), said.dirs, "directories")
    if said.partitions or not said.dirs:
        changed = [each for each in said.brokers if _changes(each)]
        lines += _lines_of(BROKERS_AFTER.without({"bytes", "read"}), changed, "brokers")
    return [*lines, *held_lines(proposal)]


def _lines_of(columns: Columns[R], rows: Sequence[R], what: str) -> Iterator[str]:
    """Yield at most `MOST_LINES` rows as right-aligned text below their headings, then the number of the other rows;
    nothing if there are no rows. what: the noun for the rows.
    """
    if not rows:
        return
    shown = [tuple(each.heading for each in columns.of("list")), *map(columns.texts, rows[:MOST_LINES])]
    widths = [max(map(len, cells)) for cells in zip(*shown, strict=True)]
    for cells in shown:
        yield "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    if len(rows) > MOST_LINES:
        yield f"and {len(rows) - MOST_LINES:,} more {what}"


def _changes(each: BrokerForecast) -> bool:
    return each.copied > 0 or each.read > 0 or each.replicas[0] != each.replicas[1] or each.leads[0] != each.leads[1]


# -- functions for other commands ------------------------------------------------------------------------------------


def moves_script(proposal: Proposal, throttle: int | None, said: Forecast) -> str:
    """Return the statements for ``kac run`` that stage a proposal.

    A throttle is limited to twice the forecast time plus an hour. The journal records an edit with such a limit before
    it is sent, so that `kac due` reverts the throttle even if the script or its process ends early.

    Args:
        throttle: bytes per second; None for no throttle.
    """
    lines = []
    if throttle is not None:
        hours = 1 + ceil(2 * (said.seconds or 0) / 3600)
        lines = [
            f"{command_of(each)} for {hours}h\n" for each in throttle_edits(proposal.moves, proposal.dirs, throttle)
        ]
    for move in proposal.moves:
        resize = len(move.after) != len(move.before)
        lines.append(f"{command_of(MoveReplicas(move.topic, move.number, move.after, resize))}\n")
    for each in proposal.dirs:
        lines.append(f"{command_of(MoveReplicaDir(*each.place, each.after))}\n")
    return "".join(lines)


def moves_json(proposal: Proposal) -> str:
    """Return the text of a file for kafka-reassign-partitions --reassignment-json-file."""
    partitions = [
        {"topic": move.topic, "partition": move.number, "replicas": list(move.after)} for move in proposal.moves
    ]
    within = directories_of((each.topic, each.number, each.replicas, each.broker, each.after) for each in proposal.dirs)
    return json_text({"version": 1, "partitions": [*partitions, *within]}) + "\n"
