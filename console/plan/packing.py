"""Putting groups of edits that belong together into as few requests as a limit allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from console.plan.staged import Staged


@dataclass(slots=True)
class Bin:
    """One request to be: its edits and the records that they come to."""

    records: int = 0
    staged: list[Staged] = field(default_factory=list)

    def add(self, group: Sequence[Staged], records: int) -> None:
        """Put a group in."""
        self.staged.extend(group)
        self.records += records


def pack(groups: Iterable[tuple[Sequence[Staged], int]], limit: int, into: Sequence[Bin] = ()) -> list[Bin]:
    """Each (group, records) into the first bin that has room, those of `into` before new ones. A group is never parted:
    what a broker does whole or not at all stays in one request, and one beyond the limit gets a bin of its own.

    Gives the bins of `into` and the new ones that were needed.
    """
    ordered = list(groups)
    least = min((records for _, records in ordered), default=0)
    bins = list(into)
    roomy = [bin_ for bin_ in bins if bin_.records + least <= limit]
    for group, records in ordered:
        found = next((bin_ for bin_ in roomy if bin_.records + records <= limit), None)
        if found is None:
            found = Bin()
            bins.append(found)
            roomy.append(found)
        found.add(group, records)
        if found.records + least > limit:
            roomy.remove(found)
    return bins


def cut_note(place: int, count: int, limit: int, what: str = "records") -> str:
    """Why a request is one of several: ``""`` where it is the only one."""
    return f"{place + 1} of {count}: a controller takes at most {limit:,} {what} in one change" if count > 1 else ""
