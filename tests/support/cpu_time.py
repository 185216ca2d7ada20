"""The CPU time of a function, for tests that compare a large case with a small one, or with a limit."""

import gc
import time
from collections.abc import Callable


def least_cpu_seconds(work: Callable[[], object], times: int = 3) -> float:
    """Call a function several times; return the CPU seconds of the fastest call. The cyclic garbage collector is off
    meanwhile, because it would walk the objects of all other tests.
    """
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
