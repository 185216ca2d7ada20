"""Stable pseudonyms for the names of a record. They are keyed hashes, so that a name has the same one everywhere in a
record, and another one in another record. The key is stored nowhere.
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
"""Types of configs whose values are numbers or booleans (Kafka's ConfigType): BOOLEAN, INT, SHORT, LONG, DOUBLE."""

_LISTENER = re.compile(r"(listener\.name\.)([^.]+)(\..*)?", re.DOTALL)
_WORD_ENDS = re.compile(r"[._-]")
_THROTTLED = re.compile(r"[\d:,*]*")


class Pseudonyms:
    """A map of names to pseudonyms. Equal names get equal pseudonyms."""

    def __init__(self, key: bytes | None = None) -> None:
        """Create a map without names. key: the key of the hashes; None for a new, random one."""
        self._key = secrets.token_bytes(32) if key is None else key

    def _hash(self, name: bytes, size: int) -> bytes:
        return hashlib.blake2b(name, digest_size=size, key=self._key).digest()

    def header(self, header: Header) -> Header:
        """Return a record's header with a pseudonym for the cluster id, and without the context's name."""
        return replace(header, cluster_id=self.name(header.cluster_id), context="anonymous", anonymous=True)

    def name(self, name: str) -> str:
        """Return the pseudonym of a name; the empty name and Kafka's own words stay."""
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
        """Return a keyed hash of an id, in the form of an id; None and the zero id stay."""
        return id_ if id_ is None or not id_.int else UUID(bytes=self._hash(id_.bytes, 16))

    def config_key(self, name: str) -> str:
        """Return a config's name, with pseudonyms for a listener's name in it, and for a name with words other than
        Kafka's.
        """
        if found := _LISTENER.fullmatch(name):
            before, listener, after = found.groups()
            return f"{before}{self.name(listener)}{self.config_key(after) if after else ''}"
        known = all(word in CONFIG_WORDS or not word for word in _WORD_ENDS.split(name))
        return name if known else self.name(name)

    def config_value(self, key: str, value: str | None, type_: int) -> str | None:
        """Return a config's value; None for None. Numbers in configs of numeric types, lists of throttled replicas,
        booleans and Kafka's own words stay; each other item of a list gets a pseudonym.
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
