"""Intended differences between the embedded cluster and Kafka: the name that tests use for each, and its reason.

Within ``target.differing(name)`` a test expects that the answers differ. Any other difference fails a test. A name that
no test uses fails test_differences.py.
"""

from collections.abc import Mapping, Set

ON_PURPOSE: Mapping[str, str] = {
    "no fetch sessions": "A consumer that asks for a fetch session gets none, and names its partitions each time "
    "(KIP-227): a few records need no less traffic.",
    "a credential is lost": "KRaft's brokers forget a SCRAM credential that is set in the request which deletes the "
    "last other one of its mechanism. Their controller still knows it. Here it is kept: nobody should rely on a loss.",
    "which loggers there are": "A logger is there once its class has logged something, which hangs on what else a "
    "broker did.",
}

_KRAFT = frozenset({68})
NOT_SERVED: Mapping[str, Set[int]] = {
    "3.9": _KRAFT,
    "4.4": _KRAFT | {76, 78, 79, *range(83, 89), 93, 94},
}
"""Release -> keys of the APIs that brokers serve from this release on and the embedded cluster does not: those between
brokers, and those of members of share and streams groups. Neither kac nor the clients that are tested on embedded
clusters use them.
"""
