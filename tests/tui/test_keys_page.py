"""The page on the keys is made from the keymap, and the one in the tree is the latest; so are README's pictures."""

from __future__ import annotations

import re
from pathlib import Path

from console.tui.keymap import KEYS
from console.tui.keys_page import keys_page

ROOT = Path(__file__).parents[2]


def test_the_page_is_fresh() -> None:
    page = (ROOT / "docs" / "keys.md").read_text(encoding="utf-8")
    assert page == keys_page(), "run: python -m console.tui.keys_page > docs/keys.md"


def test_every_key_is_on_the_page() -> None:
    page = keys_page()
    assert all(f"`{key.id}`" in page for key in KEYS)


def test_every_picture_of_the_readme_is_taken_by_the_script() -> None:
    from screenshots.take import pictures

    named = set(re.findall(r"screenshots/([\w-]+)\.svg", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named
    assert named <= pictures()
    taken = {path.stem for path in (ROOT / "screenshots").glob("*.svg")}
    assert taken == pictures(), "run: make pictures"
