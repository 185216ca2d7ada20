"""Copying to the operator's clipboard: by an escape sequence to the terminal (OSC 52), wrapped for tmux or screen; into
tmux's own buffer; or into a private file if the terminal does not support OSC 52.

No terminal confirms the copy, so the messages here only say what kac did.
"""

from __future__ import annotations

import asyncio
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from textual.app import App

from console.log_file import state_directory
from console.safe_files import PRIVATE, write_whole

SENT, TO_TMUX = "sent to the terminal", "in tmux's buffer, and sent to its terminal"
TMUX_SECONDS = 2.0
_WITHOUT = frozenset(
    ["linux", "dumb", "unknown", "dtterm", "sun", "cons25", "vt52", "vt100", "vt102", "vt220", "vt320"]
)
"""Values of TERM of terminals that do not support OSC 52."""
_SCREENS_STRING = 240
"""Maximum characters of one string that GNU screen passes to its terminal: its limit is 256 in old releases."""


def takes_copies(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal may support OSC 52."""
    if environ.get("TMUX") or environ.get("STY"):
        return True
    inner = environ.get("VTE_VERSION") or environ.get("TERM_PROGRAM") == "Apple_Terminal"
    return not inner and environ.get("TERM", "") not in {"", *_WITHOUT}


def sequence(text: str, environ: Mapping[str, str]) -> str:
    """Return the escape sequence that sets the clipboard to a text; ``""`` if the terminal does not support OSC 52."""
    if not takes_copies(environ):
        return ""
    term = environ.get("TERM", "")
    osc = f"\x1b]52;c;{b64encode(text.encode()).decode('ascii')}\x07"
    if environ.get("TMUX") or term.startswith("tmux"):
        # Send both forms: tmux obeys the first if its option set-clipboard is on, and passes the second on to its
        # terminal if allow-passthrough is on.
        doubled = osc.replace("\x1b", "\x1b\x1b")
        return f"{osc}\x1bPtmux;{doubled}\x1b\\"
    if environ.get("STY") or term.startswith("screen"):
        parts = (osc[at : at + _SCREENS_STRING] for at in range(0, len(osc), _SCREENS_STRING))
        # Also send the plain form: over ssh from within tmux, TERM may be that of screen, and tmux needs this form.
        return osc + "".join(f"\x1bP{part}\x1b\\" for part in parts)
    return osc


async def copy(app: App[Any], text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Copy a text to the terminal's clipboard, to tmux's buffer or into a file.

    Returns:
        A message that says where the copy is, or why there is none; and the meaning of the message's colour.
    """
    app.copy_to_clipboard(text)
    text = app.clipboard
    if bool(environ.get("TMUX")) and await asyncio.to_thread(_in_tmux, text, environ):
        return TO_TMUX, "muted"
    if takes_copies(environ):
        return SENT, "muted"
    file = state_directory(environ) / "copied"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, f"{text}\n", PRIVATE)
    except OSError as error:
        return f"this terminal takes no copies, and {file} can't be written: {error.strerror or error}", "failed"
    return f"this terminal takes no copies: written to {file}", "muted"


def _in_tmux(text: str, environ: Mapping[str, str]) -> bool:
    """Put a text into tmux's buffer, and let tmux send it to its terminal. Return whether that succeeded. Blocks.

    This works even if tmux's options set-clipboard and allow-passthrough are off.
    """
    # Import only here: the first screen starts no programs, and must not wait for this module.
    from console.programs import finished, home_folder, of_user

    with suppress(OSError, subprocess.TimeoutExpired):
        tmux = of_user(("tmux", "load-buffer", "-w", "-"), environ, home_folder())
        none = subprocess.DEVNULL
        return finished(tmux, TMUX_SECONDS, input=text.encode(), stdout=none, stderr=none).returncode == 0
    return False
