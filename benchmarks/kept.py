"""Results in a JSON file, with a line for each, which tests and tables read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read(file: Path, of: type[T]) -> list[T]:
    """Return the results in a file; empty if there is no file."""
    return msgspec.json.decode(file.read_bytes(), type=list[of]) if file.exists() else []  # type: ignore[valid-type]


def write(file: Path, every: Sequence[object]) -> None:
    """Write results, replacing those in the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, every)) + b"\n]\n")
