"""Several addresses, one connection: to the first that answers, without waiting for those that hang (RFC 8305).

`first_to_open` tries addresses in a staggered race. `ClientLoop`, the event loop of the client's thread, does so with
all addresses of a host, and looks names up without blocking.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from console.admin.settings import SshHost

A = TypeVar("A")
C = TypeVar("C")

STAGGER = 0.3
"""Seconds after which the next address is tried in parallel."""


async def first_to_open(
    addresses: Sequence[A],
    open_one: Callable[[A], Awaitable[C]],
    discard: Callable[[C], Awaitable[None]],
    *,
    final: Callable[[BaseException], bool],
    stagger: float = STAGGER,
) -> C | list[Exception]:
    """Return the connection that opens first, or the errors of all addresses, in their order.

    An address is tried when all before it have failed or had `stagger` seconds. An error for which `final` is true ends
    the race. The other attempts are cancelled, and connections that they have opened are discarded; so are all when the
    caller is cancelled.
    """
    tasks: list[asyncio.Task[C]] = []
    winner: asyncio.Task[C] | None = None
    try:
        winner = await _staggered(tasks, addresses, open_one, final, stagger)
        await _discard_losers([task for task in tasks if task is not winner], discard)
    except BaseException:
        await _discard_losers(tasks, discard)
        raise
    if winner is not None:
        return winner.result()
    return [error for task in tasks if not task.cancelled() and isinstance(error := task.exception(), Exception)]


async def _staggered(
    tasks: list[asyncio.Task[C]],
    addresses: Sequence[A],
    open_one: Callable[[A], Awaitable[C]],
    final: Callable[[BaseException], bool],
    stagger: float,
) -> asyncio.Task[C] | None:
    """Fill `tasks` in the addresses' order. Returns the winner; None if all have failed or one finally."""
    waiting: set[asyncio.Task[C]] = set()
    while waiting or len(tasks) < len(addresses):
        if len(tasks) < len(addresses):
            tasks.append(asyncio.ensure_future(open_one(addresses[len(tasks)])))
            waiting.add(tasks[-1])
        patience = stagger if len(tasks) < len(addresses) else None
        done, waiting = await asyncio.wait(waiting, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task in done and task.exception() is None:
                return task
        if any((error := task.exception()) is not None and final(error) for task in done):
            return None
    return None


async def _discard_losers(tasks: Sequence[asyncio.Task[C]], discard: Callable[[C], Awaitable[None]]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(result, BaseException):
            await discard(result)


# The event loop of the client's thread.

HAPPY_EYEBALLS_DELAY = 0.25
"""Seconds after which the next address of a host is tried in parallel (RFC 8305)."""

AddressInfo = tuple[int, int, int, str, Any]
"""As socket.getaddrinfo gives it: family, type, protocol, canonical name, socket address."""


class ClientLoop(asyncio.SelectorEventLoop):
    """An event loop for hosts with dead addresses and for a resolver that hangs.

    via: the SSH host that every connection goes through; None: straight.
    """

    def __init__(self, via: SshHost | None = None) -> None:
        super().__init__()
        self._via = via
        self._ahead: dict[tuple[str, int], asyncio.Task[socket.socket]] = {}

    def open_ahead(self, host: str, port: int) -> None:
        """Open a socket that the next connection there takes; it fails with what this fails with."""
        opening = self.create_task(self._open_socket(host, port), name=f"open ahead {host}:{port}")
        opening.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._ahead[host, port] = opening

    def close(self) -> None:
        """Close the loop, and what was opened ahead and never taken."""
        for opening in self._ahead.values():
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        self._ahead.clear()
        super().close()

    async def create_connection(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        """Do as asyncio's, with all addresses of the host tried in a staggered race.

        asyncio tries them one by one, so that an address that drops packets uses up the time-out; its own race (in
        3.11) leaves a socket open if it is cancelled as it ends.
        """
        if host is not None:
            ahead = self._ahead.pop((host, port), None)
            options["sock"] = await (ahead or self._open_socket(host, port))
            if options.get("ssl"):
                options.setdefault("server_hostname", host)
        return await super().create_connection(protocol_factory, **options)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        """Do as asyncio's, but in a daemon thread: at exit the interpreter waits for a pool's threads, and a resolver
        without servers takes many seconds."""
        answer: asyncio.Future[Any] = self.create_future()

        def look_up() -> None:
            try:
                found, error = _resolved(host, port, **options), None
            except OSError as failed:
                found, error = None, failed
            with suppress(RuntimeError):  # the loop is closed
                self.call_soon_threadsafe(_set_answer, answer, found, error)

        threading.Thread(target=look_up, name="look up", daemon=True).start()
        return await answer

    async def _open_socket(self, host: str, port: int) -> socket.socket:
        if self._via is not None:
            from console.admin.ssh import way

            return await way(self._via).open(host, port)
        opened = await first_to_open(
            by_turns(await self._addresses(host, port)),
            self._connect_socket,
            _close_socket,
            final=lambda _: False,
            stagger=HAPPY_EYEBALLS_DELAY,
        )
        if isinstance(opened, socket.socket):
            return opened
        if len({type(error) for error in opened}) == 1:
            raise opened[0]
        raise OSError("; ".join(map(str, opened)))

    async def _addresses(self, host: str, port: int) -> Sequence[AddressInfo]:
        with suppress(socket.gaierror):  # a numeric address needs no look-up
            return _resolved(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        found: Sequence[AddressInfo] = await self.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return found

    async def _connect_socket(self, info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.setblocking(False)
            await self.sock_connect(connecting, address)
        except BaseException:
            connecting.close()
            raise
        return connecting


def _resolved(host: Any, port: Any, **options: Any) -> Sequence[AddressInfo]:
    """Do as socket.getaddrinfo. Raises OSError also for what can't be written as a host's name."""
    try:
        return socket.getaddrinfo(host, port, **options)
    except UnicodeError:  # a label of more than 63 characters, or an empty one
        raise socket.gaierror(socket.EAI_NONAME, "it can't be a host's name") from None


def by_turns(addresses: Sequence[AddressInfo]) -> list[AddressInfo]:
    """Return addresses in their order, but IPv6 and IPv4 alternate, so that a dead family costs one delay (RFC
    8305)."""
    if not addresses:
        return []
    first = [info for info in addresses if info[0] == addresses[0][0]]
    others = [info for info in addresses if info[0] != addresses[0][0]]
    return [info for info in chain.from_iterable(zip_longest(first, others)) if info is not None]


async def _close_socket(opened: socket.socket) -> None:
    opened.close()


def _set_answer(answer: asyncio.Future[Any], found: Any, error: OSError | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(found)
