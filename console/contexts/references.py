"""``${env:NAME}`` and ``${file:PATH}`` in values, the syntax of Kafka's config providers (KIP-297, KIP-887)."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from console.contexts.context import Surroundings
from console.contexts.properties import parse_properties

_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")
MAX_SECRET_FILE = 1 << 20
"""Bytes; a secret is not longer, and a device file never ends."""


@dataclass(slots=True)
class References:
    """Resolves references in values. bases: where relative paths start, the first where there is such a file.

    exposed: the files it read that others may read too.
    """

    surroundings: Surroundings
    bases: tuple[Path, ...]
    exposed: list[Path] = field(default_factory=list)

    def expand(self, text: str) -> str:
        """The text with its references replaced. Raises ValueError naming the variable or the file that is missing."""
        if "${" not in text:
            return text
        return _REFERENCE.sub(lambda match: self._one(match[1], match[2]), text)

    def _one(self, provider: str, target: str) -> str:
        if provider == "file":
            return self._file(target)
        if target not in self.surroundings.environ:
            raise ValueError(
                f"the environment has no variable {target or '(empty name)'}; set it, or write another reference"
            )
        return self.surroundings.environ[target]

    def _file(self, target: str) -> str:
        """The content of a file without its last line end; with ``PATH:KEY``, one key of a properties file."""
        whole = self.surroundings.path(target, self.bases)
        name, colon, key = target.rpartition(":")
        if whole.exists() or not colon:
            return re.sub(r"\r?\n\Z", "", self._read(whole))
        path = self.surroundings.path(name, self.bases)
        found = {entry.key: entry.value for entry in parse_properties(self._read(path))}
        if key not in found:
            raise ValueError(f"{path} has no key {key}")
        return found[key]

    def _read(self, path: Path) -> str:
        try:
            if not path.is_file():
                raise FileNotFoundError(2, "No such file")
            if path.stat().st_size > MAX_SECRET_FILE:
                raise ValueError(f"{path} is larger than {MAX_SECRET_FILE >> 20} MiB, which no secret is")
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8") from None
        except OSError as error:
            raise ValueError(f"{path} can't be read: {error.strerror}") from None
        if open_to_others(path):
            self.exposed.append(path)
        return text


def is_reference(text: str) -> bool:
    """Whether the text takes its secret from elsewhere."""
    return _REFERENCE.search(text) is not None


def whole_reference(text: str) -> bool:
    """Whether the text is one reference and nothing else."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def open_to_others(path: Path) -> bool:
    """Whether the file's mode lets its group or others read, write or run it; False where there is no such file."""
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False
