"""``kac doctor``: checks this host and its connection to a cluster, and prints a remedy for each problem."""

from __future__ import annotations

import argparse
import locale
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from console.answers.checks import Check, Health, any_bad, checks_result
from console.cli.opening import DONE, FAILED, USAGE, context_of, log_in_on_the_way
from console.cli.screen import UTF8_WINDOW, dumb, no_unicode, not_a_terminal, plain_window

LEAST_COLUMNS, LEAST_ROWS = 80, 24
LEAST_ROOM = 64 * 1024 * 1024
"""Minimum number of free bytes on disk for the log, the journal and histories of commands."""


def doctor_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac doctor``."""
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the checks")


def run_doctor(options: argparse.Namespace) -> int:
    """Print the checks of this host, and of the cluster if the options name one.

    Returns:
        The exit code: 0 if everything works, 1 if a check failed, 2 if the context can't be used.
    """
    from console.answers.results import Printer

    found = checks(options)
    if found is None:
        return USAGE
    Printer(options.output)(checks_result(found))
    return FAILED if any_bad(found) else DONE


def checks(options: argparse.Namespace) -> list[Check] | None:
    """Return the results of the checks of this host, and of the cluster if the options name one. If the context can't
    be used, print the reason and return None.
    """
    found = list(host_checks(os.environ, Path.home()))
    if names_a_cluster(options):
        context = context_of(options)
        if context is None:
            return None
        import asyncio

        from console.admin.client_loop import ClientLoop
        from console.cli.doctor_cluster import cluster_checks

        log_in_on_the_way(context)
        with asyncio.Runner(loop_factory=lambda: ClientLoop(context.settings.route)) as runner:
            found += runner.run(cluster_checks(context))
    return found


def names_a_cluster(options: argparse.Namespace) -> bool:
    """Return whether an option or an environment variable names a cluster."""
    given = any(
        getattr(options, name, None)
        for name in ("bootstrap_server", "bootstrap_controller", "context", "command_config")
    )
    given = given or getattr(options, "via", "").startswith("kube:")
    return given or any(os.environ.get(name) for name in ("KAC_CONTEXT", "KAC_BOOTSTRAP"))


def host_checks(environ: Mapping[str, str], home: Path) -> Iterator[Check]:
    """Yield the results of the checks of the terminal, the locale, the configuration, the state on disk, and kac
    itself.
    """
    yield from _terminal(environ)
    yield _locale(environ)
    yield from _configuration(environ, home)
    yield _state(environ)
    yield _itself(environ)


def _terminal(environ: Mapping[str, str]) -> Iterator[Check]:
    why = not_a_terminal() or dumb(environ)
    if why:
        remedy = "ssh -t gives one; kac shell works here with the same commands, kac run in scripts"
        yield Check("terminal", Health.NOTE, why, remedy)
        return
    colours = "without colours (NO_COLOR)" if environ.get("NO_COLOR") else environ.get("COLORTERM", "")
    yield Check("terminal", Health.OK, f"TERM={environ['TERM']} {colours}".rstrip())
    size = shutil.get_terminal_size()
    small = size.columns < LEAST_COLUMNS or size.lines < LEAST_ROWS
    remedy = f"the screen is made for {LEAST_COLUMNS}×{LEAST_ROWS} and more" if small else ""
    yield Check("its size", Health.NOTE if small else Health.OK, f"{size.columns}×{size.lines}", remedy)


def _locale(environ: Mapping[str, str]) -> Check:
    why = no_unicode(environ)
    if why:
        return Check("locale", Health.NOTE, why, "export LC_ALL=C.UTF-8")
    if why := plain_window(environ):
        return Check("locale", Health.NOTE, why, UTF8_WINDOW)
    return Check("locale", Health.OK, locale.nl_langinfo(locale.CODESET))


def _configuration(environ: Mapping[str, str], home: Path) -> Iterator[Check]:
    from console.contexts import ContextError, load

    try:
        found = load(environ, home)
    except ContextError as error:
        yield Check("configuration", Health.BAD, str(error), "correct the file; kac contexts reads it again")
        return
    for each in found.broken:
        yield Check(f"context {each.name}", Health.BAD, f"{each.problem} ({each.origin})", "correct it in that file")
    for problem in found.problems:
        own = problem in found.own_problems
        remedy = "correct the file; kac contexts reads it again"
        yield Check("configuration", Health.BAD if own else Health.NOTE, problem, remedy)
    yield Check("contexts", Health.OK, f"{len(found.contexts)} found; kac contexts lists them")


def _state(environ: Mapping[str, str]) -> Check:
    from console.log_file import state_directory
    from console.safe_files import require_own

    folder = state_directory(environ)
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    remedy = "log and journal need it: set XDG_STATE_HOME to a folder that can be written, or change with --no-journal"
    if not os.access(there, os.W_OK | os.X_OK):
        return Check("state", Health.BAD, f"{folder}: {there} is not writable", remedy)
    try:
        require_own(there)
    except OSError as error:
        what, _, remedy = str(error.strerror).partition("; ")
        return Check("state", Health.NOTE, what, remedy)
    free = shutil.disk_usage(there).free
    if free < LEAST_ROOM:
        return Check("state", Health.NOTE, f"{folder}: {free >> 20} MB free", "free some: the journal is written first")
    return Check("state", Health.OK, str(folder))


def _itself(environ: Mapping[str, str]) -> Check:
    from console.cli.installed import release as own_release

    release = f"{own_release()}, Python {sys.version.split()[0]}"
    if environ.get("KAC_BUNDLE"):
        return Check("kac", Health.OK, f"{release}, one file: {environ['KAC_BUNDLE']}, unpacked in {sys.prefix}")
    return Check("kac", Health.OK, f"{release}, installed in {sys.prefix}")
