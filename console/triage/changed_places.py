"""The owner of a changed value, as a subject and as text, and the edit that reverts the change of a config. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.model import changes
from console.model.acl import Acl, acl_text
from console.model.codes import BROKER, CONNECTOR, GROUP, SCHEMA, TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.tokens import TokenTarget
from console.plan.edits import SetConfig, UnsetConfig
from console.triage.past import ConfigChange
from console.triage.symptoms import CLUSTER, Subject


class ChangedPlace(NamedTuple):
    """The owner of a value, as a subject and as text."""

    subject: Subject
    name: str


def changed_place(about: changes.Target, key: str) -> ChangedPlace:
    """Return the owner of a value that was changed."""
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
        case TokenTarget() if key:  # the token's owner
            return ChangedPlace(Subject(entity=f"token of {key}"), f"token of {key}")
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
    """Return an entity as ``user alice client-id <default>``."""
    return " ".join(f"{part.type} {part.name or '<default>'}" for part in entity.parts)


def undo(change: ConfigChange) -> SetConfig | UnsetConfig:
    """Return the edit that restores the value before a change."""
    if change.was is None:
        return UnsetConfig(change.resource, change.key)
    return SetConfig(change.resource, change.key, change.was)
