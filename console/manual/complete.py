"""``kac __complete``: what the shells' completion scripts ask; a candidate in a line, a tab, and what it is."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
from collections.abc import Sequence

from console.manual.words import Kind, Wanted, wanted

FILES = ":files"
"""The only line where the shell itself is to complete the names of files."""

MOST = 500


def main(argv: Sequence[str], _options: argparse.Namespace) -> int:
    """``bash LINE WORD``: LINE up to the cursor, WORD what bash takes for its last word. ``zsh`` or ``fish`` and the
    words behind ``kac``, the last being typed. Always 0: a completion that fails says nothing."""
    logging.disable()  # nothing may come between the prompt and what is typed
    shell, *rest = argv or ("",)
    if shell == "bash":
        line, word = (*rest, "", "")[:2]
        words = _split(line)
        skip = _taken(words[-1], word)
    else:
        words, skip = rest or [""], 0
    for text, help_ in candidates(words):
        described = f"{text[skip:]}\t{help_}" if help_ and shell != "bash" else text[skip:]
        sys.stdout.write(f"{described}\n")
    return 0


def candidates(words: Sequence[str]) -> list[tuple[str, str]]:
    """What the last word can become, whole, each with its help."""
    want = wanted(words)
    if want.kind is Kind.FILE:
        return [(FILES, "")]
    found = want.listed if want.kind is Kind.LISTED else _named(want, words)
    fitting = [(text, help_) for text, help_ in found if text.startswith(want.typed)]
    return [(_quoted(want.start + text), help_) for text, help_ in fitting[:MOST]]


def _named(want: Wanted, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    if want.kind is Kind.NOTHING:
        return ()
    from console.manual.names import names

    end = "=" if want.kind is Kind.ASSIGNMENT else ""
    return tuple((name + end, "") for name in names(want.kind, words[:-1], want.command) if name.isprintable())


def _quoted(text: str) -> str:
    """As a shell takes it for one word; what needs no quotes has none."""
    return text if all(char.isalnum() or char in "-_.=:,/@%+" for char in text) else shlex.quote(text)


def _split(line: str) -> list[str]:
    """The words behind ``kac``, the last one, which may be empty, being typed. An open quote is closed."""
    for end in ("", "'", '"'):
        try:
            words = shlex.split(line + end)
        except ValueError:
            continue
        return [*words[1:], ""] if line[-1:].isspace() and not end else words[1:] or [""]
    return [""]


def _taken(whole: str, word: str) -> int:
    """How much of the whole word bash, which parts words at = and : too, has put into words before."""
    if word in ("=", ":"):
        return len(whole)
    return len(whole) - len(word) if whole.endswith(word) else 0
