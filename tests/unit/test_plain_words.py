"""Plain technical English in code, messages and pages: the usual term in place of each phrase of a short list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

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
"""Phrase -> what to write instead."""

_PHRASE = re.compile(
    r"(?<![\w.])(?<!there )(?<!word )(?:"
    + "|".join(
        f"[{phrase[0]}{phrase[0].upper()}]" + re.escape(phrase[1:]).replace(r"\ ", r"(?:\s|\n\s*\#)\s*")
        for phrase in sorted(BETTER, key=len, reverse=True)
    )
    + r")(?!\w|\(|\.\w)"
)


def texts() -> Iterator[Path]:
    """Every module and every page of the product."""
    for room in ("console", "widgets", "themes"):
        yield from sorted((ROOT / room).rglob("*.py"))
    yield from sorted(path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".1"))
    yield from sorted(ROOT.glob("*.md"))


def unusual(text: str) -> Iterator[tuple[int, str]]:
    """The phrases of a text, each with its line from 1 on."""
    for found in _PHRASE.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(found[0].replace("#", " ").lower().split())


def problems(path: Path) -> Iterator[str]:
    """``file:line: phrase → better word`` for each."""
    for line, phrase in unusual(path.read_text(encoding="utf-8")):
        yield f"{path.relative_to(ROOT)}:{line}: {phrase} → {BETTER[phrase]}"


def test_what_is_written_is_plain() -> None:
    found = [problem for path in texts() for problem in problems(path)]
    assert not found, "say it in the field's terms:\n" + "\n".join(found)


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
    """``and 1 more topics``, where one is left out: `plural` says it."""
    found = [
        f"{path.relative_to(ROOT)}: {each}"
        for path in sorted((ROOT / "console").rglob("*.py"))
        for each in _COUNTED.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


# -- docstrings of what speaks to brokers and keeps what was changed ---------------------------------------------------

VERBS = (
    " Add Answer Ask Authenticate Cancel Check Close Compute Connect Count Decode Decompress Delete Describe Do Drop"
    " End Fetch Fill Forget Give Go Import Keep Label Limit Log Look Make Match Move Name Note Open Pass Prepare Put"
    " Raise Read Remove Request Resolve Retry Return Run Send Start Take Tell Unpack Use Wait Write Yield "
)
"""With which a function says what it does; a property may be a noun."""
ROOMS = ("admin", "journal", "wire")
PROPERTIES = ("property", "setter", "cached_property")
NO_VERBS = (
    " A After All An Another Any As At Before Both By Each Every For From How If In It Its Most No None Nothing Of On"
    " One Only Same Some That The Their There These This Those To What When Where Whether Which Who Whose Why With"
    " Without "
)
"""With which no function says what it does, in any room."""


@cache
def function_docstrings(source: str) -> tuple[tuple[int, str], ...]:
    """The docstrings of functions, each with the function's line; not those of properties, which may be nouns."""
    return tuple(
        (node.lineno, text)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node))
        if not any(ast.unparse(each).rpartition(".")[2] in PROPERTIES for each in node.decorator_list)
    )


def without_verb(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings of functions that do not begin with one of `VERBS`, each with its line."""
    for line, text in function_docstrings(source):
        if f" {text.split()[0].strip(',.:')} " not in VERBS:
            yield line, text.splitlines()[0]


def with_noun(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings of functions that begin with a noun, a pronoun or a parameter's name, each with its line."""
    for line, text in function_docstrings(source):
        first = text.split()[0]
        if f" {first.strip(',.:')} " in NO_VERBS or first.endswith(":") or not first[0].isupper():
            yield line, text.splitlines()[0]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_a_verb(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / "console" / room).rglob("*.py"))
        for line, text in without_verb(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_docstring_without_a_verb_is_found() -> None:
    source = (
        'def a():\n    """The end."""\n\n@property\ndef b():\n    """The end."""\n\ndef c():\n    """Return it."""\n'
    )
    assert list(without_verb(source)) == [(1, "The end.")]


@pytest.mark.parametrize("room", ["console", "widgets", "themes"])
def test_no_function_says_what_it_does_by_a_noun(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for line, text in with_noun(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("text", ["The end.", "What ends.", "end: a line.", "Whether it ends.", "``x`` of it."])
def test_a_docstring_that_begins_with_a_noun_is_found(text: str) -> None:
    source = f'def a():\n    """{text}"""\n\n@property\ndef b():\n    """{text}"""\n\ndef c():\n    """End it."""\n'
    assert list(with_noun(source)) == [(1, text)]
