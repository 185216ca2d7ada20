"""What stands in --add-config and --delete-config (ConfigCommand.parseConfigsToBeAdded, parseConfigsToBeDeleted)."""

from __future__ import annotations

import re

from console.commands.kafka_configs.reader import UsageError

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
_COMMA = re.compile("," + _OUTSIDE_BRACKETS)
_EQUALS = re.compile(r"\s*=\s*" + _OUTSIDE_BRACKETS, re.ASCII)
_BRACKETS = re.compile(r"[\[\]]")
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")
_TRIMMED = "".join(map(chr, range(0x21)))
"""What Java's String.trim takes off."""

NOT_PAIRS = (
    "requirement failed: Invalid entity config: all configs to be added must be in the format "
    '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
)


def parse_added(text: str) -> dict[str, str]:
    """``k1=v1,k2=[v1,v2]``: key -> value, without brackets; the last of a key counts. Raises UsageError."""
    parts = _COMMA.split(text)
    while len(parts) > (0 if "," in text else 1) and not parts[-1]:
        parts.pop()  # as Java's split, which drops what is empty at the end
    added: dict[str, str] = {}
    for place, part in enumerate(parts, start=1):
        pair = _EQUALS.split(part)
        if len(pair) != 2:
            # By its place: the text may be a piece of a secret.
            raise UsageError(NOT_PAIRS, f"look at part {place} of {len(parts)}")
        added[pair[0].strip(_TRIMMED)] = _BRACKETS.sub("", pair[1]).strip(_TRIMMED)
    return added


def check_keys(added: dict[str, str]) -> None:
    """Raises UsageError for a key with characters that no config's key has."""
    for key in added:
        if not _KEY.fullmatch(key):
            raise UsageError(f"Invalid character found for config key: {key}")


def parse_deleted(texts: tuple[str, ...]) -> tuple[str, ...]:
    """``k1, k2``: the keys, in order, repeated ones too."""
    keys: list[str] = []
    for text in texts:
        tokens = [token for token in text.split(",") if token]
        keys += tokens or [text]
    return tuple(key.strip(_TRIMMED) for key in keys)
