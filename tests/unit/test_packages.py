"""Folders are packages with types, and locks have hashes and name no package index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bundle.locks import for_python
from requirements.locked import locked, of_group

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("console", "widgets", "themes")


def test_every_folder_with_modules_is_a_regular_package() -> None:
    folders = {path.parent for top in TOPS for path in (ROOT / top).rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_each_package_says_that_it_has_types() -> None:
    assert [top for top in TOPS if not (ROOT / top / "py.typed").exists()] == []


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_locks_have_a_hash_for_everything_and_name_no_index(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", re.sub(r"^\s*--hash=sha256:[0-9a-f]{64}( \\)?$", "", text, flags=re.M), flags=re.M)
    pins = re.findall(r"^(\S+)==\S+( ;[^\\]*)? \\\n    --hash=sha256:", text, flags=re.M)
    assert len(pins) == len(re.findall(r"^\w", text, flags=re.M)) > 0


def test_a_group_of_a_lock_has_what_it_asks_for_and_what_that_needs() -> None:
    lock = "\n".join(
        [
            "asked==1.0 \\",
            "    --hash=sha256:aa",
            "    # via kafka-admin-console (pyproject.toml:site)",
            "deep==2.0 ; sys_platform == 'linux' \\",
            "    --hash=sha256:bb",
            "    # via needed",
            "needed==3.0 \\",
            "    --hash=sha256:cc",
            "    # via",
            "    #   asked",
            "    #   other",
            "other==4.0 \\",
            "    --hash=sha256:dd",
            "    # via kafka-admin-console (pyproject.toml:release)",
            "",
        ]
    )
    site = of_group(lock, "site")
    assert [each.name for each in locked(site)] == ["asked", "deep", "needed"]
    assert "deep==2.0 ; sys_platform == 'linux' \\\n    --hash=sha256:bb\n" in site
    assert [each.name for each in locked(of_group(lock, "release"))] == ["deep", "needed", "other"]
    assert of_group(lock, "asked") == ""


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
