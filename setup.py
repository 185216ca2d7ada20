"""What pyproject.toml can't say: the commit that a package is made of, and the shells' completions as files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
COMMIT = "console/commit.txt"
"""In the wheel and the sdist alone: a checkout asks git."""
COMPLETIONS = {
    "bash": "share/bash-completion/completions/kac",
    "zsh": "share/zsh/site-functions/_kac",
    "fish": "share/fish/vendor_completions.d/kac.fish",
}


def commit() -> str:
    """Return the commit of what is built, ``""`` where that is unknown: as an sdist says, KAC_COMMIT, or git."""
    if (HERE / COMMIT).is_file():
        return (HERE / COMMIT).read_text().strip()
    if "KAC_COMMIT" in os.environ or not (HERE / ".git").exists():
        return os.environ.get("KAC_COMMIT", "")
    describe = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude", "*", "--abbrev=12"]
    try:
        return subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - git
    except (OSError, subprocess.CalledProcessError):
        return ""


def write_commit(folder: str) -> None:
    """Write the commit below a folder that holds the packages."""
    if found := commit():
        file = Path(folder, COMMIT)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{found}\n")


class BuildWithCommit(build_py):
    """Build the packages, and write the commit beside them; not for an editable install, which stays a checkout."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:
            write_commit(self.build_lib)


class SdistWithCommit(sdist):
    """Make an sdist that knows its commit."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Lay out the tree."""
        super().make_release_tree(base_dir, files)
        write_commit(base_dir)


def shared() -> list[tuple[str, list[str]]]:
    """Return folder of the environment -> files: the man page, the completions."""
    sys.path.insert(0, str(HERE))
    from console.cli.manual.completion_scripts import script

    # setuptools takes a file's name as it is.
    made = [(Path("build/completions", place), script(shell)) for shell, place in COMPLETIONS.items()]
    for path, text in made:
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_text(text)
    files = [(str(path.parent.relative_to("build/completions")), [str(path)]) for path, _ in made]
    return [*files, ("share/man/man1", ["docs/kac.1"])]


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SdistWithCommit}, data_files=shared())
