"""The flight record of this console: its last half hour is always in memory, and goes into a file when asked."""

from __future__ import annotations

import asyncio
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from console.log_file import state_directory
from console.present.text import clean
from console.safe_files import private_folder

if TYPE_CHECKING:
    from console.flight.recorder import Sink
    from console.session.session import Session


class RecordHost(Protocol):
    """What `keep_record` needs of the app."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    def say(self, text: str, meaning: str = "") -> None:
        """Write into the message line."""
        ...


async def keep_record(host: RecordHost, path: str = "") -> None:
    """Write what is in memory into a file, a new one of the state folder if none is named; say where it is, or why it
    could not be written."""
    session = host.session
    recorder = session.recorder
    if recorder is None:
        host.say("this console records nothing: it shows a record itself", "muted")
        return
    file = _file(path, session.context.name)

    def write(sink: Sink) -> tuple[int, int]:
        from console.flight.memory import Memory

        assert isinstance(sink, Memory)
        if not path:
            private_folder(file.parent)
        if file.exists():
            raise FileExistsError(0, "it is there already", str(file))
        began = sink.began_ms or 0
        return sink.write(file, session.snapshot.cluster.cluster_id or ""), began

    try:
        size, began_ms = await asyncio.wrap_future(recorder.run(write))
    except OSError as error:
        host.say(f"no record was written: {clean(str(file), 200)}: {error.strerror or error}", "failed")
        return
    since = datetime.fromtimestamp(began_ms / 1000, UTC).astimezone()
    host.say(f"the record since {since:%H:%M:%S} is {clean(str(file), 200)} ({size / (1 << 20):.1f} MiB): kac replay")


def _file(path: str, context: str) -> Path:
    """The file that is named, else a new one of the state folder by cluster and time."""
    if path:
        return Path(path).expanduser()
    name = re.sub(r"[^\w.-]+", "-", context)[:60].strip("-.") or "cluster"
    now = datetime.now(UTC).astimezone()
    return state_directory(os.environ) / "records" / f"{name}-{now:%Y%m%d-%H%M%S}.kacflight"
