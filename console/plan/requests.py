"""The requests that a plan compiles into, packed so that each is within the controller's limits.

Limits: QuorumController.MAX_RECORDS_PER_USER_OP; tried on Kafka 3.9.1 and 4.3.0: one record for each config or quota
key, for each ACL, and for each topic, partition and config of a new topic. Beyond it a controller refuses a change, or
fails with an error of its own and steps down. Kafka 3.9 was seen to end on a larger DeleteAcls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from console.model.changes import ChangeRequest
from console.model.config import ConfigResource, ConfigSet
from console.plan.staged import Staged

RECORD_LIMIT = 10_000
"""Records in one change, of whatever kind."""

ACL_COMPARISONS = 10_000_000
"""For a removal a controller compares each filter with each ACL: 10,000 with 10,000 held up a 4.3 controller for 9
seconds, so that brokers' heartbeats timed out. Less than a second's worth goes into one request."""


def acl_removals(acls: int) -> int:
    """Return how many ACLs one request may remove where the cluster has `acls`."""
    return min(RECORD_LIMIT, max(1, ACL_COMPARISONS // max(acls, 1)))


class Facts(Struct, frozen=True):
    """What the requests depend on, of the cluster as it is now.

    reachable: the brokers that can be reached, None where that was not tried.
    incremental: whether the brokers have IncrementalAlterConfigs (Kafka 2.3); if not, `configs` gives what the legacy
    call has to carry over and what lists hold now.
    acls: how many ACLs there are. default_partitions: the brokers' ``num.partitions``.
    """

    reachable: frozenset[int] | None = None
    incremental: bool = True
    configs: Mapping[ConfigResource, ConfigSet] = msgspec.field(default_factory=dict)
    acls: int = 0
    default_partitions: int = 1


class Step(Struct, frozen=True):
    """One request and the edits in it.

    note: why it is separate from others of its kind; ``""`` where there is nothing to explain. after: indexes in the
    compiled tuple of the steps that have to succeed wholly before this one is sent: access is not removed where its
    replacement could not be granted. unchecked: whether brokers would refuse it before those, so that it is not
    validated.
    """

    request: ChangeRequest
    staged: tuple[Staged, ...]
    note: str = ""
    after: tuple[int, ...] = ()
    unchecked: bool = False


# -- packing -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bin:
    """A request under construction: its edits and how many records they make."""

    records: int = 0
    staged: list[Staged] = field(default_factory=list)

    def add(self, group: Sequence[Staged], records: int) -> None:
        """Put a group into the request."""
        self.staged.extend(group)
        self.records += records


def pack(groups: Iterable[tuple[Sequence[Staged], int]], limit: int, into: Sequence[Bin] = ()) -> list[Bin]:
    """Put each (group, records) into the first bin with room for it, those of `into` before new ones.

    A group is never split: what a broker applies whole or not at all stays in one request, and a group beyond the limit
    gets a bin of its own.

    Args:
        limit: records in one bin.
        into: bins to fill first; they are changed.

    Returns:
        The bins of `into` and the new ones that were needed.
    """
    # First fit in the order given, not sorted by size: requests keep the order of the edits as far as they have room.
    ordered = list(groups)
    # Bins without room for the smallest group are dropped from the search, which would be quadratic with 10,000 edits.
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
    """Return why a request is one of several; ``""`` where it is the only one."""
    return f"{place + 1} of {count}: a controller takes at most {limit:,} {what} in one change" if count > 1 else ""


Group = tuple[Sequence[Staged], int]
"""Edits that stay in one request, and the records that they come to."""


def singly(some: Iterable[Staged]) -> Iterable[Group]:
    """Return each edit as a group of its own that makes one record."""
    return (([staged], 1) for staged in some)


Steps = Callable[[Sequence[Staged], Facts], list[Step]]
"""(staged, facts) -> their requests, as few as the controller's limits allow; each edit in exactly one."""


def together(request: Callable[[list[Staged]], ChangeRequest], what: str = "records") -> Steps:
    """Return the steps of edits that make one record each and may share a request. what: names the records."""
    return lambda staged, _facts: steps_of(singly(staged), RECORD_LIMIT, request, what)


def apart(request: Callable[[Staged], ChangeRequest]) -> Steps:
    """Return the steps of edits of which a request can have one."""
    return lambda staged, _facts: [Step(request(each), (each,)) for each in staged]


def steps_of(
    groups: Iterable[Group], limit: int, request: Callable[[list[Staged]], ChangeRequest], what: str = "records"
) -> list[Step]:
    """Return the fewest requests for these groups, each within the limit."""
    bins = pack(groups, limit)
    return [
        Step(request(each.staged), tuple(each.staged), cut_note(place, len(bins), limit, what))
        for place, each in enumerate(bins)
    ]
