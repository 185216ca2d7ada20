"""Tests that code, messages and pages use the usual technical term in place of each phrase of a short list."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import house

ROOT = Path(__file__).resolve().parents[2]

BETTER = {
    "anew": "again",
    "are none": "are not …, are missing, invalid",
    "have something done": "run …",
    "in words": "as text",
    "is none": "is not …, is missing, invalid",
    "is not spoken": "is unsupported",
    "is told": "returns, reads, is reported",
    "nobody": "no client, no user, no one",
    "nobody knows": "unknown",
    "somebody": "another client, a user",
    "tells": "returns, reports, says",
    "told to be": "reported as",
    "what it was to": "name the thing",
    "whoever": "the user who, the client that",
}
"""Phrase -> the words to write instead."""

_PHRASE = re.compile(
    r"(?<![\w.])(?<!there )(?<!word )(?:"
    + "|".join(
        f"[{phrase[0]}{phrase[0].upper()}]" + re.escape(phrase[1:]).replace(r"\ ", r"(?:\s|\n\s*\#)\s*")
        for phrase in sorted(BETTER, key=len, reverse=True)
    )
    + r")(?!\w|\(|\.\w)"
)


def texts() -> Iterator[Path]:
    """Yield the path of every module and every page of the product."""
    for room in ("console", "widgets", "themes"):
        yield from sorted((ROOT / room).rglob("*.py"))
    yield from sorted(path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".1"))
    yield from sorted(ROOT.glob("*.md"))


def unusual(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, phrase) for each listed phrase in a text; lines are counted from 1."""
    for found in _PHRASE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].replace("#", " ").lower().split())


def problems(path: Path) -> Iterator[str]:
    """Yield ``file:line: phrase → better word`` for each listed phrase in a file."""
    for line, phrase in unusual(path.read_text(encoding="utf-8")):
        yield f"{path.relative_to(ROOT)}:{line}: {phrase} → {BETTER[phrase]}"


def test_what_is_written_is_plain() -> None:
    found = [problem for path in texts() for problem in problems(path)]
    assert not found, "say it in the field's terms:\n" + "\n".join(found)
    assert [each for module in house.modules(ROOT, house.PRODUCT) for each in with_noun(module)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Whoever asks\nis told so.", [(1, "whoever"), (2, "is told")]),
        ("# a filter that is\n    # none, anew", [(1, "is none"), (2, "anew")]),
        ("shows nobody knows what", [(1, "nobody knows")]),
        ("if value is None: tells_all(nobody()); x.anew", []),
        ("renewed, Nonesuch, foretells", []),
        ("None if there is none; [word for word in words]", []),
    ],
)
def test_a_phrase_is_seen_where_it_stands(text: str, found: list[tuple[int, str]]) -> None:
    assert list(unusual(text)) == found


_COUNTED = re.compile(r"\{[^{}]+\} more [a-z]+s\b")


def test_what_is_left_out_is_counted_in_the_number_that_it_has() -> None:
    """Messages use `plural` for the number of left out items, so that no text says ``and 1 more topics``."""
    found = [
        f"{path.relative_to(ROOT)}: {each}"
        for path in sorted((ROOT / "console").rglob("*.py"))
        for each in _COUNTED.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


PROPERTIES = ("property", "setter", "cached_property")
NO_VERBS = (
    " A After All An Another Any As At Before Both By Each Every For From How If In It Its Most No None Nothing Of On"
    " One Only Same Some That The Their There These This Those To What When Where Whether Which Who Whose Why With"
    " Without "
)
"""Words with which no docstring of a function may begin."""


def with_noun(module: house.Module) -> Iterator[str]:
    """Yield ``path:line: docstring`` for each function whose docstring does not begin with a verb: its first word is
    one of `NO_VERBS`, ends with a colon, or has no capital. Properties are left out, because they may begin with
    a noun.
    """
    for node in house.functions(module):
        text = ast.get_docstring(node)
        if text and not any(ast.unparse(each).rpartition(".")[2] in PROPERTIES for each in node.decorator_list):
            first = text.split()[0]
            if f" {first.strip(',.:')} " in NO_VERBS or first.endswith(":") or not first[0].isupper():
                yield f"{module.path}:{node.lineno}: {text.splitlines()[0]}"


@pytest.mark.parametrize("text", ["The end.", "What ends.", "end: a line.", "Whether it ends.", "``x`` of it."])
def test_a_docstring_that_begins_with_a_noun_is_found(text: str) -> None:
    source = f'def a():\n    """{text}"""\n\n@property\ndef b():\n    """{text}"""\n\ndef c():\n    """End it."""\n'
    assert list(with_noun(house.Module(Path("it.py"), source, ast.parse(source)))) == [f"it.py:1: {text}"]
