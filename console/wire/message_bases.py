"""The base classes of messages that kio lacks, with the class attributes that kio reads.

A module of messages has no ``from __future__ import annotations``: kio reads the fields' types as objects.
"""

from typing import ClassVar

from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleRequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.response_header.v1.header import ResponseHeader as FlexibleResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16


class Part:
    """The base of structures within a message: version 0 and not flexible unless a subclass says otherwise."""

    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16]
    __flexible__: ClassVar[bool] = False

    def __init_subclass__(cls, *, key: int | None = None, version: int | None = None) -> None:
        """Store an API's key, and a version. A dataclass with slots is created twice, the second time with the
        stored values and without these arguments.
        """
        if key is not None:
            cls.__api_key__ = i16(key)
        if version is not None:
            cls.__version__ = i16(version)


class Request(Part):
    """The base of requests with header v1."""

    __slots__ = ()
    __type__: ClassVar = EntityType.request
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = RequestHeader


class Response(Part):
    """The base of responses with header v0."""

    __slots__ = ()
    __type__: ClassVar = EntityType.response
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = ResponseHeader


class FlexiblePart(Part):
    """The base of structures within a flexible message (KIP-482)."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True


class FlexibleRequest(Request):
    """The base of flexible requests, with header v2."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = FlexibleRequestHeader


class FlexibleResponse(Response):
    """The base of flexible responses, with header v1."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = FlexibleResponseHeader
