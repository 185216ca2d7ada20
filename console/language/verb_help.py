"""The help of verbs, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from console.language.statements import Where
from console.language.verb import Verb
from console.language.verbs import verbs_for
from console.present.text import Line


def verb_lines(word: str, width: int) -> list[Line]:
    """Return the help as lines: all verbs with their summaries for ``""``, or all details of the verb `word`; for an
    unknown verb a line that reports this, and all verbs. width: the width of the terminal in cells.
    """
    verbs = verbs_for(Where.BAR)
    named = [verb for verb in verbs if verb.name == word]
    if word and not named:
        return [[(f"unknown verb {word}", "failed")], [], *_overview(verbs)]
    return _one(named[0], width) if named else _overview(verbs)


def _overview(verbs: Iterable[Verb]) -> list[Line]:
    lines: list[Line] = []
    group = ""
    for verb in verbs:
        if verb.group != group:
            lines += [[]] if group else []
            lines.append([(verb.group, "header")])
            group = verb.group
        lines.append([(f"  {verb.name:<12}", "strong"), (verb.summary, "")])
    return [*lines, [], [("help WORD shows one of them; Tab completes, and shows what can follow", "muted")]]


def _one(verb: Verb, width: int) -> list[Line]:
    lines: list[Line] = [[(usage, "strong")] for usage in verb.usage]
    lines += [[], [(verb.summary, "")]]
    lines += [[(line, "muted")] for line in _wrapped(verb.about, width)]
    if verb.examples:
        lines += [[], [("Examples", "header")], *([(f"  {example}", "")] for example in verb.examples)]
    return lines


def _wrapped(about: str, width: int) -> Iterator[str]:
    """Yield the lines of a verb's details, `HelpEntry.about`; the further lines of an item are indented."""
    for line in about.splitlines():
        indent = "  " if line.startswith("- ") else ""
        # Keep names with hyphens whole, so that they can be copied.
        yield from textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
