"""Helpers that send change requests or a session's plan, and return or check the outcome of each target."""

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
    """Send a change request. Return target -> its outcome, in the order of the answer. check: whether brokers only
    validate the change.
    """
    return {outcome.target: outcome for outcome in await send(link, change, validate_only=check)}


async def statuses(
    link: Link, change: changes.ChangeRequest, *, check: bool = False
) -> dict[changes.Target, changes.Status]:
    """Send a change request. Return target -> the status of its outcome, in the order of the answer. check: whether
    brokers only validate the change.
    """
    return {target: outcome.status for target, outcome in (await outcomes(link, change, check=check)).items()}


async def applied(link: Link, change: changes.ChangeRequest) -> bool:
    """Send a change request and return True. Raises AssertionError with the outcomes if a target was not applied, or
    has a note.
    """
    found = await outcomes(link, change)
    assert {outcome.status for outcome in found.values()} == {changes.Status.APPLIED}, found
    assert {outcome.failure for outcome in found.values()} == {None}, found
    return True


async def refusal(link: Link, change: changes.ChangeRequest, *, check: bool = False) -> str:
    """Send a change request of one target. Return its failure as text: the error's name and message. Raises
    AssertionError if the change does not fail, or its failure has no remedy.
    """
    (outcome,) = (await outcomes(link, change, check=check)).values()
    assert outcome.status is changes.Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.remedy
    return str(outcome.failure)


def error(outcome: changes.Outcome) -> str:
    """Return the error name of an outcome's failure or note; ``""`` if the outcome has neither."""
    return outcome.failure.name if outcome.failure else ""


async def overrides(link: Link, resource: ConfigResource) -> Mapping[str, str | None]:
    """Return key -> value of the configs that the resource itself sets, read from the brokers; None for the value of a
    sensitive config.
    """
    listing = await configs.describe_configs(link, [resource])
    return {entry.name: entry.value for entry in listing.sets[resource].overrides(resource)}


def alter(resource: ConfigResource, *ops: changes.ConfigOp, broker: int | None = None) -> changes.AlterConfigs:
    """Return a request that changes configs of one resource. broker: id of the broker that gets the request; None
    lets the client choose the broker.
    """
    return changes.AlterConfigs({resource: ops}, broker=broker)


async def make_topic(link: Link, name: str, partitions: int = 1, **own: str) -> None:
    """Create a topic with one replica of each partition. Raises AssertionError if it is refused.

    own: the topic's config overrides; ``_`` in a key stands for ``.``.
    """
    configs = {key.replace("_", "."): value for key, value in own.items()}
    assert await applied(link, changes.CreateTopics((changes.NewTopic(name, partitions, 1, configs=configs),)))


async def apply_plan(session: Session, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Send a session's staged plan. Return the report of the apply. Raises as `send_plan` does."""
    report = (await send_plan(session, ApplyRun(options))).report
    assert report is not None
    return report


async def read_history(session: Session) -> History:
    """Return all changes of the session's cluster."""
    contents = (await session.journal()).read()
    return history(contents.records, contents.problems, still_runs)
