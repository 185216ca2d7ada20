"""The requests that a plan compiles into, packed so that each is within the controller's limits.

Limits: QuorumController.MAX_RECORDS_PER_USER_OP; tested on Kafka 3.9.1 and 4.3.0: one record for each config or quota
key, for each ACL, and for each topic, partition and config of a new topic. Above it a controller refuses a change, or
fails with its own error and steps down. A Kafka 3.9 controller ended on a larger DeleteAcls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from console.model.changes import ChangeRequest
from console.model.config import ConfigResource, ConfigSet
from console.plan.staged import Staged

RECORD_LIMIT = 10_000
"""Maximum number of records, of any type, in one change of the metadata log."""

ACL_COMPARISONS = 10_000_000
"""Maximum number of comparisons for a removal of ACLs. A controller compares each filter with each ACL: 10,000 with
10,000 blocked a controller of Kafka 4.3 for 9 seconds, and brokers' heartbeats timed out. With this limit, a request
takes less than a second."""


def acl_removals(acls: int) -> int:
    """Return the largest number of ACLs that one request may remove from a cluster with `acls`."""
    return min(RECORD_LIMIT, max(1, ACL_COMPARISONS // max(acls, 1)))


class Facts(Struct, frozen=True):
    """The facts of the present cluster that decide the form of requests."""

    reachable: frozenset[int] | None = None
    """The reachable brokers; None if that was not tested."""
    incremental: bool = True
    """Whether the brokers have IncrementalAlterConfigs (Kafka 2.3, KIP-339). If not, `configs` has the overrides that
    the legacy request must repeat, and the present lists."""
    configs: Mapping[ConfigResource, ConfigSet] = msgspec.field(default_factory=dict)
    acls: int = 0
    """The number of ACLs."""
    default_partitions: int = 1
    """The brokers' ``num.partitions``."""


class Step(Struct, frozen=True):
    """One request and the edits in it."""

    request: ChangeRequest
    staged: tuple[Staged, ...]
    note: str = ""
    """The reason why it is separate from other requests of its kind; ``""`` without a note."""
    after: tuple[int, ...] = ()
    """The indexes of the steps that have to succeed completely before this one is sent: in the compiled tuple, or,
    before compilation, among the steps of its batch. Thereby access is not removed if its replacement could not be
    granted."""
    unchecked: bool = False
    """Whether brokers would refuse the request before those steps; it is then not validated."""


# -- packing -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bin:
    """A request under construction: its edits and their number of records."""

    records: int = 0
    staged: list[Staged] = field(default_factory=list)

    def add(self, group: Sequence[Staged], records: int) -> None:
        """Put a group into the request."""
        self.staged.extend(group)
        self.records += records


def pack(groups: Iterable[tuple[Sequence[Staged], int]], limit: int, into: Sequence[Bin] = ()) -> list[Bin]:
    """Put each (group, records) into the first bin with room for it, those of `into` before new ones.

    A group is never split: edits that a broker applies as a whole stay in one request, and a group beyond the limit
    gets its own bin.

    Args:
        limit: the largest number of records in one bin.
        into: bins to fill first; they are changed.

    Returns:
        The bins of `into` and the new ones.
    """
    # Pack into the first bin that fits, in the given order: sorting by size would pack better, but requests should keep
    # the order of the edits.
    ordered = list(groups)
    # Leave bins without room for the smallest group out of the search, which would be quadratic with 10,000 edits.
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
    """Return the note on a request that is one of several because of a limit; ``""`` for a single request."""
    return f"{place + 1} of {count}: a controller takes at most {limit:,} {what} in one change" if count > 1 else ""


Group = tuple[Sequence[Staged], int]
"""Edits that stay in one request, and their number of records."""


def singly(some: Iterable[Staged]) -> Iterable[Group]:
    """Return each edit as its own group with one record."""
    return (([staged], 1) for staged in some)


Steps = Callable[[Sequence[Staged], Facts], list[Step]]
"""(staged, facts) -> their requests, as few as the controller's limits allow; each edit is in exactly one of them.
`Step.after` has indexes among these requests."""


def together(request: Callable[[list[Staged]], ChangeRequest], what: str = "records") -> Steps:
    """Return the steps of edits with one record each that may share a request. what: noun for the records."""
    return lambda staged, _facts: steps_of(singly(staged), RECORD_LIMIT, request, what)


def apart(request: Callable[[Any], ChangeRequest]) -> Steps:
    """Return the steps of edits that each need their own request. request: an edit -> its request."""
    return lambda staged, _facts: [Step(request(each.edit), (each,)) for each in staged]


def steps_of(
    groups: Iterable[Group], limit: int, request: Callable[[list[Staged]], ChangeRequest], what: str = "records"
) -> list[Step]:
    """Return the fewest requests for these groups, each within the limit."""
    bins = pack(groups, limit)
    return [
        Step(request(each.staged), tuple(each.staged), cut_note(place, len(bins), limit, what))
        for place, each in enumerate(bins)
    ]
