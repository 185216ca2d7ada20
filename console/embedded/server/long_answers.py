"""Answers that are long, encoded piece by piece, so that the other connections are answered meanwhile."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any, TypeVar

from console.wire.frames import EncodedBody, encode_body

T = TypeVar("T")

AT_A_STRETCH = 0.01
"""Seconds of work between two pauses."""


async def in_pieces(items: Iterable[T], keep: Callable[[T], object]) -> None:
    """Give every item to `keep`, with pauses for others."""
    pause_at = perf_counter() + AT_A_STRETCH
    for item in items:
        keep(item)
        if perf_counter() > pause_at:
            await asyncio.sleep(0)
            pause_at = perf_counter() + AT_A_STRETCH


async def long_answer(response: type[Any], empty: Any, items: Iterable[bytes]) -> EncodedBody:
    """A response whose last field is an array, with these encoded items in it.

    empty: the response with nothing in that array. items: lazily encoded; the work on them pauses for others.
    """
    return EncodedBody(await long_part(response, empty, items))


async def long_part(entity: type[Any], empty: Any, items: Iterable[bytes]) -> bytes:
    """The same of a structure within a response."""
    encoded: list[bytes] = []
    await in_pieces(items, encoded.append)
    before = encode_body(entity, empty)
    if entity.__flexible__:
        return b"".join((before[:-2], varint(len(encoded) + 1), *encoded, before[-1:]))
    return b"".join((before[:-4], struct.pack(">i", len(encoded)), *encoded))


def each_encoded(element: type[Any], items: Iterable[Any]) -> Iterator[bytes]:
    """Entities as bytes, one after another."""
    return (encode_body(element, item) for item in items)


def varint(value: int) -> bytes:
    """An unsigned varint, as lengths are in flexible versions."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
