"""Where the embedded cluster does not do what Kafka does, on purpose: a name that a test uses, and the reason.

A test that asks inside ``target.differing(name)`` holds that the answers do differ; any other difference fails.
"""

from __future__ import annotations

from collections.abc import Mapping

ON_PURPOSE: Mapping[str, str] = {
    "no fetch sessions": "A consumer that asks for a fetch session gets none, and names its partitions each time "
    "(KIP-227): a few records need no less traffic.",
    "no transactions": "Transactional ids are refused with UNSUPPORTED_VERSION, at which clients give up: nothing that "
    "an administrator looks at needs transactions.",
    "a credential is lost": "KRaft's brokers forget a SCRAM credential that is set in the request which deletes the "
    "last other one of its mechanism. Their controller still knows it. Here it is kept: nobody should rely on a loss.",
    "users' names as paths": "Where all SCRAM users are described, ZooKeeper's brokers tell names as ZooKeeper has "
    "them, with % for what is no letter. Here they are told as they were given.",
}
