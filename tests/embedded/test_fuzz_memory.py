"""Thousands of frames over sockets to a cluster in a process of its own: it lives, fails at none, and does not grow."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.embedded.raw_client import framed, header
from tests.embedded.test_fuzz import FRAMES
from tests.embedded.test_state_file import RUN
from tests.support.children import async_child

SETTLED = 5_000
"""Frames after which the process has what it needs."""
AT_ONCE = 50
"""Connections, each with a frame under way: some requests make a broker wait."""
ALLOWED = 10 * 2**20
"""Bytes that the process may have grown by between these counts."""
_PROBE = framed(header(18, 0))


class Victim:
    """A connection that is made again when the broker closes it."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, frame: bytes) -> None:
        """Send a frame and wait until the broker has dealt with it: it answers, and what follows, or it closes."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(framed(frame) + _PROBE)
        try:
            async with asyncio.timeout(1.0):
                while True:
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    if (await reader.readexactly(size)).startswith(_PROBE[8:12]):
                        return
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError):  # closed, or it waits, as a fetch may
            writer.transport.abort()
            self._streams = None


@pytest.mark.slow
@pytest.mark.parametrize("count", [5_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_frames_leave_no_trace(count: int) -> None:
    loop = asyncio.new_event_loop()

    async def begin() -> tuple[asyncio.subprocess.Process, str]:
        process = await async_child(
            sys.executable, "-c", RUN, "--still", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        return process, (await process.stdout.readline()).decode()

    process, line = loop.run_until_complete(begin())
    complaints = loop.create_task(process.communicate())
    host, _, port = line.split(",")[0].partition(":")
    victims = [Victim(host, int(port)) for _ in range(AT_ONCE)]
    sizes: list[int] = []
    sent = 0

    async def send(frames: list[bytes]) -> None:
        await asyncio.gather(*(victim.send(frame) for victim, frame in zip(victims, frames, strict=True)))

    @settings(max_examples=count // AT_ONCE, suppress_health_check=list(HealthCheck))
    @given(st.lists(FRAMES, min_size=AT_ONCE, max_size=AT_ONCE))
    def run(frames: list[bytes]) -> None:
        nonlocal sent
        loop.run_until_complete(send(frames))
        sent += AT_ONCE
        if sent in (SETTLED, count):
            sizes.append(resident(process.pid))

    try:
        run()
        sizes.append(resident(process.pid))
        assert process.returncode is None
        assert sent >= count
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = loop.run_until_complete(complaints)
        loop.close()
    assert b"Traceback" not in errors
    assert b" ERROR " not in errors
    assert sizes[-1] - sizes[0] <= ALLOWED, sizes


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"process {pid} has ended")
