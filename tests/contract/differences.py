"""Where the embedded cluster does not do what Kafka does, on purpose: a name that a test uses, and the reason.

A test that asks inside ``target.differing(name)`` holds that the answers do differ; any other difference fails, and so
does a name that no test uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

ON_PURPOSE: Mapping[str, str] = {
    "no fetch sessions": "A consumer that asks for a fetch session gets none, and names its partitions each time "
    "(KIP-227): a few records need no less traffic.",
    "a credential is lost": "KRaft's brokers forget a SCRAM credential that is set in the request which deletes the "
    "last other one of its mechanism. Their controller still knows it. Here it is kept: nobody should rely on a loss.",
    "users' names as paths": "Where all SCRAM users are described, ZooKeeper's brokers tell names as ZooKeeper has "
    "them, with % for what is no letter. Here they are told as they were given.",
    "a value that can't be described": "2.8 stores a list that grew beyond 32,767 characters, and then fails to "
    "describe its topic at all.",
    "a partition without replicas": "2.8 writes such a topic down and never creates it, so its name is taken for ever.",
    "a partition on a broker that is not there": "2.8 waits for the broker; until then no broker tells of the topic. "
    "Here it is told of, offline.",
    "which loggers there are": "A logger is there once its class has logged something, which hangs on what else a "
    "broker did.",
}

_KRAFT = frozenset({25, 28, 38, 39, 40, 41, 68})
_4_1 = _KRAFT | {76, *range(78, 82), *range(83, 88)}
NOT_SERVED: Mapping[str, Set[int]] = {
    "2.8": {4, 5, 6, 7, 25, 28, 38, 39, 40, 41, 56},
    "3.7": _KRAFT,
    "3.9": _KRAFT | {80, 81},
    "4.1": _4_1,
    "4.2": _4_1 | {88},
    "4.4": _4_1 | {88, 93, 94},
}
"""API keys by the first release: what brokers say to each other, delegation tokens, offsets in transactions, voters of
the quorum, share and streams groups. The console has no use for them, nor have the clients that are to work here; what
is not told is not asked for."""
