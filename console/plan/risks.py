"""The consequences of a plan beyond its lines: who else is changed, and what is legal but probably wrong. Each risk has
a name, by which an operator accepts it before it is sent. Pure.
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

# What is legal but wrong. Each warning has a name, by which an operator accepts it before it is sent. Pure.
#
# A warning is a `RiskRule` of a kind of edit: what it needs read, and what it says of an edit. `console.session` reads
# what the rules need before they judge, so that a warning never depends on what happened to be read.


def risks(
    staged: Iterable[Staged], snapshot: Snapshot, facts: risk_rules.RiskFacts | None = None
) -> tuple[risk_rules.Risk, ...]:
    """Return the warnings about these edits, in their order.

    Args:
        staged: all edits that are applied together: a warning is about the cluster after all of them.
        snapshot: with what `risk_needs` names; what was not read counts as unknown, not as harmless.
        facts: what was read for warnings alone; without it sizes and readers are unknown.

    Returns:
        For each edit its warnings in the order of `risk_rules.NAMES`. Accepting them is left to `settle.ApplyOptions`.
    """
    all_ = tuple(staged)
    # Predicted only when the first rule asks: not every plan has rules that do.
    judged = risk_rules.Judged(snapshot, all_, facts or risk_rules.RiskFacts(), partial(predict, snapshot, Plan(all_)))
    of_each = (
        risk_rules.Risk(each.edit.slot, rule.name, text, rule.subject(each.edit, judged))
        for each in all_
        for rule in kind_of(each.edit).risks
        for text in rule.judge(each.edit, judged)
    )
    return (*of_each, *_pruned_risks(all_))


def _pruned_risks(staged: Iterable[Staged]) -> Iterator[risk_rules.Risk]:
    """Yield a warning where files remove many entities by leaving them out. Its subject is their number: a mistake in a
    file is seen by it.
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
    """Return what has to be read before these edits can be judged."""
    wanted = risk_rules.NOTHING
    for each in staged:
        for rule in kind_of(each.edit).risks:
            wanted |= rule.needs(each.edit)
    return wanted


# Who else an edit changes: entities that inherit or shadow a default, clients whose limit moves, the whole cluster.


def effects(staged: Iterable[Staged], snapshot: Snapshot) -> dict[Slot, tuple[str, ...]]:
    """Return how each edit changes other entities, as lines by slot; edits without such effects are left out."""
    all_ = tuple(staged)
    seen = Draft(all_, snapshot)
    found = {each.edit.slot: kind_of(each.edit).effects(each.edit, seen) for each in all_}
    return {slot: lines for slot, lines in found.items() if lines}
