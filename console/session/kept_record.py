"""The flight record of a session: its last half hour stays in memory, and is written to a file on request."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from console.log_file import state_directory
from console.model.numbers import plural, time_of_day
from console.plan.amounts import size as shown_size
from console.safe_files import private_folder

if TYPE_CHECKING:
    from console.flight.memory import Memory
    from console.flight.recorder import Recorder, Sink


def in_memory(recorder: Recorder, context: str) -> None:
    """Begin to keep a recorder's answers in memory. context: the name of the context, for the files that are
    written.
    """

    def memory() -> Sink:
        from console.flight.answer import Header
        from console.flight.memory import Memory

        return Memory(Header(context=context))

    recorder.begin(memory)


def return_large_blocks() -> None:
    """Let glibc return each block of more than 64 KiB to the system once it is free.

    Answers and their compression use such blocks. When one is freed, glibc takes its size as a new threshold, and keeps
    all smaller ones on its heap (mallopt(3), M_MMAP_THRESHOLD): with 4,000 topics 25 MiB without use. Blocks already on
    a heap stay there, so it is called before the large reads.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library has no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
        mallopt(_M_ARENA_MAX, 1)


def return_free_pages() -> None:
    """Return the free pages within glibc's heaps to the system: with 4,000 topics 1 MiB, in 0.3 ms (malloc_trim(3))."""
    import ctypes

    with suppress(OSError, AttributeError):  # another C library has no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Numbers of mallopt's options, from glibc's malloc.h."""
_MMAP_THRESHOLD = 64 << 10
"""Size in bytes from which on glibc takes memory for a block by mmap. Its default is twice this, and glibc adapts the
size at run time unless it is set (mallopt(3)).
"""


async def write_record(recorder: Recorder | None, context: str, cluster_id: str, path: str = "") -> str:
    """Write the record in memory to a file, by default a new one in the state folder. Return a line with its path.

    Args:
        recorder: the session's recorder; None without one: then nothing is written, and the line says so.
        context: the name of the context.
        cluster_id: the id of the cluster; ``""`` if it is not known yet.

    Raises:
        OSError: it can't be written, or exists already; the error has the file's name.
    """
    if recorder is None:
        return "nothing is recorded here: this is a record itself"
    file = _file(path, context, os.environ)

    def write(sink: Memory) -> tuple[int, int, int]:
        from importlib.metadata import version  # it imports 30 modules that no other part of a screen needs

        if not path:
            private_folder(file.parent)
        # A record is evidence: never overwrite an older one.
        if file.exists():
            raise FileExistsError(0, "it is there already", str(file))
        size = sink.write(file, cluster_id, version("kafka-admin-console"))
        return size, sink.began_ms or 0, sink.left_off

    try:
        # Write in the recorder's thread, the only one that may use its memory.
        size, began_ms, left_off = await asyncio.wrap_future(recorder.run(write))
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error
    since = time_of_day(datetime.fromtimestamp(began_ms / 1000, UTC))
    missing = f"; {plural(left_off, 'answer')} too large to be kept in memory, which kac record has" if left_off else ""
    return f"the record since {since} is {file} ({shown_size(size)}): kac replay{missing}"


def _file(path: str, context: str, environ: Mapping[str, str]) -> Path:
    """Return the given path, else a new one in the state folder by cluster and time."""
    if path:
        return Path(path).expanduser()
    name = re.sub(r"[^\w.-]+", "-", context)[:60].strip("-.") or "cluster"
    now = datetime.now(UTC).astimezone()
    return state_directory(environ) / "records" / f"{name}-{now:%Y%m%d-%H%M%S}.kacflight"
