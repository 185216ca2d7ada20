"""Measures the cost of a command: CPU time and memory of its process and of all processes below it.

Spark's Java and Python workers are below the command, and some of them end after their parents, so that a parent's own
sums leave them out. Therefore /proc is read repeatedly while the command runs. The readings lack the CPU time that a
process uses between the last reading and its end. So the CPU time of the command and its ended children, which the
kernel reports at the command's end, counts if it is larger.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.figures import load

ROOT = Path(__file__).parents[1]
JAVA = "java"
_TICKS = os.sysconf("SC_CLK_TCK")
_CHECK_SECONDS = 0.1
_CHECKS_TO_MEMORY = 5
"""Memory is read only once in this many readings of /proc, because the kernel needs some time to compute a process'
shared memory.
"""


@dataclass(frozen=True)
class Cost:
    """The cost of a command with all processes below it.

    wall: seconds. cpu: CPU seconds; java_cpu: the CPU seconds of Java. own, java, worker: the peak memory in MiB of the
    command itself, of Java (0 without Java) and of the largest Python worker of Java; together: the greatest sum at one
    moment. For workers, and in `together`, shared memory counts with the process' proportional part.
    """

    wall: float
    cpu: float
    java_cpu: float
    own: float
    java: float
    worker: float
    together: float

    def __sub__(self, before: Cost) -> Cost:
        """Return a cost with the seconds since an earlier cost, and the memory of this one."""
        return Cost(
            self.wall - before.wall,
            self.cpu - before.cpu,
            self.java_cpu - before.java_cpu,
            self.own,
            self.java,
            self.worker,
            self.together,
        )

    def shown(self) -> dict[str, object]:
        """Return the figures by name for a report, in seconds and MiB, with the machine's load average."""
        seconds = {"wall_s": round(self.wall, 2), "cpu_s": round(self.cpu, 2), "java_cpu_s": round(self.java_cpu, 2)}
        return {
            **seconds,
            "mib": {name: round(getattr(self, name)) for name in ("own", "java", "worker", "together")},
            **load(),
        }


@dataclass
class _Process:
    """A process that a reading of /proc found. ticks: of CPU time. most: peak memory in MiB."""

    name: str = ""
    is_worker: bool = False
    ticks: int = 0
    most: float = 0.0


class Tree:
    """A process and all processes below it, observed inside a ``with`` block, and their cost so far.

    Args:
        root: the process's id.
        seconds: between two readings of /proc. A reading takes about 5 ms of CPU time, and more if it reads shared
            memory.
    """

    def __init__(self, root: int, seconds: float = _CHECK_SECONDS) -> None:
        self._root = root
        self._seconds = seconds
        self._began = time.perf_counter()
        self._seen: dict[tuple[int, str], _Process] = {}
        self._checks = 0
        self._together = 0.0
        self._alone = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Tree:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def cost(self, waited_for: float = 0.0) -> Cost:
        """Return the cost so far. waited_for: the CPU seconds of the root process, which its parent gets after its end;
        0.0 while it runs.
        """
        now = time.perf_counter()
        self._check()
        with self._alone:
            every = list(self._seen.values())
            own = next((each.most for (pid, _), each in self._seen.items() if pid == self._root), 0.0)
        javas = [each for each in every if each.name == JAVA]
        return Cost(
            now - self._began,
            max(waited_for, sum(each.ticks for each in every) / _TICKS),
            sum(each.ticks for each in javas) / _TICKS,
            own,
            max((each.most for each in javas), default=0.0),
            max((each.most for each in every if each.is_worker), default=0.0),
            self._together,
        )

    def _watch(self) -> None:
        while not self._ended.wait(self._seconds):
            self._check()

    def _check(self) -> None:
        found = dict(_processes())
        with self._alone:
            self._checks += 1
            together = 0.0
            # A process whose parents have ended still counts as one below the root.
            known = {pid: each for (pid, begun), each in self._seen.items() if pid in found and found[pid][19] == begun}
            for pid, fields in found.items():
                above = _above(pid, found)
                if self._root not in (pid, *above) and pid not in known and not known.keys() & set(above):
                    continue
                seen = self._seen.setdefault((pid, fields[19]), _Process())
                seen.ticks = int(fields[11]) + int(fields[12])
                with suppress(OSError):
                    seen.name = Path(f"/proc/{pid}/comm").read_text().strip()
                    below_java = any(known[each].name == JAVA for each in above if each in known)
                    seen.is_worker = below_java and seen.name != JAVA
                    if not seen.is_worker:
                        seen.most = max(seen.most, _kib(pid, "status", "VmHWM") / 1024)
                    if self._checks % _CHECKS_TO_MEMORY == 0:
                        share = _kib(pid, "smaps_rollup", "Pss") / 1024
                        together += share
                        seen.most = max(seen.most, share)
            self._together = max(self._together, together)


class Watched:
    """A running command, and its cost so far."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str] | None, output: IO[str]) -> None:
        self._output = output
        self._command = shlex.join(command)
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        self.tree = Tree(self.process.pid)

    def cost(self) -> Cost:
        """Return the cost so far."""
        return self.tree.cost()

    def wait(self) -> Cost:
        """Wait until the command ends, and return its cost. Raises SystemExit with the end of its output if it
        fails.
        """
        _, status, used = os.wait4(self.process.pid, 0)
        cost = self.tree.cost(used.ru_utime + used.ru_stime)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            self._output.seek(0)
            said = self._output.read()[-3000:]
            raise SystemExit(f"{self._command} ended with {self.process.returncode}: {said}")
        return cost


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Yield the id of each process, and the fields after its name in /proc/PID/stat."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                yield int(entry.name), Path(entry.path, "stat").read_text().rpartition(")")[2].split()


def _above(pid: int, found: Mapping[int, list[str]]) -> list[int]:
    """Return the ids of a process' parent, of the parent's parent, and so on."""
    above = []
    while pid in found:
        pid = int(found[pid][1])
        above.append(pid)
    return above


def _kib(pid: int, file: str, field: str) -> int:
    """Return a field, in KiB, of a file in /proc/PID; 0 if the process has ended."""
    told = re.search(rf"^{field}:\s+(\d+) kB$", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
    return int(told[1]) if told else 0


@contextmanager
def watched(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[Watched]:
    """Run a command in this checkout; yield it with its cost. At the end of the block, kill it if it still runs.
    environ: variables added to those of this process; None for no more.
    """
    with tempfile.TemporaryFile("w+") as output:
        it = Watched(command, environ, output)
        try:
            with it.tree:
                yield it
        finally:
            if it.process.returncode is None:
                it.process.kill()
                it.process.wait()


def cost_of(command: Sequence[str], environ: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end, and return its cost. environ: as for `watched`. Raises SystemExit if it fails."""
    with watched(command, environ) as it:
        return it.wait()


def kac(*words: str) -> list[str]:
    """Return the command line of this checkout's kac."""
    return [sys.executable, "-m", "console", *words]
