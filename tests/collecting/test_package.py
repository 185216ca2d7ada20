"""Tests of the zip that is sent to a Spark cluster: it is complete and reproducible, and runs on Python 3.10 without
the rest of kac.
"""

import ast
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import grimp
import pytest

from console.collecting.executor_package import SCRIPT_NAME, members, submit_lines, write_package
from console.lake.app import main as submit

ROOT = Path(__file__).parents[2]
PYTHON = (3, 10)
_IMPORT_ALL = """
import importlib, importlib.machinery, json, sys, types

class AnyClass(type):
    def __getattr__(cls, name):
        if name.startswith("__") and name != "__struct_config__":
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
    """Return the path of a Python 3.10 on this machine; None if it has no Python 3.10."""
    import shutil

    beside = sorted(Path(sys.base_prefix).parent.glob("3.10.*/bin/python"))
    return str(beside[-1]) if beside else shutil.which("python3.10")


def modules() -> list[str]:
    names = [name for name, _ in members() if name.endswith(".py") and name != SCRIPT_NAME]
    return [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in names]


def test_it_holds_exactly_what_the_history_imports_of_ours() -> None:
    """The zip has exactly the modules of console.lake and the modules of kac that they import, with their parent
    packages. The library grimp finds the expected imports, independently of kac's code.
    """
    graph = grimp.build_graph("console", cache_dir=None)
    room = {"console.lake", *graph.find_descendants("console.lake")}
    needed = room.union(*map(graph.find_upstream_modules, room))
    parents = {name.rpartition(".")[0] for name in needed} - {""}
    assert set(modules()) == needed | parents


def test_it_holds_the_history_and_nothing_else(tmp_path: Path) -> None:
    file, script = write_package(tmp_path / "a.zip")
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        assert archive.read("console/__init__.py") == b""
        assert archive.read(SCRIPT_NAME).decode() == script.read_text()
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "console" / "lake").rglob("*")
        if path.is_file() and path.suffix in (".py", ".json", ".yaml")
    }
    outside = {name for name in names if not name.startswith(("console/lake/", "console/model/"))}
    assert outside == {"console/__init__.py", "console/safe_files.py", "console/extras.py", SCRIPT_NAME}
    assert {name for name in names if name.startswith("console/lake/")} == there
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
