"""Texts about failed reads and actions, one line each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Sequence

from console.model.entity_types import BY_NUMBER
from console.model.failure import Failure, sentences
from console.model.parts import Part, about
from console.model.snapshot import ReadFailure, Snapshot
from console.plan.plan import StageReport
from console.present.names import plural, target
from console.present.text import Line, clean


def failure_text(failure: Failure) -> str:
    """Return the name of a failure, the broker's message and the remedy, with invisible characters escaped."""
    text = clean(str(failure), 400)
    return sentences(text, clean(failure.remedy, 300))


def unread(
    snapshot: Snapshot, parts: Collection[str], concerns: Callable[[ReadFailure], bool] = lambda _failure: True
) -> Line:
    """Return a line about failed reads: ``12 topics not shown: TOPIC_AUTHORIZATION_FAILED``.

    Args:
        snapshot: the snapshot with the failures.
        parts: the names of the parts that a pane shows. The line is about a single part: of those with failures, the
            first by name.
        concerns: returns whether a failure matters to the pane.

    Returns:
        An empty line if there are no such failures.
    """
    # The message line has room for one reason: take the first by name, so that it stays the same after each refresh.
    for part in sorted(parts):
        failures = [f for f in snapshot.failures if f.part == part and concerns(f)]
        if not failures:
            continue
        first, said = failures[0], about(part)
        if first.entity and said.entity:
            what = f"{plural(len(failures), said.entity, said.entities)} not shown"
            if len(failures) == 1:
                what = f"{clean(_entity(first), 80)} not shown"
        else:
            what = f"{said.noun} not read"
        return [(f"{what}: ", "failed"), (failure_text(first.failure), "")]
    return []


def _entity(failed: ReadFailure) -> str:
    """Return the name of the entity that could not be read."""
    kind, _, name = failed.entity.partition(" ")
    named = {each.name.lower(): each.word for each in BY_NUMBER.values()}
    return f"{named[kind]} {name}" if failed.part == Part.CONFIGS and kind in named else failed.entity


def nothing_text(snapshot: Snapshot, part: str, empty: str, width: int) -> str:
    """Return the text of a table without rows: why the part could not be read; else `empty`.

    Args:
        part: the name of a part of the snapshot, such as ``topics``.
        empty: the text if the part was read.
        width: the width of the screen, in cells.
    """
    return wrapped("".join(text for text, _ in unread(snapshot, {part})), width) or empty


def wrapped(text: str, width: int) -> str:
    """Return a text for a table without rows, wrapped for a screen of `width` cells."""
    return "\n".join(part for line in text.splitlines() for part in textwrap.wrap(line, max(20, width - 6)))


def left_out_text(names: Sequence[str]) -> str:
    """Return the note that an edit leaves out marked rows that are hidden; ``""`` if there are none.

    Args:
        names: the names of these rows, with invisible characters escaped.
    """
    return f"; not for {_some(names)}: marked, but not shown (Esc takes a filter away)" if names else ""


def spared_text(names: Sequence[str]) -> str:
    """Return the note that a deletion of several topics leaves out Kafka's internal ones; ``""`` if there are none.

    Args:
        names: the names of these topics, with invisible characters escaped.
    """
    return f"; not {_some(names)}: Kafka's own, deleted by its name alone (delete topic NAME)" if names else ""


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def staged_text(report: StageReport) -> tuple[str, str]:
    """Return the outcome of staging edits as a line, and the meaning of its colour. A refusal includes its remedy."""
    said: list[str] = []
    if report.added:
        first = report.added[0].edit
        what = f"{target(first.target)} {clean(first.key)}".strip()
        said.append(f"staged: {what}" if len(report.added) == 1 else f"staged: {len(report.added)} edits")
    if report.dropped:
        dropped = report.dropped[0]
        more = f" and {len(report.dropped) - 1} more" if len(report.dropped) > 1 else ""
        said.append(f"not needed{more}: {clean(dropped.reason, 300)}")
    if report.refused:
        refused = report.refused[0]
        more = f" and {len(report.refused) - 1} more" if len(report.refused) > 1 else ""
        said.append(f"refused{more}: {sentences(clean(refused.reason, 300), clean(refused.remedy, 300))}")
    return "; ".join(said) or "nothing to stage", "failed" if report.refused else "pending" if report.added else "muted"


def how_to_settle(number: int) -> str:
    """Return the command with which the operator records the outcome of a change whose outcome is unknown.

    Args:
        number: the number of the change in the journal.
    """
    return f"look at the cluster, then say how it ended: kac history --settle {number} applied|not-applied"
