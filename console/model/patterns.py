"""Patterns of names, as `fnmatch` matches them: the texts that are patterns, those that match only themselves, and the
patterns that mean the same as the regular expressions of Kafka's tools.
"""

from __future__ import annotations

import re

_SIGNS = "*?["
_BRACKETED = re.compile(r"\[([*?\[])\]")
"""Matches a sign in brackets, which matches only itself."""
_OF_REGEX = re.compile(r"\.[*+]|\]\+|^\^|\$$|\\.|[|()]")
_ONE_NAME = re.compile(r"\^?((?:[A-Za-z0-9_-]|\\?\.(?![*+?{])|\.[*+])+)\$?")
_IN_GLOB = {".*": "*", ".+": "?*", "\\.": "."}


def has_signs(text: str) -> bool:
    """Return whether a text has a sign of patterns (``*``, ``?``, ``[``), even if it matches only itself."""
    return any(char in _SIGNS for char in text)


def is_glob(pattern: str) -> bool:
    """Return whether a pattern may match more than one text."""
    return has_signs(_BRACKETED.sub("", pattern))


def literal_pattern(text: str) -> str:
    """Return the pattern that matches exactly this text."""
    return "".join(f"[{char}]" if char in _SIGNS else char for char in text)


def literal_text(pattern: str) -> str:
    """Return the only text that a pattern matches. pattern: one that is not a glob (`is_glob`)."""
    return _BRACKETED.sub(r"\1", pattern)


def looks_like_regex(text: str) -> bool:
    """Return whether a pattern looks like a regular expression; one with ``.*`` may also be meant as a glob."""
    return _OF_REGEX.search(text) is not None


def globs_of(regex: str) -> tuple[str, ...]:
    """Return the globs that match the same names as a regular expression of topics; empty if no simple globs do.

    Kafka's tools take a comma for ``|`` (TopicFilter).
    """
    found = [_ONE_NAME.fullmatch(each) for each in re.split(r"[|,]", regex)]
    # If a part of the expression has no glob, return no globs: the others would find less than the expression.
    known = [each[1] for each in found if each is not None]
    if len(known) < len(found):
        return ()
    return tuple(re.sub(r"\.[*+]|\\\.", lambda part: _IN_GLOB[part[0]], each) for each in known)


def regex_hint(pattern: str | None) -> str:
    """Return a hint if a pattern looks like a regular expression, as Kafka's own tools take; else ``""``."""
    if pattern is None or not looks_like_regex(pattern):
        return ""
    meant = " and ".join(globs_of(pattern))
    return f"a pattern has *, ? and [ab], and is no regular expression{': ' if meant else ''}{meant}"
