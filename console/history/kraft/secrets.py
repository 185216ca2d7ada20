"""Which fields of which records are secret, and what is kept of them."""

from __future__ import annotations

from ..redact import HIDDEN, hmac_hex, is_secret

HIDDEN_FIELDS: dict[str, dict[str, str]] = {
    "ConfigRecord": {"value": "is_secret[{resourceType}, {name}]"},
    "UserScramCredentialRecord": {"salt": "True", "storedKey": "True", "serverKey": "True"},
}
"""By record and field, the condition under which it is hidden; {…} is another field that stands before it. Of
delegation tokens the log has the ids alone, which authenticate nobody without the brokers' own secret."""

_ENTITY_TYPES = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
_SHOWN = f'"{HIDDEN}"'


class Hiding:
    """Takes secrets out of records. key: of their HMAC; None keeps nothing of them at all.

    `hashes` has the HMAC of what was hidden by the number of the row, which the decoder counts in `row`. Where a record
    has several secrets (SCRAM: salt, storedKey and serverKey, in base64), it is that of all, joined by colons.
    """

    def __init__(self, key: bytes | None, row: list[str]) -> None:
        self._key = key
        self._rows = row
        self._hidden: dict[int, list[str]] = {}

    def is_secret_config(self, config: tuple[int, bytes]) -> bool:
        """Whether a config is secret. config: its resource's type by number, its name; what nobody knows is secret."""
        type_, name = config
        return is_secret(_ENTITY_TYPES.get(type_, ""), name.decode("utf-8", "replace"))

    def hide(self, value: str) -> str:
        """What is written in place of a value of the row that is being made."""
        if self._key is not None:
            self._hidden.setdefault(len(self._rows), []).append(value)
        return _SHOWN

    def hashes(self) -> dict[int, str]:
        """HMACs by row, since it was last asked."""
        hidden, self._hidden = self._hidden, {}
        key = self._key or b""
        return {row: hmac_hex(key, ":".join(values)) for row, values in hidden.items()}

    def forget(self, row: int) -> None:
        """What was hidden of a row that could not be made."""
        self._hidden.pop(row, None)

    def move(self, to: dict[int, int], since: int) -> None:
        """Rows from `since` on have other numbers, or are gone."""
        later = {row: self._hidden.pop(row) for row in list(self._hidden) if row >= since}
        self._hidden |= {to[row]: values for row, values in later.items() if row in to}
