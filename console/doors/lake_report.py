"""``kac lake report``: what happened in some hours, as a page to put beside a post-mortem."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.doors.file_options import written
from console.doors.lake_reading import Opened, read_lake, window
from console.doors.opening import DONE, FAILED, USAGE, complain
from console.safe_files import SHARED
from console.terminal import put

STDOUT = "-"


def run_report(options: argparse.Namespace) -> int:
    """0 written, 1 the lake could not be read or the file not written, 2 not understood."""
    if not getattr(options, "html", None):
        complain("lake report writes a page: name its file with --html FILE (- is standard output)")
        return USAGE
    asked = {name: getattr(options, name, None) for name in ("cluster", "since", "until")}
    return read_lake(argparse.Namespace(**{**vars(options), **asked}), lambda opened: _write(opened, options, asked))


def _write(opened: Opened, options: argparse.Namespace, asked: dict[str, str | None]) -> int:
    from console.history.reader.queries import SHOWN
    from console.lake.report import gather, page

    since, until = window(argparse.Namespace(**asked), opened.now)
    clusters = [opened.cluster] if opened.cluster is not None else opened.tables.clusters(*SHOWN)
    found = [gather(opened.tables, each, since, until, opened.now) for each in clusters]
    reports = [report for report in found if report is not None]
    if not reports:
        complain(f"the lake at {opened.tables.where} has nothing to report; `kac lake build` makes its tables")
        return FAILED
    if options.html == STDOUT:
        put(page(reports))
        return DONE
    if not written(Path(options.html), page(reports), SHARED):
        return FAILED
    changes = sum(len(report.changes) for report in reports)
    complain(f"{options.html}: {changes:,} changes of {', '.join(report.cluster_id for report in reports)}")
    return DONE
