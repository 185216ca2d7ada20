"""The lines of kac's journal and the names of its files: one JSON object a line, with the version of its format
(docs/trust.md). Pure.

The console writes and reads them; the lake's application also reads them on Spark's executors: Python 3.10, standard
library and msgspec. Lines are ASCII, so that nothing in a line can control a terminal. An edit and its former value
stay JSON here: `console.plan.edit_json` decodes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar, get_args
from urllib.parse import quote, unquote

from msgspec import Meta, Struct, convert, field, to_builtins

from console.model.built_types import built
from console.model.foreign_json import json_of
from console.model.numbers import json_text

VERSION = 1
APPLIED, NOT_APPLIED, UNKNOWN = "applied", "not applied", "unknown"
STATUSES = frozenset({APPLIED, "valid", "unchecked", "failed", NOT_APPLIED, UNKNOWN})
"""The statuses of an edit, as `console.model.changes.Status` spells them."""
FINAL = frozenset({APPLIED, "failed", NOT_APPLIED})
"""The statuses in a broker's response that are final: no later line of the journal changes them."""

Json = Mapping[str, Any]
SUFFIX = ".jsonl"
_SEGMENT = re.compile(r"(\d{8})\.jsonl")
LONGEST_LINE = 32 << 20
"""Maximum size in bytes of a line with its end: kac neither writes nor reads a longer one. A change of 100,000 edits
needs less."""
BEGINNING_BYTES = 4096
"""Number of bytes that are kept of a line longer than `LONGEST_LINE`, to identify it."""
_PART = 1 << 18
T = TypeVar("T")
Time = Annotated[datetime, Meta(tz=True)]
HowItEnded = Annotated[str, Meta(pattern=rf"\A({'|'.join(sorted(STATUSES))})\Z")]
"""One of `STATUSES`."""


class BadLine(ValueError):
    """A line that is not a valid record; the text is the reason."""


class CutLine(BadLine):
    """A line that does not end with a line feed."""


class Who(Struct, frozen=True, forbid_unknown_fields=True):
    """The author of a change: the principal on the brokers, the user on this host, the user who called sudo, and the
    address of the SSH client; each ``""`` if there is none.
    """

    principal: str
    os_user: str
    sudo_user: str = ""
    ssh_client: str = ""


class Origin(Struct, frozen=True, forbid_unknown_fields=True):
    """The origin of a change: the host; the front end (door: console, run, shell, …); the process id; and the start of
    the process by the operating system's own count, ``""`` if unknown.
    """

    host: str
    door: str
    pid: Annotated[int, Meta(ge=0, lt=1 << 31)]
    started: str = ""


class Request(Struct, frozen=True):
    """A request that carries out edits of a change."""

    api: str
    """Kafka's name of the request."""
    broker: int | None
    """The broker that has to receive the request; None if any broker may."""
    edits: tuple[int, ...]
    """The indexes of the edits that the request carries out."""


class Place(NamedTuple):
    """An edit of an applied change: the number of the change in the journal, and the index of the edit, from 0."""

    change: int
    edit: int


class EditLine(Struct, frozen=True, omit_defaults=True):
    """An edit of a change, in the form that a line of the journal has."""

    edit: Json
    """The edit in JSON."""
    was: Any
    """The state of the edit's target before the change."""
    lasts_ms: int | None = None
    """The milliseconds after which the edit is to be reverted; None if it is permanent."""
    until: Time | None = None
    """The time at which the edit is to be reverted; None if it is permanent."""
    reverts: Place | None = None
    """The place of the edit that this one reverts; None if it reverts none."""
    topic_id: str | None = None
    """The id of the topic that the edit is meant for; None if unknown, and for other targets."""
    overridden: bool = False
    """Whether the edit overrode another client's change."""
    overrides: Mapping[str, str] = field(default_factory=dict)
    """For the deletion of a topic: the configs that the topic itself sets, key -> value."""


