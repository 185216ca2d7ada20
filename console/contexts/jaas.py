"""A parser of the value of ``sasl.jaas.config``: login modules with their options (Kafka's JaasConfig)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | "(?P<double>(?:[^"\\\n]|\\.)*)"
      | '(?P<single>(?:[^'\\\n]|\\.)*)'
      | (?P<word>(?:\$\{[^}]*\}|[^\s"';={}])+)
      | (?P<sign>[;=])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One login module: its Java class and its options. The options may be secrets, so its repr omits them."""

    class_name: str
    flag: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def short_name(self) -> str:
        """The class without its package, such as ``ScramLoginModule``."""
        return self.class_name.rpartition(".")[2]


MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
}
"""SASL mechanism -> the class of Kafka's login module for a user name and a password, without the package
``org.apache.kafka.common.security`` in front.
"""


def login(mechanism: str, options: Mapping[str, str]) -> str:
    """Return a value of ``sasl.jaas.config`` with the login module of a mechanism in `MODULES` and these options."""
    given = " ".join(f"{name}={quoted(text)}" for name, text in options.items())
    return f"org.apache.kafka.common.security.{MODULES[mechanism]} required {given};"


def quoted(text: str) -> str:
    """Return a text in double quotes, with the escapes that Java and TOML have in common."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Token(NamedTuple):
    kind: str
    text: str


def parse_jaas(text: str) -> tuple[LoginModule, ...]:
    """Parse ``module flag key="value" … ;``, one or more times, and return the login modules.

    Raises:
        ValueError: the text has another form; the message is for an operator and never contains a value.
    """
    modules: list[LoginModule] = []
    tokens = list(_tokens(text))
    at = 0
    while at < len(tokens):
        module, at = _module(tokens, at)
        modules.append(module)
    if not modules:
        raise ValueError('it is empty; it needs: <login module> required key="value" …;')
    return tuple(modules)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(_misfit(text[at]))
        at = match.end()
        kind = match.lastgroup
        if kind in ("double", "single"):
            yield _Token("text", _unescape(match[kind]))
        elif kind is not None and kind != "blank":
            yield _Token(kind, match[kind])


def _misfit(character: str) -> str:
    if character in "\"'":
        return "a quoted value is not closed"
    return f"unexpected {character!r}: quote values with characters other than letters, digits, - _ ."


def _unescape(text: str) -> str:
    """Replace the escapes of java.io.StreamTokenizer: octal numbers and C's letters; a backslash before another
    character is removed.
    """

    def one(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8)) if code[0] in "01234567" else _CONTROL.get(code, code)

    return _ESCAPE.sub(one, text)


def _module(tokens: list[_Token], at: int) -> tuple[LoginModule, int]:
    class_name, at = _take(tokens, at, "the class of a login module")
    flag, at = _take(tokens, at, "a control flag, as a rule: required")
    if flag.lower() not in CONTROL_FLAGS:
        raise ValueError(f"after the login module comes one of {', '.join(CONTROL_FLAGS)}")
    options: dict[str, str] = {}
    while at < len(tokens) and tokens[at] != _Token("sign", ";"):
        name, at = _take(tokens, at, "the name of an option")
        if at >= len(tokens) or tokens[at] != _Token("sign", "="):
            raise ValueError(f"after option number {len(options) + 1} comes =, then its value in quotes")
        options[name], at = _take(tokens, at + 1, "a value")
    if at >= len(tokens):
        raise ValueError("a semicolon is missing at its end")
    return LoginModule(class_name, flag.lower(), options), at + 1


def _take(tokens: list[_Token], at: int, wanted: str) -> tuple[str, int]:
    if at >= len(tokens) or tokens[at].kind == "sign":
        raise ValueError(f"{wanted} is missing")
    return tokens[at].text, at + 1
