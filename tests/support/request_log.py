"""Parses the brokers' own request logs (kafka.request.logger at DEBUG)."""

import json
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE

_LINE = re.compile(r"^\[(?P<at>[^\]]+)\] \w+ Completed request:(?P<json>\{.*\}) \(kafka\.request\.logger\)$")
_POLL_SECONDS = 0.02

Mark = Mapping[int, int]
"""Broker id -> a position in its log, in bytes."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A logged request with its response. broker: the id of the broker that logged it. connection: the broker's name of
    the client's connection. forwarded: whether it is the copy that a broker sent to the controller for a client.
    request, response: the bodies as the log's JSON.
    """

    at: str
    broker: int
    api: str
    version: int
    forwarded: bool
    client_id: str
    principal: str
    listener: str
    connection: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]


class RequestLog:
    """The request logs of all brokers of a cluster. paths: broker id -> the path of its log."""

    def __init__(self, paths: Mapping[int, Path]) -> None:
        self._paths = dict(paths)

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of all logs."""
        return tuple(self._paths.values())

    def mark(self) -> Mark:
        """Return the current size of each broker's log, as a mark for `read`."""
        return {broker: path.stat().st_size if path.exists() else 0 for broker, path in self._paths.items()}

    def read(
        self,
        api: str | None = None,
        *,
        since: Mark | None = None,
        client_id: str | None = None,
        forwarded: bool = False,
    ) -> tuple[LoggedRequest, ...]:
        """Return the requests that were logged after a mark, oldest first.

        api: such as ``INCREMENTAL_ALTER_CONFIGS``; None for any. since: None for the whole logs. client_id: None for
        any. forwarded: whether to include the copies that brokers send to the controller.
        """
        words = [json.dumps(word, ensure_ascii=False).encode() for word in (api, client_id) if word is not None]
        return tuple(
            entry
            for entry in sorted(self._entries(since or {}, words), key=lambda each: each.at)
            if (forwarded or not entry.forwarded) and api in (None, entry.api) and client_id in (None, entry.client_id)
        )

    def wait_for(
        self,
        count: int,
        api: str,
        *,
        since: Mark | None = None,
        client_id: str | None = None,
        timeout: float = PATIENCE,
    ) -> tuple[LoggedRequest, ...]:
        """Return the matching requests, as `read` does, once there are at least `count`: a broker logs a request only
        after it sent the answer.

        timeout: seconds. Raises TimeoutError with the requests so far if there are fewer by then.
        """
        deadline = time.monotonic() + timeout
        while len(found := self.read(api, since=since, client_id=client_id)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} {api} in the request log after {timeout} s: {found}")
            time.sleep(_POLL_SECONDS)
        return found

    def _entries(self, since: Mark, words: Collection[bytes]) -> list[LoggedRequest]:
        """Return the requests of the lines after a mark that contain all of these words. Other lines are not parsed:
        parsing the log of a cluster that many tests use would take seconds.
        """
        entries: list[LoggedRequest] = []
        for broker, path in self._paths.items():
            if not path.exists():
                continue
            with path.open("rb") as file:
                file.seek(since.get(broker, 0))
                written = file.read()
            whole = written[: written.rfind(b"\n") + 1]
            lines = (line for line in whole.splitlines() if all(word in line for word in words))
            entries += [entry for line in lines if (entry := parse_line(broker, line.decode()))]
        return entries


def parse_line(broker: int, line: str) -> LoggedRequest | None:
    """Parse a line of a request log. Return None for any other line, such as one of a stack trace or of another
    logger.
    """
    found = _LINE.match(line)
    if found is None:
        return None
    logged = json.loads(found["json"])
    header = logged["requestHeader"]
    return LoggedRequest(
        at=found["at"],
        broker=broker,
        api=header["requestApiKeyName"],
        version=header["requestApiVersion"],
        forwarded=logged["isForwarded"],
        client_id=header["clientId"],
        principal=logged["principal"],
        listener=logged["listener"],
        connection=logged.get("connection", ""),
        request=logged["request"],
        response=logged["response"],
    )
