"""The manifest next to an exported file of records: a description that is completed even if the disk is full."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from console.cli.record_output import Output, WriteError, reason_of
from console.language.unparse import unparse
from console.model.numbers import Data, json_text, plural
from console.model.records import Portion, Progress, Record, Search, Undecodable
from console.present.text import clean
from console.safe_files import PRIVATE, create_whole, open_private
from console.terminal import write_all

if TYPE_CHECKING:
    from console.language.verbs.records import Records

SAID = 5
"""Maximum number of partitions whose last offsets the final message names."""
SPARE = 4 << 10
"""Number of bytes that the manifest reserves beyond its present size, so that it can be completed on a full disk."""


class Manifest(Struct, frozen=True):
    """The description of an exported file of records."""

    statement: str
    cluster_id: str
    context: str
    topics: tuple[str, ...]
    output: str
    began: str
    hidden: bool
    """Whether the contents of keys, values and headers are hidden."""
    masks: tuple[str, ...]
    """The paths of the fields that are masked."""
    ended: str = ""
    finished: bool = False
    why: str = ""
    """The reason why the file is incomplete; empty if it is complete."""
    records: int = 0
    bytes: int = 0
    looked_at: int = 0
    undecodable: int = 0
    ranges: tuple[Mapping[str, Data], ...] = ()
    """For each partition, the searched range of offsets, and the offset of the last record that was written."""


def ranges_of(progress: Progress, last: Mapping[tuple[str, int], int]) -> tuple[Mapping[str, Data], ...]:
    """Return the ranges of a manifest from the progress of the search. last: topic and partition -> the offset of the
    last written record.
    """
    return tuple(
        {
            "topic": each.topic,
            "partition": each.partition,
            "first": each.first,
            "next": each.next,
            "log_start": each.start,
            "log_end": each.end,
            "last_written": last.get((each.topic, each.partition)),
        }
        for each in progress.scanned
    )


class ManifestFile:
    """A manifest next to an exported file. It is written at the start, with spare bytes, and overwritten in place at
    the end, so that the last write needs no further space on the disk.
    """

    def __init__(self, exported: Path, manifest: Manifest) -> None:
        """Create the file. Raises WriteError: the file exists, or can't be created."""
        self.path = exported.with_name(f"{exported.name}.manifest.json")
        self._room = 0
        try:
            create_whole(self.path, self._padded(manifest, SPARE), PRIVATE)
        except OSError as error:
            raise WriteError(f"{self.path} can't be created: {reason_of(error)}") from error

    def _padded(self, manifest: Manifest, spare: int) -> bytes:
        text = f"{json_text(asdict(manifest), indent=2)}\n".encode()
        self._room = max(self._room, len(text) + spare)
        return text.ljust(self._room)

    def reserve(self, manifest: Manifest) -> None:
        """Write the manifest again, with enough spare bytes for the ranges of its partitions. Raises WriteError."""
        self._write(self._padded(manifest, SPARE))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest for the last time. Raises WriteError."""
        self._write(self._padded(manifest, 0).rstrip() + b"\n", cut=True)

    def _write(self, data: bytes, *, cut: bool = False) -> None:
        try:
            descriptor = open_private(self.path, os.O_WRONLY, in_own_folder=False)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                write_all(file, data)
                if cut:
                    file.truncate(len(data))
                os.fsync(file.fileno())
        except OSError as error:
            raise WriteError(f"{self.path} can't be written: {reason_of(error)}") from error


class About(NamedTuple):
    """The contents of a manifest that do not depend on the search."""

    context: str
    cluster_id: str
    """The id of the cluster; ``""`` if it was not read."""
    hidden: bool
    """Whether keys, values and headers are hidden."""
    masks: tuple[str, ...]
    """The paths of masked fields."""


class Export:
    """The output of a search of records, and the manifest if the output is a file.

    Attributes:
        progress: the progress of the search after its last portion.
    """

    def __init__(self, about: About, statement: Records, search: Search, output: Output, form: str) -> None:
        """Create the manifest if the output is a file.

        Args:
            about: the contents that do not depend on the search.
            form: the form of the output, such as ``jsonl``.

        Raises:
            WriteError: the manifest exists, or can't be created.
        """
        self.output = output
        self.progress = Progress()
        self._undecodable = 0
        self._is_reserved = False
        self._manifest = Manifest(
            statement=unparse(statement),
            cluster_id=about.cluster_id,
            context=about.context,
            topics=search.topics,
            output=form,
            began=_now(),
            hidden=about.hidden,
            masks=about.masks,
        )
        try:
            self._file = ManifestFile(output.path, self._manifest) if output.path is not None else None
        except WriteError:
            output.discard()
            raise

    async def write(self, items: Sequence[Record | Undecodable], parts: Sequence[bytes], portion: Portion) -> None:
        """Write the records of a portion. parts: the bytes of each item. Raises WriteError; BrokenPipeError: the reader
        of standard output is gone.
        """
        self.progress = portion.progress
        self._undecodable += len(portion.undecodable)
        if self._file is not None and not self._is_reserved and portion.progress.scanned:
            self._file.reserve(self._filled("the export did not end"))
            self._is_reserved = True
        await self.output.write(items, parts)

    def finish(self, why: str) -> None:
        """Close the file and complete the manifest.

        Args:
            why: the reason why the result is incomplete; ``""`` if it is complete.

        Raises:
            WriteError: the file or its manifest can't be written.
        """
        try:
            self.output.close()
        finally:
            if self._file is not None:
                self._file.finish(self._filled(why))

    def stands(self) -> str:
        """Return a line with the number of written records and their last offsets, from which an operator can
        continue.
        """
        last = [f"{clean(topic, 120)}-{partition} {offset}" for (topic, partition), offset in self.output.last.items()]
        more = f" and {plural(len(last) - SAID, 'more partition')}" if len(last) > SAID else ""
        written = f"{plural(self.output.count, 'record')} stand in {self.output.name}"
        return f"{written}; the last of each partition: {', '.join(last[:SAID])}{more}"

    def _filled(self, why: str) -> Manifest:
        return replace(
            self._manifest,
            ended=_now(),
            finished=not why,
            why=why,
            records=self.output.count,
            bytes=self.output.bytes,
            looked_at=self.progress.looked_at,
            undecodable=self._undecodable,
            ranges=ranges_of(self.progress, self.output.last),
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
