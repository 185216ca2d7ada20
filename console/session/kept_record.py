"""The flight record of a session: the brokers' responses of the last half hour are kept in memory, and written to a
file when the operator asks for it.
"""

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
    """Start keeping a recorder's answers in memory. context: the name of the context, for the header of written
    files.
    """

    def memory() -> Sink:
        from console.flight.answer import Header
        from console.flight.memory import Memory

        return Memory(Header(context=context))

    recorder.begin(memory)


def return_large_blocks() -> None:
    """Configure glibc so that it returns each freed block of more than 64 KiB to the operating system.

    The recorder uses such blocks. When one is freed, glibc by default raises its threshold to the block's size, and
    keeps all smaller blocks on its heap (mallopt(3), M_MMAP_THRESHOLD): 25 unused MiB in a cluster with 4,000 topics.
    Blocks that are on a heap already stay there, so call this before the large reads.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library has no mallopt
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
        mallopt(_M_ARENA_MAX, 1)


def return_free_pages() -> None:
    """Return the free pages of glibc's heaps to the operating system (malloc_trim(3)). In a cluster with 4,000 topics
    this is 1 MiB and takes 0.3 ms.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library has no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Numbers of mallopt's options, from glibc's malloc.h."""
_MMAP_THRESHOLD = 64 << 10
"""Size in bytes from which on glibc uses mmap for a block: half its default. If it is set, glibc no longer changes it
at run time (mallopt(3)).
"""


async def write_record(recorder: Recorder | None, context: str, cluster_id: str, path: str = "") -> str:
    """Write the flight record in memory to a file. Return a line for the operator with the file's path.

    Args:
        recorder: the session's recorder; None if the session has none. Then nothing is written, and the line says so.
        context: the name of the context.
        cluster_id: the id of the cluster; ``""`` if it is not known yet.
        path: the path of the file; ``""`` for a new file in the state directory.

    Raises:
        OSError: the file can't be written, or exists already. The error has its name.
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
    """Return the given path; for ``""``, a new path in the state directory, named by context and time."""
    if path:
        return Path(path).expanduser()
    name = re.sub(r"[^\w.-]+", "-", context)[:60].strip("-.") or "cluster"
    now = datetime.now(UTC).astimezone()
    return state_directory(environ) / "records" / f"{name}-{now:%Y%m%d-%H%M%S}.kacflight"
