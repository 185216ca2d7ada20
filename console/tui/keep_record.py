"""The key and the command that write the flight record of this console into a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from console.present.text import clean
from console.session.kept_record import write_record

if TYPE_CHECKING:
    from console.flight.recorder import Recorder


async def keep_record(
    recorder: Recorder | None, context: str, cluster_id: str, say: Callable[[str, str], None], path: str = ""
) -> None:
    """Write the record that is in memory into a file, and say where it is or why it could not be written.

    Args:
        recorder: has it; None where nothing is kept.
        context: its name.
        say: puts a text and its meaning on the message line.
        path: of the file, ``""`` for a new one in the state folder.
    """
    try:
        say(clean(await write_record(recorder, context, cluster_id, path), 400), "")
    except OSError as error:
        say(clean(f"no record was written: {error.filename}: {error.strerror}", 400), "failed")
