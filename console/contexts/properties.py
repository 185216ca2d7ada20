"""The properties of one cluster: replacement of references in values, and lookups by key."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from console.contexts import config_providers
from console.contexts.config_providers import references
from console.contexts.context import ContextError, Place, Surroundings
from console.contexts.secret_sources import LOCKED, Locked
from console.model.java_properties import parse_properties
from console.model.numbers import is_natural
from console.model.secret import Secret
from console.safe_files import require_own
from widgets.cells import clean

# References in values: ``${env:NAME}`` and ``${file:PATH}`` work in every file, other providers if the file declares
# them.

_OWN_SOURCES = ("env", "file")
MAX_SECRET_FILE = 1 << 20
"""Maximum size in bytes of a file with a secret: secrets are shorter, and a device file could be read without end."""


class References(Struct):
    """Replaces references ``${provider:target}`` in values."""

    surroundings: Surroundings
    bases: tuple[Path, ...]
    """The folders to which relative paths may belong; the first folder that has the file counts."""
    providers: Mapping[str, config_providers.Provider] = field(default_factory=dict)
    """The providers that the file itself declares, which override kac's providers of the same name."""
    exposed: list[Path] = field(default_factory=list)
    """The files that were read although other users may also read them."""

    def expand(self, text: str) -> str:
        """Return the text with its references replaced by their values.

        Raises:
            ValueError: a reference can't be replaced; the message names it. Otherwise the text of the reference would
                be sent as the password.
        """
        expanded = self.replaced(text)
        if config_providers.placeholder(text) == "${…}":
            raise ValueError("${…} without a colon is no reference; a variable of the environment is ${env:NAME}")
        return expanded

    def replaced(self, text: str, *, nested: bool = False, lenient: bool = False) -> str:
        """Return the text with its references replaced by their values.

        Args:
            nested: whether the value of a reference may itself look like a reference, which then stays in the result;
                otherwise such a value raises ValueError.
            lenient: whether references to unknown providers stay in the text, instead of raising ValueError.

        Raises:
            ValueError: a reference can't be replaced, or is of a kind that only passwords and keys may have.
        """
        if "${" not in text:
            return text
        if LOCKED.search(text):
            raise ValueError("${exec:…}, ${keyring:…}, ${kube:…} and ${prompt} stand for passwords and keys alone")
        parts: list[str] = []
        at = 0
        for each in references(text):
            if lenient and not self._knows(each.provider):
                continue
            value = self._one(each.provider, each.target)
            if not nested and config_providers.placeholder(value) is not None:
                raise ValueError(
                    f"what {text[each.start : each.end]} stands for is a reference itself, and is not looked up again; "
                    "put the value there (a value that only looks so: ${exec:…} takes it as it is)"
                )
            parts += (text[at : each.start], value)
            at = each.end
        self._check_end(text[text.rfind("}") + 1 :])
        return "".join((*parts, text[at:]))

    def _check_end(self, rest: str) -> None:
        """Raise ValueError for a reference to a known provider without a closing brace. rest: the text after the
        last closing brace.
        """
        for begun in rest.split("${")[1:]:
            provider, colon, _ = begun.partition(":")
            if colon and self._knows(provider):
                raise ValueError(f"${{{provider}:… has no end; write }} after it")

    def _knows(self, provider: str) -> bool:
        return provider in self.providers or provider in _OWN_SOURCES

    def _one(self, name: str, target: str) -> str:
        provider = self.providers.get(name)
        if provider is not None:
            return self._of_provider(provider, target)
        if name == "file":
            return self._file(target)
        if name == "env":
            return self._variable(target)
        raise ValueError(
            f"nothing resolves {config_providers.placeholder(f'${{{name}:}}')}: the file declares no provider of that "
            "name (config.providers=NAME and config.providers.NAME.class); ${env:NAME}, ${file:PATH} and "
            "${exec:COMMAND} need none"
        )

    def _of_provider(self, provider: config_providers.Provider, target: str) -> str:
        """Return the value that Kafka's config provider of this kind returns for a target. Raises ValueError: the
        provider is another Java class, or the value can't be read.
        """
        if provider.kind is None:
            raise ValueError(
                f"{provider.name} is {provider.java_class}, Java code that kac can't run; "
                "${env:NAME}, ${file:PATH} and ${exec:COMMAND} are resolved"
            )
        path, key = provider.split(target)
        if provider.kind == config_providers.ENVIRONMENT:
            provider.check_variable(key)
            return self._variable(key)
        provider.check_path(path)
        place = self.surroundings.path(path, self.bases)
        if provider.kind == config_providers.FILE:
            return self._key(place, key)
        if not key or "/" in key or not (place / key).is_file():
            raise ValueError(f"{place} has no file {key or '(empty name)'}")
        return self._read(place / key)

    def _variable(self, name: str) -> str:
        if name not in self.surroundings.environ:
            raise ValueError(
                f"the environment has no variable {name or '(empty name)'}; set it, or write another reference"
            )
        return self.surroundings.environ[name]

    def _file(self, target: str) -> str:
        """Return the content of the file `target` without its last line end; for a target ``PATH:KEY``, the value of
        one key of a properties file. Raises ValueError: it can't be read.
        """
        whole = self.surroundings.path(target, self.bases)
        name, colon, key = target.rpartition(":")
        if whole.exists() or not colon:
            return re.sub(r"\r?\n\Z", "", self._read(whole))
        return self._key(self.surroundings.path(name, self.bases), key)

    def _key(self, path: Path, key: str) -> str:
        found = {entry.key: entry.value for entry in parse_properties(self._read(path))}
        if key not in found:
            raise ValueError(f"{path} has no key {key}")
        return found[key]

    def _read(self, path: Path) -> str:
        try:
            if not path.is_file():
                raise FileNotFoundError(2, "No such file")
            if path.stat().st_size > MAX_SECRET_FILE:
                raise ValueError(f"{path} is larger than {MAX_SECRET_FILE >> 20} MiB: not a secret")
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"{path} can't be read: {error.strerror}") from None
        if open_to_others(path):
            self.exposed.append(path)
        return text


