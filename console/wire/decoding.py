"""The process that decodes payloads by schemas: requests on its standard input, an answer to each on its output.

Both are by Msgpack, with four bytes of their size before them. Payloads and schemas are not trusted: they may take
all memory, or time without end in which the interpreter hears nothing. So the process sets its own limits, and the one
that waits for it ends it (`console.admin.decoding_process`).
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
"""Bytes of addresses that the process may have."""
_PROCESSOR_SECONDS = 10
"""For one request: the end where no other process is left to end this one."""
LARGEST_MADE = 16 << 20
"""Bytes of JSON that are made of one payload."""
_MOST_KEPT, _MOST_KEPT_TEXT = 200, 8 << 20
"""Schemas that stay parsed, and about the bytes of their texts."""


class Load(Struct, frozen=True, tag=True):
    """A schema under a number: of Avro as a text, of Protobuf compiled. main: the name of its own file there."""

    number: int
    schema: SchemaText
    descriptors: bytes = b""
    main: str = ""

    @property
    def size(self) -> int:
        """About the bytes that it has."""
        return self.schema.size + len(self.descriptors)


class Decode(Struct, frozen=True, tag=True):
    """A payload, by the schema of a number. values: those that it may have at most."""

    number: int
    payload: bytes
    indexes: bytes | None
    values: int


class Made(Struct, frozen=True, tag=True):
    """What was made of a payload, as JSON; nothing of a schema, or as the first word. values: how many it had."""

    made: bytes = b""
    values: int = 0


class Refused(Struct, frozen=True, tag=True):
    """Why a payload or a schema can't be used. is_unknown: the schema has to be loaded first. is_last:
    the process ends after this answer."""

    why: str
    values: int = 0
    is_unknown: bool = False
    is_last: bool = False


Request = Load | Decode
Answer = Made | Refused


def serve() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
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
    """Schemas that stay parsed, the last used ones."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[int, tuple[Callable[..., bytes], int]] = OrderedDict()

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request."""
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
        from console.wire.avro import avro_decoder
        from console.wire.protobuf import protobuf_decoder

        is_compiled = bool(wanted.main)
        decoder = protobuf_decoder(wanted.descriptors, wanted.main) if is_compiled else avro_decoder(wanted.schema)
        self._decoders[wanted.number] = (decoder, wanted.size)
        while len(self._decoders) > _MOST_KEPT or (
            len(self._decoders) > 1 and sum(size for _, size in self._decoders.values()) > _MOST_KEPT_TEXT
        ):
            self._decoders.popitem(last=False)
