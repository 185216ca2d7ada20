"""The open connections of one client: one to each broker in use, and one to the first bootstrap address that
answered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from console.admin.errors import AdminError, AuthenticationFailed, TlsFailed, WayFailed, WrongNode
from console.admin.settings import Address, ConnectionSettings, SaslSettings

if TYPE_CHECKING:
    from console.flight.tap import Tap
    from console.model.identity import Node
    from console.wire.aiokafka_request import Exchange
    from console.wire.connection import Connection
    from console.wire.sasl import Authenticator, Login


REFUSAL_SECONDS = 30.0
"""Seconds for which refused credentials are not sent again, so that a console that polls does not lock the account."""


MAX_OPEN = 256
"""Maximum number of open connections; above it, the least recently used ones are closed. The limit is needed because
a cluster may advertise any number of brokers, and a process may often have only 1,024 open files.
"""
CONCURRENCY = 64
"""Maximum number of brokers with requests in flight. It is far below MAX_OPEN, so that no connection in use is closed.
"""


_Stamp = tuple[tuple[int, int, int] | None, ...]
"""For each file: its inode, size and modification time; None for a missing file. It shows whether the files have
changed.
"""

log = logging.getLogger(__name__)


@dataclass
class Access:
    """The login state that all connections of one client share: the security arguments, the `stamp` of the files that
    they were read from, and the last refusal of the credentials.
    """

    security: dict[str, Any] | None = None
    stamp: _Stamp = ()
    refused: tuple[float, AuthenticationFailed] | None = None
    tells_nodes: bool | None = None
    """Whether new connections name the node that they are meant for, so that other nodes refuse them (KIP-1242).
    None until a broker has shown that it checks this; False from `Connections.mean_no_node` on. None counts as
    False.
    """


class Connections:
    """A pool of connections. It opens one for each address when it is first needed, and `close` closes all of them.

    A caller that uses connections to several brokers concurrently holds `concurrency` for each.

    aiokafka and kio are imported for the first connection.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        record: Callable[[Exchange], None] | None = None,
        tap: Tap | None = None,
        access: Access | None = None,
    ) -> None:
        self._settings = settings
        self._record = record
        self._tap = tap
        self._open: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Task[Connection]] = {}
        self._electing: asyncio.Task[Connection] | None = None
        self._retired: dict[asyncio.Task[None], Connection] = {}
        self._any: Address | None = None
        self._access = access or Access()
        self.concurrency = asyncio.Semaphore(CONCURRENCY)

    def service_recorded(self, _key: int) -> bytes | None:
        """Return the recorded answer of an HTTP service, by its pseudo API key; None if the connections are to live
        brokers.
        """
        return None

    def beside(self) -> Connections:
        """Return another pool with the same settings and a shared login state: credentials that were refused in one
        pool are not tried in the other.
        """
        return Connections(self._settings, self._record, self._tap, self._access)

    async def to(self, address: Address, meant: Node | None = None) -> Connection:
        """Return the connection to this address; open it if necessary. meant: the node that the peer must be; None for
        any. Raises AdminError.
        """
        connection = self._open.get(address)
        if connection is not None and connection.is_open:
            self._open[address] = self._open.pop(address)  # to the end: the most recently used one is last
            if meant is not None and connection.node not in (None, meant):
                from console.admin.link_errors import another_node

                raise WrongNode(another_node(address, meant, asked=self._settings.asked))
            return connection
        self._make_room()
        opening = self._opening.get(address)
        if opening is None:
            opening = asyncio.create_task(self._connect(address, meant), name=f"connect {address}")
            self._opening[address] = opening
            opening.add_done_callback(lambda task: self._opened(address, task))
        return await asyncio.shield(opening)

    async def any_of(self, addresses: Iterable[Address]) -> Connection:
        """Return a connection to any broker: the one that the last call returned, if it is open; otherwise another open
        one; otherwise a new one to the first of these addresses that answers. Raises AdminError.
        """
        last = self._open.get(self._any) if self._any is not None else None
        for connection in (last, *self._open.values()):
            if connection is not None and connection.is_open:
                return connection
        if self._electing is None:
            self._electing = asyncio.create_task(self._elect(tuple(addresses)), name="connect")
            self._electing.add_done_callback(self._elected)
        return await asyncio.shield(self._electing)

    async def try_anew(self, address: Address) -> float:
        """Open a new connection to this address, with its ApiVersions exchange and login, and close it. Return the
        seconds until it was open. Open connections are not used, since they may be busy. Raises AdminError.
        """
        began = time.monotonic()
        connection = await self._connect(address)
        took = time.monotonic() - began
        await connection.close()
        return took

    async def open_apart(self, address: Address) -> Connection:
        """Open a connection to this address that the pool does not keep: the caller has to close it. A refused login
        does not affect other connections, since a controller's listener may need another protocol. Raises
        AdminError.
        """
        from console.admin.connect_errors import connect_error
        from console.wire.connection import connect

        settings = self._settings
        security = await self._present_security()
        try:
            return await connect(
                *address,
                client_id=settings.client_id,
                limit=settings.connect_timeout,
                security=security,
                record=self._record,
            )
        except Exception as error:
            raise connect_error(error, address, settings) from error

    def mean_no_node(self) -> None:
        """Stop checking node ids (KIP-1242): a peer refused the check of its id, but its configs prove that it is the
        expected node.
        """
        self._access.tells_nodes = False

    def reached(self) -> tuple[Address, ...]:
        """Return the addresses with open connections."""
        return tuple(address for address, connection in self._open.items() if connection.is_open)

    def now_ms(self) -> int:
        """Return the time to which the cluster's answers belong, milliseconds since 1970: the present, or a record's
        time.
        """
        return round(time.time() * 1000)

    def retire_at(self, addresses: Iterable[Address]) -> None:
        """Retire the connections to these addresses; see `retire`."""
        for address in addresses:
            if (connection := self._open.get(address)) is not None:
                self.retire(connection)

    def retire_all(self, longest: float | None = None) -> None:
        """Retire all connections; see `retire`."""
        for connection in tuple(self._open.values()):
            self.retire(connection, longest)

    def retire(self, connection: Connection, longest: float | None = None) -> None:
        """Remove a connection from the pool, for example because it does not answer; ignore a connection of another
        pool. The connection is closed when its requests are answered, or after `longest` seconds; None for the
        settings' request timeout.
        """
        mine = [address for address, known in self._open.items() if known is connection]
        if not mine:
            return
        for address in mine:
            del self._open[address]
        longest = self._settings.request_timeout if longest is None else longest
        task = asyncio.create_task(connection.close_when_idle(longest))
        self._retired[task] = connection
        task.add_done_callback(self._retired.pop)

    def _make_room(self) -> None:
        """Close idle connections, the least recently used first, until the pool may open one more."""
        for address, connection in list(self._open.items()):
            if len(self._open) + len(self._opening) < MAX_OPEN:
                return
            if not connection.is_open:
                del self._open[address]
            elif connection.is_idle and address != self._any:
                self.retire(connection)

    async def close(self) -> None:
        """Close all connections."""
        connections = list(self._retired.values())
        tasks = [task for task in (*self._opening.values(), self._electing, *self._retired) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connections += self._open.values()
        self._open.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _elect(self, addresses: tuple[Address, ...]) -> Connection:
        async def open_one(address: Address) -> tuple[Address, Connection]:
            return address, await self._connect(address)

        async def discard(opened: tuple[Address, Connection]) -> None:
            await opened[1].close()

        result = await first_to_open(
            addresses, open_one, discard, final=lambda error: isinstance(error, AuthenticationFailed | WayFailed)
        )
        if isinstance(result, list):
            from console.admin.connect_errors import none_reached

            raise none_reached([error for error in result if isinstance(error, AdminError)])
        self._any, connection = result
        self._open[self._any] = connection
        return connection

    def _elected(self, task: asyncio.Task[Connection]) -> None:
        self._electing = None
        if not task.cancelled():
            task.exception()  # mark the exception as retrieved: the waiting callers get it

    def _opened(self, address: Address, task: asyncio.Task[Connection]) -> None:
        del self._opening[address]
        if not task.cancelled() and task.exception() is None:
            self._open[address] = task.result()

    async def _connect(self, address: Address, meant: Node | None = None) -> Connection:
        if self._tap is None:
            return await self._opened_at(address, meant)
        began = time.monotonic()
        try:
            connection = await self._opened_at(address, meant)
        except AdminError as error:
            self._tap.not_connected(address, error, time.monotonic() - began)
            raise
        self._tap.connected(address, connection.versions, time.monotonic() - began)
        return connection

    async def _opened_at(self, address: Address, meant: Node | None) -> Connection:
        from console.wire.connection import connect

        settings = self._settings
        now = asyncio.get_running_loop().time()
        self._find_ended_sessions(now)
        if self._access.refused is not None and now < self._access.refused[0] + REFUSAL_SECONDS:
            raise AuthenticationFailed(self._access.refused[1].failure)
        try:
            connection = await connect(
                *address,
                client_id=settings.client_id,
                limit=settings.connect_timeout,
                security=await self._present_security(),
                record=self._record,
                meant=meant if self._access.tells_nodes else None,
            )
        except Exception as error:
            from console.admin.connect_errors import connect_error, refused_credentials

            reason = connect_error(error, address, settings)
            if isinstance(reason, AuthenticationFailed) and refused_credentials(error):
                self._access.refused = now, reason
            raise reason from error
        if self._access.tells_nodes is None and connection.tells_nodes:
            self._access.tells_nodes = True
        if settings.controllers:
            is_broker = connection.version("metadata") is not None
            if is_broker or connection.version("describe_cluster") is None:
                from console.admin.connect_errors import not_a_controller

                await connection.close()
                raise not_a_controller(address, older=not is_broker)
        elif connection.version("metadata") is None:
            from console.admin.connect_errors import not_a_broker, too_new

            newer = connection.newer("metadata")
            await connection.close()
            raise not_a_broker(address) if newer is None else too_new(address, "metadata", newer)
        return connection

    async def _present_security(self) -> dict[str, Any]:
        """Return the security arguments for a new connection. Read the key and trust stores again if the files have
        changed. If the new files are unusable, keep the content that was read before: a certificate may be
        written before its key. Raises AdminError.
        """
        settings = self._settings
        files = () if settings.tls is None else settings.tls.files
        stamp = await asyncio.to_thread(_stamp, files) if files else ()
        if self._access.security is None:
            self._access.security = await security_arguments(settings)
        elif stamp != self._access.stamp:
            from console.admin.tls import ssl_context

            try:
                self._access.security["ssl_context"] = await asyncio.to_thread(ssl_context, settings)
            except TlsFailed as error:
                log.warning("the former certificates are used: %s", error.failure)
                return self._access.security
        self._access.stamp = stamp
        return self._access.security

    def _find_ended_sessions(self, now: float) -> None:
        """Drop the connections whose session could not be renewed; the next request opens a new one. Only the login
        of a new connection shows whether the credentials are valid: the renewed credentials of a cloud role are
        valid, but can't renew a session that began with the earlier ones. If the peer proved to be another
        server, send it no further login for now. now: the time on the loop's clock.
        """
        for address, connection in list(self._open.items()):
            failed = connection.not_renewed
            if failed is None:
                continue
            from console.admin.connect_errors import connect_error, is_impostor

            del self._open[address]
            reason = connect_error(failed, address, self._settings)
            log.info("a session was not renewed: %s", reason.failure)
            if isinstance(reason, AuthenticationFailed) and is_impostor(failed):
                self._access.refused = now, reason


def _stamp(files: Iterable[Path]) -> _Stamp:
    def one(file: Path) -> tuple[int, int, int] | None:
        try:
            found = file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    return tuple(map(one, files))


async def security_arguments(settings: ConnectionSettings) -> dict[str, Any]:
    """Read the key and trust stores, and return the security arguments of `wire.connection.connect`. Raises
    AdminError.
    """
    arguments: dict[str, Any] = {"security_protocol": settings.security_protocol}
    if settings.security_protocol != "PLAINTEXT":
        from console.admin.tls import ssl_context

        arguments["ssl_context"] = await asyncio.to_thread(ssl_context, settings)
        arguments["login"] = sasl_login(settings)
    return arguments


# SASL: the login, by mechanism.

TOKEN_SHARE = 0.8
"""The share, 0 to 1, of the connect timeout that getting a token may take, so that the error names the slow token
endpoint.
"""


def sasl_login(settings: ConnectionSettings) -> Login | None:
    """Return the login for these settings; None for a protocol without SASL.

    Raises AuthenticationFailed if a setting or a package that the mechanism needs is missing.
    """
    from console.wire.sasl import (
        BearerAuthenticator,
        Login,
        PlainAuthenticator,
        ScramAuthenticator,
    )

    if not settings.security_protocol.startswith("SASL_"):
        return None
    sasl = settings.sasl
    if sasl is None:
        raise _incomplete_sasl(
            f"{settings.security_protocol} needs credentials, which are missing", "Set sasl.mechanism."
        )
    mechanism, username, password = sasl.mechanism, sasl.username, sasl.password
    if "aws" in sasl.options:
        from importlib.util import find_spec

        if find_spec("botocore") is None:
            from console.extras import how_to_add

            what = f"{mechanism} of AWS needs botocore, which is not installed"
            raise _incomplete_sasl(what, f"Install it: {how_to_add('aws')}")
        from console.admin.aws import AwsLogin, AwsTokens, IamAuthenticator, role_in

        limit = TOKEN_SHARE * settings.connect_timeout
        aws = AwsLogin(sasl.options.get("aws.profile"), limit, role_in(sasl.options))
        if mechanism == "OAUTHBEARER":
            return Login(mechanism, lambda host: BearerAuthenticator(AwsTokens(aws, host)))
        return Login(mechanism, lambda host: IamAuthenticator(aws, host))
    if mechanism == "OAUTHBEARER":
        from console.admin.oauth import token_provider

        source = token_provider(sasl, TOKEN_SHARE * settings.connect_timeout)
        return Login(mechanism, lambda _host: BearerAuthenticator(source))
    if mechanism == "GSSAPI":
        return Login(mechanism, _kerberos(sasl))
    if username is None or password is None:
        raise _incomplete_sasl(f"{mechanism} needs a user and a password", "Set sasl.jaas.config.")
    if mechanism == "PLAIN":
        return Login(mechanism, lambda _host: PlainAuthenticator(username, password))
    extensions = "tokenauth=true" if sasl.options.get("tokenauth") == "true" else ""
    return Login(mechanism, lambda _host: ScramAuthenticator(mechanism, username, password, extensions))


def _kerberos(sasl: SaslSettings) -> Callable[[str], Authenticator]:
    from console.wire.kerberos import PACKAGES, KerberosAuthenticator, Keys, NoLibrary, require_library

    try:
        require_library()
    except NoLibrary as missing:
        message = f"GSSAPI (Kerberos) needs MIT's library of this host, which has no {missing}"
        raise _incomplete_sasl(message, f"Install it ({PACKAGES}).") from None
    options = sasl.options
    keys = Keys(sasl.username, options.get("kerberos.keytab"), options.get("kerberos.ticket.cache"))
    service = options.get("kerberos.service.name", "kafka")
    return lambda host: KerberosAuthenticator(service, host, keys)


def _incomplete_sasl(message: str, remedy: str) -> AuthenticationFailed:
    return AuthenticationFailed.of(message, remedy)


# Connection races: the first connection that opens wins, without waiting for addresses that hang.

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
    """Open connections to the addresses until one succeeds. Return that connection; if all attempts fail, return their
    errors in the order of the addresses.

    The attempt for an address begins when all attempts before it have failed or have lasted `stagger` seconds. An error
    for which `final` returns True ends all attempts. At the end, the other attempts are cancelled, and connections that
    they opened are passed to `discard`. If the caller is cancelled, all attempts are.
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
    """Try the addresses in order, each in a task that is added to `tasks`. Return the first task that succeeds; None if
    all fail, or if one fails with a final error.
    """
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
