"""Results of a command on standard output, as text or as a line of JSON each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO

from console.commands.results import Data, Result, to_data
from console.model.numbers import json_text
from console.terminal import stdout


@dataclass
class Printer:
    """Prints results. output: ``text`` or ``json``."""

    output: str = "text"
    out: TextIO = field(default_factory=stdout)

    def __call__(self, result: Result) -> None:
        """Print one."""
        if self.output == "json":
            self._json(to_data(result))
        else:
            from console.commands.render import render

            self.out.write(render(result))
            self.out.flush()

    def note(self, text: str, data: Mapping[str, Data]) -> None:
        """Print a line that is no table, or what it says as data."""
        if self.output == "json":
            self._json(data)
        else:
            self.out.write(f"{text}\n")
            self.out.flush()

    def _json(self, data: Mapping[str, Data]) -> None:

        self.out.write(json_text(data) + "\n")
        self.out.flush()