class IntentLine(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="intent", rename={"origin": "from"}):
    """A change with all its edits, written before its first request is sent."""

    change: int
    at: Time
    context: str
    who: Who
    origin: Origin
    edits: tuple[EditLine, ...]
    requests: tuple[Request, ...]
    operation: int | None = None
    """The number of the operation of which the change is a step; None if it is no step."""


class Sending(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="sending"):
    """A request of a change, written immediately before it is sent."""

    change: int
    request: int
    at: Time


class EndedLine(Struct, frozen=True, omit_defaults=True):
    """The outcome of one edit, in the form that a line of the journal has."""

    status: HowItEnded
    """The status of the edit, one of `STATUSES`."""
    error: tuple[str, str, str] | None = None
    """Name, message and remedy of the error; None if there is no error."""
    topic_id: str | None = None
    """The id of the topic that the edit created; None for other edits, and if unknown."""
    offset: int | None = None
    """The offset of the first record that the edit wrote; None for other edits, and if unknown."""


class OutcomeLine(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="outcome"):
    """The outcomes of the edits of one request: index of an edit -> its outcome."""

    change: int
    request: int
    at: Time
    edits: Mapping[int, EndedLine]


class Settled(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="settled"):
    """The result of a later read of the cluster for edits with an unknown outcome: index of an edit -> status. Only
    APPLIED is final: an edit that the cluster does not show yet may still be applied by a delayed request.
    """

    change: int
    at: Time
    edits: Mapping[int, HowItEnded]
    topic_ids: Mapping[int, str] = field(default_factory=dict)
    """Index of an edit -> the id of the topic that it created."""


class Decided(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="decided"):
    """An operator's statement about edits with an unknown outcome, APPLIED or NOT_APPLIED, and the reason."""

    change: int
    at: Time
    edits: Mapping[int, HowItEnded]
    who: Who
    why: str


class Told(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="told"):
    """A note that kac has told an operator that a change stopped before all its requests were sent."""

    change: int
    at: Time


class Closed(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="closed"):
    """A note that kac no longer reminds operators to revert an edit, with the reason."""

    place: Place
    at: Time
    why: str


class Mended(Struct, frozen=True, omit_defaults=True, tag_field="kind", tag="mended"):
    """A note that the line before this one was cut off without a line feed, and that an operator let kac end it with
    one.
    """

    at: Time
    who: Who


OPERATION_KINDS = frozenset({"operation", "step", "letters", "progress", "asked", "ended"})
"""The kinds of lines about an operation: its beginning, a step before it is sent, letters of a redrive, its progress,
an operator's request to it, and its end.
"""


class OperationLine(Struct, frozen=True):
    """A line of the journal about an operation."""

    change: int
    """The number of the operation, from the same sequence as the numbers of changes."""
    kind: str
    """One of `OPERATION_KINDS`."""
    at: Time
    data: Json
    """The JSON of the line, which `console.journal.operations` reads."""


Line = IntentLine | Sending | OutcomeLine | Settled | Decided | Told | Closed | Mended | OperationLine


def final_status(ended: str | None, found: str | None, sent: bool) -> str | None:
    """Return the status of an edit; None if its request was not sent.

    Args:
        ended: the status in the response to its request; None if no response arrived. A status in `FINAL` is returned.
        found: the status that a later read of the cluster showed, or that an operator stated; None for neither. It is
            returned if `ended` is not in `FINAL`.
        sent: whether its request was sent.
    """
    if ended in FINAL:
        return ended
    if found is not None:
        return found
    return UNKNOWN if ended is not None or sent else None


# -- files ---------------------------------------------------------------------------------------------------------


def journal_name(cluster_id: str) -> str:
    """Return the file name of the first segment of the journal for a cluster."""
    return quote(cluster_id, safe="") + SUFFIX


def cluster_of(first: Path) -> str:
    """Return the id of the cluster whose journal begins with this file."""
    return unquote(first.name.removesuffix(SUFFIX))


