"""A firewall drops incoming connections to one broker: the controller gets its heartbeats, but no client can
reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.free_ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2
CHUNK = 65_536


class Firewall:
    """A relay in front of a broker's listener, at the address that the broker advertises. Connections that the broker
    itself opens do not pass through it.
    """

    def __init__(self, outside: int, inside: int) -> None:
        self._outside, self._inside = outside, inside
        self._lets_pass = asyncio.Event()
        self._lets_pass.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[None]:
        """Run the firewall, which lets connections pass, until the end of the block."""
        server = await asyncio.start_server(self._serve, LOOPBACK, self._outside)
        try:
            yield
        finally:
            server.close()
            self.cut()
            self._lets_pass.set()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> None:
        """Discard all bytes of old and new connections from now on, without closing them."""
        self._lets_pass.clear()

    def cut(self) -> None:
        """Close the current connections; new connections pass."""
        for writer in list(self._writers):
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        behind: asyncio.StreamWriter | None = None
        try:
            await self._lets_pass.wait()
            answers, behind = await asyncio.open_connection(LOOPBACK, self._inside)
            self._writers.add(behind)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, behind))
                both.create_task(self._pass(answers, writer))
        except* OSError:
            pass
        finally:
            for each in (writer, behind):
                if each is not None:
                    each.close()
                    self._writers.discard(each)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await self._lets_pass.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


@asynccontextmanager
async def _behind_firewall(field: Field) -> AsyncIterator[Firewall]:
    """Put broker 2 behind a firewall at its former address, and run topics and clients."""
    _, port = field.cluster.addresses[BROKER - 1]
    _, controller = field.cluster.controller_addresses[BROKER - 1]
    (inside,) = free_ports(1)
    firewall = Firewall(port, inside)
    listeners = f"PLAINTEXT://{LOOPBACK}:{inside},CONTROLLER://{LOOPBACK}:{controller}"
    await field.stop(BROKER)
    await field.with_properties(BROKER, {"listeners": listeners})
    async with firewall.standing():
        await field.start(BROKER)
        await field.topic("orders", on=[(1, 2, 3), (2, 3, 1), (3, 1, 2)])
        await field.settled()
        async with field.producer("orders", rate=60), field.consumer("orders", "billing"):
            await field.reads("billing", "orders")
            yield firewall


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a firewall rule changes so that connections to
    broker 2 fail, while connections from it work.
    """
    async with _behind_firewall(field) as firewall:

        async def begin() -> None:
            firewall.drop()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the firewall fails over to
    its spare. All connections to broker 2 end, and are opened again.
    """
    async with _behind_firewall(field) as firewall:

        async def begin() -> None:
            firewall.cut()

        yield begin


NIGHT = Night(
    name="half a broker",
    source="https://manongdao.com/q-1370374.html",
    story="A firewall rule drops all that comes in to the port of broker 2, and what the broker opens itself "
    "passes. It sends its heartbeats and follows the others, so the controller leaves it the leadership of "
    "its partitions; nobody can write to them or read them, and the other replicas fall out of sync.",
    make=_make,
    twin_story="The firewall fails over: every connection to broker 2 ends at once, and all are back a second later.",
    twin=_twin,
    cause=Words(
        (
            r"broker 2\b|\b2\b",
            r"reach|connect|answer|respond",
            r"controller (still )?(sees|hears|counts|knows|has|lists)|heartbeat|registered|not fenced|unfenced|alive"
            r"|still (leads|leader|follows|fetches)|network|firewall|one.way",
        ),
        never=(r"broker 2 (is |has )?(down|dead|crashed|gone|stopped)",),
    ),
    symptom=Words((r"\b2\b", r"answer|reach|under.?replicat|in.?sync|\bisr\b")),
    step=Words((r"network|firewall|listener|\bport\b|route",)),
    wrong=(r"unclean", r"delete topic", r"reset group", r"unregister"),
    # The default is 30 s; the lower value only lets the replicas fall out of sync within the time of a night.
    properties={"replica.lag.time.max.ms": "6000"},
)
