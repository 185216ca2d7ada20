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
MAX_EARLY_REQUEST = 512 * 1024
"""Bytes of a request before authentication (sasl.server.max.receive.size)."""
LOGIN_SECONDS = 30.0
"""How long a client has for authentication."""
_SIZE = struct.Struct(">i")


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    session: Session,
    dispatcher: Dispatcher,
    *,
    idle_seconds: float,
) -> None:
    """Answer requests until the client leaves or has to. While one is worked on, the next ones wait unread, as Kafka
    mutes a channel; so answers come in the order of their requests.

    idle_seconds: how long a whole request may take to come, and an answer to be read (connections.max.idle.ms).
    """
    login_by = asyncio.get_running_loop().time() + LOGIN_SECONDS
    try:
        while True:
            frame = await _frame(reader, session, login_by, idle_seconds)
            answer = await dispatcher.answer(session, frame)
            del frame
            if answer is not None:
                writer.write(answer)
                async with asyncio.timeout(idle_seconds):
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


async def _frame(reader: asyncio.StreamReader, session: Session, login_by: float, idle_seconds: float) -> bytes:
    """The next request. Raises CloseConnection if it is too long or does not come in time."""
    most = MAX_REQUEST if session.authenticated else MAX_EARLY_REQUEST
    end = asyncio.get_running_loop().time() + idle_seconds
    try:
        async with asyncio.timeout_at(end if session.authenticated else min(end, login_by)):
            (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
            if not 0 <= size <= most:
                raise CloseConnection(f"a frame of {size} bytes is not between 0 and {most}")
            return await reader.readexactly(size)
    except TimeoutError as error:
        why = f"no request for {idle_seconds:g} s" if session.authenticated else "it did not authenticate in time"
        raise CloseConnection(why) from error
