"""``kac export``: the wanted state of a cluster as YAML for review."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.file_options import written
from console.doors.opening import DONE, FAILED, complain
from console.doors.working import with_session
from console.safe_files import PRIVATE
from console.terminal import put

if TYPE_CHECKING:
    from console.commands.session import Session


def export_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac export``."""
    parser.set_defaults(run=run_export)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it there (default: standard output)")


def run_export(options: argparse.Namespace) -> int:
    """0 written whole, 1 written without what could not be read, or not at all, 2 no context."""
    from console.commands.snapshot import read_everything
    from console.files.of_snapshot import wanted_of
    from console.files.writing import yaml_text

    async def work(session: Session) -> int:
        gc.disable()
        await read_everything(session)
        known = session.snapshot
        missing = [f"{each.part} {each.entity}: {each.failure}".strip() for each in known.failures]
        for line in missing:
            complain(f"could not be read: {line}")
        title = f"cluster {known.cluster.cluster_id}" + (f"; {len(missing)} parts could not be read" if missing else "")
        text = yaml_text(wanted_of(known), title)
        if options.output is None:
            put(text)
        elif not written(options.output, text, PRIVATE):
            return FAILED
        return FAILED if missing else DONE

    return with_session(options, "export", work)
