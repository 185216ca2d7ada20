"""Records requests and responses as bytes on the wire, so that tests can examine them and send them again."""

import asyncio
import json
import struct
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from console.embedded.context import RequestContext
from console.embedded.request_pipeline import RequestPipeline
from console.model.numbers import json_text
from console.safe_files import PRIVATE, write_whole
from console.wire.schemas import Messages

_WITH_SECRETS = frozenset({"sasl_handshake", "sasl_authenticate"})
_SIZE = struct.Struct(">i")


class Recorded(NamedTuple):
    """The bytes of a request and its response, without their length prefixes. response: None if there was none. at:
    seconds since 1970.

    connection: the number of the client's connection, so that a replay groups requests by connection as the clients
    did.
    """

    at: float
    broker: int
    connection: int
    client: str
    api: str
    version: int
    request: bytes
    response: bytes | None


class Recording:
    """The newest requests of a pipeline. SASL messages are left out. Configs and salted passwords are kept, so `save`
    makes the file readable by its owner only.
    """

    def __init__(self, limit: int = 100_000) -> None:
        self._entries: deque[Recorded] = deque(maxlen=limit)

    def attach(self, pipeline: RequestPipeline) -> Callable[[], None]:
        """Record every request that passes a pipeline from now on. Return a function that ends the recording."""
        answer = pipeline.answer

        async def recorded(
            request: Any, context: RequestContext, found: Messages, frame: bytes, *more: Any
        ) -> bytes | None:
            data = None
            try:
                data = await answer(request, context, found, frame, *more)
                return data
            finally:
                self.add(context, found, frame, data)

        pipeline.answer = recorded  # type: ignore[assignment,method-assign]
        return lambda: vars(pipeline).pop("answer", None)

    def add(self, context: RequestContext, found: Messages, frame: bytes, data: bytes | None) -> None:
        """Record a request, unless its API is left out because of secrets. data: its response with the length prefix;
        None for a request without a response.
        """
        if found.api not in _WITH_SECRETS:
            self._entries.append(
                Recorded(
                    context.clock.time(),
                    context.broker_id,
                    context.session.number,
                    context.client_id,
                    found.api,
                    found.version,
                    frame,
                    None if data is None else data[_SIZE.size :],
                )
            )

    def __iter__(self) -> Iterator[Recorded]:
        return iter(tuple(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def save(self, path: Path) -> None:
        """Write the requests as JSON lines into a file that only its owner can read. Raises OSError."""
        lines = []
        for entry in self:
            response = None if entry.response is None else b64encode(entry.response).decode()
            line = entry._replace(request=b64encode(entry.request).decode(), response=response)  # type: ignore[arg-type]
            lines.append(json_text(line._asdict()) + "\n")
        write_whole(path, "".join(lines), PRIVATE)


def load(path: Path) -> tuple[Recorded, ...]:
    """Read a file that `save` wrote. Raises OSError if it can't be read, ValueError if it has another format."""
    entries = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                entry = Recorded(**json.loads(line))
                response = None if entry.response is None else b64decode(entry.response)
                entries.append(entry._replace(request=b64decode(entry.request), response=response))
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: no recorded request ({error})") from error
    return tuple(entries)


async def replay(
    entries: Iterable[Recorded], addresses: Mapping[int, tuple[str, int]], patience: float = 30.0
) -> tuple[Recorded, ...]:
    """Send recorded requests again to the brokers with the same ids, each after the response to the one before. Return
    the requests with the new responses; a response is None if the connection ended, or if the recorded request had
    none.

    addresses: broker id -> (host, port). patience: seconds to wait for a response.

    Raises TimeoutError if a response does not come in time, KeyError if a broker is not in addresses, and OSError if a
    broker does not listen.
    """
    streams: dict[tuple[int, int], tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
    answers: list[Recorded] = []
    try:
        for entry in entries:
            key = (entry.broker, entry.connection)
            if key not in streams:
                streams[key] = await asyncio.open_connection(*addresses[entry.broker])
            reader, writer = streams[key]
            writer.write(_SIZE.pack(len(entry.request)) + entry.request)
            response = None
            if entry.response is not None:
                try:
                    async with asyncio.timeout(patience):
                        (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                        response = await reader.readexactly(size)
                except (asyncio.IncompleteReadError, ConnectionError):
                    del streams[key]
                    writer.close()
            answers.append(entry._replace(response=response))
    finally:
        for _, writer in streams.values():
            writer.close()
    return tuple(answers)
