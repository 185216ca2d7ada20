"""Numbers as people write them: ASCII digits and nothing that only a programming language reads.

Python's own `int` and `float` also take ``1_000``, ``nan``, ``inf``, ``٣`` and spaces; Kafka takes none of them.
"""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?")
_SHOWN = 60


def whole_number(text: str) -> int:
    """``12``, ``-1``, ``+7``. Raises ValueError with words for anything else."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{_quoted(text)} is not a whole number")
    return int(text)


def decimal_number(text: str) -> float:
    """``12``, ``0.5``, ``.5``, ``1e6``; finite. Raises ValueError with words for anything else."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{_quoted(text)} is not a number")
    return value


def natural_number(text: str) -> int:
    """``0``, ``12``: digits alone. Raises ValueError with words for anything else."""
    if not text[:1].isdigit():
        raise ValueError(f"{_quoted(text)} is not a number of 0 or more")
    return whole_number(text)


def _quoted(text: str) -> str:
    return f"'{text}'" if len(text) <= _SHOWN else f"'{text[: _SHOWN - 3]}…'"
