"""Base classes of the messages that kio lacks. They have the class attributes that kio reads.

A module with messages must not import ``annotations`` from ``__future__``: kio needs the fields' types as objects, not
as texts.
"""

from typing import ClassVar

from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleRequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.response_header.v1.header import ResponseHeader as FlexibleResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16


class Part:
    """The base class of structures within a message. It means version 0, not flexible; a subclass may differ."""

    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __api_key__: ClassVar[i16]
    __flexible__: ClassVar[bool] = False

    def __init_subclass__(cls, *, key: int | None = None, version: int | None = None) -> None:
        """Store the API key and the version as class attributes, if given. A dataclass with slots is created twice: the
        second class gets the stored values, but not these arguments.
        """
        if key is not None:
            cls.__api_key__ = i16(key)
        if version is not None:
            cls.__version__ = i16(version)


class Request(Part):
    """The base class of requests with request header v1 (non-flexible)."""

    __slots__ = ()
    __type__: ClassVar = EntityType.request
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = RequestHeader


class Response(Part):
    """The base class of responses with response header v0 (non-flexible)."""

    __slots__ = ()
    __type__: ClassVar = EntityType.response
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = ResponseHeader


class FlexiblePart(Part):
    """The base class of structures within a flexible message (KIP-482)."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True


class FlexibleRequest(Request):
    """The base class of flexible requests, with request header v2."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = FlexibleRequestHeader


class FlexibleResponse(Response):
    """The base class of flexible responses, with response header v1."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = FlexibleResponseHeader
