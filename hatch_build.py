"""A build hook for contents of wheel and sdist that pyproject.toml can't describe: the commit, and the completions for
shells.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT = "console/commit.txt"
"""The file with the commit's hash. Only the wheel and the sdist contain it; in a checkout, kac asks git."""
COMPLETIONS = {
    "bash": "share/bash-completion/completions/kac",
    "zsh": "share/zsh/site-functions/_kac",
    "fish": "share/fish/vendor_completions.d/kac.fish",
}


def commit(root: Path) -> str:
    """Return the hash of a source tree's commit: from the sdist's file, else from the variable KAC_COMMIT, else from
    git; ``""`` if it is unknown.
    """
    if (root / COMMIT).is_file():
        return (root / COMMIT).read_text().strip()
    if "KAC_COMMIT" in os.environ or not (root / ".git").exists():
        return os.environ.get("KAC_COMMIT", "")
    describe = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*", "--abbrev=12"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - git
    except (OSError, subprocess.CalledProcessError):
        return ""


class CommitAndCompletions(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the commit to wheel and sdist, and the completions for shells to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files for this build, and enter them into the build's data; hatchling calls this.

        Args:
            version: ``"standard"``, or ``"editable"``, for which nothing is added.
            build_data: hatchling's data; ``force_include`` and ``shared_data`` map a file to its place in the package.
        """
        if version == "editable":
            return
        # The folder is removed with this hook, at the end of the build.
        self._scratch = TemporaryDirectory(prefix="kac-build-")
        root, made = Path(self.root), Path(self._scratch.name)
        if known := commit(root):
            (made / "commit.txt").write_text(f"{known}\n")
            build_data["force_include"][str(made / "commit.txt")] = COMMIT
        if self.target_name == "wheel":
            sys.path.insert(0, str(root))
            from console.cli.manual.completion_scripts import script

            for shell, place in COMPLETIONS.items():
                (made / shell).write_text(script(shell))
                build_data["shared_data"][str(made / shell)] = place
