"""Regular expressions, which Kafka's tools accept for the names of topics, as globs."""

from __future__ import annotations

import re

_OF_REGEX = re.compile(r"\.[*+]|\]\+|^\^|\$$|\\.|[|()]")
_ONE_NAME = re.compile(r"\^?((?:[A-Za-z0-9_-]|\\?\.(?![*+?{])|\.[*+])+)\$?")
_IN_GLOB = {".*": "*", ".+": "?*", "\\.": "."}


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
