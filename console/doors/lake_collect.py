"""``kac lake collect``: look at one cluster, or at all that there is a context for."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.lake_place import lake_of_options
from console.doors.opening import DONE, FAILED, USAGE, complain, context_of, open_log_file

if TYPE_CHECKING:
    from console.contexts import Context
    from console.lake.collect import Report

LEAST_SECONDS = 5.0


def run_collect(options: argparse.Namespace) -> int:
    """0 all was read, 1 something was not, 2 not understood."""
    from console.commands.printing import Printer
    from console.history.store import Lake
    from console.lake.collect import Step, collect, keep_collecting
    from console.lake.progress import shown
    from console.lake.results import collect_result

    try:
        every = _seconds(getattr(options, "every", None))
    except ValueError as error:
        complain(str(error))
        return USAGE
    contexts = _contexts(options)
    if not contexts:
        return USAGE
    open_log_file()
    lake = Lake.create(lake_of_options(options))
    printer = Printer(options.output)
    with shown() as progress:

        def step(at: Step) -> None:
            progress.count("collect", at.done, at.total, f"{at.context}: {at.said}")

        def told(report: Report) -> None:
            printer(collect_result(report))

        if every is not None:
            keep_collecting(lake, lambda: _contexts(options) or contexts, every, told, step, names=_names)
            return DONE
        report = collect(lake, contexts, step, names=_names())
    told(report)
    return DONE if report.complete else FAILED


def _contexts(options: argparse.Namespace) -> Sequence[Context]:
    if not hasattr(options, "all"):
        context = context_of(options)
        return () if context is None else (context,)
    from console.contexts import load

    found = load(os.environ, Path.home())
    for each in found.broken:
        complain(f"warning: context {each.name} is left out: {each.problem}")
    for context in found.contexts:
        for line in context.settings.exposures:
            complain(f"warning: context {context.name}: {line}")
    if not found.contexts:
        complain("there is no context: kac contexts says where they are looked for")
    return found.contexts


def _names() -> frozenset[str]:
    """The names of all contexts that are configured, usable or not."""
    from console.contexts import load

    found = load(os.environ, Path.home())
    return frozenset([*(each.name for each in found.contexts), *(each.name for each in found.broken)])


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    from console.commands.durations import parse_duration

    seconds = parse_duration(text) / 1000
    if seconds < LEAST_SECONDS:
        raise ValueError(f"--every {text}: not more often than every {LEAST_SECONDS:g}s")
    return seconds
