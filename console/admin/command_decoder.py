"""Decoding of keys and values by a program of the operator: one process, which exchanges lines of JSON with kac.

The program reads ``{"topic": "orders", "part": "value", "bytes": "AAE="}``, with the bytes in base64, and writes
``{"value": …}`` or ``{"error": "why"}``.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from console.admin.decoding_process import ended
from console.model.foreign_json import json_of
from console.model.schemas import Allowance, NotDecoded
from console.programs import of_user, started
from console.safe_files import UntrustedPath
from console.wire.decoding import LARGEST_MADE, MEMORY

SECONDS = 2.0
"""Maximum seconds for an answer of the program, except for its first answer after a start, which may take
`START_SECONDS`.
"""
START_SECONDS = 10.0
MOST_STARTS = 5
"""Number of failed starts in a row after which the program is not started again; keys and values are then shown as
hex.
"""
_GLANCE = 0.1
"""Seconds between two checks whether the operator cancelled the read."""


class CommandDecoder:
    """A decoding program, started at its first use, and again after it failed. Its methods block; any thread may call
    them.

    Attributes:
        words: the program and its arguments.
        folder: the folder of the settings file that names the program.
    """

    def __init__(self, words: Sequence[str], folder: Path) -> None:
        self._words, self._folder = tuple(words), folder
        self._name = Path(words[0]).name
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._is_new = False

    def decoded(self, topic: str, part: str, data: bytes, allowance: Allowance) -> bytes:
        """Return the JSON to which the program decodes a key or a value.

        Args:
            topic: the topic of the record.
            part: ``key`` or ``value``.
            data: the bytes of the key or the value.
            allowance: the remaining budget of the read, from which the seconds and the bytes of the JSON are
                subtracted.

        Raises:
            NotDecoded: the program refuses the bytes, can't be run, answers too late or too long, or not with the
                expected JSON; or the read was cancelled.
        """
        request = {"topic": topic, "part": part, "bytes": b64encode(data).decode()}
        line = self._answer(msgspec.json.encode(request) + b"\n", allowance)
        try:
            answer = json_of(line, LARGEST_MADE)
        except (ValueError, RecursionError):
            answer = None
        match answer:
            case {"error": str(why)}:
                raise NotDecoded(f"{self._name}: {why or 'it says no reason'}")
            case {"value": value}:
                made = msgspec.json.encode(value)
                allowance.bytes -= len(made)
                return made
        raise NotDecoded(f'{self._name} answers neither {{"value": …}} nor {{"error": "why"}} in a line of JSON')

    def _answer(self, request: bytes, allowance: Allowance) -> bytes:
        while not self._lock.acquire(timeout=_GLANCE):
            if allowance.ended:
                raise allowance.refusal()
        began = time.monotonic()
        try:
            process = self._running()
            seconds = START_SECONDS if self._is_new else SECONDS
            line = _exchanged(process, request, began + min(seconds, allowance.seconds), allowance)
            self._is_new, self._starts = False, 0
            return line
        except TimeoutError:
            self._end()
            if allowance.ended or allowance.seconds <= time.monotonic() - began:
                raise NotDecoded(f"{self._name} was ended: the look was ended, or its time was up") from None
            raise NotDecoded(f"{self._name} does not answer within {seconds:g} s, and was ended") from None
        except EOFError as error:
            self._end()
            raise NotDecoded(f"{self._name} {error}") from None
        except UntrustedPath as error:
            raise NotDecoded(f"{self._name} is not run: {error.strerror}") from None
        except OSError as error:
            self._end()
            raise NotDecoded(f"{self._name} can't be run: {error.strerror}") from None
        finally:
            allowance.seconds -= time.monotonic() - began
            self._lock.release()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            if self._starts >= MOST_STARTS:
                raise EOFError(f"failed {MOST_STARTS} times in a row: it is not started again before kac is")
            self._starts += 1
            self._end()
            self._process = started(
                of_user(self._words, folder=self._folder),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C then reaches only kac's own process
            )
            _limit(self._process.pid)
            weakref.finalize(self, ended, self._process)
            self._is_new = True
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            ended(self._process)
            self._process = None


def _limit(pid: int) -> None:
    """Limit the memory of another process, if the operating system supports that."""
    import resource

    limit: Any = getattr(resource, "prlimit", None)
    if limit is not None:
        limit(pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        limit(pid, resource.RLIMIT_CORE, (0, 0))


def _exchanged(process: subprocess.Popen[bytes], request: bytes, ends: float, allowance: Allowance) -> bytes:
    """Send a line to the process and return the line that it answers. ends: the deadline, in seconds of the monotonic
    clock.

    Raises:
        TimeoutError: the process did not answer before `ends`, or the read was cancelled.
        EOFError: the process ended, wrote more than one line or more than twice `LARGEST_MADE` bytes, or answered
            before it had read the request. The exception's text says which.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    output, source = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(output, False)
    ready = select.poll()
    ready.register(source, select.POLLIN)
    ready.register(output, select.POLLOUT)
    left, data, is_whole = memoryview(request), bytearray(), False
    while not is_whole:
        until = ends - time.monotonic()
        if until <= 0 or allowance.ended:
            raise TimeoutError
        for handle, _ in ready.poll(1000 * min(until, _GLANCE)):
            if handle == output:
                try:
                    left = left[os.write(output, left) :]
                except BrokenPipeError:
                    raise EOFError("ended before it read its input") from None
                if not left:
                    ready.unregister(output)
            elif part := os.read(source, 1 << 20):
                data += part
                is_whole = is_whole or b"\n" in part
            else:
                raise EOFError(f"ended{f' with {process.wait(1)}' if process.poll() is not None else ''}")
        if len(data) > 2 * LARGEST_MADE:
            raise EOFError(f"answers more than {2 * LARGEST_MADE >> 20} MiB, and was ended")
    if data.index(b"\n") < len(data) - 1:
        raise EOFError("answers more than one line, and was ended")
    if left:
        raise EOFError("answers before it has read its input, and was ended")
    return bytes(data)
