"""The entries of the locks that a bundle's Python needs."""

from __future__ import annotations

from packaging.markers import Marker

from requirements.locked import locked

PYTHON = "3.14"
"""The release of a bundle's Python."""


def holds(marker: Marker | str | None, **names: str) -> bool:
    """Return whether a marker is true of a bundle's Python, whatever this one is. names: what else markers name."""
    about = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "extra": ""}
    return not marker or Marker(str(marker)).evaluate(about | names)


def for_python(lock: str) -> str:
    """Return the entries of a lock that a bundle's Python needs: pip takes markers to mean the Python it runs on."""
    return "".join(each.pinned() for each in locked(lock) if holds(each.marker))


def one_of(lock: str, name: str) -> str:
    """Return the entries of one package alone, without their markers. Raises RuntimeError if the lock has none."""
    entries = [each.pinned() for each in locked(lock) if each.name == name]
    if not entries:
        raise RuntimeError(f"the lock does not name {name}")
    return "".join(entries)
