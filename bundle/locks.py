"""Selects the entries of locks that a bundle's Python needs."""

from __future__ import annotations

from packaging.markers import Marker

from requirements.locked import locked

PYTHON = "3.14"
"""The release of Python in a bundle."""


def holds(marker: Marker | str | None, **names: str) -> bool:
    """Return whether an environment marker is true for a bundle's Python, whatever Python runs this; True for None or
    ``""``. names: further variables of markers.
    """
    about = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "extra": ""}
    return not marker or Marker(str(marker)).evaluate(about | names)


def for_python(lock: str) -> str:
    """Return the entries of a lock whose markers are true for a bundle's Python. pip itself would evaluate the
    markers for the Python that runs pip.
    """
    return "".join(each.pinned() for each in locked(lock) if holds(each.marker))


def with_needs(lock: str, *names: str, there: str = "") -> str:
    """Return the entries of the packages `names` in a lock, and of everything that they require.

    Args:
        there: the text of another lock; its packages are left out, because they come from that lock.

    Raises RuntimeError if the lock lacks one of the names.
    """
    packages, known = list(locked(lock)), {each.name for each in locked(there)}
    if missing := set(names) - {each.name for each in packages}:
        raise RuntimeError(f"the lock does not name {', '.join(sorted(missing))}")
    wanted = set(names)
    while more := {each.name for each in packages if wanted.intersection(each.wanted_by)} - wanted - known:
        wanted |= more
    return "".join("\n".join(each.lines) + "\n" for each in packages if each.name in wanted)
