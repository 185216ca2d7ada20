"""Finds the edits that revert an applied edit to the former value and source, and the edits that can't be reverted.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.plan.edit_kind import Reversal
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Staged

_NONE: Mapping[str, str] = {}


def reversal(staged: Staged, overrides: Mapping[str, str] = _NONE) -> Reversal:
    """Return the reversal of an edit, based on the state of its target when it was applied.

    Args:
        overrides: for the deletion of a topic, the topic's configs, which a new creation restores.

    Returns:
        A Reversal; its `edits` are empty if nothing can revert the edit, and `loss` has the reason.
    """
    # Don't guess the former value: sending it would be a new change that the operator has not seen.
    if staged.was is UNREAD:
        return Reversal((), UNREAD, "what was there before was not read")
    return kind_of(staged.edit).reversal(staged.edit, staged.was, overrides)


def way_back(applied: Iterable[Staged], change: int | None) -> str:
    """Return a text on how to revert a change, and what that does not restore; ``""`` if the change has no number, or
    none of its edits can be reverted.

    Args:
        change: the number of the change in the journal; None if it has no number.
        applied: the edits of the change that were applied: only they are reverted.
    """
    edits = tuple(applied)
    if change is None or not any(reversal(each).edits for each in edits):
        return ""
    lost = losses(edits)
    if not lost:
        return f"revert {change} takes it back"
    whole = len(edits) - len(lost)
    what = f"{whole} of {len(edits)} edits; of the others" if whole else "a part:"
    return f"revert {change} brings back {what} {lost[0][1]}"


def losses(staged: Iterable[Staged]) -> tuple[tuple[Staged, str], ...]:
    """Return the edits that can't be reverted completely, each with the reason. Edits are left out if nothing is
    lost by that (`EditKind.takes_away`).
    """
    found = ((each, reversal(each)) for each in staged)
    return tuple((each, back.loss) for each, back in found if back.loss and kind_of(each.edit).takes_away(each.edit))
