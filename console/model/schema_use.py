"""The topics whose newest records refer to a subject's schemas by ids. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.model.grouping import grouped
from console.model.snapshot import Snapshot
from console.model.subjects import Subject, is_by_record, topics_of

MOST_TOPICS = 20
"""Maximum number of topics whose records are read for a subject that any topic may use."""


class IdUse(NamedTuple):
    """The use of a subject in the newest records of a topic: the part (``key`` or ``value``); the number of records
    that refer to the subject, and of all records that were read; and the versions that are used, empty if the
    references have none.
    """

    topic: str
    part: str
    matching: int
    records: int
    versions: tuple[int, ...]


def id_uses(snapshot: Snapshot, subject: Subject) -> list[IdUse]:
    """Return the topics whose newest records refer to a subject's schemas by ids, sorted; topics without records that
    were read are left out.
    """
    numbers = grouped((version.id, version.number) for version in subject.versions if version.id)
    found = []
    for topic in sorted(snapshot.schema_samples):
        sample = snapshot.schema_samples[topic]
        by_part: dict[str, tuple[int, set[int]]] = {}
        for (part, key), count in sample.named.items():
            versions = numbers.get(key.id, []) if not key.of else []
            if versions or subject.name in sample.subjects.get(key, ()):
                before, known = by_part.get(part, (0, set()))
                by_part[part] = (before + count, known | {*versions})
        found += [
            IdUse(topic, part, count, sample.records, tuple(sorted(versions)))
            for part, (count, versions) in sorted(by_part.items())
        ]
    return found


def subjects_in(snapshot: Snapshot, topic: str) -> list[tuple[str, IdUse]]:
    """Return the names of the subjects to which the newest records of a topic refer by ids, each with its use. If
    several subjects have an id, all are returned.
    """
    return [
        (name, use)
        for name in sorted(snapshot.schemas)
        for use in id_uses(snapshot, snapshot.schemas[name])
        if use.topic == topic
    ]


def candidates(snapshot: Snapshot, subject: str) -> list[str]:
    """Return the topics whose records should be read to see whether they use a subject: the topics that match the
    subject's name. If no topic matches and the subject has the name of a record type, return the first `MOST_TOPICS`
    topics, without internal ones, that match no subject's name. Empty for an unknown subject.
    """
    known = snapshot.schemas.get(subject)
    if known is None:
        return []
    by_name = [each.topic for each in topics_of(known, snapshot.topics)]
    if by_name or not is_by_record(known):
        return by_name
    taken = {use.topic for each in snapshot.schemas.values() for use in topics_of(each, snapshot.topics)}
    free = (name for name, topic in sorted(snapshot.topics.items()) if not topic.internal and name not in taken)
    return [name for name, _ in zip(free, range(MOST_TOPICS), strict=False)]
