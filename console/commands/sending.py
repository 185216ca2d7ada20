"""One compiled request on its way, and what the requests of a plan depend on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from console.model.changes import Outcome, Status, Target
from console.model.codes import BROKER, BROKER_LOGGER
from console.model.config import ConfigResource, ConfigSet
from console.model.failure import Failure
from console.plan.plan import Plan
from console.plan.predict import default_partitions
from console.plan.requests import Facts, Step

if TYPE_CHECKING:
    from console.admin.link import Link
    from console.commands.session import Session

log = logging.getLogger(__name__)


async def send(session: Session, step: Step, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Send a request or its check; an outcome for each target. Never raises for what a cluster does."""
    from console.admin import changes
    from console.admin.errors import AdminError

    loop = asyncio.get_running_loop()

    def progress(done: int, total: int) -> None:
        loop.call_soon_threadsafe(session.progress, "waiting for leaders", done, total)

    try:
        return await session.client.run(changes.send, step.request, validate_only=validate_only, on_progress=progress)
    except AdminError as error:
        # Nothing of this request left: an outcome that is not known comes back as one.
        log.warning("%s not sent: %s", type(step.request).__name__, error.failure)
        return not_sent(step, error.failure, Status.FAILED)


def not_sent(step: Step, why: Failure, status: Status = Status.NOT_APPLIED) -> tuple[Outcome, ...]:
    """The outcomes of a request that was kept back."""
    targets: Iterable[Target] = dict.fromkeys(staged.edit.target for staged in step.staged)
    return tuple(Outcome(target, status, why) for target in targets)


SKIPPED = Failure("SKIPPED", "not sent: what has to come before it failed", "Mend what failed and apply again.")


def tally(outcomes: Iterable[Outcome]) -> str:
    """``3 applied, 1 failed``."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status.value] = counts.get(outcome.status.value, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


async def facts_of(session: Session, plan: Plan, configs: Mapping[ConfigResource, ConfigSet] | None = None) -> Facts:
    """Which of the named brokers can be reached, and whether they have the incremental call. configs: as they were
    described last, where that is not what the session knows."""
    named = {
        int(resource.name)
        for staged in plan.staged
        if isinstance(resource := staged.edit.target, ConfigResource)
        and resource.type in (BROKER, BROKER_LOGGER)
        and resource.name.isdecimal()
    }
    reachable, incremental = await session.client.run(_probe, frozenset(named))
    snapshot = session.snapshot
    known = snapshot.configs if configs is None else configs
    return Facts(reachable, incremental, known, len(snapshot.acls), default_partitions(snapshot))


async def _probe(link: Link, named: frozenset[int]) -> tuple[frozenset[int], bool]:
    from console.admin.errors import AdminError
    from console.admin.routing import ANY, broker

    api = "incremental_alter_configs"

    async def version_at(broker_id: int) -> tuple[int, int | None] | None:
        try:
            return broker_id, await link.version(api, broker(broker_id))
        except AdminError:
            return None

    found = [answer for answer in await asyncio.gather(*map(version_at, named)) if answer is not None]
    versions = [version for _, version in found] or [await link.version(api, ANY)]
    return frozenset(broker_id for broker_id, _ in found), all(version is not None for version in versions)
