"""What this machine has for Spark: memory and processors, those of its container where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
LEAST_MEMORY = 1024 * MIB
MOST_MEMORY = 16 * 1024 * MIB
"""Beyond this a bigger heap does not make the pipeline faster."""


@dataclass(frozen=True)
class Machine:
    """memory: bytes that a process may have in all; free: of them, bytes that nobody uses now. cores: processors."""

    memory: int
    free: int
    cores: int

    @property
    def for_spark(self) -> int:
        """Bytes for the heap of Spark's Java: half of what is free; the other half is Python's, Arrow's, the files'."""
        return max(LEAST_MEMORY, min(self.free // 2, MOST_MEMORY)) // MIB * MIB


def this_machine(root: Path = Path("/")) -> Machine:
    """As the system tells; root: where its files are."""
    memory, free = _memory(root)
    for limit, used in _container_limits(root):
        memory = min(memory, limit)
        free = min(free, max(0, limit - used))
    return Machine(memory, free, _cores())


def _memory(root: Path) -> tuple[int, int]:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines) if rest}
        return sizes["MemTotal"], sizes["MemAvailable"]
    except (OSError, KeyError, ValueError, IndexError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return total, total // 2


def _container_limits(root: Path) -> Iterator[tuple[int, int]]:
    """What control groups allow and what is used of it, in bytes: version 2, then 1."""
    for limit, used in (
        ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            yield int((root / limit).read_text()), int((root / used).read_text())
        except (OSError, ValueError):
            # Not there, or "max".
            continue


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
