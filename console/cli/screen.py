"""``kac`` without a command: opens the screen; if this terminal can't show it, prints the reason and an alternative."""

from __future__ import annotations

import argparse
import locale
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.opening import USAGE, context_of, open_log_file, recorded_client, screen_settings
from console.terminal import complain, leave

if TYPE_CHECKING:
    from console.contexts import Context
    from console.contexts.configured import Choice


_DUMB = ("", "dumb", "unknown")
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def no_screen(environ: Mapping[str, str]) -> str:
    """Return the reason why this terminal can't show the screen, with an alternative; ``""`` if it can."""
    why = not_a_terminal() or dumb(environ) or no_unicode(environ) or plain_window(environ)
    other = "`kac --plain` works here, and so does `kac shell` with the same commands; `kac run` in scripts"
    return f"{why}. {other}" if why else ""


def is_plain(options: argparse.Namespace) -> bool:
    """Return whether the console prints lines instead of a screen: by ``--plain``, or by the settings."""
    from console.contexts import load

    return getattr(options, "plain", False) or load(os.environ, Path.home()).settings.accessible


def not_a_terminal() -> str:
    """Return a message that names the standard streams that are not terminals; ``""`` if all are terminals."""
    streams = {"input": sys.stdin, "output": sys.stdout, "error": sys.stderr}
    missing = [name for name, stream in streams.items() if stream is None or not stream.isatty()]
    if not missing:
        return ""
    named = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    return f"the screen needs an interactive terminal: standard {named} {'is' if len(missing) == 1 else 'are'} not one"


def dumb(environ: Mapping[str, str]) -> str:
    """Return the reason why a terminal of this kind (TERM) can't draw a screen; ``""`` if it can."""
    term = environ.get("TERM", "")
    if term not in _DUMB:
        return ""
    known = f"TERM is {term}" if term else "TERM is not set"
    return f"{known}, so the screen can't be drawn (if the terminal is one like xterm: TERM=xterm-256color)"


def no_unicode(environ: Mapping[str, str]) -> str:
    """Return a message with the environment variable whose locale does not use UTF-8; ``""`` if there is no such
    variable.

    A locale that this host lacks is judged by its name; without any variable, terminals use UTF-8 (PEP 538).
    """
    name = next((name for name in _LOCALE if environ.get(name)), None)
    if name is None or "utf8" in environ[name].lower().replace("-", ""):
        return ""
    codeset = locale.nl_langinfo(locale.CODESET)
    if codeset.lower().replace("-", "") == "utf8":
        return ""
    remedy = "if the terminal shows UTF-8: LC_ALL=C.UTF-8"
    return f"{name}={environ[name]} has no UTF-8, and the screen is drawn with it ({remedy})"


SCREEN_SECONDS = 2.0
"""Timeout in seconds for the program GNU screen to describe a window, which usually takes some milliseconds."""
UTF8_WINDOW = "start it as screen -U, or type in it: Ctrl-A :utf8 on on"


def plain_window(environ: Mapping[str, str]) -> str:
    """Return a message if this terminal is a window of GNU screen that does not use UTF-8, even if the locale does.

    Such a window shows each byte of a line as a character. Return ``""`` for other windows, outside of GNU screen, and
    if GNU screen does not answer.
    """
    if not environ.get("STY") or environ.get("TMUX"):
        return ""
    import subprocess

    from console.programs import finished, of_user

    words = ("screen", "-S", environ["STY"], "-p", environ.get("WINDOW") or "0", "-Q", "info")
    try:
        told = finished(of_user(words, environ), SCREEN_SECONDS, capture_output=True, text=True, errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if told.returncode or _WINDOW.match(told.stdout) is None or "UTF-8" in told.stdout.split():
        return ""
    return f"this window of GNU screen has no UTF-8, and the screen is drawn with it ({UTF8_WINDOW})"


_WINDOW = re.compile(r"\(\d+,\d+\)/\(\d+,\d+\)")
"""Matches the beginning of GNU screen's description of a window: the position of the cursor, and the size."""


# ``kac`` without a command: the screen.


def run(options: argparse.Namespace) -> int:
    """Open the console on the cluster that the options name.

    Returns:
        The console's exit code; 2 without a usable context, or if the terminal can't show the screen.
    """
    why = no_screen(os.environ)
    if why and not is_plain(options):
        return leave(USAGE, why)
    context = context_of(options)
    if context is None:
        return USAGE
    from console.contexts.configured import Configured

    if (wanted := getattr(options, "watch_set", "")) and (why := _unusable_set(context, wanted)):
        return leave(USAGE, why)
    open_log_file()
    return show(options, context, Configured(os.environ, Path.home(), unlock=False))


def _unusable_set(context: Context, name: str) -> str:
    """Return the reason why the screen can't open with the context's set of watched subjects of this name; ``""`` if it
    can.
    """
    from console.cli.watch import no_set
    from console.language.errors import CommandError
    from console.tui.watching import subjects_in

    if name not in context.watch:
        return no_set(name, tuple(context.watch), context.name)
    try:
        subjects_in(context, name)
    except CommandError as error:
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return ""


SWITCH_EVERY = 0.001
"""Seconds after which a computing thread gives the interpreter to waiting threads (`sys.setswitchinterval`). A key
press needs the interpreter a dozen times: with Python's default of 5 ms it would wait a tenth of a second for three
threads that decode and compare a large cluster.
"""


def show(options: argparse.Namespace, context: Context, contexts: Choice, tour: Path | None = None) -> int:
    """Open the console on a context, and return its exit code once the operator has left it.

    Args:
        options: `lake`, the path of the lake, and `theme`; both override the environment and the settings; `plain`, for
            lines instead of a screen; `request_logs`, the paths of request logs of brokers on this host.
        contexts: the contexts to which the operator can switch.
        tour: the file whose existence means that the tour was shown before; None for no tour.
    """
    from msgspec.structs import replace

    from console.admin.gc_pause import gc_paused
    from console.contexts import ContextError, load
    from console.contexts.secret_sources import unlocked
    from console.tui.prefetch import SessionFactory

    sys.setswitchinterval(SWITCH_EVERY)
    found = load(os.environ, Path.home())
    for problem in found.own_problems:
        complain(f"warning: {problem}")
    settings, lake = screen_settings(found, options), getattr(options, "lake", None)
    settings = replace(settings, watch=getattr(options, "watch_set", ""))
    sessions = SessionFactory(recorded_client)
    try:
        # Begin to connect to the first broker while Textual is imported.
        session = sessions.session(context)
        with gc_paused():
            from console.session.command_history import command_history
            from widgets import lean_textual

            lean_textual.import_app()
            from console.tui.app import Console

        lines = None
        if getattr(options, "plain", False) or settings.accessible:
            from console.tui.voice import InputLines

            lines = InputLines()
        while True:
            history = command_history(os.environ)
            app = Console(session, settings, history, contexts, lake, sessions)
            app.triage.request_logs = getattr(options, "request_logs", ())
            if tour is not None and not tour.exists():
                from console.tui.tour import Tour

                app.triage.tour = Tour(tour)
            chosen = app.run(mouse=settings.mouse) if lines is None else app.run_as_lines(lines)
            if app.return_code or chosen is None:
                return app.return_code or 0
            # To change the context, the app ends, and starts again on another session.
            session = sessions.session(unlocked(chosen, ask=True))
    except ContextError as error:
        return leave(USAGE, str(error))
    finally:
        sessions.close()
