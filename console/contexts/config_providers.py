"""References in values, ``${NAME:…}``, and Kafka's config providers, which a file declares itself (KIP-297).

config.providers=pw
config.providers.pw.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.pw.param.allowed.paths=/etc/kafka
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

PROVIDERS = "config.providers"

_PACKAGE = "org.apache.kafka.common.config.provider."
FILE, DIRECTORY, ENVIRONMENT = "FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"
_BUILT_IN = {_PACKAGE + name: name for name in (FILE, DIRECTORY, ENVIRONMENT)}
_FORMS = {FILE: "FILE:KEY", DIRECTORY: "DIRECTORY:FILE", ENVIRONMENT: "NAME"}


_NAME = re.compile(r"[\w.-]{1,40}")


class Reference(NamedTuple):
    """A reference ``${provider:target}`` in a text, from the index `start` to before the index `end`."""

    start: int
    end: int
    provider: str
    target: str


def references(text: str) -> Iterator[Reference]:
    """Yield the references in a text, as Kafka's ConfigTransformer recognizes them: from a ``${`` to the next closing
    brace, with a colon between. The time is linear in the length of the text.
    """
    at = 0
    while (start := text.find("${", at)) >= 0 and (end := text.find("}", start)) >= 0:
        at = end + 1
        provider, colon, target = text[start + 2 : end].partition(":")
        if colon:
            yield Reference(start, at, provider, target)


def placeholder(text: str) -> str | None:
    """Return a placeholder in a text, for an error message; None if the text has no placeholder. No valid password,
    path or certificate contains a placeholder.

    A placeholder is a reference, or a whole text ``${NAME}`` that a template engine did not replace. The result has
    only the name of a reference's provider, as ``${file:…}``, or no name at all (``${…}``), since the rest may belong
    to a password.
    """
    first = next(references(text), None)
    if first is not None:
        return f"${{{first.provider}:…}}" if _NAME.fullmatch(first.provider) else "${…:…}"
    stripped = text.strip()
    return "${…}" if stripped.startswith("${") and stripped.find("}") == len(stripped) - 1 else None


class Provider(Struct, frozen=True):
    """A config provider that a file declares."""

    name: str
    java_class: str
    """The name of the provider's Java class, as written in the file."""
    allowed: tuple[Path, ...] | None = None
    """The paths that the provider may read; None for all paths."""
    pattern: str | None = None
    """A regular expression that the names of environment variables must match; None for all variables."""

    @property
    def kind(self) -> str | None:
        """Which of Kafka's three own providers the class is; None for any other Java class."""
        return _BUILT_IN.get(self.java_class)

    @property
    def form(self) -> str:
        """The form of a reference to the provider, for messages."""
        return f"${{{self.name}:{_FORMS[self.kind or ENVIRONMENT]}}}"

    def split(self, target: str) -> tuple[str, str]:
        """Return the path and the key in the target of a reference; the path is empty for the provider of environment
        variables. Raises ValueError: the target has a path for that provider, or none for another one.
        """
        path, colon, key = target.partition(":")
        if not colon:
            path, key = "", target
        if bool(path) == (self.kind == ENVIRONMENT):
            raise ValueError(f"{self.name} is a {self.kind}, whose references are {self.form}")
        return path, key

    def check_path(self, path: str) -> None:
        """Raise ValueError for a path outside of the allowed paths. Links are not followed, as in Kafka's
        AllowedPaths.
        """
        wanted = Path(os.path.normpath(path))
        if self.allowed is not None and not any(wanted.is_relative_to(folder) for folder in self.allowed):
            raise ValueError(f"{path} is not below {PROVIDERS}.{self.name}.param.allowed.paths")

    def check_variable(self, name: str) -> None:
        """Raise ValueError for a variable whose name does not match `pattern`."""
        if self.pattern is not None and not re.fullmatch(self.pattern, name):
            raise ValueError(f"{name} does not match {PROVIDERS}.{self.name}.param.allowlist.pattern")


def is_provider_key(key: str) -> bool:
    """Return whether the key is ``config.providers`` or begins with ``config.providers.``."""
    return key == PROVIDERS or key.startswith(f"{PROVIDERS}.")


def declared(entries: Mapping[str, str]) -> dict[str, Provider]:
    """Return the providers that a file declares, by name. As in Kafka, a provider without a class is omitted.

    Raises:
        ValueError: a provider's allowed paths or its pattern are invalid, or a provider has the name of one of kac's
            own sources of secrets; the message starts with the key.
    """
    found = {}
    for name in filter(None, map(str.strip, entries.get(PROVIDERS, "").split(","))):
        key = f"{PROVIDERS}.{name}"
        java_class = entries.get(f"{key}.class", "").strip()
        if not java_class:
            continue
        if name in ("exec", "keyring", "kube", "prompt"):
            raise ValueError(f"{PROVIDERS}: {name} is kac's own, for secrets; give this provider another name")
        pattern = entries.get(f"{key}.param.allowlist.pattern") or None
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"{key}.param.allowlist.pattern: it is not a regular expression: {error}") from None
        found[name] = Provider(name, java_class, _allowed(key, entries), pattern)
    return found


def _allowed(key: str, entries: Mapping[str, str]) -> tuple[Path, ...] | None:
    text = entries.get(f"{key}.param.allowed.paths")
    if not text:
        return None
    paths = tuple(Path(os.path.normpath(path)) for path in text.split(","))
    for path in paths:
        if not path.is_absolute() or not path.exists():
            why = "does not exist" if path.is_absolute() else "is not absolute"
            raise ValueError(f"{key}.param.allowed.paths: the path {path} {why}")
    return paths
