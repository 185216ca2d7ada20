"""Compiles a plan: into as few requests as possible in a safe order, into the predicted cluster, and into commands of
Kafka's own tools for a runbook. `Batch` objects of `plan.kinds` do the work for each kind of edit.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from console.model.grouping import grouped
from console.model.snapshot import Snapshot
from console.plan.edit_kind import Batch
from console.plan.edits import ConfigEdit, Edit, Passed, SetFeature
from console.plan.effective_values import DiffGroup, DiffLine
from console.plan.kafka_tools import CONFIG_OPTION, Command
from console.plan.kinds.configs import BY_LEVEL
from console.plan.kinds.features import feature_of
from console.plan.kinds.registry import BATCHES, kind_of
from console.plan.plan import Plan
from console.plan.requests import Facts, Step
from console.plan.staged import Staged

# This module makes the fewest requests for a plan, in a safe order: additions come before removals
# (`kinds.registry.BATCHES`). Each batch is one request, split only at a controller's limit; for configs see
# config_requests.py.


def compile_plan(plan: Plan, facts: Facts) -> tuple[Step, ...]:
    """Return the requests that carry out a plan, in the order in which they are sent.

    Args:
        facts: facts about the present cluster: the reachable brokers, their APIs, and the number of ACLs.

    Returns:
        Steps with as few requests as the controller's limits allow; each edit is in exactly one. `Step.after` has the
        indexes in this tuple of the steps that have to succeed first.
    """
    creations = {each.edit.new_topic: kind_of(each.edit).batch for each in plan.staged if each.edit.new_topic}
    levels = {each.edit.name for each in plan.staged if isinstance(each.edit, SetFeature)}
    staged = grouped((_batch(each.edit, creations, levels), each) for each in plan.staged)
    steps: list[Step] = []
    places: dict[Batch, tuple[int, ...]] = {}
    letters: dict[Passed, list[int]] = {}
    for batch in BATCHES:
        after = places.get(batch.waits_for, ()) if batch.waits_for is not None else ()
        made = batch.steps(staged[batch], facts) if batch in staged else []
        places[batch] = tuple(range(len(steps), len(steps) + len(made)))
        for place, step in zip(places[batch], made, strict=True):
            for passed in {each for s in step.staged for each in s.edit.first_for}:
                letters.setdefault(passed, []).append(place)
        # Skip or delete records only after all dead letters for them are written.
        held = [_held(s.staged, letters) for s in made]
        # A request that waits for another batch can't be checked in advance: brokers validate against the present
        # cluster, which lacks the results of that batch.
        unchecked = bool(after) and batch.refused_before
        steps += [
            Step(
                s.request,
                s.staged,
                s.note or (batch.why if after else ""),
                (*after, *(places[batch][each] for each in s.after), *waits),
                unchecked or s.unchecked,
            )
            for s, waits in zip(made, held, strict=True)
        ]
    return tuple(steps)


def _held(staged: Iterable[Staged], letters: Mapping[Passed, Sequence[int]]) -> list[int]:
    """Return the indexes of the steps that write dead letters for the records which these edits skip or delete."""
    passed = {each.edit.passes for each in staged}
    return sorted({at for place, steps in letters.items() if place in passed for at in steps})


def _batch(edit: Edit, creations: dict[str, Batch], levels: Container[str]) -> Batch:
    """Return the batch that carries out an edit. A config that depends on a feature's level is in `BY_LEVEL` if the
    plan changes that level. Any other edit of a topic that the plan creates is in the creation's batch. All other
    edits are in the batch of their kind.

    Args:
        creations: topic that the plan creates -> the batch of its creation.
        levels: the features whose levels the plan changes.
    """
    if isinstance(edit, ConfigEdit) and feature_of(edit) in levels:
        return BY_LEVEL
    created = creations.get(edit.on_topic) if edit.on_topic is not None else None
    return kind_of(edit).batch if created is None else created


# The predicted cluster after a plan, as far as the snapshot shows it.
#
# Not predicted: the replicas and leaders of a new or grown topic's partitions (unless assigned), the defaults of a new
# topic if no broker was read, and the exceptions in predict_configs.py.


def predict(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Return the snapshot as it should be after every edit of the plan, for the parts that this snapshot has.

    Returns:
        A new snapshot; parts that no edit changes are the same objects, so that callers may compare identities.
    """
    staged = [each.edit for each in plan.staged]
    implied = [each for edit in staged for each in kind_of(edit).implies(edit)]
    # Implied edits come first: an edit staged for the same slot overrides them, as in the request.
    edits = grouped((kind_of(edit).batch, edit) for edit in (*implied, *staged))
    for batch in BATCHES:
        if batch in edits:
            snapshot = batch.predict(snapshot, edits[batch])
    return snapshot


def runbook(groups: Iterable[DiffGroup], connection: Sequence[str]) -> tuple[Command, ...]:
    """Return commands of Kafka's own tools that carry out a plan, in the order in which kac would send its requests.

    Args:
        groups: the plan's diff (`diff.diff`).
        connection: the options of the connection, such as ``--bootstrap-server HOST:PORT``, inserted in each command.
    """
    by_batch: dict[Batch, list[Command]] = {}
    together: dict[Batch, list[DiffLine]] = {}
    for group in groups:
        for batch, lines in _by_batch(group).items():
            by_batch.setdefault(batch, []).extend(batch.commands(group.target, lines))
            together.setdefault(batch, []).extend(lines)
    commands = (
        command
        for batch in BATCHES
        if batch in by_batch
        for command in (*by_batch[batch], *(batch.all_commands(together[batch]) if batch.all_commands else ()))
    )
    return tuple(_connected(command, connection) for command in commands)


def _connected(command: Command, connection: Sequence[str]) -> Command:
    words, at = command.words, command.connection_at
    if not words:
        return command
    given = (command.config_option if word == CONFIG_OPTION else word for word in connection)
    return command._replace(words=(*words[:at], *given, *(words[at:] if at is not None else ())))


def _by_batch(group: DiffGroup) -> dict[Batch, list[DiffLine]]:
    """Return batch -> the lines of a target that the commands of the batch carry out. If the target is a new topic,
    the creation's batch also has the lines of those configs that the command of the creation can set.
    """
    creation = next((kind_of(line.edit).batch for line in group.lines if line.edit.new_topic), None)
    found: dict[Batch, list[DiffLine]] = {}
    for line in group.lines:
        carried = creation is not None and bool(line.key) and creation.carries(line)
        batch = creation if creation is not None and carried else kind_of(line.edit).batch
        found.setdefault(batch, []).append(line)
    return found
