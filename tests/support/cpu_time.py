"""The CPU time of some work, for tests that compare it: of a large case and a small one, or with a limit."""

import gc
import time
from collections.abc import Callable


def least_cpu_seconds(work: Callable[[], object], times: int = 3) -> float:
    """What it takes at the best of so many times. The cyclic collector stands still meanwhile: it walks what all other
    tests of the process have left."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return min(_once(work) for _ in range(times))
    finally:
        if was_on:
            gc.enable()


def _once(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
