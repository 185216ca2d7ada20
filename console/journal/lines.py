"""The journal's lines: one JSON object each, with the version of its form. ASCII, so that nothing in it can paint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from console.journal.codes import edit_json, edit_of, was_json, was_of
from console.journal.records import (
    Answered,
    Closed,
    Decided,
    Ended,
    Entry,
    Intent,
    Mended,
    Note,
    Origin,
    Request,
    Sending,
    Settled,
    Told,
    Who,
)
from console.model.changes import Status
from console.model.failure import Failure
from console.model.numbers import json_text
from console.plan.staged import Place, Staged

VERSION = 1
UNPROVEN = "Nothing changed: apply again."
"""The remedy with which former versions said "not applied" of a request whose answer was lost, without a proof."""

Json = dict[str, Any]


class Numbered(NamedTuple):
    """An intent and the number under which it was written."""

    number: int
    intent: Intent


class BadLine(ValueError):
    """A line that is no record: why, in words."""


def intent_line(number: int, intent: Intent) -> bytes:
    """The line of a change that is about to be sent."""
    return _line(
        "intent",
        {
            "change": number,
            "at": _time(intent.at),
            "context": intent.context,
            "who": _who(intent.who),
            "from": {
                "host": intent.origin.host,
                "door": intent.origin.door,
                "pid": intent.origin.pid,
                "started": intent.origin.started,
            },
            "edits": [_entry(entry) for entry in intent.entries],
            "requests": [{"api": r.api, "broker": r.broker, "edits": r.edits} for r in intent.requests],
        },
    )


def note_line(note: Note) -> bytes:
    """The line of anything else."""
    match note:
        case Sending():
            return _line("sending", {"change": note.change, "request": note.request, "at": _time(note.at)})
        case Answered():
            edits = {str(place): _ended(ended) for place, ended in note.edits.items()}
            head = {"change": note.change, "request": note.request, "at": _time(note.at)}
            return _line("outcome", {**head, "edits": edits})
        case Settled():
            found = {str(place): status.value for place, status in note.edits.items()}
            data: Json = {"change": note.change, "at": _time(note.at), "edits": found}
            if note.topic_ids:
                data["topic_ids"] = {str(place): topic_id for place, topic_id in note.topic_ids.items()}
            return _line("settled", data)
        case Decided():
            said = {str(place): status.value for place, status in note.edits.items()}
            head = {"change": note.change, "at": _time(note.at), "who": _who(note.who), "why": note.why}
            return _line("decided", {**head, "edits": said})
        case Told():
            return _line("told", {"change": note.change, "at": _time(note.at)})
        case Closed():
            return _line("closed", {"place": list(note.place), "at": _time(note.at), "why": note.why})
        case Mended():
            return _line("mended", {"at": _time(note.at), "who": _who(note.who)})


def record(line: bytes) -> Numbered | Note:
    """What a line says. Raises BadLine."""
    try:
        data = json.loads(line)
    except ValueError:
        raise BadLine("it is no JSON") from None
    if not isinstance(data, dict):
        raise BadLine("it is no JSON object")
    if data.get("v") != VERSION:
        raise BadLine(f"its version is {str(data.get('v'))[:20]}, this kac reads {VERSION}")
    try:
        return _record(data)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadLine(f"it is not in the journal's form ({type(error).__name__})") from None


def _record(data: Json) -> Numbered | Note:
    match data["kind"]:
        case "intent":
            return Numbered(int(data["change"]), _intent(data))
        case "sending":
            return Sending(int(data["change"]), int(data["request"]), _when(data["at"]))
        case "outcome":
            edits = {int(place): _ended_of(ended) for place, ended in data["edits"].items()}
            return Answered(int(data["change"]), int(data["request"]), _when(data["at"]), edits)
        case "settled":
            found = {int(place): Status(status) for place, status in data["edits"].items()}
            topic_ids = {int(place): str(topic_id) for place, topic_id in data.get("topic_ids", {}).items()}
            return Settled(int(data["change"]), _when(data["at"]), found, topic_ids)
        case "decided":
            said = {int(place): Status(status) for place, status in data["edits"].items()}
            who, why = Who(**data["who"]), str(data["why"])
            return Decided(int(data["change"]), _when(data["at"]), said, who, why)
        case "told":
            return Told(int(data["change"]), _when(data["at"]))
        case "closed":
            return Closed(_place(data["place"]), _when(data["at"]), str(data["why"]))
        case "mended":
            return Mended(_when(data["at"]), Who(**data["who"]))
        case kind:
            raise BadLine(f"its kind {str(kind)[:20]!r} is unknown to this release of kac")


def _line(kind: str, body: Mapping[str, Any]) -> bytes:
    return json_text({"v": VERSION, "kind": kind, **body}, separators=(",", ":")).encode("ascii") + b"\n"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _who(who: Who) -> Json:
    return {
        "principal": who.principal,
        "os_user": who.os_user,
        "sudo_user": who.sudo_user,
        "ssh_client": who.ssh_client,
    }


def _place(data: list[int]) -> Place:
    change, edit = data
    return Place(int(change), int(edit))


def _entry(entry: Entry) -> Json:
    staged = entry.staged
    data: Json = {"edit": edit_json(staged.edit, entry.secret), "was": was_json(staged.was)}
    if staged.lasts_ms is not None:
        data["lasts_ms"] = staged.lasts_ms
    if entry.until is not None:
        data["until"] = _time(entry.until)
    if staged.reverts is not None:
        data["reverts"] = list(staged.reverts)
    if staged.topic_id is not None:
        data["topic_id"] = staged.topic_id
    if entry.overridden:
        data["overridden"] = True
    if entry.overrides:
        data["overrides"] = dict(entry.overrides)
    return data


def _entry_of(data: Json) -> Entry:
    edit = edit_of(data["edit"])
    until = _when(data["until"]) if "until" in data else None
    reverts = _place(data["reverts"]) if "reverts" in data else None
    staged = Staged(edit, was_of(edit, data["was"]), data.get("lasts_ms"), reverts, data.get("topic_id"))
    secret = bool(data["edit"].get("secret"))
    return Entry(staged, until, bool(data.get("overridden")), data.get("overrides", {}), secret)


def _intent(data: Json) -> Intent:
    return Intent(
        _when(data["at"]),
        data["context"],
        Who(**data["who"]),
        Origin(**data["from"]),
        tuple(_entry_of(entry) for entry in data["edits"]),
        tuple(Request(r["api"], r["broker"], tuple(r["edits"])) for r in data["requests"]),
    )


def _ended(ended: Ended) -> Json:
    data: Json = {"status": ended.status.value}
    if ended.topic_id is not None:
        data["topic_id"] = ended.topic_id
    if ended.failure is not None:
        data |= {"error": ended.failure.name, "message": ended.failure.message, "remedy": ended.failure.remedy}
    return data


def _ended_of(data: Json) -> Ended:
    failure = Failure(data["error"], data["message"], data["remedy"]) if "error" in data else None
    status = Status(data["status"])
    if status is Status.NOT_APPLIED and failure is not None and failure.remedy == UNPROVEN:
        status = Status.UNKNOWN
    return Ended(status, failure, data.get("topic_id"))
