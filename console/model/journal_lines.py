"""The lines of kac's journal and the names of its files: one JSON object a line, with the version of its format
(docs/trust.md). Pure.

The console writes and reads them, and so does the lake's application on Spark's executors: Python 3.10, standard
library and msgspec. ASCII, so that nothing in a line can act on a terminal. An edit, and what stood in its place, stay
JSON here: `console.plan.edit_json` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar, get_args
from urllib.parse import quote, unquote

from msgspec import Meta, Struct, convert, field, to_builtins

from console.model.foreign_json import json_of
from console.model.numbers import json_text

VERSION = 1
APPLIED, NOT_APPLIED, UNKNOWN = "applied", "not applied", "unknown"
STATUSES = frozenset({APPLIED, "valid", "unchecked", "failed", NOT_APPLIED, UNKNOWN})
"""How an edit ended, as `console.model.changes.Status` spells it."""
FINAL = frozenset({APPLIED, "failed", NOT_APPLIED})
"""Statuses that no later line changes, once an answer has them."""

Json = Mapping[str, Any]
SUFFIX = ".jsonl"
_SEGMENT = re.compile(r"(\d{8})\.jsonl")
LONGEST_LINE = 32 << 20
"""Bytes of a line with its end; a change of 100,000 edits has fewer. No longer one is written of a change, and none is
read."""
BEGINNING_BYTES = 4096
"""What is kept of a longer line, by which it is named."""
_PART = 1 << 18
T = TypeVar("T")
Time = Annotated[datetime, Meta(tz=True)]
HowItEnded = Annotated[str, Meta(pattern=rf"\A({'|'.join(sorted(STATUSES))})\Z")]
"""One of `STATUSES`."""


class BadLine(ValueError):
    """A line that is no record; the text says why."""


class CutLine(BadLine):
    """A line without an end."""


class Who(Struct, frozen=True, forbid_unknown_fields=True):
    """Who changes something: as the brokers know them, as the system does, by whom sudo was called, and the address
    that their SSH connection comes from; ``""`` for none."""

    principal: str
    os_user: str
    sudo_user: str = ""
    ssh_client: str = ""


class Origin(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a change comes from: the host, the door (console, run, shell, …), the process and when it started, by the
    system's own count, ``""`` if unknown."""

    host: str
    door: str
    pid: Annotated[int, Meta(ge=0, lt=1 << 31)]
    started: str = ""


class Request(Struct, frozen=True):
    """A request of a change: Kafka's name of its API, the broker that has to get it (None: any), its edits' places."""

    api: str
    broker: int | None
    edits: tuple[int, ...]


class Place(NamedTuple):
    """An edit of a change that was applied: the change's number in the journal, and the edit's index in it, from 0."""

    change: int
    edit: int


class EditLine(Struct, frozen=True, omit_defaults=True):
    """An edit of a change. edit, was: JSON. lasts_ms, until: how long it is to hold. reverts: number of the change and
    place of the edit that it takes back. topic_id: the topic that it was bound to. overridden: whether it overrode what
    another client had changed. overrides: configs of a topic that is deleted."""

    edit: Json
    was: Any
    lasts_ms: int | None = None
    until: Time | None = None
    reverts: Place | None = None
    topic_id: str | None = None
    overridden: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)


class IntentLine(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="intent", rename={"origin": "from"}):
    """A change that is about to be sent, all of it. operation: the number of the operation of which it is a step."""

    change: int
    at: Time
    context: str
    who: Who
    origin: Origin
    edits: tuple[EditLine, ...]
    requests: tuple[Request, ...]
    operation: int | None = None


class Sending(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="sending"):
    """A request of a change is sent now."""

    change: int
    request: int
    at: Time


class EndedLine(Struct, frozen=True, omit_defaults=True):
    """How an edit ended. status: one of STATUSES. error: (name, message, remedy), None for no error. topic_id:
    of the topic that it created."""

    status: HowItEnded
    error: tuple[str, str, str] | None = None
    topic_id: str | None = None


