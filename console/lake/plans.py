"""The sources of a lake: which data of each is new, how it is divided into parts for tasks, and how a part is read.
Needs no Spark, so that kac knows whether there is new data before it starts Java.
"""

from __future__ import annotations

import os
import re
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from glob import glob
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from console.lake import landing
from console.lake.files import Filesystem
from console.lake.inputs import Inputs, LogOfBroker, UnreadableInput, folders_of, owned
from console.lake.journals import journal_stats, journals_at, read_journal
from console.lake.kraft import NoMetadataLogError, Split, Trouble, plan_log, read_splits
from console.lake.redact import Damaged
from console.lake.requests import log_files
from console.lake.requests.counted import damaged_row
from console.lake.requests.lines import CUTTERS, OF_CUT_LINES, Form, clocks
from console.lake.requests.log_files import plan
from console.lake.requests.loggers import AUTHORIZER, LOGGERS, REQUESTS, Logger
from console.lake.schema import KRAFT_RECORD, LOST, arrow_schema
from console.lake.transforms.change_event import tagged
from console.model.built_types import built

Offset = dict[str, Any]
"""The position up to which a source was read, as a JSON object whose content depends on the source."""
MAX_BAD_RATIO = 0.01
"""Default maximum share of the lines or rows of a part that may be unreadable, 0 to 1."""
LEAST_LINE = 100
"""Assumed minimum size in bytes of a line of a request log, or of a change in a journal, to estimate their number. If
lines are shorter, the estimate is too low and the batch only takes longer.
"""
LEAST_PACKED_ROW = 2
"""Assumed minimum compressed size in bytes of a row in a landed file; most rows take 5 to 20."""


class Settings(msgspec.Struct, frozen=True):
    """Settings that all sources of a lake share. `lake` is the lake's path or URI; `max_bad_ratio` is the share, from 0
    to 1, of the lines of a part that may be unreadable.
    """

    lake: str
    inputs: Inputs
    key_file: str
    """The file with the key for the HMAC of secrets."""
    max_bad_ratio: float = MAX_BAD_RATIO
    begin: dict[str, Offset] = {}
    """Source -> the offset at which it starts without a checkpoint."""
    store_file: str = ""
    """The path of the file with the access to the lake's bucket (`Filesystem.lent`); empty for a lake in a folder."""


class TooMuchIsBad(UnreadableInput):
    """A higher share of a part is unreadable than `Settings.max_bad_ratio` allows."""


class Source(ABC):
    """A source of the lake. The driver computes its offsets and parts; tasks read the parts.

    An offset is a JSON object in Spark's checkpoint; only the source itself interprets its content.

    Attributes:
        name: the name of its format in Spark, and of its stream.
        table: the name of the bronze table of the source.
        given: the field of `Inputs` that names the source's data; empty if every lake has the source.
        beginning: the offset before all of its data.
    """

    name: ClassVar[str]
    table: ClassVar[str]
    given: ClassVar[str] = ""
    beginning: ClassVar[Offset] = {}

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def initial(self) -> Offset:
        """Return the offset at which the source starts without a checkpoint."""
        return self._settings.begin.get(self.name, self.beginning)

    @abstractmethod
    def newest(self, start: Offset) -> Offset:
        """Return the offset at the end of the present data.

        Returns:
            `start` itself, or an equal offset, if there is no new data: then Spark makes no batch.

        Raises:
            UnreadableInput: an input is invalid.
            OSError: an input can't be read.
        """

    @abstractmethod
    def parts(self, start: Offset, end: Offset) -> Sequence[Any]:
        """Return the parts between two offsets, for tasks.

        Returns:
            Picklable parts, one for each task. The same offsets always give the same parts, since Spark repeats a
            failed batch.

        Raises:
            UnreadableInput: an input is invalid.
            OSError: an input can't be read.
        """

    @abstractmethod
    def read(self, part: Any) -> Iterator[pa.RecordBatch]:
        """Read a part, in a task.

        Yields:
            Batches with the columns of the source's bronze table; unreadable data as rows with `quarantined`.

        Raises:
            TooMuchIsBad: more of the part is unreadable than `Settings.max_bad_ratio` allows.
            OSError: the input can't be read.
        """

    @abstractmethod
    def most_rows(self, start: Offset, end: Offset) -> int | None:
        """Return an upper estimate of the rows between two offsets, without a read; None if it is unknown."""

    def committed(self, offset: Offset) -> None:  # noqa: B027 - most sources keep nothing
        """Release the data before this offset, which is in the lake now: a source that owns its files deletes them."""

    @property
    def _lent(self) -> bytes:
        """The content of the file that `Filesystem.lent` yielded (`Settings.store_file`), for the tasks. It is read
        again at each use, because the keys in it expire. Empty for a lake in a folder.
        """
        return Path(self._settings.store_file).read_bytes() if self._settings.store_file else b""

    def _judge(self, what: str, bad: int, total: int, where: str, why: str = "") -> None:
        """Raise TooMuchIsBad if more than the share `max_bad_ratio` of the lines or rows is unreadable; do nothing if
        there are fewer than `FEW` (100) in total.

        Args:
            what: the name of the lines or rows in the message.
            where: the place for the message.
            why: the reason, as sentences; empty for no reason.
        """
        if bad > self._settings.max_bad_ratio * total and total >= log_files.FEW:
            raise TooMuchIsBad(
                f"{bad} of {total} {what} of {where} can't be read: {bad / total:.1%}, and "
                f"{self._settings.max_bad_ratio:.1%} may be. Nothing was taken in. {why}Look whether the files and "
                "their options are right; if they are, and the damage is known, run it again with a higher "
                "--max-bad-ratio."
            )


