"""The owner of a changed value, as a subject and as text, and the edit that restores the value before a
change. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from console.model import changes
from console.model.acl import Acl, acl_text
from console.model.codes import BROKER, CONNECTOR, GROUP, SCHEMA, TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.plan.edits import SetConfig, UnsetConfig
from console.triage.events import Place
from console.triage.past import ConfigChange
from console.triage.symptoms import CLUSTER, Subject


class ChangedPlace(NamedTuple):
    """The entity that a value belongs to, as a subject and as text."""

    subject: Subject
    name: str


def owner_of(place: Place) -> ChangedPlace:
    """Return the entity that the value of a place belongs to. A login that names its user has the name of this user,
    not its id.
    """
    if place.kind.about.is_login and place.key:
        name = f"{place.kind.about.one} of {place.key}"
        return ChangedPlace(Subject(entity=name), name)
    return changed_place(place.about, place.key)


def changed_place(about: changes.Target, key: str) -> ChangedPlace:
    """Return the entity that a changed value belongs to. key: the key of the value; ``""`` for the whole entity."""
    match about:
        case ConfigResource(type=type_, name=name) if type_ == TOPIC:
            return ChangedPlace(Subject(topic=name, key=key), f"topic {name}")
        case ConfigResource(type=type_, name=name) if type_ == GROUP:
            return ChangedPlace(Subject(group=name, key=key), f"group {name}")
        case ConfigResource(type=type_, name=name) if type_ == BROKER and name.isdecimal():
            return ChangedPlace(Subject(broker=int(name), key=key), f"broker {name}")
        case ConfigResource(type=type_, name=name) if type_ == CONNECTOR:
            return ChangedPlace(Subject(connector=name, key=key), f"connector {name}")
        case ConfigResource(type=type_, name=name) if type_ == SCHEMA:
            subject = f"schema {name or '<default>'}"
            return ChangedPlace(Subject(entity=subject, key=key), subject)
        case ConfigResource():
            return ChangedPlace(Subject(entity="broker default", key=key), "broker default")
        case Acl():
            return ChangedPlace(Subject(entity=acl_text(about)), acl_text(about))
        case QuotaEntity():
            entity = quota_text(about)
            return ChangedPlace(Subject(entity=entity, key=key), f"quota of {entity}")
        case changes.ScramUser():
            return ChangedPlace(Subject(entity=f"user {about.user}"), f"user {about.user}")
        case changes.TopicTarget():
            return ChangedPlace(Subject(topic=about.name), f"topic {about.name}")
        case changes.MoveTarget():
            return ChangedPlace(Subject(topic=about.topic), f"topic {about.topic}")
        case changes.GroupTarget():
            return ChangedPlace(Subject(group=about.name), f"group {about.name}")
        case changes.BrokerTarget():
            return ChangedPlace(Subject(broker=about.id, key=key), f"broker {about.id}")
        case changes.FeatureTarget() | changes.VoterTarget():
            return ChangedPlace(Subject(entity=about.title), about.title)
        case changes.OwnTarget(resource=ConfigResource(type=type_) as own) if type_ == SCHEMA:
            return changed_place(own, "")._replace(subject=Subject(entity=f"schema {own.name}"))  # without a version
    return ChangedPlace(CLUSTER, "the cluster")


def quota_text(entity: QuotaEntity) -> str:
    """Return a quota's entity as text: ``user alice client-id <default>``."""
    return " ".join(f"{part.type} {part.name or '<default>'}" for part in entity.parts)


def undo(change: ConfigChange) -> SetConfig | UnsetConfig:
    """Return the edit that restores the value before a change."""
    if change.was is None:
        return UnsetConfig(change.resource, change.key)
    return SetConfig(change.resource, change.key, change.was)