class OutcomeLine(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="outcome"):
    """How a request of a change ended, for each of its edits by their places."""

    change: int
    request: int
    at: Time
    edits: Mapping[int, EndedLine]


class Settled(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="settled"):
    """What a later read of the cluster showed of edits whose outcome was unknown: a status by the edit's place. Only
    APPLIED settles anything: that an edit does not show yet does not prove that its request is not still on its way.
    topic_ids: of topics that were created."""

    change: int
    at: Time
    edits: Mapping[int, HowItEnded]
    topic_ids: Mapping[int, str] = field(default_factory=dict)


class Decided(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="decided"):
    """What an operator declared of edits whose outcome was unknown, APPLIED or NOT_APPLIED, and why."""

    change: int
    at: Time
    edits: Mapping[int, HowItEnded]
    who: Who
    why: str


class Told(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="told"):
    """An operator was shown that a change ended in the middle."""

    change: int
    at: Time


class Closed(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="closed"):
    """An edit that is not to be taken back any more, and why."""

    place: Place
    at: Time
    why: str


class Mended(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="mended"):
    """The line before had been cut, and was ended by hand."""

    at: Time
    who: Who


OPERATION_KINDS = frozenset({"operation", "step", "progress", "asked", "ended"})
"""Lines of operations: one begins, a step is about to be sent, how far it is, what an operator asked of it, it is over.
"""


class OperationLine(Struct, frozen=True):
    """A line of an operation. change: its number, counted together with the changes. kind: one of OPERATION_KINDS.
    data: JSON, which `console.journal.operations` reads."""

    change: int
    kind: str
    at: Time
    data: Json


Line = IntentLine | Sending | OutcomeLine | Settled | Decided | Told | Closed | Mended | OperationLine


def final_status(ended: str | None, found: str | None, sent: bool) -> str | None:
    """Return the status of an edit, None if it was not sent.

    Args:
        ended: the status in the answer to its request, None without an answer. A final one (`FINAL`) stands.
        found: the status that a later read of the cluster showed, or that an operator declared; it counts where the
            answer's is not final.
        sent: whether its request was sent.
    """
    if ended in FINAL:
        return ended
    if found is not None:
        return found
    return UNKNOWN if ended is not None or sent else None


# -- files ---------------------------------------------------------------------------------------------------------


def journal_name(cluster_id: str) -> str:
    """Return the file name of the first segment of a cluster's journal."""
    return quote(cluster_id, safe="") + SUFFIX


def cluster_of(first: Path) -> str:
    """Return the id of the cluster whose journal begins with this file."""
    return unquote(first.name.removesuffix(SUFFIX))


def segment_path(first: Path, number: int) -> Path:
    """Return the path of a segment, counted from 1: ``ID.jsonl``, ``ID.segments/00000002.jsonl``."""
    return first if number == 1 else segment_folder(first) / f"{number:08}{SUFFIX}"


def segment_folder(first: Path) -> Path:
    """Return the folder of all segments but the first."""
    return first.with_name(first.name.removesuffix(SUFFIX) + ".segments")


def segment_number(name: str) -> int | None:
    """Return the number of a segment from its file name in that folder; None for a file that is no segment."""
    found = _SEGMENT.fullmatch(name)
    return None if found is None else int(found[1])


# -- bytes ---------------------------------------------------------------------------------------------------------


class RawLine(NamedTuple):
    """A line of a file, and where it begins. data: with its end; of one that is too long its beginning. size: its
    bytes. is_ended: whether it has an end: else it is the file's last, and was cut or is being written."""

    at: int
    data: bytes
    size: int
    is_ended: bool

    @property
    def whole(self) -> bytes:
        """The line with its end. Raises BadLine for one that was cut or is too long."""
        if not self.is_ended:
            raise CutLine("it was cut short")
        if self.size > LONGEST_LINE:
            raise BadLine(f"it is longer than {LONGEST_LINE >> 20} MiB")
        return self.data


