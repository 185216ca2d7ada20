"""Writing words so that they read back as they were."""

from __future__ import annotations

import re

from console.commands.entities import ACL_TYPES
from console.commands.verbs import ENTITY_WORDS
from console.commands.words import DEFAULT_NAME

# Letters and digits of any script are safe; so is punctuation that no rule of the grammar gives a meaning to.
_SAFE = re.compile(r"[\w.:/+%,*\-\[\]{}()!$&^|~<>]+", re.ASCII)
RESERVED = frozenset((*ENTITY_WORDS, *ACL_TYPES, "cluster", "prefixed", "from", "for", "on", DEFAULT_NAME))


def quote(text: str) -> str:
    """The text as one word of the language that stands for exactly it, wherever a name, key or value may stand.

    Bare where that is safe; else in single quotes; in double quotes where it holds a quote, a newline or a tab.
    Reserved words are quoted, so that the result is data in every position.
    """
    if _SAFE.fullmatch(text) and text not in RESERVED:
        return text
    return quoted(text)


def quote_beside_equals(text: str) -> str:
    """The text as the key or value of a ``KEY=VALUE``, where no word is reserved but ``<default>``."""
    return text if text in RESERVED and text != DEFAULT_NAME else quote(text)


def can_stand_bare(key: str) -> bool:
    """Whether a key, written bare, is read as it is wherever a key may stand."""
    return bool(key) and key not in RESERVED and not any(char.isspace() or char in ";'\"=" for char in key)


def quoted(text: str) -> str:
    """The text in quotes, whether it needs them or not."""
    if not any(char in text for char in "'\n\t"):
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'
