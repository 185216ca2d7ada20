"""What a start of ``kac`` makes: its own modules that are imported, and the classes in them by what makes them.

Each dataclass takes about a millisecond on Python 3.11 (it is generated and compiled as text), a NamedTuple a sixth of
that, a Struct of msgspec a fiftieth; so start-up time is these numbers first of all.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

OWN = ("console", "widgets", "themes")
WAIT = 60.0
"""Seconds; a watchdog, far from what a start takes."""

_COUNTED = f"""
import os, signal, sys
from pathlib import Path

def count(*_):
    from tests.support.start_counts import counts
    into = Path(os.environ["COUNTS"])
    into.with_suffix(".part").write_text(counts())
    into.with_suffix(".part").rename(into)

signal.signal(signal.{signal.SIGUSR1.name}, count)
from console.__main__ import main
try:
    code = main()
except SystemExit as ended:
    code = ended.code
if not Path(os.environ["COUNTS"]).exists():
    count()
sys.exit(code)
"""


class StartCounts(NamedTuple):
    """modules: own ones that were imported. dataclasses, structs, named_tuples, others: own classes, by what made
    them; an enum or an exception is one of the others."""

    modules: frozenset[str]
    dataclasses: tuple[str, ...]
    structs: int
    named_tuples: int
    others: int


def counts() -> str:
    """What this process has made so far, as JSON for `read`."""
    names = sorted(name for name in sys.modules if name.split(".")[0] in OWN)
    made: dict[str, list[str]] = {"dataclasses": [], "structs": [], "named_tuples": [], "others": []}
    for name in names:
        for each in vars(sys.modules[name]).values():
            if isinstance(each, type) and each.__module__ == name:
                made[_kind(each)].append(f"{name}.{each.__qualname__}")
    return json.dumps({"modules": names, **made})


def _kind(made: type[Any]) -> str:
    if "__dataclass_fields__" in vars(made):
        return "dataclasses"
    if hasattr(made, "__struct_fields__"):
        return "structs"
    return "named_tuples" if issubclass(made, tuple) and hasattr(made, "_fields") else "others"


def read(text: str) -> StartCounts:
    """What `counts` wrote."""
    found = json.loads(text)
    sizes = {kind: len(found[kind]) for kind in ("structs", "named_tuples", "others")}
    return StartCounts(frozenset(found["modules"]), tuple(found["dataclasses"]), **sizes)


def command(*argv: str, python: str = sys.executable) -> list[str]:
    """``kac`` with these arguments, which counts at its end, or when it gets SIGUSR1."""
    return [python, "-c", _COUNTED, *argv]


def counted(
    run: Callable[[Sequence[str], dict[str, str]], int | None], *argv: str, python: str = sys.executable
) -> StartCounts:
    """The counts of one start. run: starts the command with these additions to the environment; gives the process to
    send the signal to once it has come so far, None where it has ended."""
    with tempfile.TemporaryDirectory() as folder:
        into = Path(folder) / "counts"
        root = str(Path(__file__).resolve().parents[2])
        process = run(command(*argv, python=python), {"COUNTS": str(into), "PYTHONPATH": root})
        if process is not None:
            os.kill(process, signal.SIGUSR1)
        end = time.monotonic() + WAIT
        while not into.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"kac {' '.join(argv)} did not say what it has made within {WAIT:g} s")
            time.sleep(0.01)
        return read(into.read_text())
