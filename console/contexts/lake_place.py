"""Where the lake is that `kac lake` writes and the console reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LAKE = "KAC_LAKE"
"""The environment variable that names one."""


def lake_place(flag: str | None, environ: Mapping[str, str], setting: str | None, home: Path) -> str:
    """A path or URI: of ``--lake``, of ``KAC_LAKE``, of the context's `lake`, else ``$XDG_DATA_HOME/kac/lake``."""
    named = flag or environ.get(LAKE) or setting
    if named:
        return str(home / named[2:]) if named.startswith("~/") else named
    data = Path(environ.get("XDG_DATA_HOME", ""))
    # Its specification wants an absolute path; another one is as none.
    return str((data if data.is_absolute() else home / ".local" / "share") / "kac" / "lake")
