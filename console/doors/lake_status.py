"""``kac lake status``: what is in the lake, and how its last runs went."""

from __future__ import annotations

import argparse

from console.doors.lake_place import lake_of_options
from console.doors.opening import DONE


def run_status(options: argparse.Namespace) -> int:
    """0 told; the lake's own errors otherwise."""
    from console.commands.printing import Printer
    from console.history.jobs.status import status
    from console.history.store import Lake
    from console.lake.results import status_result

    Printer(options.output)(status_result(status(Lake.open(lake_of_options(options)))))
    return DONE
