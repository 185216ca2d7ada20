"""Counts the modules of kac that a start of ``kac`` imports, and the classes in them by kind.

On Python 3.11 a dataclass takes about a millisecond to define (it is generated and compiled as text), a NamedTuple a
sixth of that, a Struct of msgspec a fiftieth. So the start-up time depends mostly on these numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.terminal import Terminal

OWN = ("console", "widgets", "themes")
WAIT = 60.0
"""Seconds after which a start counts as hanging; far longer than a start takes."""

_COUNTED = """
import os, sys
from pathlib import Path

def count():
    from tests.support.start_counts import counts
    Path(os.environ["COUNTS"]).write_text(counts())

# Not when the row is seen outside: until then a busy machine would load what comes next.
if row := os.environ.get("COUNTED_ROW"):
    from textual.drivers._writer_thread import WriterThread
    write = WriterThread.write

    def counting(self, text):
        if row in text and not Path(os.environ["COUNTS"]).exists():
            count()
        write(self, text)

    WriterThread.write = counting
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
    """The counts of a start.

    modules: number of kac's own modules that were imported. dataclasses, structs, named_tuples, others: numbers of
    classes in them by kind; enums and exceptions are among the others.
    """

    modules: frozenset[str]
    dataclasses: tuple[str, ...]
    structs: int
    named_tuples: int
    others: int


def counts() -> str:
    """Return the names of kac's modules and classes in this process as JSON."""
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


def of_command(*argv: str) -> StartCounts:
    """Run ``kac`` with these arguments, and return the counts at its end. Raises CalledProcessError if it fails."""
    with _folder() as folder:
        command, environ = _counting(folder, argv)
        subprocess.run(command, env={**os.environ, **environ}, check=True, stdout=subprocess.DEVNULL, timeout=WAIT)
        return _read(folder)


def of_screen(bootstrap: str, row: str) -> StartCounts:
    """Start the console, and return the counts when it draws a row with this text. Raises TimeoutError if it doesn't in
    time.
    """
    with _folder() as folder:
        command, environ = _counting(folder, ("-b", bootstrap))
        environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "COUNTED_ROW": row, **environ}
        with Terminal(command, cwd=folder, environment=environ, columns=120, rows=40) as terminal:
            terminal.wait_for(row, WAIT)
        return _read(folder)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _counting(folder: Path, argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return a command that runs kac and counts, and the environment variables for it."""
    root = Path(__file__).resolve().parents[2]
    return [sys.executable, "-c", _COUNTED, *argv], {"COUNTS": str(folder / "counts"), "PYTHONPATH": str(root)}


def _read(folder: Path) -> StartCounts:
    found = json.loads((folder / "counts").read_text())
    sizes = {kind: len(found[kind]) for kind in ("structs", "named_tuples", "others")}
    return StartCounts(frozenset(found["modules"]), tuple(found["dataclasses"]), **sizes)
