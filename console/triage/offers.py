"""The edits that a next step may offer: no value that a change in this host's journal reverted, and no value that is
worse than the present one. Every step with edits is checked here. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from console.model.changes import Target
from console.model.snapshot import Snapshot
from console.plan import edits
from console.triage.cause import Claim, Next
from console.triage.events import PRESENT
from console.triage.facts import ChangeKey
from console.triage.remembered import RememberedEach

MOST = 50
"""Limit of edits of a step that are judged: one that has more gives many places the same value."""
_VALUES = (edits.SetConfig, edits.UnsetConfig, edits.SetQuota, edits.UnsetQuota, edits.AddAcl, edits.RemoveAcl)
"""Edits that put a value in the place of another one; others, as an election, have no value to compare with."""


class _Seen:
    """A snapshot that equals another one if the parts that rules judge values by are the same objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._parts = snapshot.configs, snapshot.quotas, snapshot.topics, snapshot.acls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and all(one is two for one, two in zip(self._parts, other._parts, strict=True))

    __hash__ = None  # type: ignore[assignment]


def offered(claims: Sequence[Claim], snapshot: Snapshot, taken_back: Collection[ChangeKey]) -> list[Claim]:
    """Return the claims with the steps that may be offered.

    Args:
        taken_back: the places whose values were reverted, as in `Facts`.

    Returns:
        The claims, as the same objects if none of their steps is left out. A step that is left out only says where to
        look.
    """
    # Most of 10,000 claims share the objects of their steps, so there are few different values.
    steps = chain.from_iterable({id(claim.next): claim.next for claim in claims}.values())
    seen, values = _Seen(snapshot), dict.fromkeys(_values(step) for step in steps if step.edits)
    # Each poll makes its claims again; the state that their edits would change is mostly the same.
    worse = dict(zip(values, _each_worse.of((each, (each[:MOST], seen)) for each in values), strict=True))
    if not taken_back and not any(worse.values()):
        return [*claims]

    def judged(claim: Claim) -> Claim:
        if not any(step.edits for step in claim.next):
            return claim
        now = tuple(_step(each, worse, taken_back) for each in claim.next)
        return claim if now == claim.next else replace(claim, next=now)

    return [*map(judged, claims)]


_Edits = tuple[edits.Edit, ...]


def _values(step: Next) -> _Edits:
    return tuple(each for each in step.edits if isinstance(each, _VALUES))


def _step(step: Next, worse: Mapping[_Edits, str], taken_back: Collection[ChangeKey]) -> Next:
    values = _values(step)
    if any(_gives(each) in taken_back for each in values):
        return Next("look at this host's journal: it took back what was there before")
    return (
        Next(f"look at it before it is changed: {step.text} would bring a new risk: {why}")
        if (why := worse.get(values))
        else step
    )


def _gives(edit: edits.Edit) -> ChangeKey | None:
    """Return the place and the value that an edit sets; None if it sets none."""
    target: Target = edit.target
    match edit:
        case edits.SetConfig(value=str(value)):
            return target, edit.slot.key, value
        case edits.SetQuota():
            return target, edit.slot.key, repr(edit.value)
        case edits.AddAcl():
            return target, "", PRESENT
    return None


def _worse(values: _Edits, seen: _Seen) -> str:
    """Return the warning of a plan's rule that these edits cause and that does not hold without them; ``""`` without
    one.
    """
    # The kinds of edits are a megabyte that a cluster without trouble does not need.
    from console.plan.compile import predict
    from console.plan.kinds.registry import kind_of
    from console.plan.plan import Plan
    from console.plan.reversal import reversal
    from console.plan.risks import risks
    from console.plan.staged import Described, Staged

    if not values:
        return ""
    snapshot = seen.snapshot
    now = Described(snapshot)
    staged = tuple(Staged(each, kind_of(each).current(each, now)) for each in values)
    after = predict(snapshot, Plan(staged))
    found = risks(staged, snapshot, after=after)
    if not found:
        return ""
    then = Described(after)
    back = [one for each in staged for one in reversal(each).edits]
    stands = {each.name for each in risks([Staged(one, kind_of(one).current(one, then)) for one in back], after)}
    return next((each.text for each in found if each.name not in stands), "")


_each_worse: RememberedEach[_Edits, str] = RememberedEach(_worse)
