"""Where the embedded cluster does not do what Kafka does, on purpose: a name that a test uses, and the reason.

A test that asks inside ``target.differing(name)`` holds that the answers do differ; any other difference fails, and so
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
"""API keys by the first release: what brokers say to each other, share and streams groups. The console has no use for
them, nor have the clients that are to work here; what is not told is not asked for."""
