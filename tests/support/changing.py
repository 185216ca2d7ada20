"""Changes and plans sent in tests, and what became of them."""

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
    """The outcome for each target, in order."""
    return {outcome.target: outcome for outcome in await send(link, change, validate_only=check)}


async def statuses(
    link: Link, change: changes.ChangeRequest, *, check: bool = False
) -> dict[changes.Target, changes.Status]:
    """The same, the statuses alone."""
    return {target: outcome.status for target, outcome in (await outcomes(link, change, check=check)).items()}


async def applied(link: Link, change: changes.ChangeRequest) -> bool:
    """True, or a failed assertion that shows what was not applied."""
    found = await outcomes(link, change)
    assert {outcome.status for outcome in found.values()} == {changes.Status.APPLIED}, found
    assert {outcome.failure for outcome in found.values()} == {None}, found
    return True


async def refusal(link: Link, change: changes.ChangeRequest, *, check: bool = False) -> str:
    """The error and message of the one target of a change that fails; a remedy is always there."""
    (outcome,) = (await outcomes(link, change, check=check)).values()
    assert outcome.status is changes.Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.remedy
    return str(outcome.failure)


def error(outcome: changes.Outcome) -> str:
    """The name of what went wrong, or is to be noted."""
    return outcome.failure.name if outcome.failure else ""


async def overrides(link: Link, resource: ConfigResource) -> Mapping[str, str | None]:
    """What the resource itself sets."""
    listing = await configs.describe_configs(link, [resource])
    return {entry.name: entry.value for entry in listing.sets[resource].overrides(resource)}


def alter(resource: ConfigResource, *ops: changes.ConfigOp, broker: int | None = None) -> changes.AlterConfigs:
    """A change of one resource."""
    return changes.AlterConfigs({resource: ops}, broker=broker)


async def make_topic(link: Link, name: str, partitions: int = 1, **own: str) -> None:
    """A topic of one replica; its overrides have ``_`` for ``.``."""
    configs = {key.replace("_", "."): value for key, value in own.items()}
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, partitions, 1, configs=configs),)))


async def apply_plan(session: Session, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Send a session's plan. Returns its report; raises as `send_plan` does."""
    report = (await send_plan(session, ApplyRun(options))).report
    assert report is not None
    return report


async def read_history(session: Session) -> History:
    """All changes of the session's cluster."""
    contents = (await session.journal()).read()
    return history(contents.records, contents.problems, still_runs)
