"""`kac snapshot`: read everything once."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from console.answers.snapshot_json import write_snapshot
from console.model.codes import CLIENT_METRICS, GROUP
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.session.session import Client, Refused, Session

if TYPE_CHECKING:
    from console.contexts import Context


async def read_everything(session: Session) -> None:
    """Read every part of the cluster into the session; what can't be read is in the snapshot's failures.

    Raises AdminError where the cluster can't be reached at all, Refused where it is the wrong one.
    """
    await session.read_cluster()
    await asyncio.gather(session.read_quorum(), session.read_topics(), session.read_quotas(), session.read_acls())
    named = await session.list_resources((GROUP, CLIENT_METRICS))
    snapshot = session.snapshot
    brokers = [broker_resource(broker.id) for broker in snapshot.cluster.brokers]
    topics = [topic_resource(name) for name in snapshot.topics]
    await session.read_configs([*topics, *brokers, CLUSTER_DEFAULT, *named])


def print_snapshot(
    client: Client, context: Context, out: TextIO, *, overrides: bool, complain: Callable[[str], None]
) -> int:
    """Print the whole state as JSON; 0 when it was written, 1 when the cluster could not be read at all."""
    from console.admin.errors import AdminError

    session = Session(client, context)
    # One pass over live objects that all stay until the end: the cyclic collector would only walk them again and again.
    gc.disable()
    try:
        asyncio.run(read_everything(session))
    except (AdminError, Refused) as error:
        complain(f"{error.failure} {error.failure.remedy}".rstrip())
        return 1
    write_snapshot(session.snapshot, out, overrides=overrides)
    out.flush()
    if session.snapshot.failures:
        complain(f"warning: {len(session.snapshot.failures)} parts could not be read, see errors in the document")
    return 0
