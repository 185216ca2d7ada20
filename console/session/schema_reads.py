"""Reads of a schema registry: the texts of versions, and the schemas that records name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.model import snapshot as refresh
from console.model.snapshot import Snapshot
from console.model.subjects import DEEPEST_REFERENCE, SchemaSource, SchemaTexts
from console.session.snapshot_reader import Client, Learned

if TYPE_CHECKING:
    from console.contexts import Context

MOST_KEYS = 20
"""Maximum number of schemas for which the names of their subjects are looked up."""
MOST_VERSIONS = 10
"""Maximum number of versions of a subject whose texts are read, from the newest on."""


async def read_schema_texts(
    client: Client, snapshot: Snapshot, names: Iterable[str], versions: int = MOST_VERSIONS, *, whole: bool = False
) -> Learned:
    """Read the texts of the newest versions of subjects, and of all schemas that they reference, directly or
    indirectly.

    Args:
        names: the names of the subjects.
        versions: the maximum number of versions for each subject.
        whole: whether the snapshot keeps all texts, however many; used by a command that compares them and then ends.
    """
    from console.admin.schemas import read_texts

    wanted = {
        (name, each.number): None
        for name in names
        if name in snapshot.schemas
        for each in [each for each in snapshot.schemas[name].versions if each.id][-versions:]
    }
    found = dict(snapshot.schema_texts)
    read: dict[tuple[str, int], SchemaSource] = {}
    for _ in range(DEEPEST_REFERENCE):
        if missing := [each for each in wanted if each not in found]:
            texts = (await client.run(read_texts, missing)).texts
            read |= texts
            found |= texts
        references = (each for place in wanted if place in found for each in found[place].references)
        wanted = {(each.subject, each.version): None for each in references}
        if not wanted:
            break
    if whole:
        return lambda known, _at: replace(known, schema_texts={**known.schema_texts, **read})
    return lambda known, _at: refresh.with_schema_texts(known, SchemaTexts(read))


async def read_schema_samples(client: Client, context: Context, snapshot: Snapshot, topics: Iterable[str]) -> Learned:
    """Read the schemas that the newest records of some topics name. Read nothing if the context forbids reading records
    or has no registry.
    """
    from console.admin.newest_batches import schema_samples
    from console.contexts.context import NEVER
    from console.model.schemas import APICURIOS, Schema

    known = [snapshot.topics[name] for name in sorted(topics) if name in snapshot.topics]
    if not known or context.records == NEVER or context.schemas is None:
        return lambda known, _at: known
    found = await client.run(schema_samples, known)
    keys = {key for each in found.values() for _, key in each.named if key.of in APICURIOS}
    if keys:
        from console.admin.schema_registry import SchemaRegistry, look_up

        # Look these up by Apicurio's own API: in Confluent's, the same id may belong to another schema.
        registry = SchemaRegistry(context.schemas)
        await client.run(look_up, registry, sorted(keys)[:MOST_KEYS])
        of_keys = {key: each.subjects for key in keys if isinstance(each := registry.known(key), Schema)}
        found = {name: each._replace(subjects=of_keys) for name, each in found.items()}
    return lambda known, _at: replace(known, schema_samples={**known.schema_samples, **found})
