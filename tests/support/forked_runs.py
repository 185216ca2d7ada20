"""Runs of ``kac`` that start without delay, as forks of a process that has imported everything; tests can kill them."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
_SERVER = """
import json, os, sys
import console.cli.main
for line in sys.stdin:
    asked = json.loads(line)
    pid = os.fork() if asked["fork"] else 0
    if pid == 0:
        out = os.open(asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        kept = os.dup(1), os.dup(2)
        os.dup2(out, 1), os.dup2(out, 2)
        if asked["crash"]:
            import tests.support.crash_points
            tests.support.crash_points.arm(asked["crash"])
        try:
            code = console.cli.main.run(asked["argv"])
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            if asked["fork"]:
                os._exit(locals().get("code", 99))
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        print(json.dumps(code), flush=True)
    else:
        print(json.dumps(pid), flush=True)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), flush=True)
"""


class ForkedRuns:
    """Starts runs of kac one after another; an asynchronous context manager.

    environ: variables for all runs. out: the file for the output of the newest run. pid: process id of the running
    child; 0 if no child runs.
    """

    def __init__(self, environ: Mapping[str, str], out: Path) -> None:
        self._environ = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
        self._out = out
        self._server: asyncio.subprocess.Process | None = None
        self.pid = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _SERVER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=self._environ,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        self._server.stdin.close()
        await self._server.wait()

    async def warm(self, *argv: str) -> None:
        """Run kac once in the parent process, so that all children have the modules that kac imports late. Raises
        AssertionError if it does not return 0.
        """
        await self._ask(argv, fork=False)
        assert await self._answer() == 0, self.output

    async def start(self, *argv: str, crash: str = "") -> None:
        """Start a child process that runs kac with these arguments, and set `pid`. crash: the point at which it kills
        itself, as for `tests.support.crash_points.arm`; "" for no such point.
        """
        await self._ask(argv, fork=True, crash=crash)
        self.pid = await self._answer()

    async def ended(self) -> int:
        """Wait for the end of the child process. Return its exit code, or the negated number of the signal that ended
        it.
        """
        code, self.pid = await self._answer(), 0
        return code

    def kill(self) -> None:
        """Send SIGKILL to the child process if it runs."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    @property
    def output(self) -> str:
        """Standard output and standard error of the newest run, as text."""
        return self._out.read_text(encoding="utf-8", errors="replace")

    async def _ask(self, argv: tuple[str, ...], *, fork: bool, crash: str = "") -> None:
        assert self._server is not None
        assert self._server.stdin is not None
        asked = {"argv": argv, "out": str(self._out), "fork": fork, "crash": crash}
        self._server.stdin.write(json.dumps(asked).encode() + b"\n")
        await self._server.stdin.drain()

    async def _answer(self) -> int:
        assert self._server is not None
        assert self._server.stdout is not None
        return int(json.loads(await self._server.stdout.readline()))
