"""What kio's reader and writer ask of a message class beside its fields, for the formats that kio does not have.

A module of formats has no ``from __future__ import annotations``: kio reads the fields' types as objects.
"""

from typing import ClassVar

from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleRequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.response_header.v1.header import ResponseHeader as FlexibleResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16


class Part:
    """A structure within a message; of version 0 and not flexible unless a subclass says otherwise."""

    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = False


class Request(Part):
    """A request with header v1."""

    __slots__ = ()
    __type__: ClassVar = EntityType.request
    __api_key__: ClassVar[i16]
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader


class Response(Part):
    """A response with header v0."""

    __slots__ = ()
    __type__: ClassVar = EntityType.response
    __api_key__: ClassVar[i16]
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader


class FlexiblePart:
    """A structure within a flexible message (KIP-482)."""

    __slots__ = ()
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16]
    __flexible__: ClassVar[bool] = True


class FlexibleRequest(FlexiblePart):
    """A flexible request, with header v2."""

    __slots__ = ()
    __type__: ClassVar = EntityType.request
    __api_key__: ClassVar[i16]
    __header_schema__: ClassVar[type[FlexibleRequestHeader]] = FlexibleRequestHeader


class FlexibleResponse(FlexiblePart):
    """A flexible response, with header v1."""

    __slots__ = ()
    __type__: ClassVar = EntityType.response
    __api_key__: ClassVar[i16]
    __header_schema__: ClassVar[type[FlexibleResponseHeader]] = FlexibleResponseHeader
