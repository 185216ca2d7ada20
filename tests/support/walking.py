"""What the walks through a copy of the tree have in common: each runs as a script, in the tree that is first on the
path, and prints what its steps said as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Said = Mapping[str, tuple[int, str]]
"""By step the exit code, and what was said."""


def kac(*arguments: str) -> tuple[int, str]:
    """Run kac in this process: the exit code, and all that it wrote."""
    from console.cli import main as cli

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = cli.run(list(arguments))
    out.flush()
    return code, out.buffer.getvalue().decode()


def completed(text: str) -> list[str]:
    """What the command line's language proposes behind a text, without a cluster."""
    from console.language.completion import complete
    from console.model.snapshot import Snapshot

    return [each.text for each in complete(text, len(text), Snapshot())]


def tell(walk: Callable[[], Said]) -> None:
    """Walk and print it. Raises AssertionError where kac is not that of the tree."""
    import console

    assert Path(console.__file__).parents[1] == Path.cwd()
    sys.stdout.write(json.dumps(walk()))
