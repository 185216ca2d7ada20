"""Which values quotas may have (ClientQuotaControlManager.validateQuotaKeyValue; before KRaft ZkAdminManager)."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping

from console.embedded.quotas.messages import FRACTION, NOT_OF_TYPE, NOT_POSITIVE, TOO_LARGE, UNKNOWN_KEY
from console.embedded.state.java_hash import sized_hash_order
from console.model.quota import (
    CLIENT_KEYS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    IP,
    IP_KEYS,
    PRODUCER_BYTE_RATE,
    QuotaValues,
)

Changes = Mapping[str, float | None]
"""Quota key -> its new value, None to take it out."""

_LONG, _INT = ("a", "LONG", float(2**63 - 1)), ("an", "INT", float(2**31 - 1))
_WHOLE = {PRODUCER_BYTE_RATE: _LONG, CONSUMER_BYTE_RATE: _LONG, CONNECTION_CREATION_RATE: _INT}
_TOLERANCE = 1e-6


class BadValue(ValueError):
    """A quota that can't be set; the text is Kafka's."""


def keys_of(types: Container[str]) -> tuple[str, ...]:
    """The quota keys that an entity with these components can have."""
    return IP_KEYS if IP in types else CLIENT_KEYS


def check(key: str, value: float, keys: Container[str]) -> None:
    """Raises BadValue. What is no number at all passes, as it does with Kafka."""
    if key not in keys:
        raise BadValue(UNKNOWN_KEY.format(key=key))
    if value <= 0:
        raise BadValue(NOT_POSITIVE.format(key=key))
    if key in _WHOLE:
        article, type_, largest = _WHOLE[key]
        if value > largest:
            raise BadValue(TOO_LARGE.format(key=key, article=article, type=type_))
        if math.fmod(value, 1.0) > _TOLERANCE:
            raise BadValue(FRACTION.format(key=key))


def checked(ops: Mapping[str, float | None], types: Container[str]) -> Changes:
    """The changes that these operations make. Removing is never refused. Raises BadValue."""
    keys = keys_of(types)
    for key in sized_hash_order(tuple(ops)):
        value = ops[key]
        if value is not None:
            check(key, value, keys)
    return ops


def checked_with_zookeeper(ops: Iterable[tuple[str, float | None]], types: Container[str]) -> Changes:
    """The same by older rules: one after another, whole numbers made whole, anything below zero let through."""
    changes: dict[str, float | None] = {}
    for key, value in ops:
        if value is None:
            changes[key] = None
        elif key not in keys_of(types):
            raise BadValue(UNKNOWN_KEY.format(key=key))
        else:
            changes[key] = _made_whole(key, value) if key in _WHOLE else value
    return changes


def _made_whole(key: str, value: float) -> float:
    _, type_, largest = _WHOLE[key]
    if math.isnan(value):
        return 0.0
    whole = float(int(value + _TOLERANCE)) if abs(value) <= largest else math.inf
    if abs(whole - value) > _TOLERANCE or math.isinf(value):
        raise BadValue(NOT_OF_TYPE.format(key=key, type=type_))
    return whole


def records(changes: Changes, current: QuotaValues) -> Changes:
    """Those that change something: each is a record in the controller's log."""
    return {key: value for key, value in changes.items() if not _same(value, current.get(key))}


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return one == other or (math.isnan(one) and math.isnan(other))
