"""pyproject.toml names every package there is, and nothing names a package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bundle.locks import for_python

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("console", "widgets", "themes")


def declared() -> list[str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        packages: list[str] = tomllib.load(file)["tool"]["setuptools"]["packages"]
    return packages


def test_every_folder_with_modules_is_a_declared_package() -> None:
    folders = {path.parent for top in TOPS for path in (ROOT / top).rglob("*.py")}
    assert sorted(declared()) == sorted(".".join(folder.relative_to(ROOT).parts) for folder in folders)
    assert declared() == sorted(declared())


def test_every_package_is_a_regular_one() -> None:
    assert [name for name in declared() if not (ROOT / Path(*name.split(".")) / "__init__.py").exists()] == []


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_locks_have_a_hash_for_everything_and_name_no_index(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", re.sub(r"^\s*--hash=sha256:[0-9a-f]{64}( \\)?$", "", text, flags=re.M), flags=re.M)
    pins = re.findall(r"^(\S+)==\S+( ;[^\\]*)? \\\n    --hash=sha256:", text, flags=re.M)
    assert len(pins) == len(re.findall(r"^\w", text, flags=re.M)) > 0


def test_a_bundle_takes_what_its_own_python_needs() -> None:
    """Also where it is made with an older one, which pip's markers would speak of."""
    lock = "\n".join(
        [
            "one==1.0 \\",
            "    --hash=sha256:aa",
            "    # via another",
            "two==2.0 ; python_full_version < '3.14' \\",
            "    --hash=sha256:bb",
            "three==3.0 ; python_full_version >= '3.12' \\",
            "    --hash=sha256:cc",
            "four==4.0 ; sys_platform == 'win32' \\",
            "    --hash=sha256:dd",
        ]
    )
    kept = "one==1.0 \\\n    --hash=sha256:aa\n    # via another\nthree==3.0 \\\n    --hash=sha256:cc\n"
    assert for_python(lock) == kept
