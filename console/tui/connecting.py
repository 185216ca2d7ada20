"""One session after another, each on a client of its own whose first reads are sent at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from console.commands.session import Session
from console.tui.head_start import HeadStart

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context


class Connecting:
    """Makes sessions; the client of the one before is closed. start: gives a running client for a context."""

    def __init__(self, start: Callable[[Context], AdminClient]) -> None:
        self._start = start
        self._client: AdminClient | None = None

    def session(self, context: Context) -> Session:
        """A session whose brokers and topics are being asked for."""
        from console.admin import cluster, topics

        self.close()
        client = self._client = self._start(context)
        ahead = HeadStart(client, [(cluster.describe_cluster, ()), (topics.describe_topics, (None,))])
        return Session(ahead, context)

    def close(self) -> None:
        """Close the client in use."""
        if self._client is not None:
            self._client.close()
            self._client = None
