"""The lines of a journal that kac keeps: JSON objects, a change's intent and what became of it (docs/trust.md).

Read here by themselves, since executors have nothing else of kac; a test holds them equal to what kac itself reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .edits import Setting, settings_of

VERSION = 1
UNPROVEN = "Nothing changed: apply again."
"""The remedy with which former versions said "not applied" of a request whose answer was lost, without a proof."""


class BadLine(ValueError):
    """A line that is no record: why, in words."""


@dataclass(frozen=True)
class Edit:
    """An edit of a change. request: its request's place in the change. reverts: the change that it takes back."""

    settings: tuple[Setting, ...]
    request: int | None
    reverts: int | None


@dataclass(frozen=True)
class Intent:
    """A change that was about to be sent. principal: None where only the brokers know, as of a certificate."""

    change: int
    at: datetime
    host: str
    door: str
    principal: str | None
    os_user: str
    client_host: str | None
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Note:
    """What became of a change. sent: the request that goes out. ended: by the edit's place, (status, error name,
    message). found: by the edit's place, the status that a later look or an operator gave."""

    change: int
    at: datetime
    sent: int | None = None
    ended: Mapping[int, tuple[str, str | None, str | None]] | None = None
    found: Mapping[int, str] | None = None


@dataclass(frozen=True)
class Mended:
    """The line before had been cut, and was ended by hand."""


@dataclass(frozen=True)
class Other:
    """A record that says nothing of how a change went."""


Record = Intent | Note | Mended | Other

_UNKNOWN_PRINCIPALS = frozenset({"", "certificate", "OAUTHBEARER", "GSSAPI"})
_STATUSES = frozenset({"applied", "valid", "unchecked", "failed", "not applied", "unknown"})


def record(line: bytes) -> Record:
    """What a line says. Raises BadLine."""
    try:
        data = json.loads(line)
    except ValueError:
        raise BadLine("it is no JSON") from None
    if not isinstance(data, dict):
        raise BadLine("it is no JSON object")
    if data.get("v") != VERSION:
        raise BadLine("its version is none that is known here")
    try:
        return _record(data)
    except BadLine:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadLine(f"it is not in the journal's form ({type(error).__name__})") from None


def time_of(text: str) -> datetime:
    """A time as the journal writes it, UTC with milliseconds; Python 3.10 does not take the Z."""
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


def _record(data: Mapping[str, Any]) -> Record:
    kind = data["kind"]
    if kind == "intent":
        return _intent(data)
    if kind == "sending":
        return Note(int(data["change"]), time_of(data["at"]), sent=int(data["request"]))
    if kind == "outcome":
        ended = {int(place): _ended(how) for place, how in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), ended=ended)
    if kind == "settled":
        found = {int(place): _status(status) for place, status in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), found={p: s for p, s in found.items() if s == "applied"})
    if kind == "decided":
        said = {int(place): _status(status) for place, status in data["edits"].items()}
        return Note(int(data["change"]), time_of(data["at"]), found=said)
    if kind == "mended":
        return Mended()
    if kind in ("closed", "told"):
        return Other()
    raise BadLine("its kind is none that is known here")


def _ended(how: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    status = _status(how["status"])
    if status == "not applied" and how.get("remedy") == UNPROVEN:
        status = "unknown"
    return status, how.get("error"), how.get("message")


def _status(text: str) -> str:
    if text not in _STATUSES:
        raise ValueError(text)
    return text


def _intent(data: Mapping[str, Any]) -> Intent:
    requests = {place: n for n, request in enumerate(data["requests"]) for place in request["edits"]}
    who, origin = data["who"], data["from"]
    return Intent(
        int(data["change"]),
        time_of(data["at"]),
        origin["host"],
        origin["door"],
        _principal(who["principal"]),
        f"{who['os_user']} (by {who['sudo_user']})" if who["sudo_user"] else who["os_user"],
        who["ssh_client"] or None,
        tuple(
            Edit(
                settings_of(entry["edit"], entry["was"]),
                requests.get(place),
                int(entry["reverts"][0]) if "reverts" in entry else None,
            )
            for place, entry in enumerate(data["edits"])
        ),
    )


def _principal(name: str) -> str | None:
    """As brokers write it: `User:alice`."""
    if name in _UNKNOWN_PRINCIPALS:
        return None
    return name if ":" in name else f"User:{name}"
