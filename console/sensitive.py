"""Recognition of config keys with secret values, by name: Kafka's own (ConfigDef.Type.PASSWORD) and usual words.

Also removes from texts everything that looks like a secret: by the key before it, or by its own form
(`console.model.secret_forms`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.lake.redact import is_secret
from console.model.numbers import Data
from console.model.secret_forms import without_looks

_PASSWORDS = re.compile(
    r"(password|passwd|secret|secret\.key|master\.key|jaas\.config|keystore\.key|certificate\.chain"
    r"|truststore\.certificates|credentials|authorization)$",
    re.IGNORECASE,
)
_WORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credential|bearer|jaas"
    r"|(?:api|access|private|encryption|master|signing|shared|account)[._-]?key|user[._-]?info"
    r"|(?:[._-]|key|store|user)pass(?!\w)|hmac(?!\w)|(?:hmac|keystore)[._-]?key(?!\w)|client[._-]?assertion(?![\w.-])"
)
_KEY = re.compile(r"[\w.-]+")
_HELD = re.compile(_WORDS, re.IGNORECASE)
_NAMED_SO = re.compile(rf"\A-*(?:\w[\w.-]*[._-])?(?:{_WORDS}|{_PASSWORDS.pattern[:-1]})s?:?", re.IGNORECASE)
_QUOTE = r"""(?:\\{0,15}["'])?"""
"""Matches an optional quote with backslashes before it, as in JSON within JSON; the value ends at a quote with the same
number of backslashes.
"""
_PAIR = re.compile(
    rf"""(?<![\w.-])(?=[\w.-]*?(?:{_WORDS}))([\w.-]++)"""
    # The separator may also be that of ``"name": KEY, "value": VALUE``, as Connect and Kafka's own tools write a
    # config.
    rf"""({_QUOTE}\s*+(?:=>|->|:=|[=:]|,\s*+{_QUOTE}value{_QUOTE}\s*+[=:])\s*+)"""
    r"""(b?"(?:[^"\\]|\\.)*+"|b?'[^']*+'|(\\{1,15}")(?:(?!(?<!\\)(?:\4|")).)*+(?:\4)?"""
    # The value may be a list or an object; a block of YAML; or a word, which may contain a comma unless a new key or
    # value follows the comma.
    r"""|\[[^\]]*+\]?|\{[^}]*+\}?|[|>][+-]?[ \t]*+(?:(?:\n|\\{1,31}n)[ \t]++[^\n\\"]*+)++"""
    r"""|(?:[^\s"',;}]|[,;](?![\w. -]{0,60}[=:]|[\s"',;}\])]|\Z))++)""",
    re.IGNORECASE | re.DOTALL,
)
_OPTION = re.compile(
    r"""((?<![\w-])--[\w-]*?(?:password|passwd|passphrase|pwd|secret|token|api-?key)\s++)("[^"]*+"|'[^']*+'|[^\s"'-]\S*+)""",
    re.IGNORECASE,
)
_INVALID, _OF_CONFIG = "Invalid value ", " for configuration "
_REFUSED = re.compile(rf"{_OF_CONFIG}([\w.-]+)")
"""Matches the end of Kafka's error ``Invalid value VALUE for configuration KEY: why``, from ``for`` to KEY."""
_NAMES_ONE = re.compile(r"\b(?:topic|group)s? ['\"]?\Z", re.IGNORECASE)
_API_KEY = re.compile(r"api[._-]?key\Z", re.IGNORECASE)
_FILE_KEY = re.compile(r"[._-](?:file|location|path)\Z", re.IGNORECASE)
_API_VERSION = re.compile(r"\s{0,4},\s{0,4}api_?version", re.IGNORECASE)


def seems_sensitive(key: str) -> bool:
    """Return whether a key of this name has a secret value in Kafka's own configs, or probably has one in a plug-in's.

    False for keys whose values Kafka shows, such as ``password.encoder.iterations``.
    """
    if _KEY.fullmatch(key) is None:
        return False  # the text is not the key of a config
    return _PASSWORDS.search(key) is not None or (_HELD.search(key) is not None and is_secret("broker", key))


_REFERENCE = re.compile(r"\$\{[^}:\s]{1,100}:[^}\s]{0,1000}\}")
_MASK = re.compile(r"[*•·●∙]+|[\[<({]\s*(?:hidden|redacted|masked|secret:\s*set)\s*[\]>)}]", re.IGNORECASE)


def is_reference(value: str) -> bool:
    """Return whether a Connect config value is a reference to a config provider, such as ``${file:/path:key}``, and so
    no secret itself.
    """
    return _REFERENCE.fullmatch(value) is not None


def is_mask(value: str) -> bool:
    """Return whether a text is the mask that a tool shows in place of a hidden value, such as ``******`` or
    ``[hidden]``.
    """
    return _MASK.fullmatch(value.strip()) is not None


def holds_a_secret(key: str, value: str, *, is_password: bool) -> bool:
    """Return whether a Connect config value may be a secret: by its type, by its key's name or by its own form. False
    for an empty value and for a reference to a config provider.

    Args:
        is_password: whether the key's definition says that it is a password.
    """
    if not value or is_reference(value):
        return False
    rest = _REFERENCE.sub("", value)  # a URL may have a reference as its password
    return is_password or seems_sensitive(key) or without_secrets(rest, "·") != rest


def names_a_secret(word: str) -> bool:
    """Return whether a word of a command line names a secret that follows it: ``password``, ``--token``,
    ``api-key:``.
    """
    return _NAMED_SO.fullmatch(word) is not None


def without_secrets(text: str, hidden: str) -> str:
    """Return the text with `hidden` in place of each value after the ``=`` or ``:`` of a key that looks sensitive, and
    of each text that has the form of a secret. ``@FILE`` (a file's name) and ``?`` (a prompt) stay.
    """

    def cut(found: re.Match[str]) -> str:
        key, between, value = found.group(1, 2, 3)
        stays = value == "?" or value.startswith("@") or hidden in value or not seems_sensitive(key)
        return found[0] if stays or _is_no_value(found) else f"{key}{between}{hidden}"

    if _HELD.search(text):
        text = _OPTION.sub(lambda found: f"{found[1]}{hidden}", _PAIR.sub(cut, _without_refused(text, hidden)))
    return without_looks(text, hidden)


def _is_no_value(found: re.Match[str]) -> bool:
    """Return whether the text after a sensitive-looking word is not its secret value.

    That is the case in Kafka's error about a config, after the mechanism OAUTHBEARER, after ``topic`` or ``group`` and
    a name, for the number of one of Kafka's APIs (``api_key``), and for the path of a secret's file.
    """
    text, start = found.string, found.start()
    if text.startswith(_OF_CONFIG, max(0, start - len(_OF_CONFIG))):
        return True
    if found[1] == "OAUTHBEARER" or (found[3].startswith("/") and _FILE_KEY.search(found[1])):
        return True
    if _API_KEY.search(found[1]):
        return (found[3].isdigit() and len(found[3]) < 4) or _API_VERSION.match(text, found.end()) is not None
    return ": " in found[2] and _NAMES_ONE.search(text[max(0, start - 10) : start]) is not None


def _without_refused(text: str, hidden: str) -> str:
    parts, done = [], 0
    for found in _REFUSED.finditer(text):
        begins = text.rfind(_INVALID, done, found.start())
        if begins >= 0 and seems_sensitive(found[1]):
            parts += [text[done : begins + len(_INVALID)], hidden]
            done = found.start()
    return "".join((*parts, text[done:]))


def data_without_secrets(data: Data, hidden: str) -> Data:
    """Return the data with secrets removed from its texts, and with `hidden` for the value of every key that looks
    sensitive.
    """
    if isinstance(data, str):
        return without_secrets(data, hidden)
    if isinstance(data, Mapping):
        return {
            key: hidden if value and seems_sensitive(key) else data_without_secrets(value, hidden)
            for key, value in data.items()
        }
    return [data_without_secrets(each, hidden) for each in data] if isinstance(data, Sequence) else data
