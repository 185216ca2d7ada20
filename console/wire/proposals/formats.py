"""API keys, error numbers and base classes of the proposals' own formats.

A module of formats has no ``from __future__ import annotations``: kio reads the fields' types as objects.
"""

from typing import ClassVar, Final

from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleRequestHeader
from kio.schema.response_header.v0.header import ResponseHeader
from kio.schema.response_header.v1.header import ResponseHeader as FlexibleResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16

# The API keys and error codes of the proposals' own formats: 10,000 to 10,099, far above those of Kafka.
#
# The batched describes keep Kafka's keys, in versions that no Kafka has: they extend formats that exist.

LOWEST: Final = 10_000
HIGHEST: Final = 10_099

# KIP-4
CREATE_TOPICS: Final = 10_000
DELETE_TOPICS: Final = 10_001
LIST_ACLS: Final = 10_002
ALTER_ACLS: Final = 10_003
# KIP-21
DESCRIBE_CONFIG: Final = 10_010
ALTER_CONFIG: Final = 10_011
# KIP-133
LIST_CONFIGS: Final = 10_020
ALTER_CONFIGS: Final = 10_021
# KIP-248
LIST_QUOTAS: Final = 10_030
DESCRIBE_QUOTAS: Final = 10_031
ALTER_QUOTAS: Final = 10_032

# Kafka's own, for the batched describes.
DESCRIBE_ACLS: Final = 29
DESCRIBE_CLIENT_QUOTAS: Final = 48

# KIP-21 names two errors without numbers.
INVALID_ENTITY_CONFIG: Final = 10_000
INVALID_ENTITY: Final = 10_001
# KIP-133 names an error that has no number in Kafka.
UNSUPPORTED_OPERATION: Final = 10_002


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
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = RequestHeader


class Response(Part):
    """A response with header v0."""

    __slots__ = ()
    __type__: ClassVar = EntityType.response
    __api_key__: ClassVar[i16]
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = ResponseHeader


class FlexiblePart(Part):
    """A structure within a flexible message (KIP-482)."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True


class FlexibleRequest(Request):
    """A flexible request, with header v2."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[RequestHeader | FlexibleRequestHeader]] = FlexibleRequestHeader


class FlexibleResponse(Response):
    """A flexible response, with header v1."""

    __slots__ = ()
    __flexible__: ClassVar[bool] = True
    __header_schema__: ClassVar[type[ResponseHeader | FlexibleResponseHeader]] = FlexibleResponseHeader
