"""Stops one thread of another process while its other threads continue. Needs Linux and root.

``python -m tests.support.stopped_thread TID`` stops the thread until standard input ends. A separate process does that,
because only the thread that traces a thread may release it; however that process ends, the kernel then releases the
thread.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.children import Child
from tests.support.patience import PATIENCE

_SEIZE, _INTERRUPT = 0x4206, 0x4207
_WALL = 0x40000000
_STOPPED = "stopped"


@contextmanager
def stopped_thread(thread: int) -> Iterator[None]:
    """Keep a thread stopped inside the block. thread: its Linux thread id. Raises OSError if it can't be stopped."""
    command = [sys.executable, "-m", "tests.support.stopped_thread", str(thread)]
    with Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != _STOPPED:
                raise OSError(f"thread {thread} can't be stopped")
            yield
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)


def java_thread(process: int, name: str, output: Callable[[], str]) -> int:
    """Return the Linux thread id of a Java thread, at a moment when it waits for work. process: process id. name:
    beginning of the thread's name. output: returns the process' output so far.

    SIGQUIT makes Java print all threads with their ids; it is sent again while the thread is busy, because a thread
    that is stopped between two safepoints also stops the others. Raises OSError if the thread does not wait in time.
    """
    pattern = re.compile(rf'^"{re.escape(name)}" .*?nid=(\w+) (.*)$', re.MULTILINE)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = len(output())
        os.kill(process, signal.SIGQUIT)
        while time.monotonic() < deadline and "JNI global refs" not in output()[before:]:
            time.sleep(0.05)
        found = pattern.search(output()[before:])
        if found is not None and found[2].startswith("waiting on condition"):
            return int(found[1], 0)
    raise OSError(f"no thread {name} that waits")


def main() -> int:
    """Stop the thread in the arguments, print that it is stopped, and release it at the end of standard input."""
    thread = int(sys.argv[1])
    kernel = ctypes.CDLL(None, use_errno=True)
    kernel.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    for request in (_SEIZE, _INTERRUPT):
        if kernel.ptrace(request, thread, None, None):
            print(os.strerror(ctypes.get_errno()), flush=True)
            return 1
    os.waitpid(thread, _WALL)
    print(_STOPPED, flush=True)
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
