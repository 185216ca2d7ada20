"""``kac lake doctor``: what is here and what is missing to run the pipeline, and what to do about each."""

from __future__ import annotations

import argparse
import os

from console.doors.lake_place import lake_of_options
from console.doors.opening import DONE, FAILED


def run_doctor(options: argparse.Namespace) -> int:
    """0 all that is needed is there, 1 something is not."""
    from console.commands.printing import Printer
    from console.commands.results import Column, Row, Table
    from console.lake.doctor import Health, checks

    if hasattr(options, "archive"):
        _archived()
    found = list(checks(os.environ, lake_of_options(options)))
    rows = tuple(
        Row(
            (each.health.value, each.name, each.found, f"-> {each.remedy}" if each.remedy else ""),
            {"name": each.name, "health": each.health.value, "found": each.found, "remedy": each.remedy or None},
        )
        for each in found
    )
    Printer(options.output)(Table("checks", (Column(""), Column(""), Column("FOUND"), Column("WHAT TO DO")), rows))
    return FAILED if any(each.health is Health.BAD for each in found) else DONE


def _archived() -> None:
    """Builds the archive of Spark's classes anew."""
    from console.lake.java import NoJava, class_archive, find_java, forget_archive
    from console.lake.progress import shown
    from console.lake.spark_session import archived, cache_folder

    try:
        java = find_java(os.environ, cache_folder(os.environ))
    except NoJava:
        return  # the checks say so
    forget_archive(class_archive(java, cache_folder(os.environ)))
    with shown() as progress:
        archived(java, os.environ, progress.say)
