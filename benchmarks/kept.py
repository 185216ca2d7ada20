"""Results in a file, a line each, that tests and tables read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read(file: Path, of: type[T]) -> list[T]:
    """The results in a file; none without a file."""
    return msgspec.json.decode(file.read_bytes(), type=list[of]) if file.exists() else []  # type: ignore[valid-type]


def write(file: Path, every: Sequence[object]) -> None:
    """Write results in place of those that the file has."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, every)) + b"\n]\n")
