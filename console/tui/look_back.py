"""Replays this console's own flight record, about the last half hour, in another process while the screen is
suspended.
"""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from textual.app import SuspendNotSupported

from console import programs
from console.session.kept_record import write_record

if TYPE_CHECKING:
    from textual.app import App

    from console.flight.recorder import Recorder

RECORD = "this-console.kacflight"
OF_TERMINAL = ("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "TERM_PROGRAM", "TMUX", "STY", "SSH_TTY")
"""Environment variables that determine how a screen is drawn, and whether its clipboard can be reached."""


async def look_back(app: App[Any], recorder: Recorder | None, context: str, cluster_id: str, at: datetime) -> str:
    """Show the flight record in memory from a time on, in another process. Returns once the operator leaves it.

    Args:
        recorder: has the record; None if nothing is recorded.
        context: the name of the context.
        cluster_id: the id of the cluster.
        at: an aware time; a time before the record means the record's beginning.

    Returns:
        The message for the operator: the reason why nothing was shown, or how the replay ended.
    """
    if recorder is None:
        return "nothing is recorded here, so nothing can be replayed"
    with TemporaryDirectory(prefix="kac-replay-") as folder:
        path = str(Path(folder, RECORD))
        began_ms = await asyncio.wrap_future(recorder.run(lambda sink: sink.began_ms or 0))
        time = [] if at.timestamp() * 1000 <= began_ms else ["--at", f"{at.astimezone():%H:%M:%S}"]
        try:
            await write_record(recorder, context, cluster_id, path)
            # Draw nothing meanwhile (`batch_update`). This console's polls and operations continue.
            with app.suspend(), app.batch_update():
                program = programs.python("-m", "console", "replay", path, *time, folder=Path(folder))
                program = program._replace(environ={**program.environ, **_of_terminal()})
                code = await asyncio.to_thread(programs.with_terminal, program)
        except SuspendNotSupported:
            return "this screen can't be suspended for a replay: ^O writes the record, kac replay FILE shows it"
        except OSError as error:
            return f"no replay: {error.strerror or error}"
    return f"the replay ended with {code}" if code else "back from the replay: this is now"


def _of_terminal() -> dict[str, str]:
    return {name: os.environ[name] for name in OF_TERMINAL if name in os.environ}
