"""How much a controller takes in one change. Beyond it, it refuses, or fails with an error of its own and steps down.

QuorumController.MAX_RECORDS_PER_USER_OP; tried on Kafka 3.9.1 and 4.3.0: one record for each config or quota key, for
each ACL, and for each topic, partition and config of a new topic. Kafka 3.9 was seen to end on a larger DeleteAcls.
"""

from __future__ import annotations

RECORD_LIMIT = 10_000
"""Records in one change, of whatever kind."""

ACL_COMPARISONS = 10_000_000
"""For a removal a controller compares each filter with each ACL: 10,000 with 10,000 held up a 4.3 controller for 9
seconds, so that brokers' heartbeats timed out. Less than a second's worth goes into one request."""


def acl_removals(acls: int) -> int:
    """How many ACLs to remove in one request where the cluster has this many."""
    return min(RECORD_LIMIT, max(1, ACL_COMPARISONS // max(acls, 1)))
