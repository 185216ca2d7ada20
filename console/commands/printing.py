"""Results of a command on standard output, as text or as a line of JSON each."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TextIO

from console.commands.results import Result, to_data


@dataclass
class Printer:
    """Prints results. output: ``text`` or ``json``."""

    output: str = "text"
    out: TextIO = field(default_factory=lambda: sys.stdout)

    def __call__(self, result: Result) -> None:
        """Print one."""
        if self.output == "json":
            import json

            self.out.write(json.dumps(to_data(result)) + "\n")
        else:
            from console.commands.render import render

            self.out.write(render(result))
        self.out.flush()
