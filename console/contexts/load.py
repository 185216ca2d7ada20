"""All contexts that are configured on this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from console.contexts.context import BrokenContext, Context, Found, Surroundings

if TYPE_CHECKING:
    from console.contexts.console_settings import ConsoleSettings
    from console.contexts.own_file import OwnFile


class Contexts:
    """What is configured: our own contexts first, then those of other tools, each under a name of its own.

    A name that is ours, or that several tools have, is another tool's with the tool before it: ``kafkactl/prod``.
    Files are read when they are first needed, so that a start with ``-b`` reads none, and none of other tools where
    our own file has the context.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    @property
    def contexts(self) -> tuple[Context, ...]:
        """All that can be used."""
        return tuple(item for item in self._all if isinstance(item, Context))

    @property
    def broken(self) -> tuple[BrokenContext, ...]:
        """Those that are named somewhere and can't be used, with the reason."""
        return tuple(item for item in self._all if isinstance(item, BrokenContext))

    @property
    def settings(self) -> ConsoleSettings:
        """The table ``[settings]`` of our own file, or the defaults."""
        return self._own.settings

    @property
    def own_problems(self) -> tuple[str, ...]:
        """What is wrong with our own file, its settings too; other tools' files are not read for it."""
        return self._own.found.problems

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with files, a line each; the rest of what they hold is used."""
        own = self._own.found
        theirs = (problem for found in self._discovered for problem in found.problems)
        if own.current is not None and self.find(own.current) is None:
            return (*own.problems, f"current_context is {own.current!r}, and there is no such context", *theirs)
        return (*own.problems, *theirs)

    @cached_property
    def current(self) -> str | None:
        """The context to use where nobody names one: our own file's, else the one that a single other tool is set to.

        None where that is not certain: several contexts of our own, or several tools with one each.
        """
        own = self._own.found
        if own.current is not None or own.items:
            return own.current
        chosen = [item for found in self._discovered for item in found.items if item.name == found.current]
        if len(chosen) != 1:
            return None
        taken = sum(item.name == chosen[0].name for found in self._discovered for item in found.items)
        return chosen[0].name if taken == 1 else f"{chosen[0].tool}/{chosen[0].name}"

    def find(self, name: str) -> Context | BrokenContext | None:
        """The context of this name; other tools' also answer to ``tool/name``. None where there is none."""
        for item in self._own.found.items:
            if item.name == name:
                return item
        return next((item for item in self._all if name in (item.name, f"{item.tool}/{item.name}")), None)

    @cached_property
    def _own(self) -> OwnFile:
        from console.contexts.own_file import read_own_file

        return read_own_file(self.surroundings)

    @cached_property
    def _discovered(self) -> tuple[Found, ...]:
        from console.contexts.foreign.discover import discover

        return discover(self.surroundings)

    @cached_property
    def _all(self) -> tuple[Context | BrokenContext, ...]:
        own = self._own.found.items
        others = [item for found in self._discovered for item in found.items]
        taken = Counter(item.name for item in (*own, *others))
        named = [replace(item, name=f"{item.tool}/{item.name}") if taken[item.name] > 1 else item for item in others]
        return (*own, *named)


def load(environ: Mapping[str, str], home: Path, cwd: Path | None = None) -> Contexts:
    """What is configured for this environment and home folder. Reads nothing yet."""
    return Contexts(Surroundings(environ, home, Path.cwd() if cwd is None else cwd))
