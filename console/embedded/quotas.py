"""Client quotas: their table with its indexes, the filters of requests, and the checks of entities and values."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import socket
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.java import sized_hash_order
from console.embedded.large_tables import LargeQuotas
from console.embedded.tables import IndexedTable, frozen, keys_in
from console.model import quota

Entries = Iterable[tuple[quota.QuotaEntity, quota.QuotaValues]]
_FEWEST_FIRST = (quota.USER, quota.IP, quota.CLIENT_ID)


class QuotaTable(IndexedTable[quota.QuotaEntity, quota.QuotaValues]):
    """The quotas of entities, indexed by the entities' components."""

    __slots__ = ()
    source: LargeQuotas | None

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda entity: entity.parts)

    def of_part(self, part: quota.QuotaPart) -> Iterator[quota.QuotaEntity]:
        """Yield the entities that have this component. The table may change during the iteration."""
        return self.having(part, self.source.of_part(part) if self.source is not None else ())

    def of_types(self, types: frozenset[str]) -> Entries:
        """Yield the entities with exactly these types of components, and their quotas. The table may change during the
        iteration.
        """
        own = {entity: values for entity, values in self._own.items() if frozenset(entity.types) == types}
        made = self.source.of_types(types) if self.source is not None else ()
        yield from (item for item in made if item[0] not in own and item[0] not in self._gone)
        yield from own.items()


def quota_candidates(quotas: Mapping[quota.QuotaEntity, quota.QuotaValues], wanted: quota.QuotaFilter) -> Entries:
    """Yield entities with their quotas from a view's table: all that match the filter, and possibly others, so that the
    caller has to test each. The table may change during the iteration.
    """
    named = [
        quota.QuotaPart(part.type, part.name if part.match == quota.Match.EXACT else None)
        for part in wanted.components
        if part.match != quota.Match.ANY_NAME
    ]
    if wanted.strict and named and len(named) == len(wanted.components):
        entity = quota.QuotaEntity.of(dict(named))
        values = quotas.get(entity)
        return () if values is None else ((entity, values),)
    if not named and wanted.strict and wanted.components and isinstance(quotas, QuotaTable):
        return quotas.of_types(frozenset(part.type for part in wanted.components))
    if not named:
        return frozen(quotas).items()
    part = min(named, key=lambda part: (part.name is None, _FEWEST_FIRST.index(part.type)))
    entities = keys_in(quotas, lambda table: table.of_part(part), lambda entity: part in entity.parts)
    return _with_values(quotas, entities)


def _with_values(
    quotas: Mapping[quota.QuotaEntity, quota.QuotaValues], entities: Iterable[quota.QuotaEntity]
) -> Entries:
    for entity in entities:
        values = quotas.get(entity)
        if values is not None:
            yield entity, values


EMPTY_ENTITY: Final = "Invalid empty client quota entity"
UNKNOWN_ENTITY_TYPE: Final = "Unhandled client quota entity type: {type}"
EMPTY_NAME: Final = "Empty {type} not supported"
NO_HOST: Final = "{name} is not a valid IP or resolvable host."
UNKNOWN_KEY: Final = "Invalid configuration key {key}"
NOT_FINITE: Final = "Quota {key} must be a finite number"
NOT_POSITIVE: Final = "Quota {key} must be greater than 0"
VALUE_TOO_LARGE: Final = "Proposed value for {key} is too large for {article} {type}."
FRACTION: Final = "{key} cannot be a fractional value."
ENTITY_TWICE: Final = "Ignoring duplicate entity ClientQuotaEntity(entries={{{entity}}})"
TOO_MANY_QUOTAS: Final = "Request parameters do not satisfy the configured policy."
MIXED_ENTITY: Final = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
MIXED_FILTER: Final = (
    "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter "
    "component."
)
EMPTY_TYPE: Final = "Invalid empty entity type."
TYPE_TWICE: Final = "Entity type {type} cannot appear more than once in the filter."
UNKNOWN_TYPE: Final = "Unsupported entity type {type}"


_ENTITY_TYPES = (quota.USER, quota.CLIENT_ID, quota.IP)


