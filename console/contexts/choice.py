"""Which contexts the screen can switch to, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from console.contexts.context import Context, ContextError


class Choice(Protocol):
    """Contexts by name."""

    def names(self) -> list[str]:
        """The names, for completion."""
        ...

    def get(self, name: str) -> Context:
        """The context of a name. Raises ContextError, one line."""
        ...


class Configured:
    """What is configured on this machine, read anew each time: the files may change while the screen is open."""

    def __init__(self, environ: Mapping[str, str], home: Path) -> None:
        self._environ = environ
        self._home = home

    def names(self) -> list[str]:
        """The names of all that can be used."""
        from console.contexts.load import load

        return [context.name for context in load(self._environ, self._home).contexts]

    def get(self, name: str) -> Context:
        """The context of a name. Raises ContextError."""
        from console.contexts.load import load
        from console.contexts.resolve import resolve

        return resolve(load(self._environ, self._home), name=name, environ=self._environ)


class Given:
    """These and no others."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        self._contexts = {context.name: context for context in contexts}

    def names(self) -> list[str]:
        """Their names, in their order."""
        return list(self._contexts)

    def get(self, name: str) -> Context:
        """The context of a name. Raises ContextError."""
        found = self._contexts.get(name)
        if found is None:
            raise ContextError(f"there is no context {name!r} here, only {', '.join(self._contexts)}")
        return found
