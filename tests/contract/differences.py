"""Intended differences between the embedded cluster and Kafka: a name that tests use, and the reason.

Inside ``target.differing(name)`` a test expects that the answers differ. Any other difference fails the test, and so
does a name that no test uses.
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
"""First release -> keys of APIs that the embedded cluster does not serve: those between brokers, and those of members
of share and streams groups. kac does not use them, nor do the clients that are tested on embedded clusters.
"""
