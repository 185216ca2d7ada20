"""Stable pseudonyms for the names in a record: keyed hashes. A name has the same pseudonym everywhere in one record,
and a different one in another record. The key is not stored.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from uuid import UUID

from msgspec.structs import replace

from console.flight.answer import Header
from console.flight.kafka_words import CONFIG_WORDS, VALUES
from console.model.transactions import NO_ONES

_NUMBERS = frozenset({1, 3, 4, 5, 6})
"""The types of configs whose values are numbers or booleans, as numbers of Kafka's ConfigType: BOOLEAN, INT, SHORT,
LONG, DOUBLE.
"""

_LISTENER = re.compile(r"(listener\.name\.)([^.]+)(\..*)?", re.DOTALL)
_WORD_ENDS = re.compile(r"[._-]")
_THROTTLED = re.compile(r"[\d:,*]*")


class Pseudonyms:
    """The pseudonyms of one record. Equal names get equal pseudonyms."""

    def __init__(self, key: bytes | None = None) -> None:
        """Choose the key of the hashes. key: the key, for reproducible pseudonyms; None for a new random key."""
        self._key = secrets.token_bytes(32) if key is None else key

    def _hash(self, name: bytes, size: int) -> bytes:
        return hashlib.blake2b(name, digest_size=size, key=self._key).digest()

    def header(self, header: Header) -> Header:
        """Return a record's header with a pseudonym for the cluster id, and without the context's name."""
        return replace(header, cluster_id=self.name(header.cluster_id), context="anonymous", anonymous=True)

    def name(self, name: str) -> str:
        """Return the pseudonym of a name. The empty name and words that belong to Kafka are returned unchanged."""
        if not name or name in VALUES:
            return name
        # Triage requests transactional ids that no client has, to test its own rights.
        if other := next((each for each in NO_ONES if name.endswith(each)), None):
            return self.name(name.removesuffix(other)) + other
        before, colon, after = name.partition(":")
        if colon and before in ("User", "Group") and after:  # a principal
            return f"{before}:{self.name(after)}"
        return "n" + self._hash(name.encode("utf-8", "surrogatepass"), 6).hex()

    def id(self, id_: UUID | None) -> UUID | None:
        """Return a keyed hash of a UUID, in the form of a UUID. None and the UUID of zeros are returned unchanged."""
        return id_ if id_ is None or not id_.int else UUID(bytes=self._hash(id_.bytes, 16))

    def config_key(self, name: str) -> str:
        """Return a config's name: with a pseudonym for a listener's name in it; unchanged, if it consists of words of
        Kafka's own config names; otherwise a pseudonym.
        """
        if found := _LISTENER.fullmatch(name):
            before, listener, after = found.groups()
            return f"{before}{self.name(listener)}{self.config_key(after) if after else ''}"
        known = all(word in CONFIG_WORDS or not word for word in _WORD_ENDS.split(name))
        return name if known else self.name(name)

    def config_value(self, key: str, value: str | None, type_: int) -> str | None:
        """Return a config's value, a comma-separated list, with a pseudonym for each item. Booleans, words that
        belong to Kafka, lists of throttled replicas, and numbers in configs of numeric types stay; so does None,
        a missing value.
        """
        if not value:
            return value
        if type_ in _NUMBERS and _is_number(value):
            return value
        if key.endswith("throttled.replicas") and _THROTTLED.fullmatch(value):
            return value
        return ",".join(self.name(each) for each in value.split(","))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ("true", "false")
    return True
