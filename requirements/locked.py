"""Reads the locks of this folder: packages, each with the hashes of its files and the names of what requires it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_HASH = "--hash=sha256:"
_ASKS = "# via"


class Locked(NamedTuple):
    """A package of a lock.

    marker: the environments in which it is installed; ``""`` for all. hashes: SHA-256 of its files, one of which pip
    installs. wanted_by: names of the packages or files that require it. groups: groups of pyproject.toml that require
    it. lines: the lines of its entry.
    """

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    wanted_by: tuple[str, ...]
    groups: tuple[str, ...]
    lines: tuple[str, ...]

    def pinned(self) -> str:
        """Return the package's entry in a lock, without its marker."""
        return "\n".join([f"{self.name}=={self.version} \\", *self.lines[1:]]) + "\n"


def locked(lock: str) -> Iterator[Locked]:
    """Yield the packages of a lock's text, as uv writes it."""
    blocks: list[list[str]] = []
    for line in lock.splitlines():
        if line.startswith((" ", "#")):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    for block in blocks:
        pin, _, marker = block[0].removesuffix("\\").strip().partition(" ; ")
        name, _, version = pin.partition("==")
        words = [line.strip().removesuffix(" \\") for line in block[1:]]
        asks = [word.removeprefix(_ASKS).removeprefix("#").split() for word in words if word.startswith("#")]
        # "-c FILE" is another lock that fixed the version.
        asks = [ask for ask in asks if ask and ask[0] != "-c"]
        hashes = [word.removeprefix(_HASH) for word in words if word.startswith(_HASH)]
        groups = [ask[1].strip("()").partition(":")[2] for ask in asks if len(ask) > 1]
        wanted_by = tuple(ask[0] for ask in asks)
        yield Locked(name, version, marker, tuple(hashes), wanted_by, tuple(groups), tuple(block))


def of_group(lock: str, group: str) -> str:
    """Return the text of a lock with only the packages that one group of pyproject.toml requires, directly or through
    others.

    Args:
        lock: the text of a lock that has several groups.
        group: the group's name.
    """
    packages = list(locked(lock))
    names = {each.name for each in packages if group in each.groups}
    while more := {each.name for each in packages if names.intersection(each.wanted_by)} - names:
        names |= more
    return "".join("\n".join(each.lines) + "\n" for each in packages if each.name in names)
