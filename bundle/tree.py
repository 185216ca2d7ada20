"""Makes the tree that a bundle unpacks: the files of Python and of the wheels that the console uses, with compiled
code.
"""

from __future__ import annotations

import shutil
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from bundle.inputs import run
from bundle.locks import PYTHON

SITE = f"lib/python{PYTHON}/site-packages"
PROGRAM = f"bin/python{PYTHON}"
_STDLIB = f"lib/python{PYTHON}"

UNUSED = (
    "bin/[!p]*",
    "bin/p[!y]*",
    "bin/pydoc*",
    "bin/*-config",
    # The program contains the whole interpreter, and no wheel needs the shared library.
    "lib/libpython*",
    # Tk and Tcl, tests, and programs that install and edit programs.
    "lib/libtcl*",
    "lib/itcl*",
    "lib/thread*",
    "lib/tcl*",
    "lib/tk*",
    "share/*",
    "include/*",
    "lib/pkgconfig/*",
    *(
        f"{_STDLIB}/{each}/*"
        for each in ("tkinter", "idlelib", "turtledemo", "ensurepip", "venv", "test", "pydoc_data")
    ),
    f"{_STDLIB}/config-*/*",
    f"{_STDLIB}/turtle.py",
    f"{_STDLIB}/antigravity.py",
    f"{_STDLIB}/lib-dynload/_test*",
    f"{_STDLIB}/lib-dynload/_ctypes_test*",
    f"{_STDLIB}/lib-dynload/_tkinter*",
    f"{_STDLIB}/lib-dynload/_dbm*",
    f"{SITE}/pip/*",
    f"{SITE}/pip-*/*",
    # Record batches in C for producers and consumers: only these need the host's libz, and kac has its own reader.
    f"{SITE}/aiokafka/record/_crecords/*",
    # Descriptions of hundreds of services, and certificates of authorities that kac does not use (see KEPT for the
    # exceptions).
    f"{SITE}/botocore/data/*",
    f"{SITE}/botocore/cacert.pem",
    f"{SITE}/dateutil/zoneinfo/*.tar.gz",
    f"{SITE}/*.pyi",
    f"{SITE}/*.pyx",
    f"{SITE}/*.pxd",
    f"{SITE}/*.[ch]",
    f"{SITE}/*.dist-info/RECORD",
    f"{SITE}/*.dist-info/INSTALLER",
    f"{SITE}/*.pth",
)
_SERVICES = ("sts", "sso", "sso-oidc")
KEPT = tuple(
    f"{SITE}/botocore/data/{each}"
    for each in (
        *("endpoints.json", "partitions.json", "_retry.json", "sdk-default-configuration.json"),
        *(f"{service}/*/{part}.json.gz" for service in _SERVICES for part in ("service-2", "endpoint-rule-set-1")),
    )
)
"""Patterns of files that stay although they match UNUSED: the descriptions of AWS' services that provide credentials,
and the addresses of these services.
"""


def unpack_wheel(wheel: Path, tree: Path) -> None:
    """Unpack a wheel's packages into the tree, without its scripts and headers."""
    site = tree / SITE
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = PurePosixPath(entry.filename)
            if path.parts[0].endswith(".data"):
                if path.parts[1] not in ("purelib", "platlib"):
                    continue
                path = PurePosixPath(*path.parts[2:])
            if entry.is_dir() or ".." in path.parts or path.is_absolute():
                continue
            target = site / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(entry))
            target.chmod(0o644)


def prune(tree: Path) -> None:
    """Delete files that the console does not need."""
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if path.is_file() and _matches(name, UNUSED) and not _matches(name, KEPT):
            path.unlink()


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether one of the patterns matches a path; a star also matches slashes."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def compile_sources(tree: Path, python: Path) -> None:
    """Replace each Python source in the tree by its compiled code, which Python uses without looking for a source.
    python: path of an interpreter of the same release that runs on this machine.
    """
    for cache in sorted(tree.rglob("__pycache__")):
        shutil.rmtree(cache)
    # Compile in one process and one order, without random hashes, so that the same sources always give the same bytes.
    code = (
        "import compileall, sys\n"
        "from py_compile import PycInvalidationMode\n"
        "made = compileall.compile_dir(sys.argv[1], quiet=1, legacy=True, stripdir=sys.argv[2],\n"
        "    invalidation_mode=PycInvalidationMode.UNCHECKED_HASH, maxlevels=40)\n"
        "sys.exit(not made)\n"
    )
    run([str(python), "-I", "-B", "-c", code, str(tree / "lib"), str(tree)], PYTHONHASHSEED="0")
    for source in sorted(tree.rglob("*.py")):
        source.unlink()


def clear_empty(tree: Path) -> None:
    """Delete empty folders."""
    for path in sorted(tree.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
