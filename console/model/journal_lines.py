"""The lines of kac's journal and the names of its files: one JSON object a line, with the version of its format
(docs/trust.md). Pure.

The console writes and reads them, and so does the lake's application on Spark's executors: Python 3.10, standard
library. ASCII, so that nothing in a line can act on a terminal. An edit, and what stood in its place, stay JSON here:
each kind of edit reads its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, TypeVar
from urllib.parse import quote, unquote

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
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class BadLine(ValueError):
    """A line that is no record; the text says why."""


class CutLine(BadLine):
    """A line without an end."""


class Who(NamedTuple):
    """Who changes something: as the brokers know them, as the system does, by whom sudo was called, and the address
    that their SSH connection comes from; ``""`` for none."""

    principal: str
    os_user: str
    sudo_user: str = ""
    ssh_client: str = ""


class Origin(NamedTuple):
    """Where a change comes from: the host, the door (console, run, shell, …), the process and when it started, by the
    system's own count, ``""`` if unknown."""

    host: str
    door: str
    pid: int
    started: str = ""


class Request(NamedTuple):
    """A request of a change: Kafka's name of its API, the broker that has to get it (None: any), its edits' places."""

    api: str
    broker: int | None
    edits: tuple[int, ...]


class Place(NamedTuple):
    """An edit of a change that was applied: the change's number in the journal, and the edit's index in it, from 0."""

    change: int
    edit: int


class EditLine(NamedTuple):
    """An edit of a change. edit, was: JSON. lasts_ms, until: how long it is to hold. reverts: number of the change and
    place of the edit that it takes back. topic_id: the topic that it was bound to. overridden: whether it overrode what
    another client had changed. overrides: configs of a topic that is deleted."""

    edit: Json
    was: Any
    lasts_ms: int | None = None
    until: datetime | None = None
    reverts: Place | None = None
    topic_id: str | None = None
    overridden: bool = False
    overrides: Mapping[str, str] = _NOTHING


class IntentLine(NamedTuple):
    """A change that is about to be sent, all of it. operation: the number of the operation of which it is a step."""

    change: int
    at: datetime
    context: str
    who: Who
    origin: Origin
    edits: tuple[EditLine, ...]
    requests: tuple[Request, ...]
    operation: int | None = None


class Sending(NamedTuple):
    """A request of a change is sent now."""

    change: int
    request: int
    at: datetime


class EndedLine(NamedTuple):
    """How an edit ended. status: one of STATUSES. error: (name, message, remedy), None for no error. topic_id:
    of the topic that it created."""

    status: str
    error: tuple[str, str, str] | None = None
    topic_id: str | None = None


class OutcomeLine(NamedTuple):
    """How a request of a change ended, for each of its edits by their places."""

    change: int
    request: int
    at: datetime
    edits: Mapping[int, EndedLine]


class Settled(NamedTuple):
    """What a later read of the cluster showed of edits whose outcome was unknown: a status by the edit's place. Only
    APPLIED settles anything: that an edit does not show yet does not prove that its request is not still on its way.
    topic_ids: of topics that were created."""

    change: int
    at: datetime
    edits: Mapping[int, str]
    topic_ids: Mapping[int, str] = _NOTHING


class Decided(NamedTuple):
    """What an operator declared of edits whose outcome was unknown, APPLIED or NOT_APPLIED, and why."""

    change: int
    at: datetime
    edits: Mapping[int, str]
    who: Who
    why: str


class Told(NamedTuple):
    """An operator was shown that a change ended in the middle."""

    change: int
    at: datetime


class Closed(NamedTuple):
    """An edit that is not to be taken back any more, and why."""

    place: Place
    at: datetime
    why: str


class Mended(NamedTuple):
    """The line before had been cut, and was ended by hand."""

    at: datetime
    who: Who


OPERATION_KINDS = frozenset({"operation", "step", "progress", "asked", "ended"})
"""Lines of operations: one begins, a step is about to be sent, how far it is, what an operator asked of it, it is over.
"""


class OperationLine(NamedTuple):
    """A line of an operation. change: its number, counted together with the changes. kind: one of OPERATION_KINDS.
    data: JSON, which `console.journal.operations` reads."""

    change: int
    kind: str
    at: datetime
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
    kind, body = _body(line)
    return json_text({"v": VERSION, "kind": kind, **body}, separators=(",", ":")).encode("ascii") + b"\n"


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


def origin_of(data: Mapping[str, Any]) -> Origin:
    """Return the origin of a change from its JSON.

    Raises:
        BadLine: a field is of another type, or no process can have the id.
        TypeError: a field is missing, or unknown.
    """
    origin = Origin(**data)
    texts = (origin.host, origin.door, origin.started)
    if not all(isinstance(text, str) for text in texts) or type(origin.pid) is not int or not 0 <= origin.pid < 1 << 31:
        raise BadLine("a process that can't be")
    return origin


# -- JSON ----------------------------------------------------------------------------------------------------------


def line_of(data: Json) -> Line:
    """Return the record of a line's JSON.

    Args:
        data: the whole object of a line; its version is not checked here (`read_line` does).

    Raises:
        BadLine: the kind is unknown to this release.
        KeyError, TypeError, ValueError, AttributeError, IndexError: the data is not in the journal's form.
    """
    kind = data["kind"]
    read = _READERS.get(kind)
    if read is None:
        raise unknown_kind(kind)
    return read(data)


