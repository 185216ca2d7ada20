"""The process that decodes payloads by schemas: it reads requests from its standard input, and writes an answer to
each.

Both are in MessagePack, with their size in four bytes before them. Payloads and schemas are untrusted: they may take
all memory, or endless time in which the interpreter handles no signal. So the process sets its own limits, and the
process that waits for it ends it (`console.admin.decoding_process`).
"""

from __future__ import annotations

import os
import resource
from collections import OrderedDict
from collections.abc import Callable
from typing import BinaryIO

import msgspec
from msgspec import Struct

from console.model.schemas import Allowance, NotDecoded, SchemaText

MEMORY = 1 << 30
"""Maximum size in bytes of the process's address space."""
_PROCESSOR_SECONDS = 10
"""Processor seconds for one request after which the process is killed, in case no other process is left to end it."""
LARGEST_MADE = 16 << 20
"""Maximum size in bytes of the JSON from one payload, and of a payload made from JSON."""
_MOST_KEPT, _MOST_KEPT_TEXT = 200, 8 << 20
"""Maximum number of parsed schemas in the cache, and the approximate maximum size of their texts in bytes."""


class Load(Struct, frozen=True, tag=True):
    """A schema to load, under a number: the text of an Avro schema, or the compiled descriptors of a Protobuf
    schema."""

    number: int
    schema: SchemaText
    descriptors: bytes = b""
    main: str = ""
    """The name of the schema's own file in the descriptors; ``""`` for an Avro schema."""
    encodes: bool = False
    """Whether payloads are made from JSON: a request then contains JSON, and its answer a payload."""

    @property
    def size(self) -> int:
        """The approximate size in bytes of the schema with its descriptors."""
        return self.schema.size + len(self.descriptors)


class Decode(Struct, frozen=True, tag=True):
    """A payload to decode, or JSON to encode if its schema `encodes`; and the number of the schema."""

    number: int
    payload: bytes
    indexes: bytes | None
    values: int
    """The maximum number of values in the payload."""


class Made(Struct, frozen=True, tag=True):
    """The JSON of a payload, or the payload made from JSON; empty as the answer to a schema, and in the first
    message."""

    made: bytes = b""
    values: int = 0
    """The number of values in the payload."""


class Refused(Struct, frozen=True, tag=True):
    """The reason why a payload or a schema is unusable; empty if the schema is not in the cache."""

    why: str
    values: int = 0
    is_unknown: bool = False
    """Whether the schema has to be loaded first."""
    is_last: bool = False
    """Whether the process ends after this answer."""


Request = Load | Decode
Answer = Made | Refused


def serve() -> None:
    """Answer requests until the input ends, or until a request takes too much memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library's output must not get among the answers
    with os.fdopen(0, "rb", closefd=False) as requests, output:
        _send(output, Made())
        kept = _Kept()
        while size := requests.read(4):
            _limit_processor()
            request = msgspec.msgpack.decode(requests.read(int.from_bytes(size, "big")), type=Request)
            try:
                answer = kept.answer(request)
            except (MemoryError, RecursionError):
                _send(output, Refused(f"it takes more than {MEMORY >> 20} MiB of memory", is_last=True))
                return
            _send(output, answer)


def _send(output: BinaryIO, answer: Answer) -> None:
    data = msgspec.msgpack.encode(answer)
    output.write(len(data).to_bytes(4, "big") + data)
    output.flush()


def _limit_processor() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(used.ru_utime + used.ru_stime) + _PROCESSOR_SECONDS
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


class _Kept:
    """A cache of the parsed schemas that were used last."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[int, tuple[Callable[..., bytes], int]] = OrderedDict()

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request: a refusal if the schema or the payload can't be decoded, or if the cache does
        not have the schema.
        """
        try:
            if isinstance(request, Load):
                self._load(request)
                return Made()
        except NotDecoded as problem:
            return Refused(str(problem))
        if request.number not in self._decoders:
            return Refused("", is_unknown=True)
        self._decoders.move_to_end(request.number)
        allowance = Allowance()
        allowance.values = request.values
        try:
            made = self._decoders[request.number][0](request.payload, request.indexes, allowance)
            if len(made) > LARGEST_MADE:
                raise NotDecoded(f"it has more than {LARGEST_MADE >> 20} MiB as text")
            return Made(made, request.values - allowance.values)
        except NotDecoded as problem:
            return Refused(str(problem), request.values - allowance.values)

    def _load(self, wanted: Load) -> None:
        from console.wire.avro import avro_decoder, avro_encoder
        from console.wire.protobuf import protobuf_decoder, protobuf_encoder

        if wanted.main:
            of_message = protobuf_encoder if wanted.encodes else protobuf_decoder
            decoder = of_message(wanted.descriptors, wanted.main)
        else:
            decoder = (avro_encoder if wanted.encodes else avro_decoder)(wanted.schema)
        self._decoders[wanted.number] = (decoder, wanted.size)
        while len(self._decoders) > _MOST_KEPT or (
            len(self._decoders) > 1 and sum(size for _, size in self._decoders.values()) > _MOST_KEPT_TEXT
        ):
            self._decoders.popitem(last=False)
