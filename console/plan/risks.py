"""What is legal but wrong. Each has a name, by which an operator accepts it before it is sent. Pure.

A warning is a `Rule`: what it needs read, and what it says of an edit. `console.session.plan_facts` reads what the
rules need before they judge, so that a warning never depends on what happened to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from console.model.broker_keys import UpdateMode, update_mode
from console.model.codes import BROKER
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import topic_risks
from console.plan.edits import Edit, SetConfig, SetQuota, Slot
from console.plan.kinds import acls as acl_risks
from console.plan.risk_rules import NOTHING, Judged, RiskFacts, RiskNeeds
from console.plan.staged import Staged

ISR_ABOVE_REPLICATION = "isr-above-replication"
UNCLEAN_ELECTION = "unclean-election"
RETENTION_ZERO = "retention-zero"
RETENTION_TINY = "retention-tiny"
MESSAGE_SIZE_LOWERED = "message-size-lowered"
THROTTLES_EVERYONE = "throttles-everyone"
QUOTA_NEAR_ZERO = "quota-near-zero"
NEEDS_RESTART = "needs-restart"
ACL_LOCKS_OUT = "acl-locks-out"
FIRST_ACL = "first-acl"

_NEAR_ZERO = {
    "producer_byte_rate": 1_000.0,
    "consumer_byte_rate": 1_000.0,
    "request_percentage": 0.1,
    "connection_creation_rate": 1.0,
    "controller_mutation_rate": 0.1,
}
"""Below it a client is as good as shut out: less than a batch's head a second, a request every few minutes."""


class Risk(NamedTuple):
    """A warning about one edit. name: one of NAMES; text: what will happen, in a line."""

    slot: Slot
    name: str
    text: str


class Rule(NamedTuple):
    """A warning. needs: what has to be read to judge an edit; judge: a line for each thing that is wrong with it."""

    name: str
    needs: Callable[[Edit], RiskNeeds]
    judge: Callable[[Staged, Judged], Iterator[str]]


def risks(staged: Iterable[Staged], snapshot: Snapshot, facts: RiskFacts | None = None) -> tuple[Risk, ...]:
    """The warnings of these edits, in their order. facts: what was read for them; without, sizes are unknown."""
    judged = Judged(snapshot, tuple(staged), facts or RiskFacts())
    return tuple(
        Risk(each.edit.slot, rule.name, text)
        for each in judged.staged
        for rule in RULES
        for text in rule.judge(each, judged)
    )


def risk_needs(staged: Iterable[Staged]) -> RiskNeeds:
    """What has to be read to judge these edits."""
    wanted = NOTHING
    for each in staged:
        for rule in RULES:
            wanted |= rule.needs(each.edit)
    return wanted


def unaccepted(found: Iterable[Risk], accepted: Iterable[str]) -> tuple[Risk, ...]:
    """Those whose names were not accepted."""
    names = frozenset(accepted)
    return tuple(risk for risk in found if risk.name not in names)


def _of_edit(judge: Callable[[Edit, Judged], Iterator[str]]) -> Callable[[Staged, Judged], Iterator[str]]:
    return lambda staged, judged: judge(staged.edit, judged)


def _nothing(_edit: Edit) -> RiskNeeds:
    return NOTHING


def _needs_restart(staged: Staged, _judged: Judged) -> Iterator[str]:
    edit = staged.edit
    if not isinstance(edit, SetConfig) or edit.resource.type != BROKER:
        return
    if update_mode(edit.resource.type, edit.key) is UpdateMode.RESTART:
        yield "brokers read it from their file, when they start; as a dynamic config most refuse it"


def _throttles_everyone(staged: Staged, judged: Judged) -> Iterator[str]:
    """A limit of a default that is new, or lower than the one before."""
    edit = staged.edit
    if not isinstance(edit, SetQuota) or edit.key == "controller_mutation_rate":
        return
    if all(part.name is None for part in edit.entity) and _lowers(edit, staged, judged):
        yield _everyone(edit.entity)


def _near_zero(staged: Staged, judged: Judged) -> Iterator[str]:
    edit = staged.edit
    if not isinstance(edit, SetQuota) or edit.value >= _NEAR_ZERO.get(edit.key, 0.0):
        return
    if _lowers(edit, staged, judged):
        yield f"{edit.value:,.10g} is next to nothing: those that it holds for are as good as shut out"


def _lowers(edit: SetQuota, staged: Staged, judged: Judged) -> bool:
    known = judged.before.quotas.get(edit.entity, {}).get(edit.key)
    was = known if known is not None else staged.was
    return not isinstance(was, float | int) or edit.value < was


def _everyone(entity: QuotaEntity) -> str:
    kinds = {"user": "user", "client-id": "client", "ip": "address"}
    who = " and ".join(kinds.get(part.type, part.type) for part in entity)
    return f"it holds for every {who} that has no limit of its own"


RULES: tuple[Rule, ...] = (
    Rule(ISR_ABOVE_REPLICATION, topic_risks.isr_needs, _of_edit(topic_risks.isr)),
    Rule(UNCLEAN_ELECTION, topic_risks.unclean_needs, _of_edit(topic_risks.unclean)),
    Rule(RETENTION_ZERO, topic_risks.retention_needs, _of_edit(topic_risks.retention_zero)),
    Rule(RETENTION_TINY, topic_risks.retention_needs, _of_edit(topic_risks.retention_tiny)),
    Rule(MESSAGE_SIZE_LOWERED, topic_risks.message_size_needs, _of_edit(topic_risks.message_size)),
    Rule(THROTTLES_EVERYONE, _nothing, _throttles_everyone),
    Rule(QUOTA_NEAR_ZERO, _nothing, _near_zero),
    Rule(NEEDS_RESTART, _nothing, _needs_restart),
    Rule(ACL_LOCKS_OUT, acl_risks.acl_needs, _of_edit(acl_risks.locks_out)),
    Rule(FIRST_ACL, acl_risks.acl_needs, _of_edit(acl_risks.first)),
)
NAMES = tuple(rule.name for rule in RULES)