def segment_path(first: Path, number: int) -> Path:
    """Return the path of a segment by its number, from 1: ``ID.jsonl``, then ``ID.segments/00000002.jsonl``.

    Args:
        first: the path of the first segment.
    """
    return first if number == 1 else segment_folder(first) / f"{number:08}{SUFFIX}"


def segment_folder(first: Path) -> Path:
    """Return the folder with all segments except the first. first: the path of the first segment."""
    return first.with_name(first.name.removesuffix(SUFFIX) + ".segments")


def segment_number(name: str) -> int | None:
    """Return the number of a segment from its file name in `segment_folder`; None if the file is no segment."""
    found = _SEGMENT.fullmatch(name)
    return None if found is None else int(found[1])


# -- bytes ---------------------------------------------------------------------------------------------------------


class RawLine(NamedTuple):
    """A line of a file, and its offset in bytes."""

    at: int
    data: bytes
    """The bytes, including the line feed; only the beginning of a line longer than `LONGEST_LINE`."""
    size: int
    """The size of the complete line in bytes."""
    is_ended: bool
    """Whether the line ends with a line feed. If not, it is the last line of a file that was cut, or is being written.
    """

    @property
    def whole(self) -> bytes:
        """The bytes of the line, including the line feed. Raises CutLine if the line feed is missing, and BadLine if
        the line is longer than `LONGEST_LINE`.
        """
        if not self.is_ended:
            raise CutLine("it was cut short")
        if self.size > LONGEST_LINE:
            raise BadLine(f"it is longer than {LONGEST_LINE >> 20} MiB")
        return self.data


def raw_lines(file: BinaryIO, at: int, end: int) -> Iterator[RawLine]:
    """Yield the lines of a file between two offsets.

    Only the beginning of a line longer than `LONGEST_LINE` is kept in memory; the rest is skipped.

    Args:
        file: positioned at the byte `at`.
        at: the offset of the first line, in bytes.
        end: the offset at which to stop, in bytes. A line that another process is writing there is yielded without a
            line feed.

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
    """Parse the JSON object in a line and return the result of `read` for it.

    Args:
        line: the bytes of a line, with or without its line feed.
        read: `line_of`, or a function of the caller that calls it.
        seen: called with the JSON before the version is checked, so that a caller also gets lines of newer versions.

    Raises:
        BadLine: it is not a JSON object, has another version, or `read` raised one of Python's errors for wrong data.
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
    """Return a line's record as bytes: JSON in ASCII, and a line feed."""
    data = to_builtins(line)
    return json_text({"v": VERSION, "kind": data.pop("kind"), **data}, separators=(",", ":")).encode("ascii") + b"\n"


def time_text(at: datetime) -> str:
    """Return a time in the journal's format: UTC with milliseconds, ``2026-11-21T10:00:00.000Z``."""
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def time_of(text: str) -> datetime:
    """Return the aware time for a text in the journal's format.

    Raises:
        ValueError: it is not a time; BadLine (a ValueError) for a time without a zone.
        TypeError, AttributeError: it is not a text.
    """
    # Python 3.10, which executors may have, does not parse the Z.
    at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    if at.tzinfo is None:
        raise BadLine("a time without a zone")
    return at


# -- JSON ----------------------------------------------------------------------------------------------------------

_FORMS: Mapping[str, type[Line]] = {
    **{str(each.__struct_config__.tag): each for each in get_args(Line) if each is not OperationLine},
    **dict.fromkeys(OPERATION_KINDS, OperationLine),
}
"""Kind of line -> the class of its record."""


def line_of(data: Json) -> Line:
    """Return the record for the JSON of a line.

    Args:
        data: the whole object of a line; its version is not checked here (`read_line` does).

    Raises:
        BadLine: the kind is unknown to this release.
        KeyError, TypeError, ValueError: the data is not in the journal's form.
    """
    kind = data["kind"]
    if kind not in _FORMS:
        raise unknown_kind(kind)
    found: Line = convert(data, built(_FORMS[kind]), str_keys=True)
    return found
