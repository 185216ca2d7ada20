"""The check of every next step with edits: an edit is not offered if it sets a value that a change in this host's
journal reverted, or a value that is worse than the present one. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from console.model.changes import Target
from console.model.snapshot import Snapshot
from console.plan import edits
from console.triage.cause import Claim, Next
from console.triage.events import PRESENT
from console.triage.facts import ChangeKey
from console.triage.remembered import RememberedEach

MOST = 50
"""Maximum number of edits of a step that are judged: a step with more sets the same value in many places."""
_VALUES = (edits.SetConfig, edits.UnsetConfig, edits.SetQuota, edits.UnsetQuota, edits.AddAcl, edits.RemoveAcl)
"""Kinds of edits that replace one value by another; others, such as an election, have no values to compare."""


class _Seen:
    """A snapshot for a cache: it is equal to another one if the parts that the rules judge by are the same objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._parts = snapshot.configs, snapshot.quotas, snapshot.topics, snapshot.acls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and all(one is two for one, two in zip(self._parts, other._parts, strict=True))

    __hash__ = None  # type: ignore[assignment]


def offered(claims: Sequence[Claim], snapshot: Snapshot, taken_back: Collection[ChangeKey]) -> list[Claim]:
    """Return the claims with the steps that may be offered.

    Args:
        taken_back: the entities and keys with the values that were reverted (`Facts.taken_back`).

    Returns:
        A claim is the same object if all of its steps may be offered. A step that may not be offered is replaced by one
        without edits that says where to look.
    """
    # Judge each distinct step once: most of 10,000 claims share the objects of their steps.
    steps = chain.from_iterable({id(claim.next): claim.next for claim in claims}.values())
    seen, values = _Seen(snapshot), dict.fromkeys(_values(step) for step in steps if step.edits)
    # Reuse the results of the last poll: claims are made again in each poll, but the state that their edits would
    # change is mostly the same.
    judged = _each_worse.of((each, (each.edits[:MOST], each.ruled_out, seen)) for each in values)
    worse = dict(zip(values, judged, strict=True))
    if not taken_back and not any(worse.values()):
        return [*claims]

    def with_offers(claim: Claim) -> Claim:
        if not any(step.edits for step in claim.next):
            return claim
        now = tuple(_step(each, worse, taken_back) for each in claim.next)
        return claim if now == claim.next else replace(claim, next=now)

    return [*map(with_offers, claims)]


class _Values(NamedTuple):
    """The edits of a step that replace values."""

    edits: tuple[edits.Edit, ...]
    ruled_out: frozenset[str]
    """The names of the edits' risks that can't occur, by the evidence."""


def _values(step: Next) -> _Values:
    return _Values(tuple(each for each in step.edits if isinstance(each, _VALUES)), step.ruled_out)


def _step(step: Next, worse: Mapping[_Values, str], taken_back: Collection[ChangeKey]) -> Next:
    values = _values(step)
    if any(_gives(each) in taken_back for each in values.edits):
        return Next("look at this host's journal: it took back what was there before")
    return (
        Next(f"look at it before it is changed: {step.text} would bring a new risk: {why}")
        if (why := worse.get(values))
        else step
    )


def _gives(edit: edits.Edit) -> ChangeKey | None:
    """Return the entity, the key and the value that an edit sets; None if it sets no plain config, quota or ACL."""
    target: Target = edit.target
    match edit:
        case edits.SetConfig(value=str(value)):
            return target, edit.slot.key, value
        case edits.SetQuota():
            return target, edit.slot.key, repr(edit.value)
        case edits.AddAcl():
            return target, "", PRESENT
    return None


def _worse(values: tuple[edits.Edit, ...], ruled_out: frozenset[str], seen: _Seen) -> str:
    """Return the text of the first risk of these edits that a reversal of the edits would not have, too; ``""`` if
    there is none.

    Args:
        values: the edits.
        ruled_out: the names of risks to ignore.
        seen: the snapshot.
    """
    # Imported late: the kinds of edits take a megabyte, which a cluster without trouble does not need.
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
    found = [each for each in risks(staged, snapshot, after=after) if each.name not in ruled_out]
    if not found:
        return ""
    then = Described(after)
    back = [one for each in staged for one in reversal(each).edits]
    stands = {each.name for each in risks([Staged(one, kind_of(one).current(one, then)) for one in back], after)}
    return next((each.text for each in found if each.name not in stands), "")


_each_worse: RememberedEach[_Values, str] = RememberedEach(_worse)
