"""What the commands that take files have in common: their options, and what they say of what can't be."""

from __future__ import annotations

import argparse
import gc
from typing import TYPE_CHECKING

from console.doors.opening import FAILED, complain

if TYPE_CHECKING:
    from pathlib import Path

    from console.commands.session import Session
    from console.files.edits import Prune
    from console.files.reading import Read
    from console.files.staging import Staging

CHANGES = 3
"""Exit code: changes are waiting."""
PRUNE_HELP = (
    "remove what no file has: topics, configs, quotas or acls, all or those whose name GLOB matches (an ACL goes by "
    "its principal). Of what a file lists, overrides and limits that it leaves out are removed in any case"
)


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """The files, and what may be removed beside them."""
    files = "a file, a directory of *.yaml, or - for standard input; may be given several times"
    parser.add_argument("-f", "--file", metavar="FILE", action="append", required=True, help=files)
    parser.add_argument("--prune", metavar="KIND[=GLOB]", action="append", default=[], help=PRUNE_HELP)
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def prunes(options: argparse.Namespace) -> tuple[Prune, ...] | None:
    """What --prune names; None after saying what is wrong with it."""
    from console.files.edits import KINDS, Prune

    found = []
    for text in options.prune:
        kind, _, glob = text.partition("=")
        if kind not in KINDS:
            complain(f"--prune {text}: name what may be removed: {', '.join(KINDS)}")
            return None
        found.append(Prune(kind, glob or "*"))
    return tuple(found)


def read(names: list[str]) -> Read | None:
    """The files; None after saying all that is wrong with them."""
    from console.files.errors import FileProblems
    from console.files.reading import read_files

    # Everything that is made here stays until the end: the collector would walk it again and again.
    gc.disable()
    try:
        return read_files(names)
    except FileProblems as problems:
        for problem in problems.problems:
            complain(str(problem))
        return None


def written(path: Path, text: str, mode: int) -> bool:
    """Write a file as `console.safe_files.write_whole` does; False after saying why it can't be."""
    from console.safe_files import write_whole

    try:
        write_whole(path, text, mode)
    except OSError as error:
        complain(f"can't write {path}: {error.strerror or error}")
        return False
    return True


async def staged(session: Session, found: Read, prune: tuple[Prune, ...]) -> tuple[Staging, int]:
    """Stage them, and say what can't be; the exit code so far."""
    from console.files.staging import stage_files

    staging = await stage_files(session, found, prune)
    for problem in (*staging.problems, *staging.secrets):
        complain(str(problem))
    for line in staging.unread:
        complain(f"could not be read: {line}")
    return staging, 0 if staging.whole else FAILED
