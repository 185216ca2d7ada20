"""The zip for a cluster: complete, the same each time, and good for Python 3.10 without the rest of the product."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from console.pipeline.app import main as submit
from console.pipeline.spark_session import SCRIPT_NAME, WITH_KAC, members, submit_lines, write_package

ROOT = Path(__file__).parents[2]
PYTHON = (3, 10)
_IMPORT_ALL = """
import importlib, importlib.machinery, json, sys, types

class AnyClass(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

class Anything(metaclass=AnyClass):
    def __init_subclass__(cls, **kwargs): pass
    def __init__(self, *args, **kwargs): pass
    def __call__(self, *args, **kwargs): return Anything()
    def __getattr__(self, name): return Anything()
    def __getitem__(self, key): return Anything()
    def __iter__(self): return iter(())
    def __len__(self): return 0
    __and__ = __or__ = __invert__ = __eq__ = __ne__ = __add__ = __call__
    __hash__ = object.__hash__

class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyClass(name, (Anything,), {})

class Theirs:
    # What executors have besides: here only what is ours is run.
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("pyarrow", "crc32c", "duckdb", "msgspec", "obstore", "pyspark", "py4j"):
            return importlib.machinery.ModuleSpec(name, Theirs, is_package=True)
    @staticmethod
    def create_module(spec):
        return Module(spec.name)
    @staticmethod
    def exec_module(module):
        pass

package, names = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, package)
sys.meta_path.insert(0, Theirs)
wrong = {}
for name in names:
    try:
        importlib.import_module(name)
    except Exception as error:
        wrong[name] = f"{type(error).__name__}: {error}"
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "console"]
elsewhere = [module.__name__ for module in ours if not module.__file__.startswith(package)]
print(json.dumps({"version": sys.version_info[:2], "wrong": wrong, "elsewhere": elsewhere}))
"""


def old_python() -> str | None:
    """A Python 3.10 of this machine."""
    import shutil

    beside = sorted(Path(sys.base_prefix).parent.glob("3.10.*/bin/python"))
    return str(beside[-1]) if beside else shutil.which("python3.10")


def modules() -> list[str]:
    names = [name for name, _ in members() if name.endswith(".py") and name != SCRIPT_NAME]
    return [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]


def imported(name: str) -> set[str]:
    """The modules of ours that a module imports, at whatever place in it."""
    package, found = name.rpartition(".")[0], set()
    path = ROOT / f"{name.replace('.', '/')}.py"
    if not path.is_file():
        package, path = name, path.with_suffix("") / "__init__.py"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            found |= {origin, *(f"{origin}.{each.name}" for each in node.names)}
    files = {each for each in found if each.startswith("console.") and is_module(each)}
    return {".".join(each.split(".")[:end]) for each in files for end in range(1, len(each.split(".")) + 1)}


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_it_holds_exactly_what_the_history_imports_of_ours() -> None:
    packed = set(modules())
    needed = {name for name in packed if name.startswith("console.pipeline")}
    left = list(needed)
    while left:
        new = imported(left.pop()) - needed
        needed |= new
        left += new
    # It starts Java, which executors do not.
    assert needed - {"console.programs"} == packed
    assert {"console.model.quota", "console.model.numbers"} <= packed


def test_it_holds_the_history_and_nothing_else(tmp_path: Path) -> None:
    file, script = write_package(tmp_path / "a.zip")
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        assert archive.read("console/__init__.py") == b""
        assert archive.read(SCRIPT_NAME).decode() == script.read_text()
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "console" / "pipeline").rglob("*")
        if path.is_file() and path.suffix in (".py", ".json", ".yaml")
        if path.relative_to(ROOT / "console" / "pipeline").parts[0].removesuffix(".py") not in WITH_KAC
    }
    outside = {name for name in names if not name.startswith(("console/pipeline/", "console/model/"))}
    assert outside == {"console/__init__.py", "console/safe_files.py", "console/extras.py", SCRIPT_NAME}
    assert {name for name in names if name.startswith("console/pipeline/")} == there
    again, _ = write_package(tmp_path / "b.zip")
    assert again.read_bytes() == file.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip", SCRIPT_NAME]
    assert all(
        str(file) in line and str(script) in line and "--jars a.jar,b.jar" in line
        for line in submit_lines(file, script, [Path("a.jar"), Path("b.jar")])
    )


def test_every_module_is_in_the_words_of_python_3_10() -> None:
    for name, content in members():
        if name.endswith(".py"):
            ast.parse(content, name, feature_version=PYTHON)


@pytest.mark.skipif(old_python() is None, reason="there is no Python 3.10 (pyenv install 3.10)")
def test_every_module_is_imported_by_python_3_10_out_of_the_zip(tmp_path: Path) -> None:
    file, _ = write_package(tmp_path / "kac-lake.zip")
    done = subprocess.run(
        [str(old_python()), "-I", "-c", _IMPORT_ALL, str(file), json.dumps(modules())],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert len(modules()) > 40
    assert json.loads(done.stdout) == {"version": list(PYTHON), "wrong": {}, "elsewhere": []}


def test_a_job_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["dance", "x"]):
        with pytest.raises(SystemExit, match="2"):
            submit(arguments)
        assert "update" in capsys.readouterr().err
