"""A context: a cluster by name, how to reach it, and what guards it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from console.admin.settings import ConnectionSettings
from widgets.cells import clean

OWN = "kac"
COMMAND_LINE = "command line"


def printable(text: str) -> str:
    """A text from a file with control characters and marks that turn the writing written as escapes."""
    return clean(text)


class ContextError(Exception):
    """Why a context can't be used, in one line: where, what, and what to do. Never holds a secret."""

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))


class Surroundings(NamedTuple):
    """What the process was given: its environment, the home folder, the working folder."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def path(self, text: str, bases: tuple[Path, ...]) -> Path:
        """A path with ``~`` expanded; a relative one from the first of `bases` where it exists, else from the first."""
        plain = self.home / text[2:] if text.startswith("~/") else Path(text)
        candidates = [base / plain for base in bases]
        return next((candidate for candidate in candidates if candidate.exists()), candidates[0])

    def config_folder(self) -> Path:
        """``$XDG_CONFIG_HOME``, where it is an absolute path as its specification wants it; else ``~/.config``."""
        named = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return named if named.is_absolute() else self.home / ".config"

    def shown(self, path: Path) -> str:
        """A path with ``~`` for the home folder."""
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)


class Place(NamedTuple):
    """Where a value stands: ``file:line``, or the file alone."""

    file: Path
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


@dataclass(frozen=True, slots=True)
class Context:
    """A usable context.

    origin: where it was found, for people. tool: ``kac``, ``command line``, or the tool whose file it stands in.
    cluster_id: a cluster that answers with another id is refused. warnings: one line each, without secrets, of what its
    file says (what its settings expose is `settings.exposures`). journal: whether changes are written down; without,
    they are made all the same. lake: where the lake with its past is.
    """

    name: str
    origin: str
    settings: ConnectionSettings
    color: str | None = None
    read_only: bool = False
    confirm: bool = False
    cluster_id: str | None = None
    warnings: tuple[str, ...] = ()
    tool: str = OWN
    journal: bool = True
    lake: str | None = None

    @property
    def principal(self) -> str:
        """Who the brokers take us for, as far as the settings say; they may map a certificate otherwise."""
        settings = self.settings
        if settings.sasl is not None:
            return settings.sasl.username or settings.sasl.mechanism
        if settings.tls is not None and settings.tls.key_store is not None:
            return "certificate"
        return "ANONYMOUS"


@dataclass(frozen=True, slots=True)
class BrokenContext:
    """A context that is named somewhere but can't be used; `problem` is one line that says why and what to do."""

    name: str
    origin: str
    problem: str
    tool: str = OWN


@dataclass(frozen=True, slots=True)
class Found:
    """What one file gave, in its order. current: the name of the context that it says is the current one."""

    items: tuple[Context | BrokenContext, ...] = ()
    current: str | None = None
    problems: tuple[str, ...] = ()
