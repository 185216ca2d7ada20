"""The wheel holds all it needs: installed in an empty environment, run from outside the checkout."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.installed import PACKAGES, ROOT, build_wheel, install

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("installed") / "venv")


def sources() -> Iterator[str]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix()


def run(command: list[str], outside: Path) -> str:
    done = subprocess.run(command, cwd=outside, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == set(sources())
    assert "console/tui/app.tcss" in held
    assert any(name.startswith("themes/") for name in held)


def test_the_licence_goes_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_help_and_version(bin_folder: Path, tmp_path: Path) -> None:
    kac = str(bin_folder / "kac")
    assert run([kac, "--help"], tmp_path).startswith("usage: kac")
    version = run([str(bin_folder / "pip"), "show", "kafka-admin-console"], tmp_path).splitlines()[1]
    assert run([kac, "--version"], tmp_path).split()[1] == version.removeprefix("Version: ")


def test_every_module_imports(bin_folder: Path, tmp_path: Path) -> None:
    modules = sorted(
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in sources()
        if name.endswith(".py") and not name.endswith("__main__.py")
    )
    load_all = f"import importlib; [importlib.import_module(name) for name in {modules}]"
    python = str(bin_folder / "python")
    where = run([python, "-c", f"{load_all}; import console; print(console.__file__)"], tmp_path)
    assert Path(where.strip()).is_relative_to(bin_folder.parent)