def is_reference(text: str) -> bool:
    """Return whether the text has a reference."""
    return any(references(text)) or LOCKED.search(text) is not None


def whole_reference(text: str) -> bool:
    """Return whether the text is one reference and nothing else."""
    stripped = text.strip()
    first = next(references(stripped), None)
    return first is not None and (first.start, first.end) == (0, len(stripped)) and not LOCKED.search(stripped)


def open_to_others(path: Path) -> bool:
    """Return whether the file's mode gives its group or other users any right; False if the file does not exist."""
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False


# Lookups by key: values are resolved on demand, and errors name the key, the file and the line.


class Entry(NamedTuple):
    """A value as it is written in a file, with its place; references are not replaced."""

    text: str
    place: Place


class Values:
    """Entries by key. Their references are replaced when a value is read, which may add to `warnings` and `secrets_in`.

    Attributes:
        file: the file, which errors about missing keys name.
        bases: the folders to which relative paths may belong, in this order.
    """

    def __init__(
        self, entries: Mapping[str, Entry], *, file: Path, bases: tuple[Path, ...], surroundings: Surroundings
    ) -> None:
        self._entries = entries
        self._within = ""
        self.file = file
        self._references = References(surroundings, bases, self._providers())
        self.warnings: list[str] = []
        self.secrets_in: dict[Path, None] = {}

    def _providers(self) -> Mapping[str, config_providers.Provider]:
        try:
            return config_providers.declared(
                {key: entry.text for key, entry in self._entries.items() if config_providers.is_provider_key(key)}
            )
        except ValueError as error:
            key, _, why = str(error).partition(": ")
            raise self.error(key, why) from None

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def below(self, key: str, options: Mapping[str, str]) -> Values:
        """Return the options within the value of a key, for example those of a login module, as Values. Warnings
        about them are added to these Values, and their place is that of the key.
        """
        own = self._entries.get(key)
        place = self.place(key)
        entries = {name: Entry(text, place) for name, text in options.items()}
        references = self._references
        inner = Values(entries, file=self.file, bases=references.bases, surroundings=references.surroundings)
        inner._within = f"{key}: "
        inner.warnings, inner._references = self.warnings, references
        if own is not None and not whole_reference(own.text):
            inner.secrets_in = self.secrets_in
        return inner

    def text(self, key: str) -> str | None:
        """Return the value, trimmed as Kafka's ConfigDef does; None if the key is missing.

        Raises:
            ContextError: a reference in it can't be replaced. This also holds for the other methods that return values.
        """
        entry = self._entries.get(key)
        return None if entry is None else self._expanded(key, entry).strip()

    def untrimmed(self, key: str) -> str | None:
        """Return the value untrimmed, because blanks at its ends may belong to a name; None if the key is missing."""
        entry = self._entries.get(key)
        return None if entry is None else self._expanded(key, entry)

    def foreign_providers(self) -> list[str]:
        """Return the names of the providers in the file whose Java class kac can't replace."""
        entry = self._entries.get(config_providers.PROVIDERS)
        named = filter(None, map(str.strip, entry.text.split(","))) if entry else ()
        providers = self._references.providers
        return [
            name for name in named if (providers[name].kind is None if name in providers else name not in _OWN_SOURCES)
        ]

    def config(self, key: str) -> str | None:
        """Return a login config. If the whole value is one reference, it is replaced; references in its options are
        not. None if the key is missing.
        """
        entry = self._entries.get(key)
        if entry is None or not whole_reference(entry.text):
            # Expand a reference only if it is the whole config. One inside a config is the value of an option, in
            # quotes, and is resolved with that option.
            return None if entry is None else entry.text
        return self._expanded(key, entry, partial(self._references.replaced, nested=True))

    def command(self, key: str) -> str | None:
        """Return a command line, trimmed; None if the key is missing. References are not replaced: ``${…}`` in it is
        for the shell.
        """
        entry = self._entries.get(key)
        expand = partial(self._references.replaced, lenient=True)
        return None if entry is None else self._expanded(key, entry, expand).strip()

    def raw(self, key: str) -> Entry | None:
        """Return the entry as it is written, with its references; None if the key is missing."""
        return self._entries.get(key)

    def secret(self, key: str) -> Secret | None:
        """Return the value, untrimmed; None if the key is missing. If the value refers to a command, a keyring,
        Kubernetes or a prompt, it is a `Locked`, which is fetched later.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.text and not is_reference(entry.text):
            self.secrets_in[entry.place.file] = None
        if LOCKED.search(entry.text):
            if "${exec:" in entry.text:
                self.check_command(key)
            where = f"{entry.place}: {self._within}{key}"
            return Locked(entry.text, where, entry.place.file.absolute().parent, self._references.expand)
        return Secret(self._expanded(key, entry))

    def check_command(self, key: str) -> None:
        """Raise ContextError if another user may have written the value of a key that kac runs as a command."""
        try:
            require_own(self.place(key).file)
        except OSError as error:
            raise self.error(key, f"it is not run: {error.strerror}") from None

    def path(self, key: str) -> Path | None:
        """Return a path; None if the key is missing or empty."""
        text = self.text(key)
        references = self._references
        return references.surroundings.path(text, references.bases) if text else None

    def seconds(self, key: str) -> float | None:
        """Return the number of milliseconds in the value, in seconds; None if the key is missing. Raises ContextError:
        it is not a whole number.
        """
        text = self.text(key)
        if text is None:
            return None
        if not is_natural(text):
            raise self.error(key, f"it is a number of milliseconds, not {text!r}")
        return int(text) / 1000

    def flag(self, key: str, default: bool) -> bool:
        """Return whether the value is ``true``, in upper or lower case; `default` if the key is missing. Raises
        ContextError: it is neither ``true`` nor ``false``.
        """
        text = self.text(key)
        if text is None or text.lower() in ("true", "false"):
            return default if text is None else text.lower() == "true"
        raise self.error(key, f"it is true or false, not {text!r}")

    def place(self, key: str) -> Place:
        """Return the place of the key; the file if the key is missing."""
        entry = self._entries.get(key)
        return entry.place if entry else Place(self.file)

    def error(self, key: str, text: str) -> ContextError:
        """Return an error about one key, in one line."""
        return ContextError(f"{self.place(key)}: {self._within}{key}: {text}")

    def warn(self, key: str, text: str) -> None:
        """Add a warning about one key."""
        self.warnings.append(clean(f"{self.place(key)}: {self._within}{key} {text}"))

    def exposure(self) -> tuple[str, ...]:
        """Return a warning for each file with secrets that other users may read: the file itself, and the files to
        which its values refer.
        """
        files = dict.fromkeys([*self.secrets_in, *self._references.exposed])
        return tuple(
            f"{file} holds secrets and others may read it; chmod 600 {shlex.quote(str(file))}"
            for file in files
            if open_to_others(file)
        )

    def _expanded(self, key: str, entry: Entry, expand: Callable[[str], str] | None = None) -> str:
        try:
            return (expand or self._references.expand)(entry.text)
        except ValueError as error:
            raise self.error(key, str(error)) from None
