"""Reads and writes files of benchmark results, a line of JSON for each result; tests and tables read them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read(file: Path, of: type[T]) -> list[T]:
    """Return the results in a file, decoded as type `of`; empty if there is no file."""
    return msgspec.json.decode(file.read_bytes(), type=list[of]) if file.exists() else []  # type: ignore[valid-type]


def write(file: Path, every: Sequence[object]) -> None:
    """Write all results into a file; its former content is replaced."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"[\n" + b",\n".join(map(msgspec.json.encode, every)) + b"\n]\n")