def raw_lines(file: BinaryIO, at: int, end: int) -> Iterator[RawLine]:
    """Yield the lines of a file from one byte to another.

    A line longer than `LONGEST_LINE` is read through without being kept: only its beginning is in memory.

    Args:
        file: positioned at the byte `at`.
        at: the offset of the first line.
        end: the offset at which to stop, in bytes: a line that another process is writing there is cut.

    Raises:
        OSError: the file can't be read.
    """
    while at < end and (data := file.readline(min(LONGEST_LINE + 1, end - at))):
        size, is_ended = len(data), data.endswith(b"\n")
        if size > LONGEST_LINE:
            data = data[:BEGINNING_BYTES]
            while not is_ended and (part := file.readline(min(_PART, end - at - size))):
                size += len(part)
                is_ended = part.endswith(b"\n")
        yield RawLine(at, data, size, is_ended)
        at += size


def read_line(line: bytes, read: Callable[[Json], T], seen: Callable[[Json], None] = lambda _: None) -> T:
    """Return what `read` makes of the JSON object in a line.

    Args:
        line: the bytes of a line, with or without its end.
        read: `line_of`, or a reader of the caller's around it.
        seen: called with the JSON before its version is checked, so that a caller learns of a later version, too.

    Raises:
        BadLine: it is no JSON object, has another version, or `read` raised one of Python's errors for wrong data.
    """
    try:
        data = json_of(line, may_repeat=True)
    except ValueError:
        raise BadLine("it is no JSON") from None
    if not isinstance(data, dict):
        raise BadLine("it is no JSON object")
    try:
        seen(data)
        if data.get("v") != VERSION:
            raise BadLine(f"its version is {str(data.get('v'))[:20]}, this kac reads {VERSION}")
        return read(data)
    except BadLine:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadLine(f"it is not in the journal's form ({type(error).__name__})") from None


def unknown_kind(kind: object) -> BadLine:
    """Return the error for a line of a kind that this release does not know."""
    return BadLine(f"its kind {str(kind)[:20]!r} is unknown to this release of kac")


def encoded(line: Line) -> bytes:
    """Return a line as it is written: JSON in ASCII and a line feed."""
    data = to_builtins(line)
    return json_text({"v": VERSION, "kind": data.pop("kind"), **data}, separators=(",", ":")).encode("ascii") + b"\n"


def time_text(at: datetime) -> str:
    """Return a time as the journal writes it: UTC with milliseconds, ``2026-11-21T10:00:00.000Z``."""
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_of(text: str) -> datetime:
    """Return the aware time of a journal's text.

    Raises:
        ValueError: it is no time; as BadLine for a time without a zone.
        TypeError, AttributeError: it is no text.
    """
    # Python 3.10 does not take the Z.
    at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    if at.tzinfo is None:
        raise BadLine("a time without a zone")
    return at


# -- JSON ----------------------------------------------------------------------------------------------------------

_FORMS: Mapping[str, type[Line]] = MappingProxyType(
    {
        **{str(each.__struct_config__.tag): each for each in get_args(Line) if each is not OperationLine},
        **dict.fromkeys(OPERATION_KINDS, OperationLine),
    }
)
"""The classes of lines by their kinds."""


def line_of(data: Json) -> Line:
    """Return the record of a line's JSON.

    Args:
        data: the whole object of a line; its version is not checked here (`read_line` does).

    Raises:
        BadLine: the kind is unknown to this release.
        KeyError, TypeError, ValueError: the data is not in the journal's form.
    """
    kind = data["kind"]
    if kind not in _FORMS:
        raise unknown_kind(kind)
    found: Line = convert(data, _FORMS[kind], str_keys=True)
    return found


def status_of(text: str) -> str:
    """Return the status in a line's text.

    Raises:
        ValueError: it is not one of `STATUSES`.
    """
    if text not in STATUSES:
        raise ValueError(text)
    return text
