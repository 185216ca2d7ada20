"""What of a metadata log is to be read, found by its batches' headers and checksums alone: which bytes of which files,
each record once, without what does not count or is damaged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .decoder import Trouble
from .log_files import LogFile, log_files
from .transactions import Marker, markers, readable, settle
from .walk import Batch, Damage, Window, walk

SPLIT_BYTES = 16 << 20
"""About what is read at once, and by one task."""

SNAPSHOT_FOOTER = 4
_ALL = 1 << 62


@dataclass(frozen=True)
class Split:
    """Whole batches of a file that follow one another.

    first, last: the offsets in them. dropped: ranges of offsets of them that are left out, both ends included.
    """

    file: LogFile
    at: int
    end: int
    first: int
    last: int
    dropped: tuple[tuple[int, int], ...] = ()

    def wants(self, offset: int) -> bool:
        """Whether the record with this offset is read."""
        return not any(first <= offset <= last for first, last in self.dropped)


@dataclass(frozen=True)
class LogPlan:
    """What is read of a log. next_offset: by cluster, where to begin the next time. open_at: by cluster, where a
    transaction begins that has not ended: what follows is read the next time. troubles: damaged batches."""

    splits: tuple[Split, ...]
    next_offset: dict[str, int]
    open_at: dict[str, int]
    troubles: tuple[Trouble, ...]


def plan_log(
    folders: Iterable[str],
    *,
    cluster_id: str | None = None,
    start_offset: int = 0,
    end_offset: int | None = None,
    split_bytes: int = SPLIT_BYTES,
) -> LogPlan:
    """Look through the files of folders `__cluster_metadata-0`, of one cluster or several.

    start_offset: the first that is wanted. end_offset: the first that is not; None: to the end of the whole batches.
    What is committed no file tells (`quorum-state` has the leader and its epoch alone, a snapshot only that what it has
    is): give the high watermark, as DescribeQuorum has it, as `end_offset` where the log is of a controller that may
    yet lose its last records. With one controller, or in a copy that is a minute old, all of it is committed.
    Snapshots are read where they end behind `start_offset`; one that is not whole is left out, as what it lacks would
    seem gone. Raises NoMetadataLogError, OSError.
    """
    files = log_files(folders, cluster_id)
    plans = [
        _Cluster(cluster, start_offset, _ALL if end_offset is None else end_offset, split_bytes).plan(
            [file for file in files if file.cluster_id == cluster]
        )
        for cluster in dict.fromkeys(file.cluster_id for file in files)
    ]
    return LogPlan(
        tuple(split for each in plans for split in each.splits),
        {cluster: offset for each in plans for cluster, offset in each.next_offset.items()},
        {cluster: offset for each in plans for cluster, offset in each.open_at.items()},
        tuple(trouble for each in plans for trouble in each.troubles),
    )


class _Cluster:
    """The plan of one cluster's files, of one folder or of several controllers'."""

    def __init__(self, cluster_id: str, start: int, end: int, split_bytes: int) -> None:
        self._cluster_id = cluster_id
        self._start, self._end = start, end
        self._split_bytes = split_bytes
        self._covered = _Ranges()
        self._splits: list[Split] = []
        self._troubles: list[Trouble] = []
        self._markers: list[Marker] = []
        self._first_seen = _ALL

    def plan(self, files: list[LogFile]) -> LogPlan:
        segments = sorted(file for file in files if not file.is_snapshot)
        for segment in segments:
            if _reaches(segment, segments, self._start):
                self._segment(segment)
        settled = settle(self._markers, self._first_seen)
        end = self._end if settled.open_at is None else min(self._end, settled.open_at)
        dropped = [(-1, self._start - 1), *settled.aborted, (end, _ALL)]
        snapshots: dict[int, list[Split]] = {}
        for file in sorted(file for file in files if file.is_snapshot):
            is_wanted = file.offset <= end and (file.offset > self._start or not self._start)
            if is_wanted and not snapshots.get(file.offset):
                snapshots[file.offset] = self._snapshot(file)
        read_to = max([self._start, *(split.last + 1 for split in self._splits)])
        told_by_snapshots = (offset for offset, splits in snapshots.items() if splits)
        splits = [split for whole in self._splits if (split := _without(whole, dropped))]
        return LogPlan(
            (*(split for whole in snapshots.values() for split in whole), *splits),
            {self._cluster_id: max([self._start, min(read_to, end), *told_by_snapshots])},
            {} if settled.open_at is None else {self._cluster_id: settled.open_at},
            tuple(self._troubles),
        )

    def _segment(self, file: LogFile) -> None:
        try:
            with Path(file.path).open("rb") as opened:
                for part in walk(opened, file.offset):
                    if isinstance(part, Window):
                        fresh = [batch for batch in part.batches if self._covered.add(batch.first, batch.last)]
                        if fresh:
                            self._take(file, Window(part.at, part.data, fresh))
                    elif isinstance(part, Damage):
                        self._trouble(file, part.at, f"batch at offset {part.offset}: {part.reason}", part.data)
                    elif not file.is_last:
                        reason = "the file ends within a batch, and the log goes on in the next file"
                        self._trouble(file, part.at, reason, part.data)
        except FileNotFoundError:
            return  # the broker has deleted it since: a snapshot has what it said

    def _take(self, file: LogFile, window: Window) -> None:
        self._first_seen = min(self._first_seen, window.batches[0].first)
        self._markers += markers(window)
        wanted = [batch for batch in window.batches if batch.last >= self._start and batch.first < self._end]
        self._splits += _splits(file, wanted, self._split_bytes)

    def _snapshot(self, file: LogFile) -> list[Split]:
        """A snapshot that is whole from its header to its footer; nothing of any other."""
        batches: list[Batch] = []
        is_complete = False
        try:
            with Path(file.path).open("rb") as opened:
                for part in walk(opened, 0):
                    if not isinstance(part, Window):
                        is_complete = False
                        reason = part.reason if isinstance(part, Damage) else "the file ends within a batch"
                        told = f"a snapshot that is not whole, and was left out: {reason}"
                        self._trouble(file, part.at, told, part.data)
                        return []
                    batches += part.batches
                    is_complete = _is_footer(part, part.batches[-1])
        except FileNotFoundError:
            return []
        if not is_complete:
            self._trouble(file, 0, "a snapshot that is not whole, and was left out: it has no footer", b"")
            return []
        return _splits(file, batches, self._split_bytes)

    def _trouble(self, file: LogFile, at: int, reason: str, data: bytes) -> None:
        self._troubles.append(Trouble.of(file.cluster_id, file.path, at, reason, data))


class _Ranges:
    """Offsets that are there already, as ranges that do not touch."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, first: int, last: int) -> bool:
        """Whether they were not there yet; then they are."""
        at = bisect_right(self._firsts, first)
        if at and self._lasts[at - 1] >= first:
            return False
        joins_before = at > 0 and self._lasts[at - 1] == first - 1
        joins_behind = at < len(self._firsts) and self._firsts[at] == last + 1
        if joins_before and joins_behind:
            self._lasts[at - 1] = self._lasts.pop(at)
            del self._firsts[at]
        elif joins_before:
            self._lasts[at - 1] = last
        elif joins_behind:
            self._firsts[at] = first
        else:
            self._firsts.insert(at, first)
            self._lasts.insert(at, last)
        return True


