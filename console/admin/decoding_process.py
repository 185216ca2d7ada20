"""Decoding of payloads in a separate process with limited memory and time, which kac kills if the read is cancelled."""

from __future__ import annotations

import itertools
import os
import select
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import msgspec

from console.model.built_types import built
from console.model.schemas import Allowance, NotDecoded, SchemaText
from console.programs import python, started
from console.wire import decoding

SECONDS = 2.0
"""Maximum seconds to decode or encode one payload."""
LOAD_SECONDS = 8.0
"""Maximum seconds to parse a schema."""
_START_SECONDS = 30.0
"""Maximum seconds until the process reports that it runs; a host that swaps is slow."""
_GLANCE = 0.1
"""Seconds between two checks whether the operator cancelled the read."""
_CHILD = "from console.wire.decoding import serve; serve()"


@cache
def decoding_process() -> DecodingProcess:
    """Return the decoding process that all of kac shares. It starts when it gets its first schema."""
    return DecodingProcess()


class DecodingProcess:
    """A decoding process, which is started again after it has ended. Its methods block: don't call them on an event
    loop.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)

    def decoder(
        self, schema: SchemaText, descriptors: bytes = b"", main: str = "", *, encodes: bool = False
    ) -> Callable[..., bytes]:
        """Return a function of (payload, message indexes, allowance) that decodes payloads of a schema to JSON.

        Args:
            descriptors: the compiled descriptors of a Protobuf schema; empty for other schemas.
            main: the name of the schema's own file in the descriptors.
            encodes: whether to return the reverse, a function that encodes JSON as a payload.

        Raises:
            NotDecoded: the schema is unusable.
        """
        # The process needs the descriptors of a compiled schema, but not its text.
        text = SchemaText(schema.kind, "") if main else schema
        load = decoding.Load(next(self._numbers), text, descriptors, main, encodes)
        self._asked(load, LOAD_SECONDS, Allowance())
        return partial(self._decoded, load)

    def _decoded(
        self, load: decoding.Load, payload: bytes, indexes: bytes | None = None, allowance: Allowance | None = None
    ) -> bytes:
        allowance = allowance or Allowance()
        if allowance.spent():
            raise allowance.refusal()
        request = decoding.Decode(load.number, payload, indexes, allowance.values)
        answer = self._asked(request, SECONDS, allowance)
        if isinstance(answer, decoding.Refused) and answer.is_unknown:
            self._asked(load, LOAD_SECONDS, allowance)
            answer = self._asked(request, SECONDS, allowance)
        allowance.values -= answer.values
        if isinstance(answer, decoding.Refused):
            raise NotDecoded(answer.why)
        allowance.bytes -= len(answer.made)
        return answer.made

    def _asked(self, request: decoding.Request, seconds: float, allowance: Allowance) -> decoding.Answer:
        """Send a request to the process and return its answer. seconds: the maximum time.

        Raises:
            NotDecoded: the process refuses the schema, or kac had to kill the process.
        """
        while not self._lock.acquire(timeout=_GLANCE):
            if allowance.ended:
                raise allowance.refusal()
        try:
            process = self._running()
            began = time.monotonic()
            try:
                answer = _exchanged(process, request, began + min(seconds, allowance.seconds), allowance)
            finally:
                allowance.seconds -= time.monotonic() - began
            if isinstance(answer, decoding.Refused) and answer.is_last:
                self._end()
        except (OSError, EOFError, msgspec.DecodeError):
            self._end()
            raise NotDecoded("decoding it ended the process that decodes: it takes too much memory or time") from None
        except TimeoutError:
            self._end()
            raise (
                allowance.refusal() if allowance.spent() else NotDecoded(f"it takes more than {seconds:g} s")
            ) from None
        finally:
            self._lock.release()
        if isinstance(answer, decoding.Refused) and isinstance(request, decoding.Load):
            raise NotDecoded(answer.why)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = _started()
            weakref.finalize(self, ended, self._process)
            _received(self._process, time.monotonic() + _START_SECONDS, Allowance())
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            ended(self._process)
            self._process = None


def _started() -> subprocess.Popen[bytes]:
    return started(
        python("-c", _CHILD, folder=Path("/")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,  # Ctrl-C then reaches only kac's own process
    )


def ended(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _exchanged(
    process: subprocess.Popen[bytes], request: decoding.Request, ends: float, allowance: Allowance
) -> decoding.Answer:
    """Send a request and return the process's answer. Raises as `_received` does, and OSError if the process has
    ended.
    """
    assert process.stdin is not None
    data = msgspec.msgpack.encode(request)
    left = memoryview(len(data).to_bytes(4, "big") + data)
    while left:
        left = left[os.write(process.stdin.fileno(), left) :]
    return _received(process, ends, allowance)


def _received(process: subprocess.Popen[bytes], ends: float, allowance: Allowance) -> decoding.Answer:
    """Return the process's next answer. ends: the deadline, in seconds of the monotonic clock.

    Raises:
        TimeoutError: the process did not answer before `ends`, or the read was cancelled.
        EOFError, OSError, DecodeError: the process has ended, or sends something else.
    """
    assert process.stdout is not None
    handle = process.stdout.fileno()
    ready = select.poll()
    ready.register(handle, select.POLLIN)
    data, wanted = bytearray(), 4
    while len(data) < wanted:
        left = ends - time.monotonic()
        if left <= 0 or allowance.ended:
            raise TimeoutError
        if not ready.poll(1000 * min(left, _GLANCE)):
            continue
        part = os.read(handle, min(wanted - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
        if wanted == 4 == len(data):
            wanted += int.from_bytes(data, "big")
            if wanted > 2 * decoding.LARGEST_MADE:
                raise EOFError
    answer: decoding.Answer = msgspec.msgpack.decode(data[4:], type=built(decoding.Made | decoding.Refused))
    return answer
