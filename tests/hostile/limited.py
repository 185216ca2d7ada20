"""Programs in processes of their own with a limit of memory, as `ulimit -v` sets it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

MEMORY = 12_000_000 * 1024
"""Bytes of address space: `ulimit -v 12000000`. What Python and its libraries map is a small part of it."""


def run_kac(
    *argv: str, memory: int = MEMORY, timeout: float = 120.0, files: int | None = None
) -> subprocess.CompletedProcess[str]:
    """`kac` with these arguments. files: how many it may have open, soft and hard limit."""
    return run_python("-m", "console", *argv, memory=memory, timeout=timeout, files=files)


def run_python(
    *argv: str, memory: int = MEMORY, timeout: float = 120.0, files: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, within these limits."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return subprocess.run(
        [sys.executable, *argv],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=limit,  # nothing else runs in the child before exec
    )


def died_of_a_signal(result: subprocess.CompletedProcess[str] | subprocess.CompletedProcess[bytes]) -> bool:
    """Whether the process was aborted or killed, as a native allocation that fails does it (SIGABRT)."""
    return result.returncode < 0 or result.returncode >= 128
