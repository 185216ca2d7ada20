"""Fetches or builds the inputs of a bundle, each pinned by a hash: Python as a Go module, wheels, a C compiler, and
kac's own wheel.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from bundle.locks import PYTHON, for_python
from console.cli.installed import commit
from requirements.locked import of_group

ROOT = Path(__file__).resolve().parents[1]
LAUNCHER = ROOT / "bundle" / "launcher"
LOCKS = ROOT / "requirements"
INTERPRETER = "github.com/kluctl/go-embed-python"
GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
GLIBC = (2, 28)
"""The oldest glibc (major, minor) on which a bundle runs: wheels may require this version or an older one."""
_PLATFORMS = (*(f"manylinux_2_{minor}" for minor in range(GLIBC[1], 4, -1)), "manylinux2014", "manylinux2010")
_FOLDER = 1 << 31
"""The bit that marks a folder in Go's file modes."""
_LINK = 1 << 27
_OURS = ("console", "widgets", "themes")


class Missing(Exception):
    """A program that is needed to make bundles is not installed; the message says what to install."""


def run(command: list[str], folder: Path = ROOT, **environment: str) -> str:
    """Run a command in a folder, and return its output. environment: variables to add. Raises Missing if the program
    does not exist, RuntimeError with its output if it fails.
    """
    try:
        done = subprocess.run(  # noqa: S603 - programs of the build
            command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise Missing(
            f"{command[0]} is not installed; a bundle is made with Go 1.26 or newer, see docs/install.md"
        ) from error
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def interpreter(arch: str, into: Path) -> None:
    """Copy Python for an architecture into a folder. Go checks the downloaded module against go.sum; the module's list
    names the files to copy.
    """
    run(["go", "mod", "download"], LAUNCHER)
    run(["go", "mod", "verify"], LAUNCHER)
    module = Path(json.loads(run(["go", "mod", "download", "-json", INTERPRETER], LAUNCHER))["Dir"])
    source = module / "python" / "internal" / "data" / f"linux-{GO_NAMES[arch]}"
    for entry in json.loads((source / "files.json").read_text())["files"]:
        target, mode = into / entry["name"], entry["perm"]
        if mode & (_FOLDER | _LINK):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.get("compressed"):
            target.write_bytes(gzip.decompress((source / f"{entry['name']}.gz").read_bytes()))
        else:
            shutil.copyfile(source / entry["name"], target)
        target.chmod(0o755 if mode & 0o100 else 0o644)


def wheels(arch: str, lock: str, cache: Path) -> list[Path]:
    """Return the wheels of a lock's packages for an architecture, fetched at the first call. lock: its text. Raises
    RuntimeError if a wheel has none of the lock's hashes.
    """
    folder = cache / f"wheels-{arch}-{hashlib.sha256(lock.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        making = folder.with_suffix(".part")
        shutil.rmtree(making, ignore_errors=True)
        pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        pip += ["--require-hashes", "--only-binary", ":all:", "--python-version", PYTHON, "--implementation", "cp"]
        pip += [word for tag in (f"cp{PYTHON.replace('.', '')}", "abi3", "none") for word in ("--abi", tag)]
        pip += [word for tag in _PLATFORMS for word in ("--platform", f"{tag}_{arch}")]
        own = cache / f"{folder.name}.txt"
        own.write_text(for_python(lock))
        run([*pip, "--dest", str(making), "-r", str(own)])
        making.rename(folder)
    found = sorted(folder.glob("*.whl"))
    for wheel in found:
        if f"sha256:{digest(wheel)}" not in lock:
            raise RuntimeError(f"{wheel} is not what the lock names; delete {folder} and try again")
    return found


def compiler(cache: Path) -> Path:
    """Return the folder of the compiler zig, fetched at the first call. zig compiles C for all architectures and any
    glibc.
    """
    (wheel,) = wheels(os.uname().machine, of_group((LOCKS / "tools.txt").read_text(), "bundle"), cache)
    folder = cache / wheel.stem / "ziglang"
    if not folder.is_dir():
        making = cache / f"{wheel.stem}.part"
        shutil.rmtree(making, ignore_errors=True)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(making)
        (making / "ziglang" / "zig").chmod(0o755)
        making.rename(folder.parent)
    return folder


def own_wheel(into: Path) -> Path:
    """Build the console's wheel from a copy of the checkout, and return its path in the folder."""
    source = into / "source"
    for package in _OURS:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "docs/kac.1"):
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run([*pip, "--wheel-dir", str(into), str(source)], source, KAC_COMMIT=commit())
    (wheel,) = into.glob("*.whl")
    return wheel


def digest(path: Path) -> str:
    """Return the file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def commit_time() -> datetime:
    """Return the time of the checkout's commit, for the timestamps in files, so that a commit always makes the same
    bytes; 1970-01-01 without git.
    """
    if not (ROOT / ".git").exists():
        return datetime.fromtimestamp(0, UTC)
    return datetime.fromtimestamp(int(run(["git", "log", "-1", "--format=%ct"])), UTC)
