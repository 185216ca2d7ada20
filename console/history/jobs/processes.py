"""Work in processes of this machine. What they read is handed over as it comes, so little of it is held at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TypeVar, cast

FEW_BYTES = 8 << 20
"""So much is read sooner than other processes have started."""
MOST_WORKERS = 16
"""More hand over more than one process adds up."""

T = TypeVar("T")
R = TypeVar("R")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(size: int) -> int:
    """How many processes are worth to be started for so many bytes; 1: this one."""
    return 1 if size <= FEW_BYTES else min(processors(), MOST_WORKERS)


def side_by_side(
    read: Callable[[T], Iterable[R]], items: Sequence[T], workers: int, done: Callable[[int, int], object]
) -> Iterator[R]:
    """What `read` gives of all items, in any order; with one worker or item it is called here.

    read: of a module, so that processes find it; gives neither None nor exceptions. done: is called with the number of
    items that are read, and of all. Raises what `read` raises; ChildProcessError: a process was killed.
    """
    count = min(workers, len(items))
    if count < 2:
        for number, item in enumerate(items, 1):
            yield from read(item)
            done(number, len(items))
        return
    left, ended = iter(items), -count  # each says first that it is there
    with _started(read, count) as processes:
        while ended < len(items):
            for ready in wait(list(processes)):
                link = cast(Connection, ready)
                try:
                    found = link.recv()
                    if found is None and (following := next(left, None)) is not None:
                        link.send(following)
                except (EOFError, OSError) as gone:
                    raise _killed(processes[link]) from gone
                if found is None:
                    ended += 1
                    done(max(0, ended), len(items))
                elif isinstance(found, Exception):
                    raise found
                else:
                    yield found


def _killed(process: SpawnProcess) -> ChildProcessError:
    process.join()
    code = process.exitcode or 0
    why = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    memory = ", as Linux does where memory is short" if code == -signal.SIGKILL else ""
    return ChildProcessError(f"a process that read the logs was killed ({why}){memory}; nothing was taken in")


@contextmanager
def _started(read: Callable[[T], Iterable[R]], count: int) -> Iterator[dict[Connection, SpawnProcess]]:
    """Processes that wait for items, by the connection to each; they end with the context, or with this process."""
    context = multiprocessing.get_context("spawn")
    processes: dict[Connection, SpawnProcess] = {}
    resource_tracker.ensure_running()  # while it starts it lets Ctrl-C through
    # What they inherit: Ctrl-C, which the terminal sends to them as well, is for this process alone.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        try:
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_work, args=(read, theirs), daemon=True)
                process.start()
                theirs.close()
                processes[ours] = process
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield processes
    finally:
        for link, process in processes.items():
            link.close()
            process.terminate()
            process.join()


class _WithoutPandas(MetaPathFinder):
    """PyArrow looks for pandas at its first array: half a second for what these processes do not use."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def without_pandas() -> None:
    """This process does not import pandas from now on."""
    sys.meta_path.insert(0, _WithoutPandas())


def _work(read: Callable[[T], Iterable[R]], link: Connection) -> None:
    without_pandas()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # nothing is asked any more
        link.send(None)
        while True:
            item = link.recv()
            try:
                for found in read(item):
                    link.send(found)
                link.send(None)
            except Exception as wrong:  # noqa: BLE001 - raised by who asked
                wrong.add_note("".join(traceback.format_tb(wrong.__traceback__)))
                link.send(wrong)
