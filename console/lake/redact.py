"""Redaction of secrets in the lake: the decision whether a value is secret, the text that replaces it, and the mask of
a damaged line.

Kafka hides values of its type PASSWORD and values of every unknown name (``ConfigDef.Type.isSensitive``,
``KafkaConfig.maybeSensitive``). This module does the same: a config is harmless only if some release defines its name
and no release defines it as a password. `harmless_configs.json` lists these names
(`tests/support/record_harmless_configs.py`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import pkgutil
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from console.model.entity_types import in_files

HIDDEN = "[hidden]"
"""The text that a broker's request log has in place of a secret."""

MASKED_CHARS = 200
_CONFIG_TYPES = frozenset(each.kafka_word for each in in_files())
_OPEN_TYPES = frozenset({"quota", "acl", "scram", "feature", "cluster", "broker-logger"})
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
_FRAME = re.compile(
    r'((?:DEBUG|TRACE) Completed request:|"(?:isForwarded|requestHeader|requestApiKey|requestApiVersion|correlationId|'
    r"clientId|requestApiKeyName|request|response|connection|totalTimeMs|localTimeMs|throttleTimeMs|securityProtocol|"
    r'principal|listener|resources|configs|configName|entries|ops|users|upsertions|deletions|creations|topics)":)'
)
_KEPT = frozenset(" []{}():,.\"'=-_/\\")


def is_secret(entity_type: str, name: str) -> bool:
    """Return whether an attribute's value is secret. Attributes that are not configs (``:partitions``, quotas, ACLs …)
    are never secret. Attributes of unknown names or types always are.

    Args:
        entity_type: the type in the spelling of `console.lake.entities`.
        name: the attribute.
    """
    if entity_type in _OPEN_TYPES or name.startswith(":"):
        return False
    if entity_type not in _CONFIG_TYPES:
        return True
    harmless = _harmless().get(entity_type, frozenset())
    if name in harmless:
        return False
    behind = _OF_LISTENER.fullmatch(name) if entity_type == "broker" else None
    if behind is None:
        return True
    # The name is like listener.name.x.ssl.protocol or, with a mechanism, listener.name.x.plain.sasl.login.class.
    return behind[1] not in harmless and behind[1].partition(".")[2] not in harmless


def hmac_hex(key: bytes, value: str) -> str:
    """Return the HMAC-SHA256 in hex (64 characters): equal for equal values; reveals no value without the key."""
    return hmac.new(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def mask(text: str) -> str:
    """Return the first 200 characters of a damaged line, masked: letters become x, digits 9, and all other characters
    except ordinary punctuation become ?. The fixed parts of a request log's line stay readable.
    """
    parts = enumerate(_FRAME.split(text[:MASKED_CHARS]))
    return "".join(part if at % 2 else "".join(map(_masked, part)) for at, part in parts)


class Damaged(NamedTuple):
    """The parts of an unreadable line that may be stored."""

    byte_pos: int
    reason: str
    sha256: str
    """The SHA-256 of the line's bytes, in hex."""
    sample: str
    """The beginning of the line's text, masked."""

    @staticmethod
    def of(place: int, data: bytes, reason: str) -> Damaged:
        """Return the parts of an unreadable line that may be stored: its hash, its mask and the reason. place: the
        line's byte position in its file, or its offset in its topic.
        """
        sample = mask(data[: 5 * MASKED_CHARS].decode("utf-8", "replace"))
        return Damaged(place, reason, hashlib.sha256(data).hexdigest(), sample)


def _masked(char: str) -> str:
    if char.isalpha():
        return "x"
    if char.isdecimal():
        return "9"
    return char if char in _KEPT else "?"


@lru_cache(maxsize=1)
def _harmless() -> Mapping[str, frozenset[str]]:
    # Use pkgutil, as executors import this module from a zip.
    found = json.loads(pkgutil.get_data(__package__, "harmless_configs.json") or "")
    return {entity_type: frozenset(names) for entity_type, names in found.items()}
