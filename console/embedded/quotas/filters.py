"""Which filters a broker answers (ClientQuotasImage.describe; before KRaft ZkAdminManager)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.quotas.messages import messages_of
from console.embedded.versions.release import Release
from console.model.quota import CLIENT_ID, IP, USER, Match, QuotaFilter, QuotaMatch

_TYPES = frozenset({USER, CLIENT_ID, IP})
_MATCHES = {Match.EXACT: "EXACT", Match.DEFAULT: "DEFAULT", Match.ANY_NAME: "SPECIFIED"}
_SHORT = {CLIENT_ID: "client"}

_UNKNOWN_MATCH: Final = "Unknown match type {match}"
_UNNAMED: Final = "Request specified MATCH_TYPE_EXACT, but set match string to null."
_NAMED: Final = "Request specified MATCH_TYPE_{match}, but also specified a match string."


class BadFilter(ValueError):
    """A filter that is refused. code: Kafka's error code; message: its words, None for none."""

    def __init__(self, code: int, message: str | None) -> None:
        super().__init__(message or "")
        self.code = code
        self.message = message


class Component(NamedTuple):
    """One component as it comes in a request."""

    type: str
    match: int
    name: str | None


def parsed(components: Sequence[Component], strict: bool, release: Release) -> QuotaFilter:
    """The filter that the components make. Raises BadFilter."""
    if not release.kraft:
        _check_matches_alone(components)
    messages = messages_of(release)
    seen: set[str] = set()
    for component in components:
        type_ = component.type
        if not type_:
            raise BadFilter(ErrorCode.invalid_request, messages.empty_type)
        if type_ in seen:
            short = _SHORT.get(type_, type_)
            raise BadFilter(ErrorCode.invalid_request, messages.repeated_type.format(type=type_, short=short))
        if type_ not in _TYPES:
            raise BadFilter(ErrorCode.unsupported_version, messages.unknown_type.format(type=type_))
        if release.kraft:
            _check_match(component)
        seen.add(type_)
    if IP in seen and len(seen) > 1:
        raise BadFilter(ErrorCode.invalid_request, messages.mixed_filter)
    return QuotaFilter(tuple(QuotaMatch(c.type, Match(c.match), c.name) for c in components), strict)


def _check_match(component: Component) -> None:
    if component.match not in _MATCHES:
        raise BadFilter(ErrorCode.invalid_request, _UNKNOWN_MATCH.format(match=component.match))
    if component.match == Match.EXACT and component.name is None:
        raise BadFilter(ErrorCode.invalid_request, _UNNAMED)
    if component.match != Match.EXACT and component.name is not None:
        raise BadFilter(ErrorCode.invalid_request, _NAMED.format(match=_MATCHES[Match(component.match)]))


def _check_matches_alone(components: Sequence[Component]) -> None:
    """With ZooKeeper brokers stumble over these before they look at anything, and over a superfluous name never."""
    for component in components:
        if component.match not in _MATCHES or (component.match == Match.EXACT and component.name is None):
            raise BadFilter(ErrorCode.unknown_server_error, None)
