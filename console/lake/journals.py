"""A reader of kac's journals as rows of the table `journal`: for each edit, the settings that it changes, as entities
and attributes (docs/trust.md), and its outcome.

The outcome of a change may be written long after its first line, and into another segment; so a journal that has new
lines is read again from its first line.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from console.lake import entities
from console.lake.redact import Damaged, is_secret
from console.lake.schema import JOURNAL, arrow_schema
from console.model import journal_lines
from console.model.entity_types import BY_NUMBER
from console.model.numbers import EPOCH
from console.safe_files import open_plain

# -- the settings of an edit ------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """An attribute that an edit changes. `old_source` is the source of the value before the edit, such as
    ``DYNAMIC_TOPIC_CONFIG``; None if it is unknown or if there was no value.
    """

    entity_type: str
    entity_key: str
    attr: str
    op: str
    """``set``, ``delete``, ``append`` or ``subtract``."""
    value: str | None = None
    """The new value; None if empty or hidden."""
    old_value: str | None = None
    """The value before the edit; None if empty or hidden."""
    old_source: str | None = None
    is_sensitive: bool = False


_OWN_SOURCES: Mapping[str, tuple[str, ...]] = {
    **{each.kafka_word: (each.own_source_name,) for each in BY_NUMBER.values()},
    "broker": ("DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG"),
}
"""Entity type -> Kafka's names of the sources of config values that are set on the entity itself. A value in a
broker's file counts as set on the broker.
"""


def settings_of(edit: Mapping[str, Any], was: Any) -> tuple[Setting, ...]:
    """Return the attributes that an edit changes; empty for a kind of edit that changes no attribute in the lake.

    Args:
        was: the former value as the journal records it.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, IndexError: the JSON is not an edit.
    """
    kind = edit["op"]
    known = None if was == "unread" else was
    match kind:
        case "set-feature":
            old = str(int(known)) if known is not None else None
            return (Setting("feature", edit["name"], ":level", "set", str(int(edit["level"])), old),)
        case "add-acl" | "remove-acl":
            return (_acl(edit["acl"], "set" if kind == "add-acl" else "delete", known),)
        case "set-quota" | "unset-quota":
            return (_quota(edit, known),)
        case "upsert-scram" | "delete-scram":
            user, op = edit["user"], "set" if kind == "upsert-scram" else "delete"
            mechanism = str(user["mechanism"]).replace("_", "-")
            old = entities.scram_value(int(known[1])) if known is not None else None
            return (Setting("scram", user["user"], mechanism, op, None, old, is_sensitive=op == "set"),)
        case "create-topic":
            return _created(edit["topic"])
        case "grow-topic":
            old = str(len(known["replicas"])) if known is not None else None
            return (Setting("topic", edit["name"], ":partitions", "set", str(int(edit["partitions"])), old),)
        case "delete-topic":
            old = known["id"] if known is not None else None
            return (Setting("topic", edit["name"], ":topic_id", "delete", None, old),)
        case "create-connector":
            return _created_connector(edit)
        case "delete-connector":
            return (Setting("connector", edit["name"], ":state", "delete"),)
        case _ if kind in _STEERED:
            return (Setting("connector", edit["name"], ":state", "set", _STEERED[kind]),)
        case _ if kind in _CONFIG_OPS:
            return (_config(edit, _CONFIG_OPS[kind], known),)
        case _:  # the edit leaves no attribute, or concerns no setting
            return ()


def _quota(edit: Mapping[str, Any], was: Any) -> Setting:
    parts = edit["entity"]
    entity = dict(zip(parts[::2], parts[1::2], strict=True))
    value = entities.quota_value(float(edit["value"])) if "value" in edit else None
    old = entities.quota_value(float(was)) if was is not None else None
    return Setting("quota", entities.quota_key(entity), edit["key"], "delete" if value is None else "set", value, old)


def _acl(acl: Any, op: str, was: Any) -> Setting:
    resource_type, name, pattern, principal, host, operation, permission = acl
    upon = entities.acl_key(str(resource_type), str(pattern), name)
    attr = entities.acl_attr(str(permission), str(operation), principal, host)
    value = entities.ACL_SET if op == "set" else None
    return Setting("acl", upon, attr, op, value, entities.ACL_SET if was is not None else None)


def _created(topic: Mapping[str, Any]) -> tuple[Setting, ...]:
    name, assigned = topic["name"], topic["assignments"]
    partitions = len(assigned) or int(topic["partitions"])
    replication = len(assigned[0]) if assigned else int(topic["replication"])
    configs = {key: None if is_secret("topic", key) else value for key, value in topic["configs"].items()}
    return (
        Setting("topic", name, ":partitions", "set", str(partitions) if partitions > 0 else None),
        Setting("topic", name, ":replication", "set", str(replication) if replication > 0 else None),
        *(
            Setting("topic", name, key, "set", value, is_sensitive=value is None)
            for key, value in sorted(configs.items(), key=lambda item: item[0])
        ),
    )


_STEERED = {"pause-connector": "PAUSED", "stop-connector": "STOPPED", "resume-connector": "RUNNING"}


def _created_connector(edit: Mapping[str, Any]) -> tuple[Setting, ...]:
    name = edit["name"]
    given = edit["config"].items()
    configs = {key: None if value is None or is_secret("connector", key) else value for key, value in given}
    return (
        Setting("connector", name, ":state", "set", edit["state"] or "RUNNING"),
        *(
            Setting("connector", name, key, "set", value, is_sensitive=value is None)
            for key, value in sorted(configs.items(), key=lambda item: item[0])
        ),
    )


_CONFIG_OPS = {"set-config": "set", "unset-config": "delete", "append-config": "append", "subtract-config": "subtract"}


def _config(edit: Mapping[str, Any], op: str, was: Any) -> Setting:
    type_, name = edit["resource"]
    entity_type = entities.CONFIG_TYPES[type_] if isinstance(type_, int) else type_.lower().replace("_", "-")
    if entity_type not in _OWN_SOURCES:
        raise ValueError(entity_type)
    key = edit["key"]
    given = None if op == "delete" else edit["value"]
    secret = (given is None and op != "delete") or is_secret(entity_type, key)
    value = None if secret else given
    source = None if was is None else str(was["source"])
    own = was is not None and source in _OWN_SOURCES[entity_type] and not was["sensitive"] and not secret
    return Setting(
        entity_type,
        entities.config_key(entity_type, name),
        key,
        op,
        value,
        was["value"] if own else None,
        source,
        is_sensitive=secret and op != "delete",
    )


def principal_of(name: str) -> str | None:
    """Return the principal of a name in the journal, in the brokers' form `User:alice`; None if the name does not
    determine it.
    """
    if not name or name in entities.NAMELESS:
        return None
    return name if ":" in name else f"User:{name}"


Note = journal_lines.Sending | journal_lines.OutcomeLine | journal_lines.Settled | journal_lines.Decided
"""A line of a journal that reports the outcome of a change."""


# -- outcomes of edits, as rows ----------------------------------------------------------------------------------------


class Ending(NamedTuple):
    """The outcome of an edit, as the journal records it."""

    status: str
    at: datetime | None = None
    """The time at which the outcome became known; None while it is unknown."""
    error: str | None = None
    """The name of the error that the brokers returned, by Kafka; None if they returned no error."""
    message: str | None = None
    """The error message that the brokers returned; None if they returned no message."""


def endings(intent: journal_lines.IntentLine, notes: Iterable[Note]) -> Iterator[Ending]:
    """Yield the outcome of each edit of a change, in the order of the edits
    (`console.model.journal_lines.final_status`).
    """
    answered: dict[int, Ending] = {}
    found: dict[int, Ending] = {}
    sent: set[int] = set()
    for note in notes:
        if isinstance(note, journal_lines.Sending):
            sent |= {place for request in intent.requests[note.request : note.request + 1] for place in request.edits}
        elif isinstance(note, journal_lines.OutcomeLine):
            for place, ended in note.edits.items():
                name, message, _ = ended.error or (None, None, None)
                answered[place] = Ending(ended.status, note.at, name, message)
        else:
            # A read proves only that an edit was applied; an operator may also declare that it was not.
            proves = journal_lines.FINAL if isinstance(note, journal_lines.Decided) else {journal_lines.APPLIED}
            found |= {place: Ending(status, note.at) for place, status in note.edits.items() if status in proves}
    for place in range(len(intent.edits)):
        answer, later = answered.get(place), found.get(place)
        if answer is None or answer.status not in journal_lines.FINAL:
            answered_as, found_as = (None if each is None else each.status for each in (answer, later))
            status = journal_lines.final_status(answered_as, found_as, place in sent) or "not sent"
            at, said = None if later is None else later.at, answer or Ending(status)
            answer = said._replace(status=status, at=at)
        yield answer


def _change_rows(cluster_id: str, change: _Change) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table `journal` for a change, without the column `run_id`. If the change sets a secret, the
    brokers' message is left out, since it may quote the secret.
    """
    intent, who = change.intent, change.intent.who
    ends = endings(intent, change.notes)
    for place, (edit, settings, end) in enumerate(zip(intent.edits, change.settings, ends, strict=True)):
        for setting in settings:
            words = end.message if end.message and not setting.is_sensitive else None
            yield {
                "cluster_id": cluster_id,
                "change_id": intent.change,
                "edit": place,
                "host": intent.origin.host,
                "intent_ts": intent.at,
                "end_ts": end.at,
                "status": end.status,
                **setting._asdict(),
                "principal": principal_of(who.principal),
                "os_user": f"{who.os_user} (by {who.sudo_user})" if who.sudo_user else who.os_user,
                "client_host": who.ssh_client or None,
                "door": intent.origin.door,
                "reverts": None if edit.reverts is None else edit.reverts[0],
                "error": f"{end.error}: {words}" if end.error and words else end.error,
            }


