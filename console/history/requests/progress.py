"""How far each file of a request log was read: what is new in it, also after it was renamed, packed or written on.

A file is known by its content, not by its name: request.log, request.log.2026-11-21-10 and request.log.1.gz are one
file when they begin the same. Its first line alone does not say so, since two files may begin with the same line. So
digests at a few positions (`checkpoints`) and where it was read to are remembered. Bytes are counted as they were
written, unpacked.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from .files import Check, LogBytes, Survey, opened

CHECKPOINTS = tuple(256 * 4**power for power in range(24))
"""How far behind its first line a file's content is remembered: at the beginning of the second, and on in such steps
that of what is shorter than was read, a quarter at least is compared."""

Progress = Mapping[str, Mapping[str, Any]]
"""By file (`Span.identity`), for JSON: `read`, the bytes that were read; `marks`, the digests at the checkpoints up to
there; `last`, the digest at its end; `place`, `size` and `changed`, see `files.LogBytes`, as they were then, so that
what did not change is not read again. What a former version remembered has `read` alone."""


class CutInPlaceError(OSError):
    """A file lost lines that were read, and kept others: what of it is new can't be known."""


class Relation(Enum):
    """What a file is to one that is known."""

    CONTINUES = "it has all that was read, and perhaps more"
    BEGINS = "it is a beginning of what was read: an older copy"
    OTHER = "another file"


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


@dataclass(frozen=True)
class _Seen:
    """A file as it is now. stat: its `place`, `size` and `changed`. line: the digest of its first line. line_end: where
    that ends."""

    path: str
    stat: Mapping[str, Any]
    line: str
    line_end: int
    survey: Survey

    @property
    def end(self) -> int:
        return self.survey.end

    def entry(self) -> dict[str, Any]:
        """As `Progress` remembers it."""
        marks = [self.survey.checks[at] for at in checkpoints(self.line_end) if at <= self.end]
        return {"read": self.end, "marks": marks, "last": self.survey.checks[self.end], **self.stat}


def checkpoints(line_end: int) -> tuple[int, ...]:
    """Positions at which the content of a file is remembered whose first line ends there."""
    return tuple(line_end + at for at in CHECKPOINTS)


def relation(known: Mapping[str, Any], survey: Survey, line_end: int) -> tuple[Relation, int]:
    """What a file is to what is remembered of one with the same first line, and up to which byte both are known to be
    the same. Pure."""
    same = min(line_end, survey.end)
    for at, mark in zip(checkpoints(line_end), known.get("marks", ()), strict=False):
        if at > survey.end:
            break
        if survey.checks[at] != mark:
            return Relation.OTHER, same
        same = at
    read = int(known["read"])
    if survey.end < read:
        return Relation.BEGINS, same
    if known.get("last", survey.checks.get(read)) != survey.checks.get(read):
        return Relation.OTHER, same
    return Relation.CONTINUES, read


def plan(paths: Sequence[str], progress: Progress, *, owner: str = "") -> Plan:
    """What is new in the files since `progress`. Files that were known and are gone stay known.

    owner: whose log it is, as ``cluster/broker``: files of two owners are never the same.
    Raises OSError, EOFError (gzip, cut): a file can't be read; its path is in the text. CutInPlaceError.
    """
    known = {identity: dict(entry) for identity, entry in progress.items()}
    planner = _Planner(known)
    unread = {str(entry["place"]): identity for identity, entry in known.items() if "place" in entry}
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
                planner.there.add(identity)
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
    for each in sorted(seen, key=lambda each: (-each.end, each.path)):
        planner.take(each)
    spans = tuple(planner.spans)
    return Plan(spans, planner.now, unchanged + len(seen) - len(spans), frozenset(planner.there), places)


class _Planner:
    """Files one after another, each compared with what is known, and with those before it."""

    def __init__(self, known: Mapping[str, dict[str, Any]]) -> None:
        self._known = known
        self.now = dict(known)
        self.spans: list[Span] = []
        self.there: set[str] = set()

    def take(self, seen: _Seen) -> None:
        """Plans what is new of it. CutInPlaceError."""
        alike = [identity for identity in self.now if identity.split(".", 1)[0] == seen.line]
        for identity in alike:
            how, same = relation(self.now[identity], seen.survey, seen.line_end)
            if self._is_cut(identity, seen, how, same):
                raise CutInPlaceError(
                    f"{seen.path} was cut: of {self._known[identity]['read']:,} bytes that were read it kept about "
                    f"{same:,}, and what was written since can't be told from what was read. Rotate it, and give the "
                    "lines that are new as a file of their own"
                )
            if how is Relation.BEGINS or (how is Relation.CONTINUES and self.now[identity]["read"] == seen.end):
                self.there.add(identity)
                if how is Relation.CONTINUES:
                    self.now[identity] = {**self.now[identity], **seen.entry()}
                return
        continued = [each for each in alike if each in self._known and self._continues(each, seen)]
        start, identity = 0, ""
        if continued:
            identity = max(continued, key=lambda each: int(self._known[each]["read"]))
            start = int(self._known[identity]["read"])
            self.there.add(identity)
        if not identity or self.now[identity] is not self._known[identity]:
            identity = self._new(seen.line)
        self.there.add(identity)
        self.now[identity] = {**self.now.get(identity, {}), **seen.entry()}
        checks = {at: seen.survey.checks[at] for at in {min(seen.line_end, seen.end), start, seen.end}}
        checked, survey = tuple(sorted(checks.items())), seen.survey
        self.spans.append(Span(seen.path, start, seen.end, identity, checked, survey.head, survey.tail))

    def _continues(self, identity: str, seen: _Seen) -> bool:
        return relation(self._known[identity], seen.survey, seen.line_end)[0] is Relation.CONTINUES

    def _is_cut(self, identity: str, seen: _Seen, how: Relation, same: int) -> bool:
        """Whether the very file lost the end of what was read of it, and kept more than its first line."""
        if self._known.get(identity, {}).get("place") != seen.stat["place"]:
            return False
        return how is Relation.BEGINS or (how is Relation.OTHER and same > seen.line_end)

    def _new(self, line: str) -> str:
        names = itertools.chain([line], (f"{line}.{number}" for number in itertools.count(2)))
        return next(name for name in names if name not in self.now)


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
