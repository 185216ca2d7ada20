"""Frames recorded from real brokers: the structure of a file, and functions that write and read it."""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from console.admin.errors import error_name
from console.wire.aiokafka_request import Exchange
from console.wire.frames import decode_body, split_response
from console.wire.schemas import response_type
from tests.support.requests_of_kafka import request_type

FOLDER = Path(__file__).parent / "frames"
VERSIONS = ("3.9.1", "4.3.0")


@dataclass(frozen=True, slots=True)
class Recorded:
    """An exchange of a request and a response. step: the name of the request in record_frames.py. The frames have no
    length before them.
    """

    step: str
    api: str
    exchange: Exchange

    @property
    def body(self) -> memoryview:
        """Return the response's bytes after its header."""
        return split_response(response_type(self.api, self.exchange.version), self.exchange.response)[1]

    def decode(self) -> Any:
        """Return the response decoded, by the same code as in the client."""
        return decode_body(response_type(self.api, self.exchange.version), self.body)


@dataclass(frozen=True, slots=True)
class Recording:
    """All recorded exchanges with one broker. cluster_id, port: those of this broker."""

    kafka: str
    cluster_id: str
    port: int
    exchanges: tuple[Recorded, ...]

    def __getitem__(self, step: str) -> Recorded:
        (found,) = (recorded for recorded in self.exchanges if recorded.step == step)
        return found


def write(recording: Recording) -> Path:
    """Write the recording into the file of its Kafka version, and return the path."""
    content = {
        "kafka": recording.kafka,
        "cluster_id": recording.cluster_id,
        "port": recording.port,
        "exchanges": [
            [one.step, one.api, one.exchange.version, one.exchange.request.hex(), one.exchange.response.hex()]
            for one in recording.exchanges
        ],
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{recording.kafka}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))
    return path


@cache
def read(kafka: str) -> Recording:
    """Return the recording of a Kafka version."""
    content = json.loads(gzip.decompress((FOLDER / f"{kafka}.json.gz").read_bytes()))
    return Recording(kafka, content["cluster_id"], content["port"], tuple(_exchanges(content["exchanges"])))


def _exchanges(rows: list[list[Any]]) -> Iterable[Recorded]:
    for step, api, version, request, response in rows:
        key = int(request_type(api, version).__api_key__)
        yield Recorded(step, api, Exchange(key, version, bytes.fromhex(request), bytes.fromhex(response)))


def named(items: Any, *attributes: str) -> dict[Any, Any]:
    """Return value of an attribute -> item; for several attributes the keys are tuples of their values."""
    keys = [tuple(getattr(item, name) for name in attributes) for item in items]
    assert len(set(keys)) == len(keys)
    return {key[0] if len(key) == 1 else key: item for key, item in zip(keys, items, strict=True)}


def errors(items: Any, *attributes: str) -> dict[Any, str]:
    """Return value of an attribute -> the name of the item's error; for several attributes the keys are tuples of their
    values.
    """
    return {key: error_name(item.error_code) for key, item in named(items, *attributes).items()}
