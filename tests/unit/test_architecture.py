"""ARCHITECTURE.md names files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PLACES = (
    ROOT,
    ROOT / "tests",
    ROOT / "console",
    ROOT / "console" / "language",
    ROOT / "console" / "tui",
    ROOT / "console" / "files",
)
"""Where a path of the page may begin."""


def test_every_path_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`([\w./]+(?:\.py|/))`", PAGE))
    assert len(named) > 40
    assert {path for path in named if not any((place / path).exists() for place in PLACES)} == set()


def test_every_module_that_the_page_names_is_there() -> None:
    rooms = {path.name for path in (ROOT / "console").iterdir() if path.is_dir()}
    named = {path for path in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", PAGE) if path.split(".")[0] in rooms}
    assert len(named) > 10
    modules = {path: (ROOT / "console").joinpath(*path.split(".")) for path in named}
    assert {path for path, at in modules.items() if not (at.is_dir() or at.with_suffix(".py").exists())} == set()
