"""The consequences of a plan: effects on other entities, and warnings about valid edits that are probably wrong. Each
warning has a name, by which an operator accepts it before the plan is sent. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from console.model.changes import Target
from console.model.numbers import plural
from console.model.snapshot import Snapshot
from console.plan import risk_rules
from console.plan.compile import predict
from console.plan.edits import Slot
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan
from console.plan.staged import Draft, Pruned, Staged

# Risks are legal edits that are probably wrong. A warning is a `RiskRule` of a kind of edit, which has a text and the
# facts that it needs. `console.session` reads all needed facts first, so a warning never depends on earlier reads.


def risks(
    staged: Iterable[Staged],
    snapshot: Snapshot,
    facts: risk_rules.RiskFacts | None = None,
    after: Snapshot | None = None,
) -> tuple[risk_rules.Risk, ...]:
    """Return the warnings about these edits, in the order of the edits.

    Args:
        staged: all edits that are applied together: a warning is about the cluster after all of them.
        snapshot: a snapshot with the facts of `risk_needs`; facts that were not read count as unknown, not as harmless.
        facts: the facts that are read only for warnings; None if they were not read.
        after: the snapshot after the edits, if they were applied already; None to predict it.

    Returns:
        The warnings, those of one edit in the order of `risk_rules.NAMES`.
    """
    all_ = tuple(staged)
    # Predict only when a rule first needs the result: some plans have no such rules.
    then = partial(predict, snapshot, Plan(all_)) if after is None else lambda: after
    judged = risk_rules.Judged(snapshot, all_, facts or risk_rules.RiskFacts(), then)
    of_each = (
        risk_rules.Risk(each.edit.slot, rule.name, text, rule.subject(each.edit, judged))
        for each in all_
        for rule in kind_of(each.edit).risks
        for text in rule.judge(each.edit, judged)
    )
    return (*of_each, *_pruned_risks(all_))


def _pruned_risks(staged: Iterable[Staged]) -> Iterator[risk_rules.Risk]:
    """Yield a warning if edits remove more than `MOST_PRUNED` entities because files do not list them. The operator has
    to type their number, which reveals a mistake in a file.
    """
    removed: dict[Pruned, dict[Target, Slot]] = {}
    for each in staged:
        if each.pruned is not None:
            removed.setdefault(each.pruned, {}).setdefault(each.edit.target, each.edit.slot)
    count = sum(map(len, removed.values()))
    if count > risk_rules.MOST_PRUNED or any(2 * len(gone) > section.of for section, gone in removed.items()):
        parts = "; ".join(f"{len(gone):,} of {of:,} in {section}" for (section, of), gone in removed.items())
        first = next(iter(next(iter(removed.values())).values()))
        yield risk_rules.Risk(
            first,
            risk_rules.PRUNES_MANY,
            f"it removes {plural(count, 'entity', 'entities')} that no file lists: {parts}",
            str(count),
        )


def risk_needs(staged: Iterable[Staged]) -> risk_rules.RiskNeeds:
    """Return the facts that the warnings about these edits need."""
    wanted = risk_rules.NOTHING
    for each in staged:
        for rule in kind_of(each.edit).risks:
            wanted |= rule.needs(each.edit)
    return wanted


def effects(staged: Iterable[Staged], snapshot: Snapshot) -> dict[Slot, tuple[str, ...]]:
    """Return slot of an edit -> lines on its effects on other entities; edits without such effects are left out."""
    all_ = tuple(staged)
    seen = Draft(all_, snapshot)
    found = {each.edit.slot: kind_of(each.edit).effects(each.edit, seen) for each in all_}
    return {slot: lines for slot, lines in found.items() if lines}
