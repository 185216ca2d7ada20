"""The key and the command that write the flight record of this console into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from console.present.text import clean
from console.session.kept_record import write_record

if TYPE_CHECKING:
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
    """Write what is in memory into a file, and say where it is, or why it could not be written."""
    try:
        host.say(clean(await write_record(host.session, path), 400))
    except OSError as error:
        host.say(clean(f"no record was written: {error.filename}: {error.strerror}", 400), "failed")
