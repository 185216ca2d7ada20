"""The schemas that the newest records of a topic name. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.schemas import SchemaKey

KEY, VALUE = "key", "value"


class SchemaSample(NamedTuple):
    """The references to schemas in the newest records of a topic."""

    records: int = 0
    """The number of records that were read."""
    bare: int = 0
    """The number of values that have no reference to a schema."""
    named: Mapping[tuple[str, SchemaKey], int] = {}
    """Part and reference -> the number of records that have it."""
    subjects: Mapping[SchemaKey, tuple[str, ...]] = {}
    """Reference in a name space other than Confluent's -> the subjects that the registry has for it."""


def together(samples: Iterable[SchemaSample]) -> SchemaSample:
    """Return the samples of partitions as one of their topic, without `subjects`."""
    records = bare = 0
    named: dict[tuple[str, SchemaKey], int] = {}
    for each in samples:
        records, bare = records + each.records, bare + each.bare
        for use, count in each.named.items():
            named[use] = named.get(use, 0) + count
    return SchemaSample(records, bare, named)
