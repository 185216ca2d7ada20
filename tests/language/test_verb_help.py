"""Tests of the help of verbs as text."""

import pytest

from console.language.verb_help import verb_lines
from console.language.verbs import VERBS


def shown(word: str, width: int) -> list[str]:
    return ["".join(text for text, _ in line) for line in verb_lines(word, width)]


def test_details_keep_their_paragraphs_and_items() -> None:
    lines = shown("list", 60)
    assert "- For groups, `topic=NAME` finds the groups that read the" in lines
    assert lines[lines.index("- For groups, `topic=NAME` finds the groups that read the") + 1] == "  topic."
    assert lines[lines.index("The filters:") - 1] == lines[lines.index("The filters:") + 1] == ""


@pytest.mark.parametrize("word", VERBS)
def test_details_fit_the_width_and_lack_no_word(word: str) -> None:
    about = VERBS[word].about
    if word in {line.split()[0] for line in shown("", 80) if line.startswith("  ")}:
        lines = shown(word, 80)
        start = lines.index(VERBS[word].summary) + 1
        end = lines.index("Examples") if "Examples" in lines else len(lines)
        assert " ".join(lines[start:end]).split() == about.split()
        assert all(len(line) <= 80 for line in lines[start:end])
