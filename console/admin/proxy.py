"""Connections through a SOCKS5 or HTTP proxy (RFC 1928; CONNECT in RFC 9110). The proxy resolves the host names."""

from __future__ import annotations

import os
import socket

from console.admin.errors import AdminError, NothingListens, Unreachable, WayFailed
from console.admin.settings import Proxy, show_address

OPEN_SECONDS = 20.0
"""Maximum seconds for the proxy to connect. A caller's own timeout is shorter; this one ends the attempts that a caller
has left.
"""
_REFUSED = 5
_NOT_ALLOWED = 2
_TO_LOG_IN = 407


class ProxyWay:
    """The connections through one proxy. Any thread and any event loop may use it."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def start(self, *, ask: bool) -> None:
        """Do nothing: there is no login before a connection. ask: ignored; `SshWay.start` has the same parameter."""

    async def open(self, host: str, port: int) -> socket.socket:
        """Return a connection to this address through the proxy. Raises AdminError."""
        from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError, ProxyType
        from python_socks.async_.asyncio import Proxy as Dialer

        proxy = self._proxy
        kind = ProxyType.SOCKS5 if proxy.scheme == "socks5" else ProxyType.HTTP
        password = None if proxy.password is None else proxy.password.reveal()
        dialer = Dialer(kind, proxy.host, proxy.port, proxy.username, password, rdns=True)
        try:
            return await dialer.connect(host, port, timeout=OPEN_SECONDS)
        except ProxyConnectionError as error:
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            # Use the system's text, as asyncio's own repeats the address.
            why = (
                os.strerror(cause.errno) if cause.errno and cause.errno > 0 else cause.strerror or type(cause).__name__
            )
            raise WayFailed.of(f"the proxy {proxy} is not reached: {why}", _CHECK_PROXY) from None
        except ProxyTimeoutError:
            raise WayFailed.of(f"the proxy {proxy} does not connect within {OPEN_SECONDS:g} s", _CHECK_PROXY) from None
        except ProxyError as error:
            raise self._refused(error.error_code, str(error), (host, port)) from None
        except (ValueError, OSError) as error:  # a name that the proxy's protocol can't have, or a lost connection
            raise WayFailed.of(f"the proxy {proxy} ends the connection: {_printable(error)}", _CHECK_PROXY) from None

    def close(self) -> None:
        """Do nothing: the proxy keeps no state between connections."""

    def _refused(self, code: int | None, said: str, address: tuple[str, int]) -> AdminError:
        """Return the error for a refusal by the proxy.

        Args:
            code: a code of SOCKS5 (below 100) or a status of HTTP; None if the answer has neither.
            said: the proxy's text.
            address: the address to which it should connect.
        """
        proxy, where = self._proxy, show_address(address)
        if code == _TO_LOG_IN or (code is None and "uthentication" in said):
            message = f"the proxy {proxy} asks for a login"
            if proxy.password is not None:
                message = f"the proxy {proxy} refuses the login of {proxy.username}"
            return WayFailed.of(message, _LOG_IN, name="PROXY_REFUSED")
        if code is None:
            return WayFailed.of(f"{proxy} is no {proxy.scheme} proxy: {_printable(said)}", _CHECK_PROXY)
        by = f"from the proxy {proxy.host}"
        if code == _REFUSED and proxy.scheme == "socks5":
            message = f"{where}: nothing listens there (connection refused {by})"
            return NothingListens.of(message, "Check the port, and that its process is up.")
        if (code == _NOT_ALLOWED and proxy.scheme == "socks5") or code == 403:
            message = f"{where}: the proxy {proxy} does not allow connections to it ({_printable(said)})"
            return Unreachable.of(message, "Its rules have to allow this host and port.", name="PROXY_REFUSED")
        message = f"{where}: not reached {by}: {_printable(said)}"
        return Unreachable.of(message, f"Names are those of {proxy.host}: check the address there.")


_CHECK_PROXY = "Check the proxy's address in via, and that it runs."
_LOG_IN = 'Set it in the context: via = { url = "…", username = "…", password = "${prompt}" }.'


def _printable(said: object) -> str:
    """Return a text of the proxy's without control characters."""
    return "".join(each for each in str(said) if each.isprintable())[:200]
