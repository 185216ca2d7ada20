"""The requests into which a plan is compiled, packed so that each is within the controller's limits.

Limits: QuorumController.MAX_RECORDS_PER_USER_OP; tested on Kafka 3.9.1 and 4.3.0. Each config or quota key, each ACL,
and each topic, partition and config of a new topic is one record of the metadata log. A controller refuses a larger
change, or fails with its own error and steps down. A Kafka 3.9 controller ended on a larger DeleteAcls.
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
"""Maximum number of comparisons for one removal of ACLs. A controller compares each filter with each ACL: 10,000 with
10,000 blocked a controller of Kafka 4.3 for 9 seconds, and brokers' heartbeats timed out. With this limit, a request
takes less than a second.
"""


def acl_removals(acls: int) -> int:
    """Return the maximum number of ACLs that one request may remove from a cluster that has `acls` ACLs; at least 1."""
    return min(RECORD_LIMIT, max(1, ACL_COMPARISONS // max(acls, 1)))


class Facts(Struct, frozen=True):
    """The facts about the present cluster on which the form of requests depends."""

    reachable: frozenset[int] | None = None
    """The ids of the reachable brokers; None if that was not tested."""
    incremental: bool = True
    """Whether the brokers have IncrementalAlterConfigs (Kafka 2.3, KIP-339). If not, `configs` has the overrides and
    lists that the legacy request has to repeat.
    """
    configs: Mapping[ConfigResource, ConfigSet] = msgspec.field(default_factory=dict)
    acls: int = 0
    """The number of ACLs in the cluster."""
    default_partitions: int = 1
    """The brokers' ``num.partitions``."""


class Step(Struct, frozen=True):
    """One request, and the edits that it carries out."""

    request: ChangeRequest
    staged: tuple[Staged, ...]
    note: str = ""
    """The reason why the request is separate from others of its kind, for operators; ``""`` if there is none."""
    after: tuple[int, ...] = ()
    """The indexes of the steps that have to succeed completely before this one is sent: in the compiled tuple, or,
    before compilation, among the steps of its batch. For example, ACLs are removed only after the ACLs that
    replace them were added.
    """
    unchecked: bool = False
    """Whether brokers would refuse the request until the steps in `after` succeeded, so that it is not validated in
    advance.
    """


# -- packing -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Bin:
    """A request that is being filled: its edits, and the number of records that they make."""

    records: int = 0
    staged: list[Staged] = field(default_factory=list)

    def add(self, group: Sequence[Staged], records: int) -> None:
        """Add the edits of a group to the request. records: their number of records."""
        self.staged.extend(group)
        self.records += records


def pack(groups: Iterable[tuple[Sequence[Staged], int]], limit: int, into: Sequence[Bin] = ()) -> list[Bin]:
    """Put each (group, records) into the first bin with room for it; the bins of `into` come before new ones.

    A group is never split, since its edits have to be in one request. A group beyond the limit gets its own bin.

    Args:
        limit: maximum number of records in one bin.
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
    """Return the note on one of several requests that are separate because of a limit; ``""`` if there is only one.

    Args:
        place: the position of the request, from 0.
        count: the number of requests.
        limit: the maximum size of a request.
        what: the noun for the unit of `limit`.
    """
    return f"{place + 1} of {count}: one request has at most {limit:,} {what}" if count > 1 else ""


Group = tuple[Sequence[Staged], int]
"""Edits that must be in one request, and the number of records that they make."""


def singly(some: Iterable[Staged]) -> Iterable[Group]:
    """Return a group for each edit, with one record."""
    return (([staged], 1) for staged in some)


Steps = Callable[[Sequence[Staged], Facts], list[Step]]
"""A function from staged edits and facts to their requests, as few as the controller's limits allow; each edit is in
exactly one. `Step.after` has indexes among these requests.
"""


def together(request: Callable[[list[Staged]], ChangeRequest], what: str = "records") -> Steps:
    """Return a `Steps` function for edits that make one record each and may share a request.

    Args:
        request: a function from edits to their request.
        what: the noun for the records.
    """
    return lambda staged, _facts: steps_of(singly(staged), RECORD_LIMIT, request, what)


def apart(request: Callable[[Any], ChangeRequest]) -> Steps:
    """Return a `Steps` function that makes one request for each edit. request: a function from an edit to its
    request.
    """
    return lambda staged, _facts: [Step(request(each.edit), (each,)) for each in staged]


def steps_of(
    groups: Iterable[Group], limit: int, request: Callable[[list[Staged]], ChangeRequest], what: str = "records"
) -> list[Step]:
    """Return the steps for these groups, in few requests. A group is never split; a group beyond the limit gets a
    request of its own.

    Args:
        limit: the maximum size of a request, in the unit of the groups' numbers, usually records.
        request: a function from edits to their request.
        what: the noun for that unit, for the note on each of several requests.
    """
    bins = pack(groups, limit)
    return [
        Step(request(each.staged), tuple(each.staged), cut_note(place, len(bins), limit, what))
        for place, each in enumerate(bins)
    ]
