"""The records' schemas, as Kafka's releases ship them (`tests/support/record_metadata_schemas.py` writes the data)."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

RELEASES = ("4.3", "3.9")
"""Newest first: what two releases have alike is read from the newer."""


@dataclass(frozen=True)
class Field:
    """A field in one version of its record. name: as in Kafka's JSON. type: Kafka's word, of an array its elements'
    (`is_array`). tag: None where it stands in its place. fields: of a struct."""

    name: str
    type: str
    is_array: bool
    nullable: bool
    tag: int | None
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class RecordSchema:
    """One version of a record's form."""

    name: str
    api_key: int
    version: int
    fields: tuple[Field, ...]


@lru_cache(maxsize=1)
def known_schemas() -> Mapping[tuple[int, int], RecordSchema]:
    """Every version of every record type of all releases, by its number and version."""
    made: dict[tuple[int, int], RecordSchema] = {}
    for release in RELEASES:
        made = schemas_of(release) | made
    return made


def schemas_of(release: str) -> dict[tuple[int, int], RecordSchema]:
    """The same of one release, ``4.3``. Raises RuntimeError where its data file is missing."""
    name = f"data/kafka_{release.replace('.', '_')}.json"
    # pkgutil, since executors import this from a zip.
    data = pkgutil.get_data(__package__ or "", name)
    if data is None:
        raise RuntimeError(f"{name} is missing in console.history.kraft: the package is not whole")
    return {
        (record["apiKey"], version): RecordSchema(
            record["name"], record["apiKey"], version, _fields(record["fields"], version)
        )
        for record in json.loads(data)
        for version in _versions(record["validVersions"])
    }


def _fields(raw: list[dict[str, Any]], version: int) -> tuple[Field, ...]:
    return tuple(
        Field(
            name=each["name"],
            type=each["type"].removeprefix("[]"),
            is_array=each["type"].startswith("[]"),
            nullable=_is_in(version, each.get("nullableVersions")),
            tag=each["tag"] if _is_in(version, each.get("taggedVersions")) else None,
            fields=_fields(each.get("fields", []), version),
        )
        for each in raw
        if _is_in(version, each["versions"])
    )


def _versions(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _is_in(version: int, text: str | None) -> bool:
    """Whether ``2+``, ``1-3`` or ``4`` has the version; None has none."""
    if text is None:
        return False
    if text.endswith("+"):
        return version >= int(text[:-1])
    return version in _versions(text)
