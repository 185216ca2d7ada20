"""The options of `kac topics` for elections and for deletions of records, with the JSON files of Kafka's tools for
them: ``{"partitions": [{"topic": …, "partition": …, "offset": …}]}``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from console.cli.noun import Carry, Change, Found, OptionsError, Statements
from console.language.quoting import quote
from console.model.foreign_json import json_as
from console.model.numbers import LONG_MAX
from console.model.parts import Part

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

LIMIT = 16 << 20
"""Maximum size of a file in bytes."""
UNCLEAN = "unclean"
_END = -1
"""The offset that means the end of the log in a file of offsets (DeleteRecordsRequest.HIGH_WATERMARK)."""


class _Row(Struct, frozen=True):
    topic: str
    partition: Annotated[int, Meta(ge=0, lt=2**31)]
    offset: Annotated[int, Meta(ge=_END, le=LONG_MAX)] | None = None


class _File(Struct, frozen=True):
    partitions: list[_Row]
    version: Annotated[int, Meta(ge=1, le=1)] = 1


def _rows(path: str) -> list[_Row]:
    """Return the topic, the partition and the offset of each entry of a file, sorted. Raises OptionsError: the file
    can't be read, has another form, names no partition, or names a partition twice.
    """
    try:
        with Path(path).expanduser().open("rb") as file:
            rows = json_as(file.read(LIMIT + 1), _File, LIMIT).partitions
    except OSError as error:
        raise OptionsError(f"{path[:200]} can't be read: {error.strerror or error}") from None
    except ValueError as error:
        raise OptionsError(f"{path[:200]} is no file of partitions: {error}") from None
    if not rows:
        raise OptionsError(f"{path[:200]} names no partition")
    places = set()
    for row in rows:
        if (row.topic, row.partition) in places:
            raise OptionsError(f"{path[:200]}: {row.topic[:80]}/{row.partition} stands there twice")
        places.add((row.topic, row.partition))
    return sorted(rows, key=lambda row: (row.topic, row.partition))


def elections(given: argparse.Namespace) -> Statements | Carry:
    """Return the statements for the elections that the options request; if they depend on the state of the cluster, the
    function that reads it. Raises OptionsError.
    """
    kind = given.election_type.lower()
    if kind not in ("preferred", UNCLEAN):
        raise OptionsError("--election-type is preferred or unclean")
    if sum((bool(given.topic), given.all_topic_partitions, given.path_to_json_file is not None)) != 1:
        raise OptionsError("--election-type needs one of --topic, --all-topic-partitions, --path-to-json-file")
    if given.topic:
        if given.partition is None or len(given.topic) > 1:
            raise OptionsError("--election-type needs one --topic with a --partition, or --path-to-json-file")
        return (_election(kind, given.topic[0], given.partition),)
    if given.path_to_json_file is not None:
        return tuple(_election(kind, row.topic, row.partition) for row in _rows(given.path_to_json_file))
    return _elect_leaderless if kind == UNCLEAN else ("elect preferred all",)


def _election(kind: str, topic: str, partition: int) -> str:
    return f"elect {kind} topic {quote(topic)} partition {partition}"


async def _elect_leaderless(client: Client, context: Context) -> Change | Found:
    """Return an unclean election for each partition without a leader; if all have one, a result that reports this."""
    from console.answers.results import Table
    from console.session.snapshot_reader import SnapshotReader

    reader = SnapshotReader(client, context)
    await reader.read_topics()
    topics, unread = reader.snapshot.topics.values(), reader.snapshot.failures
    places = sorted((topic.name, each.number) for topic in topics for each in topic.partitions if each.leader < 0)
    if places:
        return Change(tuple(_election(UNCLEAN, *place) for place in places))
    none = "every partition has a leader: no unclean election is needed"
    problems = tuple(each for each in unread if each.part == Part.TOPICS)
    return Found([Table("elections", (), (), empty=none, problems=problems)])


def deletions(path: str) -> Statements:
    """Return the statements that delete the records before the offsets in a file. Raises OptionsError."""
    texts = []
    for row in _rows(path):
        if row.offset is None:
            raise OptionsError(f"{path[:200]}: {row.topic[:80]}/{row.partition} has no offset")
        before = "latest" if row.offset == _END else str(row.offset)
        texts.append(f"delete records topic {quote(row.topic)} partition {row.partition} before {before}")
    return tuple(texts)
