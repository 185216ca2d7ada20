"""Check and apply a plan: the one way by which anything changes a cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.model.changes import (
    AlterConfigs,
    AlterQuotas,
    AlterScram,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    Outcome,
    Status,
    Target,
)
from console.model.codes import BROKER, BROKER_LOGGER, TOPIC
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.plan.compile import Facts, Step, compile_plan
from console.plan.diff import DiffGroup, diff
from console.plan.plan import Plan
from console.plan.predict import default_partitions
from console.plan.settle import record_check, settle
from console.plan.staged import Staged

if TYPE_CHECKING:
    from console.admin.link import Link
    from console.commands.session import Session

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepResult:
    """A request and how it went for each of its targets."""

    step: Step
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes that are neither applied nor found valid."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What a check or an apply did. sent: whether anything was sent to change the cluster."""

    results: tuple[StepResult, ...]
    sent: bool

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not any(result.failed for result in self.results)


@dataclass(frozen=True, slots=True)
class Applied:
    """What the last apply changed: its lines as they stood before, the outcomes (in `plan`), and when it was, UTC."""

    groups: tuple[DiffGroup, ...]
    plan: Plan
    at: datetime


async def check_plan(session: Session) -> ApplyReport:
    """Send every request that has a validate-only twin as one; nothing changes."""
    return await _check(session, session.plan)


async def _check(session: Session, plan: Plan) -> ApplyReport:
    steps = compile_plan(plan, await _facts(session, plan))
    outcomes = await asyncio.gather(*(_send(session, step, validate_only=True) for step in steps))
    results = tuple(StepResult(step, found) for step, found in zip(steps, outcomes, strict=True))
    session.replan(record_check(session.plan, [(r.step, r.outcomes) for r in results]))
    return ApplyReport(results, sent=False)


async def apply_plan(session: Session, *, valid_only: bool) -> ApplyReport:
    """Check; where that fails send nothing, or with `valid_only` the rest; then settle and describe again."""
    checked = await _check(session, session.plan)
    if not checked.ok and not valid_only:
        return checked
    plan = Plan(tuple(staged for staged in session.plan.staged if _valid(session.plan, staged)))
    steps = compile_plan(plan, await _facts(session, plan))
    before = diff(plan, session.snapshot)
    results: list[StepResult] = []
    for done, step in enumerate(steps):
        session.progress("apply", done, len(steps))
        waits_for = [results[place] for place in step.after if results[place].failed]
        outcomes = _skipped(step) if waits_for else await _send(session, step, validate_only=False)
        results.append(StepResult(step, outcomes))
        log.info("applied %s: %s", type(step.request).__name__, _tally(outcomes))
    session.progress("apply", len(steps), len(steps))
    answered = [(result.step, result.outcomes) for result in results]
    session.applied = _applied(before, record_check(plan, answered))
    session.replan(settle(session.plan, answered))
    await _describe_again(session, results)
    refused = tuple(result for result in checked.results if result.failed)
    return ApplyReport((*results, *refused), sent=bool(steps))


def _applied(before: tuple[DiffGroup, ...], plan: Plan) -> Applied | None:
    """The lines that were applied; None where there are none."""
    done = {s.edit.slot for s in plan.staged if (outcome := plan.outcome(s.edit)) and outcome.status is Status.APPLIED}
    groups = []
    for group in before:
        lines = tuple(line for line in group.lines if line.staged.edit.slot in done)
        if lines:
            groups.append(DiffGroup(group.target, lines))
    return Applied(tuple(groups), plan, datetime.now(UTC)) if groups else None


def _valid(plan: Plan, staged: Staged) -> bool:
    outcome = plan.outcome(staged.edit)
    return outcome is None or outcome.ok


async def _send(session: Session, step: Step, *, validate_only: bool) -> tuple[Outcome, ...]:
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
        return tuple(Outcome(target, Status.FAILED, error.failure) for target in _targets(step))


def _targets(step: Step) -> tuple[Target, ...]:
    return tuple(dict.fromkeys(staged.edit.target for staged in step.staged))


def _skipped(step: Step) -> tuple[Outcome, ...]:
    failure = Failure(
        "SKIPPED",
        "not sent: what has to come before it failed",
        "Mend what failed and apply again.",
    )
    return tuple(Outcome(target, Status.NOT_APPLIED, failure) for target in _targets(step))


def _tally(outcomes: Iterable[Outcome]) -> str:
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.status.value] = counts.get(outcome.status.value, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


async def _facts(session: Session, plan: Plan) -> Facts:
    """Which of the named brokers can be reached, and whether they have the incremental call."""
    named = {
        int(resource.name)
        for staged in plan.staged
        if isinstance(resource := staged.edit.target, ConfigResource)
        and resource.type in (BROKER, BROKER_LOGGER)
        and resource.name.isdecimal()
    }
    reachable, incremental = await session.client.run(_probe, frozenset(named))
    snapshot = session.snapshot
    return Facts(reachable, incremental, snapshot.configs, len(snapshot.acls), default_partitions(snapshot))


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


async def _describe_again(session: Session, results: Iterable[StepResult]) -> None:
    """Read what was touched; a failure to read is no failure of the change, and is in the snapshot."""
    from console.admin.errors import AdminError

    resources: dict[ConfigResource, None] = {}
    topics: dict[str, None] = {}
    reads = set()
    for result in results:
        match result.step.request:
            case AlterConfigs(ops=ops):
                resources.update(dict.fromkeys(ops))
                if any(resource.is_cluster_default for resource in ops):
                    brokers = session.snapshot.cluster.brokers
                    resources.update(dict.fromkeys(broker_resource(broker.id) for broker in brokers))
            case AlterQuotas():
                reads.add(session.read_quotas)
            case CreateTopics(topics=created):
                topics.update(dict.fromkeys(topic.name for topic in created))
            case DeleteTopics(names=names):
                topics.update(dict.fromkeys(names))
            case CreatePartitions(counts=counts):
                topics.update(dict.fromkeys(counts))
            case CreateAcls() | DeleteAcls():
                reads.add(session.read_acls)
            case AlterScram():
                reads.add(session.read_scram)
    try:
        if topics:
            await session.read_topics(list(topics))
            known = (name for name in topics if name in session.snapshot.topics)
            resources.update(dict.fromkeys(topic_resource(name) for name in known))
        gone = [r for r in resources if r.type == TOPIC and r.name in topics and r.name not in session.snapshot.topics]
        await session.read_configs([resource for resource in resources if resource not in gone])
        for read in reads:
            await read()
    except AdminError as error:
        log.warning("could not read again what was applied: %s", error.failure)
