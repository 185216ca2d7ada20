"""One client's connection: frames in, one at a time, and answers out in the same order."""

from __future__ import annotations

import asyncio
import logging
import struct

from console.embedded.server.closing import CloseConnection
from console.embedded.server.dispatch import Dispatcher
from console.embedded.server.session import Session

log = logging.getLogger("console.embedded")

MAX_REQUEST = 100 * 1024 * 1024
"""Bytes (socket.request.max.bytes)."""
_SIZE = struct.Struct(">i")


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, session: Session, dispatcher: Dispatcher
) -> None:
    """Answer requests until the client leaves or has to. While one is worked on, the next ones wait unread, as Kafka
    mutes a channel; so answers come in the order of their requests."""
    try:
        while True:
            frame = await _frame(reader)
            answer = await dispatcher.answer(session, frame)
            del frame
            if answer is not None:
                writer.write(answer)
                await writer.drain()
            if session.mute:
                await dispatcher.clock.sleep(session.mute)
                session.mute = 0.0
            if session.ending:
                raise CloseConnection(session.ending)
    except asyncio.IncompleteReadError as end:
        if end.partial:
            log.info("%s left in the middle of a frame", session)
    except CloseConnection as reason:
        log.warning("closed the connection of %s: %s", session, reason)
    except (ConnectionError, TimeoutError) as error:
        log.info("lost the connection of %s: %s", session, error)
    finally:
        writer.close()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    if not 0 <= size <= MAX_REQUEST:
        raise CloseConnection(f"a frame of {size} bytes is not between 0 and {MAX_REQUEST}")
    return await reader.readexactly(size)
