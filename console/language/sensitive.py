"""Which keys have secret values, by name: Kafka's own (ConfigDef.Type.PASSWORD) and usual words.

And texts without what looks like a secret: by its key, or by its own form (`console.model.secret_forms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.model.numbers import Data
from console.model.secret_forms import without_looks
from console.pipeline.redact import is_secret

_PASSWORDS = re.compile(
    r"(password|passwd|secret|secret\.key|master\.key|jaas\.config|keystore\.key|certificate\.chain"
    r"|truststore\.certificates|credentials|authorization)$",
    re.IGNORECASE,
)
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|bearer|jaas"
    r"|(?:api|access|private|encryption|master|signing|shared|account)[._-]?key|user[._-]?info"
)
_KEY = re.compile(r"[\w.-]+")
_HELD = re.compile(_WORDS, re.IGNORECASE)
_NAMED_SO = re.compile(rf"\A-*(?:\w[\w.-]*[._-])?(?:{_WORDS}|{_PASSWORDS.pattern[:-1]})s?:?", re.IGNORECASE)
_PAIR = re.compile(
    # A quote may be escaped, as in JSON within JSON: then the value ends at one that is escaped as often.
    rf"""(?<![\w.-])(?=[\w.-]*?(?:{_WORDS}))([\w.-]++)((?:\\{{0,15}}["'])?\s*+[=:]\s*+)"""
    r"""("(?:[^"\\]|\\.)*+"|'[^']*+'|(\\{1,15}")(?:(?!(?<!\\)(?:\4|")).)*+(?:\4)?|[^\s"',;}]++)""",
    re.IGNORECASE | re.DOTALL,
)


def seems_sensitive(key: str) -> bool:
    """Return whether a key of this name is a secret in Kafka's own configs, or probably in a plug-in's. Keys that Kafka
    does not treat as passwords (``password.encoder.iterations``) are not.
    """
    if _KEY.fullmatch(key) is None:
        return False  # not a config's key
    return _PASSWORDS.search(key) is not None or (_HELD.search(key) is not None and is_secret("broker", key))


def names_a_secret(word: str) -> bool:
    """Return whether a bare word introduces a secret: ``password``, ``--token``, ``api-key:``."""
    return _NAMED_SO.fullmatch(word) is not None


def without_secrets(text: str, hidden: str) -> str:
    """Return the text with `hidden` for values after the ``=`` or ``:`` of a key that looks sensitive, and for what has
    the form of a secret by itself. ``@FILE`` and ``?`` stay."""

    def cut(found: re.Match[str]) -> str:
        key, between, value = found.group(1, 2, 3)
        stays = value == "?" or value.startswith("@") or hidden in value or not seems_sensitive(key)
        return found[0] if stays else f"{key}{between}{hidden}"

    return without_looks(_PAIR.sub(cut, text) if _HELD.search(text) else text, hidden)


def data_without_secrets(data: Data, hidden: str) -> Data:
    """Return data in which every text is without secrets, and so is the value of every key that looks sensitive."""
    if isinstance(data, str):
        return without_secrets(data, hidden)
    if isinstance(data, Mapping):
        return {
            key: hidden if value and seems_sensitive(key) else data_without_secrets(value, hidden)
            for key, value in data.items()
        }
    return [data_without_secrets(each, hidden) for each in data] if isinstance(data, Sequence) else data
