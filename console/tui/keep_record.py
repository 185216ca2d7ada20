"""The action behind the key and the command that write this console's flight record (the brokers' answers) to a
file.
"""

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
    """Write the flight record in memory to a file, and report the file's path or the error.

    Args:
        recorder: has the record; None if nothing is recorded.
        context: the name of the context.
        cluster_id: the id of the cluster.
        say: shows a message, given with the meaning of its colour.
        path: path of the file; ``""`` for a new file in the state folder.
    """
    try:
        say(clean(await write_record(recorder, context, cluster_id, path), 400), "")
    except OSError as error:
        say(clean(f"no record was written: {error.filename}: {error.strerror}", 400), "failed")
