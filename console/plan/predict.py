"""The cluster as it will be once a plan is applied, as far as what was read tells.

Not predicted: where the partitions of a new or grown topic are placed and who leads them (unless assigned), which
default a new topic takes where no broker was read, and what predict_configs.py names.
"""

from __future__ import annotations

from console.model.snapshot import Snapshot
from console.plan.edit_kind import Batch
from console.plan.edits import Edit
from console.plan.kinds.registry import BATCHES, kind_of
from console.plan.plan import Plan


def predict(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot after every edit of the plan; parts that no edit touches are the same objects."""
    edits: dict[Batch, list[Edit]] = {}
    staged = [each.edit for each in plan.staged]
    implied = [each for edit in staged for each in kind_of(edit).implies(edit)]
    for edit in (*implied, *staged):
        edits.setdefault(kind_of(edit).batch, []).append(edit)
    for batch in BATCHES:
        if batch in edits:
            snapshot = batch.predict(snapshot, edits[batch])
    return snapshot
