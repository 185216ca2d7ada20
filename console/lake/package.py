"""What a Spark cluster needs of the product, as one zip: `console/history` with what it imports of `console/model`, and
a script that begins a job."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from console.safe_files import write_whole

SCRIPT_NAME = "kac_lake.py"
SCRIPT = '''\
"""spark-submit --py-files kac-lake.zip kac_lake.py ingest|build LAKE …"""

import sys

from console.history.jobs.submit import main

sys.exit(main())
'''
_OF_MODEL = ("__init__.py", "effective_quota.py", "numbers.py", "quota.py")
"""What `console/history` imports of `console/model`; import-linter holds it to these."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT = ("__pycache__", ".mypy_cache")


def write_package(file: Path) -> tuple[Path, Path]:
    """The zip, whole or not at all, and the script beside it. The same product gives the same bytes. OSError."""
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
    """Names in the zip with their content, in order."""
    console = Path(__file__).resolve().parents[1]
    history = console / "history"
    yield "console/__init__.py", b""
    for path in sorted(history.rglob("*")):
        if path.is_file() and not set(_LEFT_OUT) & set(path.parts) and path.suffix != ".pyc":
            yield f"console/history/{path.relative_to(history).as_posix()}", path.read_bytes()
    for name in _OF_MODEL:
        yield f"console/model/{name}", (console / "model" / name).read_bytes()
    yield SCRIPT_NAME, SCRIPT.encode()


def submit_lines(package: Path, script: Path) -> tuple[str, ...]:
    """How the two are used."""
    start = f"spark-submit --master URL --py-files {package} {script}"
    return (f"{start} ingest LAKE INPUTS.json", f"{start} build LAKE")
