"""Readers that follow brokers' request logs on this host while these are written, in pieces of limited size, also
through log rotations.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from errno import EINVAL
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from console.model.failure import Failure
from console.model.throttling import LONGEST_NAME, Client, Logged, LogThrottles, throttled_clients
from console.triage.facts import RequestLogs

if TYPE_CHECKING:
    from console.lake.requests.lines import Form, Line

MOST_BYTES = 8 << 20
"""Maximum size in bytes of one read of a log; if more was added, the older lines are skipped."""
LONGEST_LINE = 1 << 20
"""Maximum size in bytes of an incomplete last line that is kept until the rest is written."""
CURRENT_SECONDS = 120.0
"""Seconds since the last write after which a log counts as out of date."""


def requests_in(text: bytes) -> Iterator[Line]:
    """Yield the requests in the complete lines of a log; lines without a request are skipped."""
    from console.lake.requests.lines import Line, one_line

    lines = (one_line(0, line) for line in text.split(b"\n"))
    return (line for line in lines if isinstance(line, Line))


def clients_requests(lines: Iterable[Line]) -> Iterator[Logged]:
    """Yield the requests that clients sent, without those of replicas and those that brokers forwarded."""
    from console.lake.requests.lines import is_clients

    for found in lines:
        if is_clients(request := found.request):
            header = request.request_header
            names = (header.client_id or "", request.principal, header.request_api_key_name)
            client = Client(*(name[:LONGEST_NAME] for name in names))
            yield Logged(
                int(found.second.replace(tzinfo=UTC).timestamp()), client, max(0, request.throttle_time_ms or 0)
            )


class _Tail:
    """A reader that follows one log. Its methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known = LogThrottles()
        self.form: Form | None = None
        """The form of the log's lines if kac can't read them; None if it can."""
        self._has_requests = False
        self._place: tuple[int, int] = (-1, -1)
        self._at = 0
        self._part = b""

    def read(self) -> float:
        """Read the lines added since the last call, at most the last `MOST_BYTES`. Return the time of the log's last
        write, in seconds since 1970. Raises OSError, also for a path that is not a regular file.
        """
        # Use O_NONBLOCK, as opening a named pipe would otherwise block.
        with os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            if not S_ISREG(about.st_mode):
                raise OSError(EINVAL, "not a file", str(self.path))
            place = (about.st_dev, about.st_ino)
            # If the file is another one, or shorter than before, the log was rotated or truncated in place: read from
            # the beginning.
            if place != self._place or about.st_size < self._at:
                self._place, self._at, self._part = place, 0, b""
            if about.st_size - self._at > MOST_BYTES:
                self._at, self._part = about.st_size - MOST_BYTES, b""
            file.seek(self._at)
            text = file.read(about.st_size - self._at)
        self._at += len(text)
        lines, _, part = (self._part + text).rpartition(b"\n")
        # The broker may be in the middle of a line: keep its beginning until the rest is written.
        self._part = part if len(part) <= LONGEST_LINE else b""
        self._take(lines)
        return about.st_mtime

    def _take(self, lines: bytes) -> None:
        from console.lake.requests.lines import MESSAGE, form_of

        requests = requests_in(lines)
        first = next(requests, None)
        if first is not None:
            self._has_requests, self.form = True, None
            self.known = self.known.after(clients_requests(chain([first], requests)))
        elif MESSAGE in lines or (lines.strip() and not self._has_requests):
            # Lines of other loggers between requests do not mean that the form of request lines is unreadable.
            self.form = form_of(lines)


class RequestLogTails:
    """Readers of several request logs. paths: the paths of the log files."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._tails = [_Tail(path) for path in paths]

    def read(self) -> RequestLogs:
        """Read what was added to the logs and return the clients that brokers throttled lately. `unread` in the result
        has the reason for each log that can't be read or is out of date. Blocks while files are read.
        """
        unread: dict[str, Failure] = {}
        current: list[LogThrottles] = []
        now = time.time()
        for tail in self._tails:
            try:
                written = tail.read()
            except OSError as error:
                unread[str(tail.path)] = Failure("NOT_READ", error.strerror or str(error), "Name a file of a broker.")
                continue
            if tail.form is not None:
                text = f"it is in the form of {tail.form.what}: no line of it can be read"
                unread[str(tail.path)] = Failure("FORM", text, tail.form.remedy)
            elif written < now - CURRENT_SECONDS:
                text = f"the log was not written for {now - written:,.0f} s: it says nothing of now"
                unread[str(tail.path)] = Failure("OLD", text, "Set kafka.request.logger to DEBUG on that broker.")
            else:
                current.append(tail.known)
        return RequestLogs(throttled_clients(current), tuple(tail.path.name for tail in self._tails), unread)
