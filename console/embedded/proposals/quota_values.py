"""Quota keys and their values as KIP-248's formats have them: texts, with flags.

What an administrator can't alter through the format, and must not read, are a user's SCRAM credentials: they are kept
with the user's quotas, and described as read-only and sensitive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from console.embedded.quotas.values import check
from console.embedded.state.tables import View
from console.model.quota import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    QuotaEntity,
)
from console.wire.proposals.kip248_quotas import ConfigEntry

_UNLIMITED: Mapping[str, float] = {
    PRODUCER_BYTE_RATE: 2.0**63,
    CONSUMER_BYTE_RATE: 2.0**63,
    REQUEST_PERCENTAGE: 2.0**31 - 1,
    CONTROLLER_MUTATION_RATE: 2.0**31 - 1,
}
"""QuotaConfig's defaults: no limit."""
_WHOLE = frozenset({PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE})
_LARGEST = 2**63 - 1
_MECHANISMS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
READ_ONLY = frozenset(_MECHANISMS)


def described(entity: QuotaEntity, view: View, wanted: tuple[str, ...] | None) -> tuple[ConfigEntry, ...]:
    """The entries of an entity: all keys, or those wanted that there are. What is not set has its default."""
    entries = [_entry(entity, key, view) for key in CLIENT_KEYS]
    if entity.has(USER) and not entity.has(CLIENT_ID) and (user := entity.name_of(USER)) is not None:
        entries += [
            ConfigEntry(config_name=name, config_value="", read_only=True, is_default=False, is_sensitive=True)
            for name, number in _MECHANISMS.items()
            if any((key.user, key.mechanism) == (user, number) for key in view.scram)
        ]
    return tuple(entry for entry in entries if wanted is None or entry.config_name in wanted)


def _entry(entity: QuotaEntity, key: str, view: View) -> ConfigEntry:
    own = view.quotas.get(entity, {}).get(key)
    value = own if own is not None else _inherited(entity, key, view)
    return ConfigEntry(
        config_name=key, config_value=text(key, value), read_only=False, is_default=own is None, is_sensitive=False
    )


def _inherited(entity: QuotaEntity, key: str, view: View) -> float:
    """What holds for an entity that sets nothing: its default's quota, else no limit (KIP-21)."""
    default = QuotaEntity.of(dict.fromkeys(entity.as_dict()))
    return view.quotas.get(default, {}).get(key, _UNLIMITED[key])


def text(key: str, value: float) -> str:
    """A quota as text: bytes without a fraction."""
    return str(min(int(value), _LARGEST)) if key in _WHOLE else repr(value)


def parsed(key: str, value: str) -> float | None:
    """The quota that a text stands for; None, from an empty one, puts the default back.

    Raises ValueError, with what is wrong, for a key or a value that is not a quota's.
    """
    if key in READ_ONLY:
        raise ValueError(f"{key} is read-only")
    if not value:
        number = None
    else:
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f"{value!r} is no number for {key}") from None
        if not math.isfinite(number):
            raise ValueError(f"Quota {key} must be a finite number")
    check(key, 1.0 if number is None else number, CLIENT_KEYS)
    return number
