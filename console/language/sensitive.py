"""Which keys hold secrets, where no broker was asked: by Kafka's naming (ConfigDef.Type.PASSWORD) and by usual words.

What looks like a secret in a text is taken out of it.
"""

from __future__ import annotations

import re

from console.history.redact import is_secret

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
_NAMED_SO = re.compile(rf"-*(?:\w[\w.-]*[._-])?(?:{_WORDS}|{_PASSWORDS.pattern[:-1]})s?:?", re.IGNORECASE)
_PAIR = re.compile(
    rf"""([\w.-]*(?:{_WORDS})[\w.-]*)(["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;}}]+)""", re.IGNORECASE
)
_IN_URL = re.compile(r"(://[^\s/:@]*:)[^\s/@]+(?=@)")
_BEARER = re.compile(r"(\bbearer\s+)(?![=:])\S+", re.IGNORECASE)


def looks_sensitive(key: str) -> bool:
    """Whether a key of this name is a secret in Kafka's own configs, or most likely in a plugin's. What Kafka knows as
    no password (``password.encoder.iterations``) is none."""
    if _KEY.fullmatch(key) is None:
        return False  # no key of any config
    return _PASSWORDS.search(key) is not None or (_HELD.search(key) is not None and is_secret("broker", key))


def names_a_secret(word: str) -> bool:
    """Whether a bare word calls what follows a secret: ``password``, ``--token``, ``api-key:``."""
    return _NAMED_SO.fullmatch(word) is not None


def without_secrets(text: str, hidden: str) -> str:
    """Any text with `hidden` for what stands behind the ``=`` or ``:`` of a key that looks sensitive and behind
    ``Bearer``, and for the password of a URL. ``@FILE`` and ``?`` stay."""
    if _HELD.search(text) is None and "://" not in text:
        return text

    def cut(found: re.Match[str]) -> str:
        key, between, value = found.groups()
        stays = value == "?" or value.startswith("@") or hidden in value or not looks_sensitive(key)
        return found[0] if stays else f"{key}{between}{hidden}"

    return _IN_URL.sub(rf"\g<1>{hidden}", _BEARER.sub(rf"\g<1>{hidden}", _PAIR.sub(cut, text)))
