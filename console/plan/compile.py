"""From a plan to the fewest requests that carry it, in an order that is safe.

What is added comes before what is taken away (`kinds.registry.BATCHES`). Each batch is one request, cut only where a
controller's limit needs it; for configs see config_requests.py.
"""

from __future__ import annotations

from console.plan.edit_kind import Batch
from console.plan.edits import Edit
from console.plan.kinds.registry import BATCHES, kind_of
from console.plan.plan import Plan
from console.plan.requests import Facts, Step
from console.plan.staged import Staged


def compile_plan(plan: Plan, facts: Facts) -> tuple[Step, ...]:
    """The requests for everything in the plan, each edit in exactly one of them."""
    creations = {each.edit.new_topic: kind_of(each.edit).batch for each in plan.staged if each.edit.new_topic}
    staged: dict[Batch, list[Staged]] = {}
    for each in plan.staged:
        staged.setdefault(_batch(each.edit, creations), []).append(each)
    steps: list[Step] = []
    places: dict[Batch, tuple[int, ...]] = {}
    for batch in BATCHES:
        after = places.get(batch.waits_for, ()) if batch.waits_for is not None else ()
        made = batch.steps(staged[batch], facts) if batch in staged else []
        places[batch] = tuple(range(len(steps), len(steps) + len(made)))
        steps += [Step(s.request, s.staged, s.note or (batch.why if after else ""), after) for s in made]
    return tuple(steps)


def _batch(edit: Edit, creations: dict[str, Batch]) -> Batch:
    """The batch of an edit: what is edited of a topic that the plan creates is sent with its creation."""
    created = creations.get(edit.on_topic) if edit.on_topic is not None else None
    return kind_of(edit).batch if created is None else created
