"""The child process that decodes payloads by schemas. It reads requests from its standard input and writes an answer to
each to its standard output.

Requests and answers are in MessagePack, each after its size in four bytes. Payloads and schemas are untrusted: they may
need all memory, or take endless time during which the interpreter handles no signal. So this process limits its own
memory and processor time, and the parent process kills it after a timeout (`console.admin.decoding_process`).
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
"""Maximum seconds of processor time for one request. After them, the operating system kills the process, even if the
parent process has ended and so can't kill it.
"""
LARGEST_MADE = 16 << 20
"""Maximum size in bytes of the JSON decoded from one payload, and of a payload encoded from JSON."""
_MOST_KEPT, _MOST_KEPT_TEXT = 200, 8 << 20
"""Maximum number of parsed schemas in the cache, and the approximate maximum size of their texts in bytes."""


class Load(Struct, frozen=True, tag=True):
    """A request to load a schema and keep it under a number, by which `Decode` names it. The schema is the text of
    an Avro schema, or the compiled descriptors of a Protobuf schema.
    """

    number: int
    schema: SchemaText
    descriptors: bytes = b""
    main: str = ""
    """The file name, within the descriptors, of the schema itself (the other files are its imports); ``""`` for an Avro
    schema.
    """
    encodes: bool = False
    """Whether the schema is loaded for encoding: each `Decode` request then has JSON, and its answer has a payload."""

    @property
    def size(self) -> int:
        """The size in bytes of the schema's text and descriptors, approximately."""
        return self.schema.size + len(self.descriptors)


class Decode(Struct, frozen=True, tag=True):
    """A request to decode a payload by the schema with this number; or to encode JSON, if the schema was loaded with
    `encodes`.
    """

    number: int
    payload: bytes
    indexes: bytes | None
    values: int
    """The maximum number of values that the payload may contain."""


class Made(Struct, frozen=True, tag=True):
    """A successful answer: the JSON of a payload, or the payload of JSON. It is empty in the answer to `Load`, and in
    the message that the process sends at its start.
    """

    made: bytes = b""
    values: int = 0
    """The number of values in the payload that was decoded or encoded."""


class Refused(Struct, frozen=True, tag=True):
    """A failed answer, with the reason. The reason is ``""`` if `is_unknown`."""

    why: str
    values: int = 0
    is_unknown: bool = False
    """Whether the cache does not have the schema: the parent process must send `Load` and repeat the request."""
    is_last: bool = False
    """Whether the process ends after this answer."""


Request = Load | Decode
Answer = Made | Refused


def serve() -> None:
    """Answer requests until the standard input ends. A request that exceeds the memory is refused and ends the process,
    too.
    """
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
    """A cache of the most recently used schemas in parsed form."""

    def __init__(self) -> None:
        self._decoders: OrderedDict[int, tuple[Callable[..., bytes], int]] = OrderedDict()

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request. It is Refused if the schema is invalid, if the payload does not fit it or
        exceeds a limit, or if the cache lacks the schema.
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
