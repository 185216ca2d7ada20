"""The page on the language is made from the registry, and the one in the tree is the latest."""

from pathlib import Path

from console.cli.manual.pages import reference
from console.language.verbs import VERBS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_page_is_fresh():
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m console.cli.manual.pages > docs/commands.md"


def test_the_page_has_every_verb_with_its_usage():
    page = reference()
    for verb in VERBS.values():
        assert f"### {verb.name}\n" in page
        assert all(usage in page for usage in verb.usage)
