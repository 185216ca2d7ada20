"""The zip of kac's code for a Spark cluster: `console/lake`, its imports from `console/model`, and a script that starts
a job.
"""

from __future__ import annotations

import ast
import io
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from console.safe_files import write_whole

SCRIPT_NAME = "kac_lake.py"
SCRIPT = '''\
"""spark-submit --py-files kac-lake.zip kac_lake.py update|run LAKE INPUTS"""

import sys

from console.lake.app import main

if __name__ == "__main__":
    sys.exit(main())
'''
_CONSOLE = Path(__file__).resolve().parents[1]
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_package(file: Path) -> tuple[Path, Path]:
    """Write the zip to `file`, completely or not at all, and the script into the same folder; return their paths. The
    same version of kac always writes the same bytes. Raises OSError.
    """
    file = file.absolute()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    write_whole(file, whole.getvalue())
    script = file.with_name(SCRIPT_NAME)
    write_whole(script, SCRIPT)
    return file, script


def members() -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of the zip, sorted by name, the script last."""
    room = (path for path in (_CONSOLE / "lake").rglob("*") if path.suffix in (".py", ".json", ".yaml"))
    packed: dict[Path, bytes] = {}
    left = sorted(room)
    while left:
        path = left.pop()
        if path not in packed:
            packed[path] = path.read_bytes()
            left += _imported(packed[path]) if path.suffix == ".py" else ()
    yield "console/__init__.py", b""
    for path, content in sorted(packed.items()):
        yield f"console/{path.relative_to(_CONSOLE).as_posix()}", content
    yield SCRIPT_NAME, SCRIPT.encode()


def _imported(source: bytes) -> Iterator[Path]:
    """Yield the paths of kac's modules that a module imports, anywhere in its source, and of their packages'
    `__init__.py`.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("console."):
            for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                module = _CONSOLE.joinpath(*str(name).split(".")[1:])
                files = (module.with_suffix(".py"), module / "__init__.py", module.with_name("__init__.py"))
                yield from (each for each in files if each != _CONSOLE / "__init__.py" and each.is_file())


def submit_lines(package: Path, script: Path, jars: Sequence[Path]) -> tuple[str, ...]:
    """Return the lines of a shell command that submits the script with the package and Delta's jars to Spark."""
    start = f"spark-submit --master URL --jars {','.join(map(str, jars))} --py-files {package} {script}"
    return (f"{start} update LAKE INPUTS.json", f"{start} run LAKE INPUTS.json")
