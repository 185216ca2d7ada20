"""A staged edit with what was read in its place, and the other two things that may become of an edit."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

from console.model.acl import Acl
from console.model.changes import Target
from console.model.cluster import ScramCredential, Topic
from console.model.codes import TOPIC
from console.model.config import ConfigEntry, topic_resource
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, DeleteTopic, Edit, GrowTopic


class Unread(Enum):
    """The type of `UNREAD`."""

    UNREAD = "unread"


UNREAD: Final = Unread.UNREAD
"""That part of the cluster had not been read when the edit was staged: no word on what was there."""

Was = ConfigEntry | float | Acl | Topic | ScramCredential | None | Unread
"""What stood in an edit's place when it was staged, by the kind of edit: the key's whole entry (value, source, whether
hidden, what else would apply), the quota, the binding, the topic, the credential. None: nothing was there."""


class Place(NamedTuple):
    """An edit of a change that was applied: the change's number in the journal, and the edit's place in it, from 0."""

    change: int
    edit: int


class Staged(Struct, frozen=True):
    """An edit, and what was read in its place when it was staged.

    lasts_ms: how long it is to hold once it is applied, in milliseconds; None for good. reverts: the edit of an applied
    change that it takes back. topic_id: of the topic that it is meant for, None if unknown or of another kind; one of
    the same name may have taken its place. doubt: why its place may not be what it is meant for, in words; ``""`` where
    nothing speaks for that. It is not sent before an operator goes over the doubt.
    """

    edit: Edit
    was: Was
    lasts_ms: int | None = None
    reverts: Place | None = None
    topic_id: str | None = None
    doubt: str = ""


class Dropped(NamedTuple):
    """An edit that would change nothing, and why."""

    edit: Edit
    reason: str


class Refused(NamedTuple):
    """An edit that can't be staged: why, and what the operator can do instead. Both plain words, untrusted text."""

    edit: Edit
    reason: str
    remedy: str


Verdict = Staged | Dropped | Refused


def home(edit: Edit) -> str | None:
    """The name of the topic that has to be there for an edit; None for edits of other things, and for its creation."""
    if isinstance(edit, DeleteTopic | GrowTopic):
        return edit.name
    return edit.resource.name if isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC else None


def topic_id_of(edit: Edit, snapshot: Snapshot) -> str | None:
    """The id of that topic in a snapshot; None if unknown."""
    name = home(edit)
    topic = snapshot.topics.get(name) if name is not None else None
    return topic.topic_id if topic is not None else None


def subject(target: Target) -> Target:
    """What a target is about: a topic's configs and the topic itself are one subject, its config resource."""
    return topic_resource(target) if isinstance(target, str) else target


def shown(value: str) -> str:
    """A value for a line of words: cut where it is long."""
    return value if len(value) <= 60 else f"{value[:57]}…"