# -- reading ----------------------------------------------------------------------------------------------------------


def journals_at(paths: Iterable[Path]) -> list[Path]:
    """Return the journals at these paths: ``CLUSTER-ID.jsonl``, or folders of such files. Missing files and broken
    links are left out.
    """
    found: list[Path] = []
    for each in paths:
        found += sorted(each.glob(f"*{journal_lines.SUFFIX}")) if each.is_dir() else [each]
    return [each for each in found if each.exists()]


def journal_stats(path: Path) -> list[list[int]]:
    """Return size and modification time of each segment of a journal, for JSON. Raises OSError."""
    return [[stat.st_size, stat.st_mtime_ns] for stat in (segment.stat() for segment in segments_of(path))]


def read_journal(path: Path, at: int, copy_of: str = "") -> pa.Table:
    """Return the rows of `journal` for all changes and unreadable lines in a journal and the further segments next to
    it; no rows if the journal was deleted. Raises OSError if it can't be read.

    Args:
        at: the time of the read, in microseconds since 1970.
        copy_of: the name that the rows have in place of the path; empty to use the path.
    """
    reading = _Reading(journal_lines.cluster_of(path), copy_of if copy_of != str(path) else "")
    with suppress(FileNotFoundError):
        reading.read(segments_of(path))
    rows = [row for change in reading.changes.values() for row in _change_rows(reading.cluster_id, change)]
    rows += ({"cluster_id": reading.cluster_id, "quarantined": bad} for bad in reading.bad)
    read_ts = EPOCH + timedelta(microseconds=at)
    return pa.Table.from_pylist([{**row, "read_ts": read_ts} for row in rows], schema=arrow_schema(JOURNAL))


