"""A cluster in a process of its own, which ends with the one that started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO

START_TIMEOUT, STOP_TIMEOUT = 30.0, 10.0
"""Seconds."""
_CHILD = "from console.embedded.in_process import child; raise SystemExit(child())"


class ClusterProcessFailed(Exception):
    """The process ended before it was ready; the text is what it said."""


@contextmanager
def run_in_process(argv: Sequence[str]) -> Iterator[str]:
    """Start ``kac cluster`` with these options; gives the bootstrap addresses, and stops it at the end.

    Should this process die, the pipe to the other one closes, and it ends too. Raises ClusterProcessFailed.
    """
    with TemporaryFile("w+") as errors, _started(argv, errors) as process:
        try:
            assert process.stdout is not None
            bootstrap = process.stdout.readline().strip()
            if not bootstrap:
                process.wait(START_TIMEOUT)
                errors.seek(0)
                raise ClusterProcessFailed(errors.read().strip().removeprefix("kac: ") or "it said nothing")
            yield bootstrap
        finally:
            _stop(process)


def _started(argv: Sequence[str], errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-c", _CHILD, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,  # a file: nobody would read a pipe, and a full one would stop the cluster
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        start_new_session=True,  # so that Ctrl-C in the terminal is for the console alone
    )


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def child() -> int:
    """What runs in the other process; the result is its exit code."""
    import argparse

    from console.embedded.command import add_options, run_cluster

    parser = argparse.ArgumentParser(prog="kac cluster")
    add_options(parser)
    return run_cluster(parser.parse_args(), until_input_ends=True)
