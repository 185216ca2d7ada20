"""Decoding beside the client's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONG = 1 << 20
"""Bytes of an answer that is decoded in a thread of its own: the client's other requests go on meanwhile."""


async def aside(size: int, decoding: Callable[[], T]) -> T:
    """Return what is decoded of so many bytes."""
    return decoding() if size < LONG else await asyncio.to_thread(decoding)