def segments_of(first: Path) -> list[Path]:
    """Return the files of a journal, in order."""
    others = (
        journal_lines.segment_folder(first).glob(f"*{journal_lines.SUFFIX}")
        if first.name.endswith(journal_lines.SUFFIX)
        else ()
    )
    return [
        first,
        *sorted(path for path in others if journal_lines.segment_number(path.name) is not None and path.exists()),
    ]


class _Change(NamedTuple):
    """A change of the journal, with its lines."""

    intent: journal_lines.IntentLine
    settings: tuple[tuple[Setting, ...], ...]
    """The settings of each edit of the change."""
    notes: list[Note]


class _Reading:
    """The state of a read of one journal."""

    def __init__(self, cluster_id: str, copy_of: str) -> None:
        self.cluster_id = cluster_id
        self._copy_of = copy_of
        self.changes: dict[int, _Change] = {}
        self.bad: list[dict[str, Any]] = []

    def read(self, segments: Sequence[Path]) -> None:
        """Fill `changes` and `bad` from all segments. The last line may be incomplete while kac writes it: it is then
        left out, and read once the journal has changed again.
        """
        with open_plain(segments[-1]) as last:
            alone = _locked(last)
            for path in segments:
                with open_plain(path) as file:
                    bad_until = -1
                    for line in journal_lines.raw_lines(file, 0, os.fstat(file.fileno()).st_size):
                        if not line.is_ended and path == segments[-1] and not alone:
                            return
                        try:
                            if self._take(line.whole) and bad_until == line.at:
                                self.bad[-1]["reason"] = "it was cut short, and ended by hand"
                        except journal_lines.BadLine as error:
                            # An overlong line is quarantined by its beginning.
                            self._bad(path, line.at, line.data.removesuffix(b"\n"), str(error))
                            bad_until = line.at + line.size

    def _take(self, line: bytes) -> bool:
        """Process a line. Return whether the line is the marker which says that the line before it was cut off.
        Raises BadLine.
        """
        found, settings = journal_lines.read_line(line, _decoded)
        if isinstance(found, journal_lines.IntentLine):
            if found.change in self.changes:
                raise journal_lines.BadLine(f"change {found.change} occurs twice; the first counts")
            self.changes[found.change] = _Change(found, settings, [])
        elif (
            isinstance(
                found, journal_lines.Sending | journal_lines.OutcomeLine | journal_lines.Settled | journal_lines.Decided
            )
            and found.change in self.changes
        ):
            self.changes[found.change].notes.append(found)
        return isinstance(found, journal_lines.Mended)

    def _bad(self, path: Path, at: int, line: bytes, reason: str) -> None:
        of = {"cluster_id": self.cluster_id, "source": "journal", "file": self._copy_of or str(path)}
        self.bad.append({**of, **Damaged.of(at, line, reason)._asdict()})


def _decoded(data: journal_lines.Json) -> tuple[journal_lines.Line, tuple[tuple[Setting, ...], ...]]:
    line = journal_lines.line_of(data)
    edits = line.edits if isinstance(line, journal_lines.IntentLine) else ()
    return line, tuple(settings_of(each.edit, each.was) for each in edits)


def _locked(file: BinaryIO) -> bool:
    """Take a shared lock on the journal until the file is closed. Return False if another process holds the lock: it
    may be writing the last line.
    """
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
