"""Let the brokers validate a plan: each request is sent in its validate-only form, if it has one. Nothing in this
module changes a cluster.
"""

from __future__ import annotations

import asyncio
import logging

from console.model.changes import Outcome, Status
from console.model.snapshot import Snapshot
from console.plan.compile import compile_plan
from console.plan.plan import Plan
from console.plan.reconcile import StepResult, not_sent
from console.plan.requests import Step
from console.session.request_facts import read_facts
from console.session.snapshot_reader import Client

log = logging.getLogger(__name__)


async def checked(client: Client, plan: Plan, snapshot: Snapshot) -> tuple[StepResult, ...]:
    """Return the brokers' validation of each request of a plan.

    Args:
        snapshot: the cluster state on which the plan was staged.

    Returns:
        The requests, each with an outcome for each target. A request without a validate-only form is UNCHECKED.

    Raises:
        AdminError: no broker answers.
    """
    steps = compile_plan(plan, await read_facts(client, plan, snapshot, snapshot.configs))
    # A validation changes nothing, so the order doesn't matter: send all requests at once.
    outcomes = await asyncio.gather(*(_checked(client, step) for step in steps))
    return tuple(map(StepResult, steps, outcomes))


async def _checked(client: Client, step: Step) -> tuple[Outcome, ...]:
    """Send a request in its validate-only form and return the outcome for each target. Errors of the cluster become
    outcomes.
    """
    from console.admin import changes
    from console.admin.errors import AdminError

    if step.unchecked:
        return tuple(Outcome(target, Status.UNCHECKED) for target in dict.fromkeys(s.edit.target for s in step.staged))
    try:
        return await client.run(changes.send, step.request, validate_only=True)
    except AdminError as error:
        log.warning("%s not sent: %s", type(step.request).__name__, error.failure)
        return not_sent(step, error.failure, Status.FAILED)
