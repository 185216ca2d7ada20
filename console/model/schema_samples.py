"""The references to schemas in the newest records of a topic. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.schemas import SchemaKey

KEY, VALUE = "key", "value"


class SchemaSample(NamedTuple):
    """How often each schema is referenced in the newest records of a topic."""

    records: int = 0
    """The number of records that were read."""
    bare: int = 0
    """The number of values without a reference to a schema."""
    named: Mapping[tuple[str, SchemaKey], int] = {}
    """(part, reference) -> the number of records that have it. The part is ``key`` or ``value``."""
    subjects: Mapping[SchemaKey, tuple[str, ...]] = {}
    """Reference whose name space is not Confluent's -> the subjects that the registry has for it."""


def together(samples: Iterable[SchemaSample]) -> SchemaSample:
    """Return the sum of the samples of a topic's partitions; its `subjects` are empty."""
    records = bare = 0
    named: dict[tuple[str, SchemaKey], int] = {}
    for each in samples:
        records, bare = records + each.records, bare + each.bare
        for use, count in each.named.items():
            named[use] = named.get(use, 0) + count
    return SchemaSample(records, bare, named)
