"""A copy of the tree, to which something is added, and what the walks through it have in common: each runs as a script,
in the tree that is first on the path, and prints what its steps said as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Said = Mapping[str, tuple[int, str]]
"""By step the exit code, and what was said."""


ROOT = Path(__file__).parents[2]


def copy_of_product(tree: Path) -> Path:
    """Copy what is shipped into a folder."""
    for package in ("console", "widgets", "themes"):
        shutil.copytree(ROOT / package, tree / package)  # with what Python has compiled
    return tree


def touched(tree: Path) -> list[str]:
    """The files of a tree that are new, or other than ours."""
    return sorted(
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
        if not (ROOT / path.relative_to(tree)).exists()
        or path.read_bytes() != (ROOT / path.relative_to(tree)).read_bytes()
    )


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
