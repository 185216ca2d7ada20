"""Builds the wheel from a copy of the checkout, and installs it in an empty environment."""

import hashlib
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from tests.support.cached_folder import cache_home, cached_folder
from tests.support.patience import LONG_PATIENCE

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "run.txt"
PACKAGES = ("console", "widgets", "themes")
_FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "docs/kac.1")


def build_wheel(folder: Path) -> Path:
    """Build the wheel in the folder from a copy of the checkout, without writing into the checkout."""
    source = _copy(folder)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    _run([*pip, "--wheel-dir", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def build_sdist(folder: Path) -> Path:
    source = _copy(folder)
    code = f"import os, hatchling.build as made; os.chdir({str(source)!r}); made.build_sdist({str(folder)!r})"
    _run([sys.executable, "-c", code])
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def _copy(folder: Path) -> Path:
    source = folder / "source"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _FILES:
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    return source


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment in the folder with the locked packages and the wheel. Return the path of its ``bin``."""
    venv.create(folder)  # without pip: the pip of the tests' environment installs the wheel
    uv = [
        str(Path(sys.executable).with_name("uv")),
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-cache",
        "--no-index",
    ]
    _run([*uv, "--python", str(folder), "--find-links", str(locked_wheels()), "--require-hashes", "-r", str(LOCK)])
    pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--no-index", "--no-deps", str(wheel)])
    return folder / "bin"


def locked_wheels() -> Path:
    """Return the folder of the locked packages' wheels, which are fetched once."""
    name = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:12]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    return cached_folder(
        cache_home() / "wheels" / name, lambda folder: _run([*download, "-d", str(folder), "-r", str(LOCK)])
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG_PATIENCE)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
