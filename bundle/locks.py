"""What a lock of requirements/ names: packages, each with the hashes of its files and what asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker

PYTHON = "3.14"
"""The release of a bundle's Python."""
_HASH = "--hash=sha256:"
_ASKS = "# via"


class Locked(NamedTuple):
    """A package of a lock.

    marker: where it is installed, ``""`` for everywhere. hashes: SHA-256 of its files, of which pip takes one.
    wanted_by: names of what asks for it. lines: those below its name, as they stand there.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    wanted_by: tuple[str, ...]
    lines: tuple[str, ...]

    def pinned(self) -> str:
        """Return it as a lock's lines, without its marker."""
        return "\n".join([f"{self.name}=={self.version} \\", *self.lines]) + "\n"


def locked(lock: str) -> Iterator[Locked]:
    """Yield the packages of a lock's text, as uv writes it."""
    blocks: list[list[str]] = []
    for line in lock.splitlines():
        if line.startswith((" ", "#")):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    for first, *lines in blocks:
        pin, _, marker = first.removesuffix("\\").strip().partition(" ; ")
        name, _, version = pin.partition("==")
        words = [line.strip().removesuffix(" \\") for line in lines]
        asks = [word.removeprefix(_ASKS).removeprefix("#").split() for word in words if word.startswith("#")]
        hashes = [word.removeprefix(_HASH) for word in words if word.startswith(_HASH)]
        yield Locked(name, version, marker, tuple(hashes), tuple(each[0] for each in asks if each), tuple(lines))


def holds(marker: Marker | str | None, **names: str) -> bool:
    """Return whether a marker is true of a bundle's Python, whatever this one is. names: what else markers name."""
    about = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "extra": ""}
    return not marker or Marker(str(marker)).evaluate(about | names)


def for_python(lock: str) -> str:
    """Return the entries of a lock that a bundle's Python needs: pip takes markers to mean the Python it runs on."""
    return "".join(each.pinned() for each in locked(lock) if holds(each.marker))


def one_of(lock: Path, name: str, cache: Path) -> Path:
    """Write a lock that names this package alone, as it stands in the other, and return its place."""
    entries = [each for each in locked(lock.read_text()) if each.name == name]
    if not entries:
        raise RuntimeError(f"{lock} does not name {name}")
    alone = cache / f"{name}.txt"
    alone.write_text("".join(each.pinned() for each in entries))
    return alone
