"""A cluster in a thread of its own, for whoever has no event loop, or needs it for itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from console.embedded.cluster import EmbeddedCluster
from console.embedded.faults.faults import Fault
from console.embedded.spec import ClusterSpec

T = TypeVar("T")


class ThreadedCluster:
    """A running cluster in another thread. bootstrap: its addresses."""

    def __init__(self, cluster: EmbeddedCluster, loop: asyncio.AbstractEventLoop) -> None:
        self._cluster = cluster
        self._loop = loop
        self.bootstrap = cluster.bootstrap

    def call(self, function: Callable[[EmbeddedCluster], T], timeout: float = 30.0) -> T:
        """What the function gives for the cluster, called on its loop: the only way to look at it or change it."""

        async def called() -> T:
            return function(self._cluster)

        return asyncio.run_coroutine_threadsafe(called(), self._loop).result(timeout)

    def run(self, function: Callable[[EmbeddedCluster], Coroutine[Any, Any, T]], timeout: float = 30.0) -> T:
        """The same with a coroutine."""
        return asyncio.run_coroutine_threadsafe(function(self._cluster), self._loop).result(timeout)


@contextmanager
def run_in_thread(spec: ClusterSpec | None = None, faults: Iterable[Fault] = ()) -> Iterator[ThreadedCluster]:
    """Start a cluster, with faults, in a thread and stop it at the end. Raises what its start raises."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded cluster", daemon=True)
    thread.start()
    try:
        cluster = asyncio.run_coroutine_threadsafe(_started(spec, faults), loop).result()
        try:
            yield ThreadedCluster(cluster, loop)
        finally:
            asyncio.run_coroutine_threadsafe(cluster.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _started(spec: ClusterSpec | None, faults: Iterable[Fault]) -> EmbeddedCluster:
    cluster = EmbeddedCluster(spec)
    for fault in faults:
        cluster.faults.add(fault)
    await cluster.start()
    return cluster
