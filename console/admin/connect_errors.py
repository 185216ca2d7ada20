"""Why a connection could not be made, in an operator's words."""

from __future__ import annotations

from collections.abc import Sequence

from console.admin.errors import AdminError, Unreachable
from console.admin.settings import ConnectionSettings
from console.model.failure import Failure

Address = tuple[str, int]


def show(address: Address) -> str:
    """``host:port``, an IPv6 address in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def connect_error(error: BaseException, address: Address, settings: ConnectionSettings) -> AdminError:
    """The error that tells why this address gave no connection."""
    return Unreachable(Failure("UNREACHABLE", f"{show(address)}: {error}", ""))


def none_reached(errors: Sequence[AdminError]) -> AdminError:
    """One error for all addresses."""
    return errors[0]
