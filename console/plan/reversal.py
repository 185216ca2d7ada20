"""The opposite of an edit that was applied: value and source as they were. And which edits have none. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from console.plan.edit_kind import Reversal
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Staged

_NONE: Mapping[str, str] = MappingProxyType({})


def reversal(staged: Staged, overrides: Mapping[str, str] = _NONE) -> Reversal:
    """Return the opposite of an edit, from the state of its target when it was applied.

    Args:
        overrides: the configs of a topic that the edit deleted: the topic gets them when it is created again.

    Returns:
        A Reversal without edits where nothing can take it back; its `loss` says why.
    """
    # To guess a former value and send it would be a change of its own, and none that the operator has seen.
    if staged.was is UNREAD:
        return Reversal((), UNREAD, "what was there before was not read")
    return kind_of(staged.edit).reversal(staged.edit, staged.was, overrides)


def way_back(applied: Iterable[Staged], change: int | None) -> str:
    """Return what reverting a change does for its edits, as text; ``""`` where it has no number, or nothing comes back.

    Args:
        applied: the edits of the change that were applied, no others.
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
    """Return the edits that can't be reverted, or not wholly, each with why; for edits that are not applied yet."""
    found = ((each, reversal(each)) for each in staged)
    return tuple((each, back.loss) for each, back in found if back.loss and kind_of(each.edit).takes_away(each.edit))
