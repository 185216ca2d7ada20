"""Which keys have secret values, by name: Kafka's own (ConfigDef.Type.PASSWORD) and usual words.

And texts without what looks like a secret.
"""

from __future__ import annotations

import re

from console.pipeline.redact import is_secret

_PASSWORDS = re.compile(
    r"(password|passwd|secret|secret\.key|master\.key|jaas\.config|keystore\.key|certificate\.chain"
    r"|truststore\.certificates|credentials)$",
    re.IGNORECASE,
)
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|bearer|jaas"
    r"|(?:api|access|private|encryption|master|signing|shared)[._-]?key"
)
_KEY = re.compile(r"[\w.-]+")
_HELD = re.compile(_WORDS, re.IGNORECASE)
_NAMED_SO = re.compile(rf"\A-*(?:\w[\w.-]*[._-])?(?:{_WORDS}|{_PASSWORDS.pattern[:-1]})s?:?", re.IGNORECASE)
_PAIR = re.compile(
    rf"""(?<![\w.-])(?=[\w.-]*?(?:{_WORDS}))([\w.-]++)(["']?\s*+[=:]\s*+)"""
    r"""("(?:[^"\\]|\\.)*+"|'[^']*+'|[^\s"',;}]++)""",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"(://[^\s/:@]*+:)[^\s/@]++(?=@)")
_BEARER = re.compile(r"(\bbearer\s++)(?![=:])\S++", re.IGNORECASE)


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
    """Return the text with `hidden` for values after the ``=`` or ``:`` of a key that looks sensitive and after
    ``Bearer``, and for the password of a URL. ``@FILE`` and ``?`` stay."""
    if _HELD.search(text) is None and "://" not in text:
        return text

    def cut(found: re.Match[str]) -> str:
        key, between, value = found.groups()
        stays = value == "?" or value.startswith("@") or hidden in value or not seems_sensitive(key)
        return found[0] if stays else f"{key}{between}{hidden}"

    return _IN_URL.sub(rf"\g<1>{hidden}", _BEARER.sub(rf"\g<1>{hidden}", _PAIR.sub(cut, text)))
