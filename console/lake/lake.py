"""A lake: a folder, or a prefix in a bucket.

```
lake.json                       format, id, time of creation
data/<table>/                   Delta tables, written by Spark
checkpoints/<stream>/           Spark's progress of each stream; <stream>.topic: the identity of its topic
landing/polls, landing/journal  deliveries of hosts, until the application has processed them
collect/<cluster>.json.gz       the state of a cluster at its last poll
runs/<run>.json                 reports of the last runs, also of failed ones
lock, hmac.key                  the holder of the lock; the key of HMACs
sources.yaml, policies.yaml, baseline.yaml    files of the operator
```
"""

from __future__ import annotations

import os
import secrets
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from console.lake import delta_log
from console.lake.delta_log import TableFiles
from console.lake.files import NO_FILE, Filesystem, LakeError, Lock, is_run_id, iso_now, this_process
from console.lake.schema import Table
from console.model.foreign_json import json_of
from console.model.numbers import json_text, plural
from console.safe_files import why_unread

FORMAT = 1
KEY_FILE = "KAC_LAKE_KEY_FILE"
"""The environment variable for a file with the key of HMACs, to keep it outside of the lake."""
KEPT_RUNS = 50
_BEFORE_A_LAKE = frozenset({"hmac.key", "sources.yaml", "policies.yaml", "baseline.yaml", "landing"})
"""Names of files that a folder may contain when a lake is created in it: the operator's own files, and those of a
creation that was killed.
"""


class NoLake(LakeError):
    """There is no lake at the location."""


