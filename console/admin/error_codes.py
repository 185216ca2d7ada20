"""Kafka's error codes: names, which are worth another try, and what an operator does about them."""

from __future__ import annotations

from functools import cache

from console.model.failure import Failure


@cache
def error_name(code: int) -> str:
    """Kafka's name (``INVALID_CONFIG``), or ``UNKNOWN(n)``."""
    from kio.schema.errors import ErrorCode

    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"UNKNOWN({code})"


def failure(code: int, message: str | None = None) -> Failure:
    """The failure that a broker's error code and its message stand for."""
    return Failure(error_name(code), message or "", "")