def _reaches(segment: LogFile, segments: list[LogFile], offset: int) -> bool:
    """Whether the segment has records from an offset on: it has none where a later one of its folder begins before."""
    folder = Path(segment.path).parent
    return not any(segment.offset < other.offset <= offset and Path(other.path).parent == folder for other in segments)


def _splits(file: LogFile, batches: list[Batch], size: int) -> list[Split]:
    """Batches as splits of about a size, cut where they do not follow one another too."""
    made: list[Split] = []
    first = 0
    for at, batch in enumerate(batches):
        following = batches[at + 1] if at + 1 < len(batches) else None
        is_full = batch.end - batches[first].at >= size
        if following is None or is_full or following.at != batch.end or following.first != batch.last + 1:
            made.append(Split(file, batches[first].at, batch.end, batches[first].first, batch.last))
            first = at + 1
    return made


def _without(split: Split, dropped: list[tuple[int, int]]) -> Split | None:
    """The split less ranges of offsets; None where nothing is left."""
    inside = tuple(each for each in dropped if each[0] <= split.last and each[1] >= split.first)
    if any(first <= split.first and split.last <= last for first, last in inside):
        return None
    return replace(split, dropped=inside)


def _is_footer(window: Window, batch: Batch) -> bool:
    """Whether it is the control batch that ends a snapshot."""
    if not batch.is_control:
        return False
    keys = [record.key for record in readable(window, batch)]
    return any(len(key) >= 4 and int.from_bytes(key[2:4], "big") == SNAPSHOT_FOOTER for key in keys)