def ordered_parts(parts: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Return type -> name of an entity's components, in the order in which a broker checks them. If a type is repeated,
    the last component counts. A name of None means the default.
    """
    named = dict(parts)
    return {type_: named[type_] for type_ in sized_hash_order(tuple(named))}


def shown_parts(parts: Mapping[str, str | None]) -> str:
    """Return the components in the form of a message, such as ``client-id=x, user=null``."""
    return ", ".join(f"{type_}={'null' if name is None else name}" for type_, name in parts.items())


async def entity_problem(parts: Mapping[str, str | None]) -> str | None:
    """Return the reason why an entity can't have quotas; None if it can (ClientQuotaControlManager.validateEntity).
    parts: type -> name of its components; None for the default.
    """
    if not parts:
        return EMPTY_ENTITY
    for type_, name in parts.items():
        if type_ not in _ENTITY_TYPES:
            return UNKNOWN_ENTITY_TYPE.format(type=type_)
        if name == "":
            return EMPTY_NAME.format(type=type_)
    if quota.IP not in parts:
        return None
    if len(parts) > 1:
        return MIXED_ENTITY
    ip = parts[quota.IP]
    return None if ip is None or await _resolves(ip) else NO_HOST.format(name=ip)


async def _resolves(host: str) -> bool:
    """Return whether a host is an IP address, or a name that this host can resolve (InetAddress.getByName)."""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(host))
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return True


_TYPES = frozenset({quota.USER, quota.CLIENT_ID, quota.IP})
_MATCHES = {quota.Match.EXACT: "EXACT", quota.Match.DEFAULT: "DEFAULT", quota.Match.ANY_NAME: "SPECIFIED"}

_UNKNOWN_MATCH: Final = "Unknown match type {match}"
_UNNAMED: Final = "Request specified MATCH_TYPE_EXACT, but set match string to null."
_NAMED: Final = "Request specified MATCH_TYPE_{match}, but also specified a match string."


class BadFilter(ValueError):
    """The filter in a request is invalid.

    Attributes:
        code: Kafka's error code.
        message: Kafka's message; None if Kafka sends none.
    """

    def __init__(self, code: int, message: str | None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message


class Component(NamedTuple):
    """A component of a filter in a request."""

    type: str
    match: int
    name: str | None


def parsed_filter(components: Sequence[Component], strict: bool) -> quota.QuotaFilter:
    """Convert the components of a filter in a request to the model (ClientQuotasImage.describe). Raises BadFilter."""
    seen: set[str] = set()
    for component in components:
        type_ = component.type
        if not type_:
            raise BadFilter(ErrorCode.invalid_request, EMPTY_TYPE)
        if type_ in seen:
            raise BadFilter(ErrorCode.invalid_request, TYPE_TWICE.format(type=type_))
        if type_ not in _TYPES:
            raise BadFilter(ErrorCode.unsupported_version, UNKNOWN_TYPE.format(type=type_))
        _check_match(component)
        seen.add(type_)
    # Limits of an address count connections before the user is known, so no entity has both an address and a user or
    # client.
    if quota.IP in seen and len(seen) > 1:
        raise BadFilter(ErrorCode.invalid_request, MIXED_FILTER)
    return quota.QuotaFilter(tuple(quota.QuotaMatch(c.type, quota.Match(c.match), c.name) for c in components), strict)


def _check_match(component: Component) -> None:
    if component.match not in _MATCHES:
        raise BadFilter(ErrorCode.invalid_request, _UNKNOWN_MATCH.format(match=component.match))
    if component.match == quota.Match.EXACT and component.name is None:
        raise BadFilter(ErrorCode.invalid_request, _UNNAMED)
    if component.match != quota.Match.EXACT and component.name is not None:
        raise BadFilter(ErrorCode.invalid_request, _NAMED.format(match=_MATCHES[quota.Match(component.match)]))


Changes = Mapping[str, float | None]
"""Quota key -> its new value; None to delete the key."""

_LONG, _INT = ("a", "LONG", float(2**63 - 1)), ("an", "INT", float(2**31 - 1))
_WHOLE = {quota.PRODUCER_BYTE_RATE: _LONG, quota.CONSUMER_BYTE_RATE: _LONG, quota.CONNECTION_CREATION_RATE: _INT}
_TOLERANCE = 1e-6


class BadValue(ValueError):
    """A quota's key or value is invalid. The exception's text is Kafka's message."""


def keys_of(types: Container[str]) -> tuple[str, ...]:
    """Return the quota keys that an entity with these types of components may have."""
    return quota.IP_KEYS if quota.IP in types else quota.CLIENT_KEYS


def check_quota(key: str, value: float, keys: Container[str], *, finite: bool = False) -> None:
    """Check the value of a quota (ClientQuotaControlManager.validateQuotaKeyValue). Raises BadValue.

    Args:
        keys: the keys that the entity may have.
        finite: whether to refuse NaN and infinity, as Kafka does since 4.4; before, it accepts NaN.
    """
    if key not in keys:
        raise BadValue(UNKNOWN_KEY.format(key=key))
    if finite and not math.isfinite(value):
        raise BadValue(NOT_FINITE.format(key=key))
    if value <= 0:
        raise BadValue(NOT_POSITIVE.format(key=key))
    if key in _WHOLE:
        article, type_, largest = _WHOLE[key]
        if value > largest:
            raise BadValue(VALUE_TOO_LARGE.format(key=key, article=article, type=type_))
        # Whole numbers are doubles in requests, so accept rounding errors.
        if math.fmod(value, 1.0) > _TOLERANCE:
            raise BadValue(FRACTION.format(key=key))


def checked_quotas(ops: Mapping[str, float | None], types: Container[str], *, finite: bool = False) -> Changes:
    """Check the operations of a request and return the changes. Deletions are always valid. Raises BadValue.

    Args:
        types: the types of the entity's components.
        finite: as in `check_quota`.
    """
    keys = keys_of(types)
    # Use the order of a Java HashMap: if there are several errors, the order decides which one Kafka reports.
    for key in sized_hash_order(tuple(ops)):
        value = ops[key]
        if value is not None:
            check_quota(key, value, keys, finite=finite)
    return ops


def quota_records(changes: Changes, current: quota.QuotaValues) -> Changes:
    """Return those changes that have an effect, each of which is a metadata record. current: the entity's present
    quotas.
    """
    return {key: value for key, value in changes.items() if not _same_limit(value, current.get(key))}


def _same_limit(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return one == other or (math.isnan(one) and math.isnan(other))
