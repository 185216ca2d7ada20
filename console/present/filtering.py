"""What `/` shows: rows with a text, without it, or that match a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable


def matcher(text: str) -> Callable[[str], bool]:
    """Whether a row's words pass a filter.

    ``svc orders``: both words, in any case. ``!dlq``: without it. ``/svc-\\d+``: a regular expression, in any case;
    ``!/…`` those that it does not match. Raises ValueError for a pattern that is none, with what is wrong with it.
    """
    wanted = text.strip()
    if wanted.startswith("!"):
        if not wanted[1:].strip():
            return lambda words: True
        inside = matcher(wanted[1:])
        return lambda words: not inside(words)
    if wanted.startswith("/"):
        try:
            pattern = re.compile(wanted[1:], re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return lambda words: pattern.search(words) is not None
    parts = wanted.lower().split()
    if not parts:
        return lambda words: True
    if len(parts) == 1:
        only = parts[0]
        return lambda words: only in words.lower()
    return lambda words: all(part in words.lower() for part in parts)
