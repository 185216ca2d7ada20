"""The entries of the locks that a bundle's Python needs."""

from __future__ import annotations

from packaging.markers import Marker

from requirements.locked import locked

PYTHON = "3.14"
"""The release of Python in a bundle."""


def holds(marker: Marker | str | None, **names: str) -> bool:
    """Return whether a marker is true for a bundle's Python, independent of the Python that runs this; True without a
    marker. names: further variables of markers.
    """
    about = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "extra": ""}
    return not marker or Marker(str(marker)).evaluate(about | names)


def for_python(lock: str) -> str:
    """Return the entries of a lock that a bundle's Python needs. pip itself would evaluate markers for the Python that
    runs it.
    """
    return "".join(each.pinned() for each in locked(lock) if holds(each.marker))


def with_needs(lock: str, *names: str, there: str = "") -> str:
    """Return the entries of some packages, and of everything that they require.

    Args:
        there: the text of a lock whose packages are left out, because they come from that lock.

    Raises RuntimeError if the lock lacks one of the names.
    """
    packages, known = list(locked(lock)), {each.name for each in locked(there)}
    if missing := set(names) - {each.name for each in packages}:
        raise RuntimeError(f"the lock does not name {', '.join(sorted(missing))}")
    wanted = set(names)
    while more := {each.name for each in packages if wanted.intersection(each.wanted_by)} - wanted - known:
        wanted |= more
    return "".join("\n".join(each.lines) + "\n" for each in packages if each.name in wanted)
