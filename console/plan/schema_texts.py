"""Compares schemas of a snapshot by their texts and the texts of the schemas to which they refer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from console.model import subjects
from console.model.avro_compatibility import AvroSchema, NotAvro, avro_schema
from console.model.foreign_json import json_as
from console.model.schemas import AVRO, JSON_SCHEMA
from console.model.snapshot import Snapshot


def same_schema(one: subjects.SchemaSource, other: subjects.SchemaSource) -> bool:
    """Return whether two texts, of the same kind and with the same references, are the same schema: blanks in JSON do
    not matter.
    """
    if (one.kind, one.references) != (other.kind, other.references):
        return False
    if one.text == other.text:
        return True
    try:
        return one.kind in (AVRO, JSON_SCHEMA) and json_as(one.text, object) == json_as(other.text, object)
    except ValueError:
        return False


def references_of(snapshot: Snapshot, source: subjects.SchemaSource) -> list[str] | None:
    """Return the texts of the schemas to which a schema refers, each after its own references; None if one was not
    read, or the references are nested deeper than `DEEPEST_REFERENCE`.
    """
    found: dict[tuple[str, int], str] = {}

    def enter(references: Sequence[subjects.SchemaReference], depth: int) -> bool:
        for each in references:
            place = each.subject, each.version
            known = snapshot.schema_texts.get(place)
            if known is None or depth > subjects.DEEPEST_REFERENCE:
                return False
            if place not in found:
                if not enter(known.references, depth + 1):
                    return False
                found[place] = known.text
        return True

    return list(found.values()) if enter(source.references, 0) else None


def avro_of(snapshot: Snapshot, source: subjects.SchemaSource | None) -> AvroSchema | None:
    """Return a schema in the form for comparisons. None if `source` is None or not a valid Avro schema, or its
    references were not read.
    """
    references = None if source is None else references_of(snapshot, source)
    if source is None or source.kind != AVRO or references is None:
        return None
    try:
        return avro_schema(source.text, references)
    except NotAvro:
        return None


def read_versions(snapshot: Snapshot, subject: str) -> list[tuple[int, AvroSchema]]:
    """Return the numbers and schemas of a subject's versions, the oldest first; versions that are soft-deleted, were
    not read, or are not Avro are left out.
    """
    known = snapshot.schemas.get(subject)
    found = []
    for version in () if known is None else known.versions:
        schema = avro_of(snapshot, snapshot.schema_texts.get((subject, version.number)))
        if schema is not None and not version.is_deleted:
            found.append((version.number, schema))
    return found
