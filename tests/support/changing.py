"""Helpers that send changes and plans, and return or check the outcomes."""

from collections.abc import Mapping

from console.admin import configs
from console.admin.changes import send
from console.admin.link import Link
from console.journal.entries import still_runs
from console.journal.history import History, history
from console.model import changes
from console.model.config import ConfigResource
from console.plan.reconcile import DEFAULTS, ApplyOptions, ApplyReport
from console.session.apply_run import ApplyRun
from console.session.applying import send_plan
from console.session.session import Session


async def outcomes(
    link: Link, change: changes.ChangeRequest, *, check: bool = False
) -> dict[changes.Target, changes.Outcome]:
    """Send a change. Return the outcome for each target, in order."""
    return {outcome.target: outcome for outcome in await send(link, change, validate_only=check)}


async def statuses(
    link: Link, change: changes.ChangeRequest, *, check: bool = False
) -> dict[changes.Target, changes.Status]:
    """Send a change. Return the status for each target, in order."""
    return {target: outcome.status for target, outcome in (await outcomes(link, change, check=check)).items()}


async def applied(link: Link, change: changes.ChangeRequest) -> bool:
    """Send a change and return True. Fail, showing the outcomes, if a target was not applied."""
    found = await outcomes(link, change)
    assert {outcome.status for outcome in found.values()} == {changes.Status.APPLIED}, found
    assert {outcome.failure for outcome in found.values()} == {None}, found
    return True


async def refusal(link: Link, change: changes.ChangeRequest, *, check: bool = False) -> str:
    """Send a change of one target that must fail with a remedy. Return its error and message."""
    (outcome,) = (await outcomes(link, change, check=check)).values()
    assert outcome.status is changes.Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.remedy
    return str(outcome.failure)


def error(outcome: changes.Outcome) -> str:
    """Return the name of an outcome's failure or note; ``""`` without one."""
    return outcome.failure.name if outcome.failure else ""


async def overrides(link: Link, resource: ConfigResource) -> Mapping[str, str | None]:
    """Return the configs that the resource itself sets."""
    listing = await configs.describe_configs(link, [resource])
    return {entry.name: entry.value for entry in listing.sets[resource].overrides(resource)}


def alter(resource: ConfigResource, *ops: changes.ConfigOp, broker: int | None = None) -> changes.AlterConfigs:
    """Return a change of one resource."""
    return changes.AlterConfigs({resource: ops}, broker=broker)


async def make_topic(link: Link, name: str, partitions: int = 1, **own: str) -> None:
    """Create a topic with one replica. own: its overrides; ``_`` in a key stands for ``.``."""
    configs = {key.replace("_", "."): value for key, value in own.items()}
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, partitions, 1, configs=configs),)))


async def apply_plan(session: Session, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Send a session's plan. Return its report. Raises as `send_plan` does."""
    report = (await send_plan(session, ApplyRun(options))).report
    assert report is not None
    return report


async def read_history(session: Session) -> History:
    """Return all changes of the session's cluster."""
    contents = (await session.journal()).read()
    return history(contents.records, contents.problems, still_runs)
