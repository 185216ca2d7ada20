"""How far each file of a request log was read, what is new in it, also after it was renamed, packed or written on, and
the work of reading that, in parts that can be done side by side.

A file is known by its content, not by its name: request.log, request.log.2026-11-21-10 and request.log.1.gz are one
file when they begin the same. Its first line alone does not say so, since two files may begin with the same line. So
digests at a few positions (`checkpoints`) and where it was read to are remembered. Bytes are counted as they were
written, unpacked.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from console.history.requests.counted import Whose, counted

from .files import Check, LogBytes, Survey, opened, opened_as_planned
from .forms import MESSAGE, Form, form_of
from .lines import Line, one_line
from .zone import fold_at

PART_BYTES = 64 << 20

CHECKPOINTS = tuple(256 * 4**power for power in range(24))
"""How far behind its first line a file's content is remembered: at the beginning of the second, and on in such steps
that of what is shorter than was read, a quarter at least is compared."""

Progress = Mapping[str, Mapping[str, Any]]
"""By file (`Span.identity`), for JSON: `read`, the bytes that were read; `marks`, the digests at the checkpoints up to
there; `last`, the digest at its end; `place`, `size` and `changed`, see `files.LogBytes`, as they were then, so that
what did not change is not read again. What a former version remembered has `read` alone."""


class CutInPlaceError(OSError):
    """A file lost lines that were read, and kept others: what of it is new can't be known."""


@dataclass(frozen=True)
class Span:
    """What is to be read of a file: the lines that begin in start … end - 1, which are whole. identity: which file it
    is, whatever its name. checks: by which the file is known again when it is read. head, tail: some of its first and
    last bytes."""

    path: str
    start: int
    end: int
    identity: str
    checks: tuple[Check, ...]
    head: bytes = b""
    tail: bytes = b""


@dataclass(frozen=True)
class Plan:
    """What is to be read, how far each of the files then is read, and how many of them have nothing new. there: of
    which of the files in `progress` there is one; places: of the files, by place."""

    spans: tuple[Span, ...]
    progress: dict[str, dict[str, Any]]
    unchanged: int
    there: frozenset[str] = field(default=frozenset(), compare=False)
    places: Mapping[str, str] = field(default_factory=dict, compare=False)


class _Seen(NamedTuple):
    """A file as it is now. stat: its `place`, `size` and `changed`. line: the digest of its first line. line_end: where
    that ends."""

    path: str
    stat: Mapping[str, Any]
    line: str
    line_end: int
    survey: Survey

    def entry(self) -> dict[str, Any]:
        """As `Progress` remembers it."""
        checks, end = self.survey.checks, self.survey.end
        marks = [checks[at] for at in checkpoints(self.line_end) if at <= end]
        return {"read": end, "marks": marks, "last": checks[end], **self.stat}

    def same(self, known: Mapping[str, Any]) -> tuple[bool, int]:
        """Whether it begins as what is remembered of a file with the same first line, as far as both go; and up to
        which byte both are known to be the same."""
        checks, end, read = self.survey.checks, self.survey.end, int(known["read"])
        same = min(self.line_end, end)
        for at, mark in zip(checkpoints(self.line_end), known.get("marks", ()), strict=False):
            if at > end:
                break
            if checks[at] != mark:
                return False, same
            same = at
        if end < read:
            return True, same
        if known.get("last", checks.get(read)) != checks.get(read):
            return False, same
        return True, read


def checkpoints(line_end: int) -> tuple[int, ...]:
    """Positions at which the content of a file is remembered whose first line ends there."""
    return tuple(line_end + at for at in CHECKPOINTS)


def plan(paths: Sequence[str], progress: Progress, *, owner: str = "") -> Plan:
    """What is new in the files since `progress`. Files that were known and are gone stay known.

    owner: whose log it is, as ``cluster/broker``: files of two owners are never the same.
    Raises OSError, EOFError (gzip, cut): a file can't be read; its path is in the text. CutInPlaceError.
    """
    known = {identity: dict(entry) for identity, entry in progress.items()}
    unread = {str(entry["place"]): identity for identity, entry in known.items() if "place" in entry}
    now, there = dict(known), set[str]()
    places: dict[str, str] = {}
    seen: list[_Seen] = []
    unchanged = 0
    for path in sorted(paths):
        with opened(path) as file:
            if file.place in places:
                continue  # it was renamed while they were opened, or has two names
            places[file.place] = path
            stat = {"place": file.place, "size": file.size, "changed": file.changed}
            identity = unread.get(file.place)
            if identity is not None and stat.items() <= known[identity].items():
                there.add(identity)
                unchanged += 1
                continue
            try:
                found = _look(file, stat, owner, known)
            except EOFError:
                if path.endswith(".gz") and Path(path.removesuffix(".gz")).exists():
                    continue  # it is being packed, and what it is packed from is there
                raise
            if found is not None:
                seen.append(found)
    # The longest first: of copies one is read, and the others are beginnings of it.
    seen.sort(key=lambda each: (-each.survey.end, each.path))
    spans = tuple(span for each in seen if (span := _new_of(each, known, now, there)))
    return Plan(spans, now, unchanged + len(seen) - len(spans), frozenset(there), places)