class RecordSource(Source):
    """A source of metadata log records. Secrets in the records are replaced by HMACs with the lake's key."""

    table = KRAFT_RECORD.name

    @cached_property
    def _key(self) -> bytes:
        return Path(self._settings.key_file).read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the key, for the tasks: the key's file exists only in the driver."""
        return {**self.__dict__, "_key": self._key}

    def _damaged(self, troubles: Sequence[Trouble]) -> Iterator[pa.RecordBatch]:
        """Yield the unreadable data as rows."""
        if troubles:
            rows = [
                {"cluster_id": each.cluster_id, "quarantined": {"source": self.name, **each._asdict()}}
                for each in troubles
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=arrow_schema(KRAFT_RECORD))


# -- metadata logs -----------------------------------------------------------------------------------------------------


class MetadataLogs(RecordSource):
    """The metadata logs in `Settings.inputs`. Its offset has, for each cluster, the next offset in the log, the folders
    of the log, and the damage found after that offset.
    """

    name, given = "kraft_log", "metadata_logs"

    def newest(self, start: Offset) -> Offset:
        """Return the end offsets after the last completed transaction of each log. Raises UnreadableInput: a folder has
        no metadata log, or the log of a cluster whose id `inputs` does not name is in another folder than before.
        """
        now = dict(start)
        logs = self._settings.inputs.metadata_logs
        named = {log.cluster_id for log in logs}
        try:
            for cluster_id, folders in folders_of(logs).items():
                known = start.get(cluster_id, {})
                former = known.get("folders", folders)
                if cluster_id not in named and not set(former) & set(folders):
                    raise UnreadableInput(_other_folder(cluster_id, folders, former))
                plan = plan_log(folders, cluster_id=cluster_id, start_offset=known.get("next", 0))
                bad = _damage(folders, cluster_id, plan.next_offset) if plan.troubles else ()
                now[cluster_id] = {"next": plan.next_offset, "folders": folders, "bad": [_place(each) for each in bad]}
        except NoMetadataLogError as wrong:
            raise UnreadableInput(str(wrong)) from wrong
        return now

    def parts(self, start: Offset, end: Offset) -> Sequence[tuple[Split, None] | tuple[None, tuple[Trouble, ...]]]:
        """Return a part for each split of the logs, and a part for the damage of each log."""
        found: list[Any] = []
        for cluster_id, upto in end.items():
            known = start.get(cluster_id, {})
            if known == upto:
                continue
            since = known.get("next", 0)
            plan = plan_log(upto["folders"], cluster_id=cluster_id, start_offset=since, end_offset=upto["next"])
            behind = _damage(upto["folders"], cluster_id, upto["next"]) if upto["bad"] else ()
            known_bad = known.get("bad", [])
            troubles = (
                *(each for each in plan.troubles if _place(each) not in known_bad),
                *(each for each in behind if _place(each) in upto["bad"] and _place(each) not in known_bad),
            )
            batches = sum(split.last - split.first + 1 for split in plan.splits)
            self._judge("batches", len(troubles), batches + len(troubles), f"the metadata log of {cluster_id}")
            found += [(split, None) for split in plan.splits]
            if troubles:
                found.append((None, troubles))
        return found

    def most_rows(self, start: Offset, end: Offset) -> int:
        """Return an upper estimate of the rows: the number of the logs' offsets between the two. A snapshot has no more
        records than the part of the log that it replaces.
        """
        return sum(int(upto["next"]) - start.get(cluster_id, {}).get("next", 0) for cluster_id, upto in end.items())

    def read(self, part: tuple[Split | None, tuple[Trouble, ...] | None]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part: the records of its split, each with its entity; or one row for each damaged
        place.
        """
        split, known = part
        troubles = list(known or ())
        if split is not None:
            yield from map(tagged, read_splits([split], self._key, troubles.append))
        yield from self._damaged(troubles)


def _damage(folders: Sequence[str], cluster_id: str, start: int) -> tuple[Trouble, ...]:
    """Return the damaged places in the log of a cluster from the offset `start` on."""
    return plan_log(folders, cluster_id=cluster_id, start_offset=start).troubles


def _place(trouble: Trouble) -> list[str | int]:
    return [trouble.file, trouble.byte_pos]


def _other_folder(cluster_id: str, folders: Iterable[str], former: Iterable[str]) -> str:
    return (
        f"{' and '.join(folders)} says that it is of the cluster {cluster_id}, whose metadata log was read from "
        f"{' and '.join(former)} before. If it is the same cluster, name it: id: {cluster_id} in sources.yaml. If not, "
        "it was formatted with the other's id: leave it out."
    )


# -- the logs of brokers -----------------------------------------------------------------------------------------------


class BrokerLogs(Source):
    """The log files in `Settings.inputs` that one logger of brokers wrote. Its offset has the progress of each file,
    and the parts of the batch that ends at the offset. A file is identified by its content, not by its name.
    """

    logger: ClassVar[Logger]
    beginning: ClassVar[Offset] = {"read": {}, "parts": []}

    def _logs(self) -> list[Any]:
        inputs = self._settings.inputs
        return owned(getattr(inputs, self.given), self.logger.noun, inputs.metadata_logs)

    def zones(self) -> dict[tuple[str, int], str]:
        """Return the configured time zone of each log, by cluster and broker. Raises UnreadableInput."""
        return {(log.cluster_id, log.broker_id): log.time_zone for log in self._logs()}

    def newest(self, start: Offset) -> Offset:
        """Return the offset after the last whole line of each file, with the parts that lead to it."""
        planned = plan_broker_logs(start["read"], self._logs(), self.logger)
        if self._settings.max_bad_ratio < 1:
            self._refuse_forms(each for each in planned.logs if not start["read"].get(_whose(each)))
        parts = log_files.parts_of(planned.logs)
        if not parts:
            return start
        return {"read": {**start["read"], **planned.remember}, "parts": msgspec.to_builtins(parts)}

    @staticmethod
    def _refuse_forms(logs: Iterable[log_files.BrokerLog]) -> None:
        """Raise UnreadableInput if logs that are read for the first time have no readable line."""
        unread = [(each, form) for each in logs if (form := log_files.unread_form(each)) is not None]
        if unread:
            raise UnreadableInput("\n  ".join(_in_form(log, ", ".join(log.patterns), form) for log, form in unread))

    def parts(self, start: Offset, end: Offset) -> Sequence[log_files.Part]:
        """Return the parts that `end` contains, in the time zones that are configured now."""
        zones = self.zones()
        parts = [] if start == end else msgspec.convert(end["parts"], built(list[log_files.Part]))
        return [log_files.with_zone(part, zones.get((part.cluster_id, part.broker_id), part.zone)) for part in parts]

    def most_rows(self, start: Offset, end: Offset) -> int:
        """Return an upper estimate of the rows: the new bytes divided by `LEAST_LINE` (100 bytes), the shortest
        line.
        """
        return sum(part.end - part.start for part in self.parts(start, end)) // LEAST_LINE

    def read(self, part: log_files.Part) -> Iterator[pa.RecordBatch]:
        """Yield the part's rows, with its damaged lines. If the file of the part is gone, yield one row that reports
        the loss: the file will not come back.

        Raises:
            LogChangedError: the file changed after some of its rows were yielded.
            TooMuchIsBad: a higher share of the lines is unreadable than the settings allow.
        """
        lines = damaged = 0
        reasons: Counter[str] = Counter()
        places: dict[str, int] = {}
        read_any = False
        try:
            for batch in log_files.read_part(part):
                read_any = True
                lines += pc.sum(batch.column("lines")).as_py() or 0
                damaged += pc.sum(batch.column("damaged")).as_py() or 0
                for each in batch.column("quarantined").drop_null().to_pylist():
                    reasons[each["reason"]] += 1
                    places.setdefault(each["reason"], each["byte_pos"])
                yield batch
        except log_files.LogChangedError as gone:
            if read_any:
                raise
            yield _lost(part, str(gone))
        if damaged == lines >= log_files.FEW and self._settings.max_bad_ratio < 1:
            raise TooMuchIsBad(_in_form(part, part.path, log_files.form_of_part(part)))
        self._judge("lines", damaged, lines, part.path, _most_frequent(reasons, places, part.path))


class RequestLogs(BrokerLogs):
    """The request logs of `inputs`."""

    name, table, given, logger = REQUESTS.name, REQUESTS.table.name, "request_logs", REQUESTS


class AuthorizerLogs(BrokerLogs):
    """The authorizer logs of `inputs`."""

    name, table, given, logger = AUTHORIZER.name, AUTHORIZER.table.name, "authorizer_logs", AUTHORIZER


REMEMBERED_DAYS = 30
"""Days for which the progress of a deleted file is remembered. The lines of a file that appears again later are counted
twice.
"""
OVERLAP = timedelta(minutes=1)
"""Maximum time span in which lines of two files of one broker may overlap: around a rotation it is less than a second.
"""
_BROKERS_ADDRESS = re.compile(rb'"connection\\{0,9}":\\{0,9}"([^"\\]{1,200}?:\d+)-')


class PlannedLogs(NamedTuple):
    """The ranges of logs to read, and the progress to remember once they are read."""

    logs: tuple[log_files.BrokerLog, ...]
    remember: Mapping[str, Any]


def plan_broker_logs(inputs: Mapping[str, Any], logs: Sequence[LogOfBroker], logger: Logger = REQUESTS) -> PlannedLogs:
    """Return the ranges of the brokers' log files that no run has read, and the progress to remember afterwards.

    Args:
        inputs: `cluster/broker` -> the remembered progress of the broker's files.
        logger: the logger that wrote the logs.

    Raises:
        UnreadableInput: no file matches, a file is truncated, a file is given for two brokers, the files that are given
            for one broker are from two, or a time zone is unknown.
        LogChangedError: a file was deleted just now.
        OSError: a file can't be read.
    """
    brokers: list[log_files.BrokerLog] = []
    remember: dict[str, Any] = {}
    owners: dict[str, str] = {}
    for log in logs:
        owner = f"{log.cluster_id}/{log.broker_id}"
        known = {**inputs.get(owner, {}), **remember.get(owner, {})}
        found = _plan(log, known, owner, logger.noun)
        if problem := log_files.zone_problem(log.time_zone):
            raise UnreadableInput(f"The {logger.noun} of broker {log.broker_id}: {problem}.")
        for place, path in found.places.items():
            if owners.setdefault(place, owner) != owner:
                raise UnreadableInput(
                    f"{path} is given as the {logger.noun} of {owners[place]} and of {owner} (cluster/broker): its "
                    "lines would count twice. Name files of each broker that no other one has."
                )
        remember[owner] = _still_known(found, remember.get(owner, {}))
        if found.spans:
            of = (log.cluster_id, log.broker_id)
            brokers.append(log_files.BrokerLog(*of, found.spans, log.time_zone, log.paths, logger.name))
    if logger is REQUESTS:
        # Do not check authorizer logs: clients choose the names in them, and could forge a broker's address.
        _refuse_two_brokers(brokers)
    return PlannedLogs(tuple(brokers), remember)


def _plan(log: LogOfBroker, known: log_files.Progress, owner: str, noun: str) -> log_files.Plan:
    try:
        return plan(_found(log, noun), known, owner=owner)
    except EOFError as wrong:
        raise UnreadableInput(f"A packed {noun} is cut: {wrong}. Wait until it is whole.") from wrong
    except log_files.CutInPlaceError as wrong:
        raise UnreadableInput(f"{wrong}.") from wrong
    except FileNotFoundError as gone:
        raise log_files.LogChangedError.of(str(gone.filename or gone), "is not there any more") from gone


def _still_known(found: log_files.Plan, before: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the progress of a broker's files, found and remembered, without files that have been gone for more than
    `REMEMBERED_DAYS` (30) days. `seen` of each entry is the last day on which the file existed, in days since 1970.

    Args:
        before: the remembered progress of the broker's files.
    """
    today = int(time.time()) // 86_400
    dated = {
        identity: {
            **each,
            "seen": today if identity in found.there else before.get(identity, {}).get("seen", each.get("seen", today)),
        }
        for identity, each in found.progress.items()
    }
    return {identity: each for identity, each in dated.items() if today - each["seen"] <= REMEMBERED_DAYS}


def _refuse_two_brokers(brokers: Iterable[log_files.BrokerLog]) -> None:
    """Raise UnreadableInput if the files that are given for one broker seem to be of two: if the lines of two files
    overlap for longer than `OVERLAP`, and the files have no server address in common.
    """
    files: dict[tuple[str, int], list[tuple[log_files.Span, datetime, datetime, set[bytes]]]] = defaultdict(list)
    for broker in brokers:
        for span in broker.spans:
            message = LOGGERS[broker.logger].message
            samples = (clocks(0, sample, message) for sample in (span.head, span.tail))
            times = [at.replace(tzinfo=None) for sample in samples for _, at in sample]
            addresses = {*_BROKERS_ADDRESS.findall(span.head), *_BROKERS_ADDRESS.findall(span.tail)}
            if times and addresses:
                files[broker.cluster_id, broker.broker_id].append((span, min(times), max(times), addresses))
    for (cluster_id, broker_id), found in files.items():
        for (one, first, last, addresses), (other, its_first, its_last, its_addresses) in combinations(found, 2):
            if not addresses & its_addresses and min(last, its_last) - max(first, its_first) > OVERLAP:
                of_two = b" and ".join((min(addresses), min(its_addresses))).decode("utf-8", "replace")
                raise UnreadableInput(
                    f"{one.path} and {other.path} are both given as the request log of broker {broker_id} of "
                    f"{cluster_id}, but have lines of the same time from two brokers ({of_two}). Name each broker's "
                    "own files."
                )


def _found(log: LogOfBroker, noun: str) -> list[str]:
    """Return the paths of a log's files: all local files that match one of its patterns, without broken links. A URI is
    returned as it is. Raises UnreadableInput: no file matches. noun: the name of this kind of log in the message.
    """
    found = [
        path
        for pattern in log.paths
        for path in ([pattern] if "://" in pattern else filter(os.path.exists, glob(pattern)))  # noqa: PTH207 - Path.glob takes no absolute pattern
    ]
    if not found:
        raise UnreadableInput(f"No {noun} of broker {log.broker_id} is at {', '.join(log.paths)}.")
    return sorted(set(found))


def _whose(log: log_files.BrokerLog | log_files.Part) -> str:
    return f"{log.cluster_id}/{log.broker_id}"


def _in_form(log: log_files.BrokerLog | log_files.Part, where: str, form: Form) -> str:
    return (
        f"The {LOGGERS[log.logger].noun} of {_whose(log)} (cluster/broker) at {where} is in the form of {form.what}: "
        f"no line of it can be read, and nothing was taken in. {form.remedy}"
    )


def _most_frequent(reasons: Counter[str], places: Mapping[str, int], path: str) -> str:
    """Return sentences for a message: the most frequent reason for unreadable lines, the place of the first such line
    in the file, and the usual causes. ``""`` if there are no reasons.

    Args:
        reasons: reason -> number of lines.
        places: reason -> the byte position of the first such line.
        path: the path of the file.
    """
    if not reasons:
        return ""
    reason, lines = reasons.most_common(1)[0]
    place = f"{path} at byte {places[reason]:,}{' of the unpacked text' if path.endswith('.gz') else ''}"
    causes = f"Something may cut long lines: {CUTTERS}. " if reason in OF_CUT_LINES else ""
    return (
        f"The most frequent reason: {reason} ({lines:,} of them, the first in {place}). {causes}To go "
        "on without the file, take it out of sources.yaml and move it to another folder: its bytes then count as lost. "
    )


def _lost(part: log_files.Part, why: str) -> pa.RecordBatch:
    lost = Damaged(part.start, f"{part.end - part.start:,} bytes {LOST}: {why}", "", "")
    row = damaged_row(log_files.whose_is(part), lost, lines=0)
    return pa.RecordBatch.from_pylist([row], schema=arrow_schema(LOGGERS[part.logger].table))


# -- polls and journals ------------------------------------------------------------------------------------------------


class Polls(Source):
    """The files of polls that hosts have delivered. Its offset names the files of the batch that ends there; they are
    deleted once the lake has their rows.
    """

    name, table = "polls", "snapshot"
    beginning: ClassVar[Offset] = {"files": []}

    @property
    def _folder(self) -> str:
        return f"{self._settings.lake}/{landing.POLLS}"

    def newest(self, start: Offset) -> Offset:
        """Return an offset that names the present files."""
        names = [Path(path).name for path in landing.delivered(borrowed(self._lent), self._folder)]
        new = [name for name in names if name not in start["files"]]
        return {"files": new} if new else start

    def parts(self, start: Offset, end: Offset) -> Sequence[tuple[str, bytes]]:
        """Return a part for each file: its path, and the access to the bucket (empty for a local file)."""
        return [] if start == end else [(name, self._lent) for name in end["files"]]

    def most_rows(self, start: Offset, end: Offset) -> int | None:
        """Return an upper estimate of the rows, from the size of the files divided by `LEAST_PACKED_ROW` (2 bytes);
        None if a file is in a bucket or can't be read.
        """
        paths = [Path(self._folder, Path(name).name) for name, lent in self.parts(start, end) if not lent]
        if len(paths) < len(end["files"]):
            return None
        with suppress(OSError):
            return sum(path.stat().st_size for path in paths) // LEAST_PACKED_ROW
        return None

    def read(self, part: tuple[str, bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the polls of a file."""
        name, lent = part
        return landing.read_polls(f"{self._folder}/{Path(name).name}", borrowed(lent) if lent else None)

    def committed(self, offset: Offset) -> None:
        """Delete the files of the batch."""
        files = borrowed(self._lent)
        for path in landing.delivered(files, self._folder):
            if Path(path).name in offset["files"]:
                landing.delete(files, path)


class Journals(Source):
    """kac's journals: those in `Settings.inputs`, and those that hosts have delivered. Its offset has the size and
    modification time of each journal at its last read. A change may end long after it began, so a journal that
    changed is read as a whole.
    """

    name, table = "journals", "journal"
    beginning: ClassVar[Offset] = {"at": 0, "seen": {}}

    @property
    def _folder(self) -> str:
        return f"{self._settings.lake}/{landing.JOURNAL}"

    def newest(self, start: Offset) -> Offset:
        """Return the present state of the journals."""
        named = journals_at(Path(each.path) for each in self._settings.inputs.journals)
        now = {str(path): journal_stats(path) for path in named} | landing.journal_tags(
            borrowed(self._lent), self._folder
        )
        if all(start["seen"].get(path) == stats for path, stats in now.items()):
            return start
        return {"at": time.time_ns() // 1000, "seen": {**start["seen"], **now}}

    def parts(self, start: Offset, end: Offset) -> Sequence[tuple[str, int, bytes]]:
        """Return a part for each journal that changed: its path, the time of the check in microseconds since 1970, and
        the access to the bucket (empty for a local file).
        """
        changed = [path for path, stats in end["seen"].items() if start["seen"].get(path) != stats]
        return [(path, end["at"], self._lent) for path in changed]

    def most_rows(self, start: Offset, end: Offset) -> int:
        """Return an upper estimate of the rows: the size of the journals divided by `LEAST_LINE` (100 bytes), the
        shortest change.
        """
        changed = (end["seen"][path] for path, _, _ in self.parts(start, end))
        return sum(int(size) for segments in changed for size, _ in segments) // LEAST_LINE

    def read(self, part: tuple[str, int, bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the changes in a journal, and its unreadable lines."""
        path, at, lent = part
        with landing.brought(borrowed(lent), path) as journal:
            rows = read_journal(journal, at, path)
        bad = rows["quarantined"]
        self._judge("lines", len(bad) - bad.null_count, rows.num_rows, path)
        yield from rows.to_batches()

    def committed(self, offset: Offset) -> None:
        """Delete the delivered journals that have not changed since the read that ended at this offset."""
        files = borrowed(self._lent)
        for path, stats in landing.journal_tags(files, self._folder).items():
            if offset["seen"].get(path) == stats:
                landing.delete(files, path)


SOURCES: dict[str, type[Source]] = {
    each.name: each for each in (MetadataLogs, RequestLogs, AuthorizerLogs, Polls, Journals)
}
"""Name of a source's format and stream -> the class of the source."""


def borrowed(lent: bytes) -> Filesystem:
    """Return the filesystem to which another process gave access. lent: the content of the file that `Filesystem.lent`
    yielded.
    """
    if not lent:
        return Filesystem()
    from console.lake.s3 import S3Files

    return S3Files.borrowed(lent)


def sources_of(inputs: Inputs) -> list[str]:
    """Return the names of the sources that the inputs name, and of those that every lake has."""
    return [name for name, of in SOURCES.items() if not of.given or getattr(inputs, of.given)]
