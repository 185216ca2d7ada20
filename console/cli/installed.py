"""The installation: its version and commit (`kac --version`), the licences of its parts (`kac --licenses`), and
whether its files are unchanged (`kac self verify`; the one-file kac answers that itself before it starts Python).
"""

from __future__ import annotations

import argparse
import base64
import hashlib
from importlib.metadata import Distribution, PackagePath, distribution, distributions, version
from pathlib import Path

from console.extras import NAME, licences_of_bundle
from console.terminal import complain, leave, put

_LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
_UNTOUCHED, _CHANGED = 0, 1


def release() -> str:
    """Return kac's version, and in brackets the commit of the build: from the package, else from git; only the version
    if the commit is unknown.
    """

    number, made_of = version(NAME), commit()
    return f"{number} ({made_of})" if made_of else number


def commit() -> str:
    """Return the commit of the build, or of the checkout; it ends in ``-dirty`` if the checkout has changes. ``""`` if
    the commit is unknown.
    """
    packages = Path(__file__).resolve().parents[1]
    try:
        return (packages / "commit.txt").read_text().strip()
    except OSError:
        pass
    if not (packages.parent / ".git").exists():
        return ""
    from console.programs import finished, of_user

    describe = ["git", "describe", "--always", "--dirty", "--exclude", "*", "--abbrev=12"]
    try:
        described = finished(of_user(describe, folder=packages.parent), None, capture_output=True, text=True)
    except OSError:
        return ""
    return "" if described.returncode else str(described.stdout).strip()


def licences() -> int:
    """Print the licences that the bundle contains; without a bundle, those of each package of this Python environment.
    Return 0.
    """
    packed = licences_of_bundle()
    if packed.is_file():
        put(packed.read_text())
        return 0
    for each in sorted(distributions(), key=lambda each: each.name.lower()):
        put(f"{each.name} {each.version}\n\n")
        for file in each.files or ():
            if ".dist-info" in file.parts[0] and file.name.upper().startswith(_LICENCE_NAMES):
                put(f"{Path(str(each.locate_file(file))).read_text(errors='replace').strip()}\n\n")
    return 0


def self_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac self``."""
    parser.add_argument("action", choices=["verify"], help="compare the files of kac with what was installed")


def run_self(options: argparse.Namespace) -> int:  # noqa: ARG001 - as every command
    """Print each file that is missing or changed. Return the exit code: 0 if all are as installed; 1 if one is not, or
    the list of installed files is missing.
    """
    installed = distribution(NAME)
    if not installed.files:
        return leave(
            _CHANGED, "the list of installed files is not here; a deb verifies with dpkg -V kac, an rpm with rpm -V kac"
        )
    different = [problem for file in installed.files if (problem := _problem(installed, file))]
    for problem in different:
        complain(problem)
    if different:
        return leave(_CHANGED, f"{len(different)} of {len(installed.files)} files differ. Install {NAME} again.")
    put(f"kac {installed.version}: {len(installed.files)} files are as they were installed\n")
    return _UNTOUCHED


def _problem(installed: Distribution, file: PackagePath) -> str:
    """Return the problem of an installed file: missing or changed; ``""`` if it has none. Files without a recorded hash
    are not checked.
    """
    path = Path(str(installed.locate_file(file)))
    if file.hash is None:
        return ""
    try:
        found = hashlib.new(file.hash.mode, path.read_bytes(), usedforsecurity=False).digest()
    except OSError as error:
        return f"{path}: {error.strerror}"
    same = base64.urlsafe_b64encode(found).decode().rstrip("=") == file.hash.value
    return "" if same else f"{path}: changed"
