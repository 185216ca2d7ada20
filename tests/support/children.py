"""Processes that a test starts. They end when the test ends, even if it fails: `subprocess.Popen` as a context manager
would wait for a program that never ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Any

from tests.support.patience import LONG_PATIENCE, PATIENCE

LONGEST = LONG_PATIENCE - PATIENCE
"""Seconds for which a child process may run. It is less than a test's own time limit, so that a test that waits for a
silent child fails with a message first.
"""
_started: list[Child | asyncio.subprocess.Process] = []


class Child(subprocess.Popen[Any]):
    """A `subprocess.Popen` that ends with its ``with`` block, and with the test."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._watchdog = threading.Timer(LONGEST, self.kill)
        self._watchdog.daemon = True
        self._watchdog.start()
        _started.append(self)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self.kill()
        with suppress(subprocess.TimeoutExpired):
            self.wait(PATIENCE)
        self.end()
        super().__exit__(kind, error, trace)

    def end(self) -> None:
        self._watchdog.cancel()
        if self.poll() is None:
            self.kill()
            self.wait(PATIENCE)


async def async_child(*words: Any, **options: Any) -> asyncio.subprocess.Process:
    """Start a process of this event loop that ends with the test, like `asyncio.create_subprocess_exec`."""
    process = await asyncio.create_subprocess_exec(*words, **options)
    _started.append(process)
    return process


def end_children() -> None:
    """End all processes that tests have started and that still run."""
    while _started:
        process = _started.pop()
        if isinstance(process, Child):
            process.end()
        elif process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
