"""Finds the modules that a command line of kac loads, in a separate interpreter."""

import json
import subprocess
import sys
from dataclasses import dataclass

from tests.support.patience import PATIENCE

_RUN = """
import json, sys
from console.cli.main import run
try:
    code = run(sys.argv[1:])
except SystemExit as ended:
    code = ended.code
print(json.dumps([code or 0, sorted(sys.modules)]), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The exit code, the output and the names of all loaded modules of a run."""

    code: int
    output: str
    modules: frozenset[str]

    def any_of(self, *packages: str) -> set[str]:
        """Return the names among the given packages from which the run loaded at least one module."""
        return {name for name in packages if any(f"{module}.".startswith(f"{name}.") for module in self.modules)}


def loaded_by(*argv: str) -> Loaded:
    """Run ``kac`` with these arguments. Return its exit code, its output and the modules that it loaded. Raises
    AssertionError if it crashes.
    """
    command = [sys.executable, "-c", _RUN, *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise AssertionError(f"kac {' '.join(argv)} broke down:\n{done.stderr}")
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return Loaded(code, done.stdout, frozenset(modules))
