"""The brokers' own request log (kafka.request.logger at DEBUG), read back as values."""

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
"""How far each broker's log had been written (bytes), by broker id."""


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One answered request. broker: who logged it. connection: the broker's name of the client's connection. forwarded:
    a copy that one broker passed on to the controller, not what a client sent. request, response: the bodies, as the
    broker writes them in JSON."""

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
    """The request logs of all brokers of a cluster, path by broker id."""

    def __init__(self, paths: Mapping[int, Path]) -> None:
        self._paths = dict(paths)

    @property
    def files(self) -> tuple[Path, ...]:
        """The logs of all brokers."""
        return tuple(self._paths.values())

    def mark(self) -> Mark:
        """Where the logs end now."""
        return {broker: path.stat().st_size if path.exists() else 0 for broker, path in self._paths.items()}

    def read(
        self,
        api: str | None = None,
        *,
        since: Mark | None = None,
        client_id: str | None = None,
        forwarded: bool = False,
    ) -> tuple[LoggedRequest, ...]:
        """What was logged since the mark, oldest first: of that API (``INCREMENTAL_ALTER_CONFIGS``) and that client,
        any where None. forwarded: with the copies that brokers pass on."""
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
        """As read, once there are at least that many: a broker logs a request after it sent the answer.

        Raises TimeoutError with what was there.
        """
        deadline = time.monotonic() + timeout
        while len(found := self.read(api, since=since, client_id=client_id)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} {api} in the request log after {timeout} s: {found}")
            time.sleep(_POLL_SECONDS)
        return found

    def _entries(self, since: Mark, words: Collection[bytes]) -> list[LoggedRequest]:
        """Of the lines with all of these words: to parse every line of a cluster that many tests use takes seconds."""
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
    """One line of a request log; None where it is something else (a stack trace, another logger's)."""
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