def _intent(data: Json) -> IntentLine:
    return IntentLine(
        int(data["change"]),
        time_of(data["at"]),
        data["context"],
        Who(**data["who"]),
        origin_of(data["from"]),
        tuple(map(_edit, data["edits"])),
        tuple(Request(each["api"], each["broker"], tuple(each["edits"])) for each in data["requests"]),
        int(data["operation"]) if "operation" in data else None,
    )


def _edit(data: Json) -> EditLine:
    return EditLine(
        data["edit"],
        data["was"],
        data.get("lasts_ms"),
        time_of(data["until"]) if "until" in data else None,
        _place(data["reverts"]) if "reverts" in data else None,
        data.get("topic_id"),
        bool(data.get("overridden")),
        data.get("overrides", _NOTHING),
    )


def _ended(data: Json) -> EndedLine:
    error = (data["error"], data["message"], data["remedy"]) if "error" in data else None
    return EndedLine(status_of(data["status"]), error, data.get("topic_id"))


def _outcome(data: Json) -> OutcomeLine:
    edits = {int(place): _ended(each) for place, each in data["edits"].items()}
    return OutcomeLine(int(data["change"]), int(data["request"]), time_of(data["at"]), edits)


def _settled(data: Json) -> Settled:
    topic_ids = {int(place): str(topic_id) for place, topic_id in data.get("topic_ids", {}).items()}
    return Settled(int(data["change"]), time_of(data["at"]), _statuses(data), topic_ids)


def _decided(data: Json) -> Decided:
    who, why = Who(**data["who"]), str(data["why"])
    return Decided(int(data["change"]), time_of(data["at"]), _statuses(data), who, why)


_READERS: Mapping[str, Callable[[Json], Line]] = MappingProxyType(
    {
        "intent": _intent,
        "sending": lambda data: Sending(int(data["change"]), int(data["request"]), time_of(data["at"])),
        "outcome": _outcome,
        "settled": _settled,
        "decided": _decided,
        "told": lambda data: Told(int(data["change"]), time_of(data["at"])),
        "closed": lambda data: Closed(_place(data["place"]), time_of(data["at"]), str(data["why"])),
        "mended": lambda data: Mended(time_of(data["at"]), Who(**data["who"])),
        **dict.fromkeys(
            OPERATION_KINDS,
            lambda data: OperationLine(int(data["change"]), data["kind"], time_of(data["at"]), dict(data["data"])),
        ),
    }
)


def _statuses(data: Json) -> dict[int, str]:
    return {int(place): status_of(status) for place, status in data["edits"].items()}


def status_of(text: str) -> str:
    """Return the status in a line's text.

    Raises:
        ValueError: it is not one of `STATUSES`.
    """
    if text not in STATUSES:
        raise ValueError(text)
    return text


def _place(data: Any) -> Place:
    change, edit = data
    return Place(int(change), int(edit))


def _body(line: Line) -> tuple[str, dict[str, Any]]:
    """Return the kind of a line, and its fields in the order in which they are written."""
    at = {"at": time_text(line.at)}
    match line:
        case IntentLine():
            body: dict[str, Any] = {
                "context": line.context,
                "who": line.who._asdict(),
                "from": line.origin._asdict(),
                "edits": list(map(_edit_json, line.edits)),
                "requests": [each._asdict() for each in line.requests],
            }
            if line.operation is not None:
                body["operation"] = line.operation
            return "intent", {"change": line.change, **at, **body}
        case Sending():
            return "sending", {"change": line.change, "request": line.request, **at}
        case OutcomeLine():
            ended = {str(place): _ended_json(each) for place, each in line.edits.items()}
            return "outcome", {"change": line.change, "request": line.request, **at, "edits": ended}
        case Settled():
            topic_ids = {str(place): topic_id for place, topic_id in line.topic_ids.items()}
            more = {"topic_ids": topic_ids} if topic_ids else {}
            return "settled", {"change": line.change, **at, "edits": _by_place(line.edits), **more}
        case Decided():
            said = {"who": line.who._asdict(), "why": line.why, "edits": _by_place(line.edits)}
            return "decided", {"change": line.change, **at, **said}
        case Told():
            return "told", {"change": line.change, **at}
        case Closed():
            return "closed", {"place": list(line.place), **at, "why": line.why}
        case Mended():
            return "mended", {**at, "who": line.who._asdict()}
        case OperationLine():
            return line.kind, {"change": line.change, **at, "data": line.data}


def _by_place(edits: Mapping[int, str]) -> dict[str, str]:
    return {str(place): str(status) for place, status in edits.items()}


def _edit_json(line: EditLine) -> dict[str, Any]:
    data: dict[str, Any] = {"edit": line.edit, "was": line.was}
    if line.lasts_ms is not None:
        data["lasts_ms"] = line.lasts_ms
    if line.until is not None:
        data["until"] = time_text(line.until)
    if line.reverts is not None:
        data["reverts"] = list(line.reverts)
    if line.topic_id is not None:
        data["topic_id"] = line.topic_id
    if line.overridden:
        data["overridden"] = True
    if line.overrides:
        data["overrides"] = dict(line.overrides)
    return data


def _ended_json(line: EndedLine) -> dict[str, Any]:
    data: dict[str, Any] = {"status": line.status}
    if line.topic_id is not None:
        data["topic_id"] = line.topic_id
    if line.error is not None:
        data |= dict(zip(("error", "message", "remedy"), line.error, strict=True))
    return data
