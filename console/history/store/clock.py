"""Times and run ids."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timezone

_RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")


def iso_now() -> str:
    """Now, as ISO 8601 in UTC with microseconds: texts of it sort as times do."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def new_run_id() -> str:
    """``20261121T101500Z-3f9a1c``: now, its microsecond in the digits at its end, so that texts sort as times."""
    now = datetime.now(timezone.utc)
    return f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond * 16 + secrets.randbelow(16):06x}"


def is_run_id(text: str) -> bool:
    """Whether it is such a name: what comes from a file is checked before it becomes a path."""
    return _RUN_ID.fullmatch(text) is not None