def _new_of(
    seen: _Seen, known: Mapping[str, dict[str, Any]], now: dict[str, dict[str, Any]], there: set[str]
) -> Span | None:
    """What is new of a file; None: nothing. known: what is remembered of files. now: the same after those before it
    were planned; it is added to it, and to what is there. CutInPlaceError."""
    end = seen.survey.end
    alike = [identity for identity in now if identity.split(".", 1)[0] == seen.line]
    for identity in alike:
        begins_so, same = seen.same(now[identity])
        read = now[identity]["read"]
        # The very file lost the end of what was read of it, and kept more than its first line.
        is_cut = end < read if begins_so else same > seen.line_end
        if is_cut and known.get(identity, {}).get("place") == seen.stat["place"]:
            raise CutInPlaceError(
                f"{seen.path} was cut: of {known[identity]['read']:,} bytes that were read it kept about "
                f"{same:,}, and what was written since can't be told from what was read. Rotate it, and give the "
                "lines that are new as a file of their own"
            )
        if begins_so and end <= read:
            there.add(identity)
            if end == read:
                now[identity] = {**now[identity], **seen.entry()}
            return None
    continued = [each for each in alike if each in known and known[each]["read"] <= end and seen.same(known[each])[0]]
    former = max(continued, key=lambda each: int(known[each]["read"]), default=None)
    start = 0 if former is None else int(known[former]["read"])
    identity = former or ""
    if former is None or now[former] is not known[former]:
        names = itertools.chain([seen.line], (f"{seen.line}.{number}" for number in itertools.count(2)))
        identity = next(name for name in names if name not in now)
    there |= {identity, former or identity}
    now[identity] = {**now.get(identity, {}), **seen.entry()}
    checks = {at: seen.survey.checks[at] for at in (min(seen.line_end, end), start, end)}
    return Span(seen.path, start, end, identity, tuple(sorted(checks.items())), seen.survey.head, seen.survey.tail)


def _look(file: LogBytes, stat: Mapping[str, Any], owner: str, known: Progress) -> _Seen | None:
    """The file as it is now; None while it has no whole first line."""
    first = file.first_line()
    if first is None:
        return None
    text, line_end = first
    line = hashlib.sha256(owner.encode() + b"\0" + text).hexdigest()
    reads = [int(entry["read"]) for identity, entry in known.items() if identity.split(".", 1)[0] == line]
    survey = file.survey([0, line_end, *checkpoints(line_end), *reads])
    return _Seen(file.path, stat, line, line_end, survey)


# The work of reading what is new.


@dataclass(frozen=True)
class BrokerLog:
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``. patterns:
    where its files lie, also those that it will be rotated to."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    patterns: tuple[str, ...] = ()


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a file, with all that its lines' rows need. fold_at: see `zone.to_utc`. checks, patterns: by which the
    file is known again, and found, where it is read: see `files.opened_as_planned`."""

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None
    checks: tuple[Check, ...]
    patterns: tuple[str, ...] = ()


def parts_of(logs: Sequence[BrokerLog], at_most: int = PART_BYTES) -> tuple[Part, ...]:
    """All parts, each of at most so many bytes where its file can be split. Raises OSError, LogChangedError: a file
    can't be read; zoneinfo.ZoneInfoNotFoundError (a KeyError): there is no such zone."""
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, at_most))


def _parts(log: BrokerLog, span: Span, at_most: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end)
        size = span.end if file.is_packed else at_most
        cut = [(at, min(at + size, span.end)) for at in range(span.start, span.end, size)]
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # The last line of a part may end behind it: where the span ends is checked for each.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        checked = tuple(sorted({*always, (start, checks[start]), (end, checks[end])}))
        yield Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold, checked, log.patterns)


def with_zone(part: Part, zone: str) -> Part:
    """The same in another time zone. OSError, LogChangedError."""
    if zone == part.zone:
        return part
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        return msgspec.structs.replace(part, zone=zone, fold_at=fold_at(file, zone, part.end))


def read_part(part: Part) -> Iterator[pa.RecordBatch]:
    """The part's requests by the second, its changes and what is damaged, as `counted.COUNTED`; at least one row.
    Raises OSError, EOFError (gzip, cut); LogChangedError, at the end too: then what was given before does not count."""
    whose = Whose(part.cluster_id, part.broker_id, PurePosixPath(part.path).name, part.zone, part.fold_at)
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        yield from counted(whose, file.blocks(part.start, part.end))


# Of which form a log is that can't be read.

FEW = 100
"""Of so few lines or batches the share says nothing: a broker may have begun just now."""
_MOST_TRIED = 10_000
"""Requests that can't be read, behind which no other is looked for."""


def form_of_part(part: Part) -> Form:
    """The form of a part of which nothing can be read. OSError, EOFError (gzip, cut); LogChangedError."""
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        _, text = next(iter(file.blocks(part.start, part.end)), (0, b""))
        return form_of(text)


def unread_form(log: BrokerLog) -> Form | None:
    """The form of a log of which no line can be read; None where one can, or where it has next to no lines. The same is
    raised."""
    lines = tried = 0
    sample = b""
    for span in log.spans:
        with opened_as_planned(span.path, span.checks, log.patterns) as file:
            for _, text in file.blocks(span.start, span.end):
                lines += text.count(b"\n")
                if MESSAGE not in text:
                    sample = sample or text
                    continue
                for line in text.split(b"\n"):
                    if MESSAGE not in line:
                        continue
                    if isinstance(one_line(0, line), Line):
                        return None
                    sample = sample if tried else text
                    tried += 1
                if tried >= _MOST_TRIED:
                    return form_of(sample)
    return form_of(sample) if max(lines, tried) >= FEW else None