@dataclass
class Report:
    """The report of a run of the application, as the lake stores it."""

    run_id: str
    job: str
    started: datetime
    ended: datetime | None = None
    """The time at which the run ended; while it runs, the time at which the report was last saved; None before that."""
    status: str = "running"
    """``done``, ``failed`` or ``running``."""
    rows: dict[str, int] = field(default_factory=dict)
    """Table -> the number of written rows."""
    taken: dict[str, dict[str, int]] = field(default_factory=dict)
    """Source -> the numbers of `good` and `bad` lines or rows that were read."""
    lost: dict[str, int] = field(default_factory=dict)
    """Topic and partition -> the number of offsets that were deleted before kac read them."""
    bytes: int = 0
    lag_ms: int | None = None
    """The milliseconds from the newest event that was written to the end of the run; None if no event was written."""
    message: str | None = None
    """The error of the failed run, or of the streams that fail now; None if nothing failed."""
    versions: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Remarks for the operator."""

    def fail(self, message: str) -> None:
        """Set the status to failed and the message to this error."""
        self.status, self.message = "failed", message

    @property
    def seconds(self) -> float | None:
        """The duration of the run in seconds, for a run in progress until the last save of the report; None before
        the first save.
        """
        return None if self.ended is None else (self.ended - self.started).total_seconds()

    @property
    def quarantined(self) -> int:
        """Number of unreadable lines and rows, from all sources."""
        return sum(counts.get("bad", 0) for counts in self.taken.values())

    def data(self) -> dict[str, Any]:
        """Return the report for JSON: times as ISO 8601."""
        return {name: each.isoformat() if isinstance(each, datetime) else each for name, each in vars(self).items()}


class Lake:
    """A lake at a local path or a URI. where: the path or URI in the form that DuckDB and the lake's own
    readers use.
    """

    def __init__(self, where: str, files: Filesystem) -> None:
        self.where = where
        self.files = files

    @staticmethod
    def open(where: str, files: Filesystem | None = None) -> Lake:
        """Open the lake at a location.

        Args:
            where: a path or a URI.
            files: the filesystem of a remote URI; None for files of this machine.

        Raises:
            NoLake: there is no lake.
            DamagedLake: lake.json is not a JSON object.
            LakeError: lake.json can't be read or has another format (a newer kac's), or the filesystem is not
                supported.
        """
        lake = Lake.at_path(where, files)
        if (found := lake.about().get("format")) != FORMAT:
            raise LakeError(
                f"The lake at {lake.where} has the format {found}, and kac knows {FORMAT}: use its own kac."
            )
        return lake

    @staticmethod
    def create(where: str, files: Filesystem | None = None) -> Lake:
        """Open the lake at a location, or create a lake there, with a new key if neither the location nor the
        environment has one.

        Args:
            where: the location, as for `open`; a folder that is not a lake has to be empty except for hidden files and
                the operator's files.
            files: the filesystem of a remote URI; None for files of this machine.

        Raises:
            DamagedLake: lake.json is not a JSON object.
            LakeError: lake.json or the key can't be read, the key is too short, lake.json has another format (a newer
                kac's), the folder has other content, or the filesystem is not supported.
            OSError: the lake can't be written.
        """
        lake = Lake.at_path(where, files)
        with suppress(NoLake):
            return Lake.open(where, files)
        found = {each.name for each in lake.files.entries(lake.where) if not each.name.startswith(".")}
        if other := sorted(found - _BEFORE_A_LAKE):
            raise LakeError(f"{lake.where} is no lake, and not empty ({other[0]} is in it): name another folder.")
        with suppress(FileExistsError):
            if KEY_FILE not in os.environ:
                lake.files.create(lake.path("hmac.key"), secrets.token_bytes(32), private=True)
        lake.key()  # check before the lake exists: a lake with an incomplete key is useless
        about = {"format": FORMAT, "lake_id": str(uuid.uuid4()), "created": iso_now()}
        lake.files.replace(lake.path("lake.json"), json_text(about).encode() + b"\n")
        return lake

    @staticmethod
    def at_path(where: str, files: Filesystem | None = None) -> Lake:
        """Return a lake at a location, whether or not a lake is there. files: the filesystem to use; None for this
        machine's.

        Raises:
            LakeError: the filesystem is not supported.
        """
        parsed = urlsplit(where)
        if files is not None:
            return Lake(where.rstrip("/"), files)
        if parsed.scheme == "file":
            return Lake(unquote(parsed.path).rstrip("/") or "/", Filesystem())
        if "://" in where:
            raise LakeError(f"{where} is on no filesystem that kac reaches (a path, s3://): mount it, or copy it.")
        return Lake(str(Path(where).expanduser().absolute()), Filesystem())

    def path(self, relative: str) -> str:
        """Return the absolute path of a file in the lake. Raises LakeError: `relative` is outside of the lake, or is
        the lake itself.
        """
        if any(part in ("", ".", "..") for part in relative.split("/")):
            raise LakeError(f"{relative!r} is no path within the lake at {self.where}; nothing was read or written.")
        return f"{self.where}/{relative}"

    def about(self) -> dict[str, Any]:
        """Return the content of lake.json.

        Returns:
            format, lake_id, and created as ISO 8601 in UTC.

        Raises:
            NoLake: the file is missing.
            DamagedLake: the file is not a JSON object.
            LakeError: the file can't be read.
        """
        try:
            text = self.files.read(self.path("lake.json"))
        except FileNotFoundError:
            raise NoLake(
                f"There is no lake at {self.where}: lake.json is missing. `kac lake collect` makes one; --lake names "
                "another."
            ) from None
        except OSError as wrong:
            why = wrong.strerror or wrong
            raise LakeError(
                f"The lake at {self.where} can't be read: lake.json: {why}. Put a copy of it back."
            ) from wrong
        with delta_log.reading(self.where, "lake.json"):
            return {**json_of(text)}

    def own_file(self, name: str) -> bytes | None:
        """Return the content of a file that kac or the operator wrote into the lake; None if it does not exist. Raises
        LakeError if it can't be read.
        """
        try:
            return self.files.read(self.path(name))
        except FileNotFoundError:
            return None
        except OSError as wrong:
            raise self._unreadable(name, wrong) from wrong

    def _unreadable(self, name: str, wrong: OSError) -> LakeError:
        return LakeError(
            f"{self.path(name)} can't be read: {why_unread(wrong)}. Look what it is (ls -l): put a plain file "
            "there that kac may read, or take it away."
        )

    # -- tables --------------------------------------------------------------------------------------------------------

    def table(self, table: Table) -> TableFiles:
        """Return the newest version of a table: its files, relative to `folder`. Raises DamagedLake."""
        return delta_log.newest(self.files, self.folder(table))

    def version(self, table: Table) -> int:
        """Return the newest version of a table; -1 if it does not exist."""
        found = delta_log.listed(self.files, self.folder(table)).newest
        return -1 if found is None else found

    def folder(self, table: Table) -> str:
        """Return the absolute path or URI of a table's folder."""
        return self.path(f"data/{table.name}")

    def notes(self, table: Table) -> Iterator[dict[str, Any]]:
        """Yield the application's notes (JSON objects) from the commits of a table, newest first, each with the
        commit's `version`.
        """
        for each in self.commits(table):
            with suppress(ValueError, TypeError, KeyError):
                yield {**json_of(each["userMetadata"], may_repeat=True), "version": each["version"]}

    def commits(self, table: Table) -> Iterator[Mapping[str, Any]]:
        """Yield Delta's own metadata of a table's commits (`commitInfo`), newest first, each with `version`."""
        return delta_log.commits(self.files, self.folder(table))

    # -- the lock, the key, the runs -----------------------------------------------------------------------------------

    @contextmanager
    def alone(self, run_id: str, job: str) -> Iterator[Lock]:
        """Yield the lake's lock, held until the end of the ``with`` block: no other application writes to the lake
        meanwhile.

        Raises:
            LakeBusy: another application holds the lock.
        """
        with self.files.lock(self.path("lock"), this_process(run_id, job)) as lock:
            yield lock

    def key(self) -> bytes:
        """Return the key of HMACs, at least 16 bytes, from the file that KAC_LAKE_KEY_FILE names, else from the lake.

        Raises:
            LakeError: the key can't be read, or has fewer bytes.
        """
        named = os.environ.get(KEY_FILE)
        try:
            key = Path(named).read_bytes() if named else self.files.read(self.path("hmac.key"))
        except OSError as wrong:
            raise LakeError(
                f"The key of the lake at {self.where} can't be read ({named or self.path('hmac.key')}: "
                f"{wrong.strerror or wrong}). Without it hidden values can't be compared with those already there: "
                f"put it back, or name it with {KEY_FILE}."
            ) from wrong
        if len(key) < 16:
            where = named or self.path("hmac.key")
            raise LakeError(
                f"The key in {where} has {plural(len(key), 'byte')}, and needs 16 or more: it was torn, as by a full "
                "disk, or emptied. Put a copy of it back. If there is none, write a new one (head -c 32 /dev/urandom "
                f"> {where}): each hidden value then looks as if it had changed once."
            )
        return key

    def put_run(self, run_id: str, about: Mapping[str, Any]) -> None:
        """Write the report of a run, or replace its earlier report; keep only the newest `KEPT_RUNS` reports."""
        self.files.replace(self.path(f"runs/{run_id}.json"), json_text(about).encode() + b"\n")
        for name in self._run_names()[KEPT_RUNS:]:
            self.files.remove(self.path(f"runs/{name}"))

    def runs(self) -> Iterator[dict[str, Any]]:
        """Yield the reports of the last runs, newest first, without those that are not JSON or were deleted meanwhile.
        Raises LakeError: a report can't be read.
        """
        for name in self._run_names():
            try:
                found = {**json_of(self.files.read(self.path(f"runs/{name}")))}
            except (ValueError, TypeError):
                continue
            except OSError as wrong:
                if wrong.errno in NO_FILE:
                    continue
                raise self._unreadable(f"runs/{name}", wrong) from wrong
            yield found

    def _run_names(self) -> list[str]:
        found = (each.name for each in self.files.entries(self.path("runs")))
        return sorted((name for name in found if is_run_id(name.removesuffix(".json"))), reverse=True)
