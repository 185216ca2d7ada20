"""``kac lake package``: the zip that a Spark cluster needs, and how it is used."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.doors.opening import DONE, FAILED, complain


def run_package(options: argparse.Namespace) -> int:
    """0 written, 1 not."""
    from console.commands.printing import Printer
    from console.lake.spark_session import submit_lines, write_package

    wanted = getattr(options, "file", Path("kac-lake.zip"))
    try:
        file, script = write_package(wanted)
    except OSError as error:
        complain(f"can't write {wanted}: {error.strerror or error}")
        return FAILED
    lines = submit_lines(file, script)
    text = "\n".join(
        (f"{file} and {script.name} beside it; on a cluster, with its URL in place:", *map("  {}".format, lines))
    )
    Printer(options.output).note(text, {"package": str(file), "script": str(script), "lines": list(lines)})
    return DONE
