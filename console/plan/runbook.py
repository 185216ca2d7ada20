"""The plan as commands of Kafka's own tools, for a runbook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.plan.edit_kind import Batch
from console.plan.effective_values import DiffGroup, DiffLine
from console.plan.kafka_tools import Command
from console.plan.kinds.registry import BATCHES, kind_of


def runbook(groups: Iterable[DiffGroup], connection: Sequence[str]) -> tuple[Command, ...]:
    """The commands, in the order in which a plan is sent. connection: ``--bootstrap-server HOST:PORT`` and the like."""
    by_batch: dict[Batch, list[Command]] = {}
    for group in groups:
        for batch, lines in _by_batch(group).items():
            by_batch.setdefault(batch, []).extend(batch.commands(group.target, lines))
    commands = (command for batch in BATCHES for command in by_batch.get(batch, ()))
    return tuple(
        command._replace(words=(*command.words, *connection)) if command.words else command for command in commands
    )


def _by_batch(group: DiffGroup) -> dict[Batch, list[DiffLine]]:
    """The lines of a target by the batch whose command has them: the one that creates a topic takes what it can."""
    creation = next((kind_of(line.edit).batch for line in group.lines if line.edit.new_topic), None)
    found: dict[Batch, list[DiffLine]] = {}
    for line in group.lines:
        carried = creation is not None and bool(line.key) and creation.carries(line)
        batch = creation if creation is not None and carried else kind_of(line.edit).batch
        found.setdefault(batch, []).append(line)
    return found
