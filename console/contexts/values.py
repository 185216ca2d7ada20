"""Properties of one cluster as they were read: resolved on demand, with errors that name key, file and line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from console.contexts.context import ContextError, Place, Surroundings, printable
from console.contexts.references import References, is_reference, open_to_others, whole_reference
from console.model.numbers import is_natural
from console.model.secret import Secret


class Entry(NamedTuple):
    """A value as it stands in a file."""

    text: str
    place: Place


class Values:
    """Reads entries by key. `warnings` and `secrets_in` fill as values are read.

    file: what an error about a missing key names. bases: where relative paths are looked up, in this order.
    """

    def __init__(
        self, entries: Mapping[str, Entry], *, file: Path, bases: tuple[Path, ...], surroundings: Surroundings
    ) -> None:
        self._entries = entries
        self._within = ""
        self.file = file
        self._references = References(surroundings, bases)
        self.warnings: list[str] = []
        self.secrets_in: dict[Path, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def below(self, key: str, options: Mapping[str, str]) -> Values:
        """Values that stand inside that of a key (the options of a login module); warnings come together."""
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
        """The value, trimmed as Kafka's ConfigDef does; None where the key is absent."""
        entry = self._entries.get(key)
        return None if entry is None else self._expanded(key, entry).strip()

    def untrimmed(self, key: str) -> str | None:
        """The value with the blanks around it, which may be part of a name; None where the key is absent."""
        entry = self._entries.get(key)
        return None if entry is None else self._expanded(key, entry)

    def raw(self, key: str) -> Entry | None:
        """The entry as it stands, references unresolved."""
        return self._entries.get(key)

    def secret(self, key: str) -> Secret | None:
        """The value, untrimmed; None where the key is absent."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.text and not is_reference(entry.text):
            self.secrets_in[entry.place.file] = None
        return Secret(self._expanded(key, entry))

    def path(self, key: str) -> Path | None:
        """A path; None where the key is absent or empty."""
        text = self.text(key)
        references = self._references
        return references.surroundings.path(text, references.bases) if text else None

    def seconds(self, key: str) -> float | None:
        """A number of milliseconds, as seconds."""
        text = self.text(key)
        if text is None:
            return None
        if not is_natural(text):
            raise self.error(key, f"it is a number of milliseconds, not {text!r}")
        return int(text) / 1000

    def flag(self, key: str, default: bool) -> bool:
        """``true`` or ``false``, in any case."""
        text = self.text(key)
        if text is None or text.lower() in ("true", "false"):
            return default if text is None else text.lower() == "true"
        raise self.error(key, f"it is true or false, not {text!r}")

    def place(self, key: str) -> Place:
        """Where the key stands; the file as a whole where it is absent."""
        entry = self._entries.get(key)
        return entry.place if entry else Place(self.file)

    def error(self, key: str, text: str) -> ContextError:
        """An error about one key, in one line."""
        return ContextError(f"{self.place(key)}: {self._within}{key}: {text}")

    def warn(self, key: str, text: str) -> None:
        """Adds a warning about one key."""
        self.warnings.append(printable(f"{self.place(key)}: {self._within}{key} {text}"))

    def exposure(self) -> tuple[str, ...]:
        """A warning for each file with secrets that others may read: those these came from, and those they refer to."""
        files = dict.fromkeys([*self.secrets_in, *self._references.exposed])
        return tuple(
            f"{file} holds secrets and others may read it; chmod 600 {shlex.quote(str(file))}"
            for file in files
            if open_to_others(file)
        )

    def _expanded(self, key: str, entry: Entry) -> str:
        try:
            return self._references.expand(entry.text)
        except ValueError as error:
            raise self.error(key, str(error)) from None
