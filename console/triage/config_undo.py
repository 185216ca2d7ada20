"""The place of a changed setting, and the edit that reverts the change. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.model.codes import BROKER, TOPIC
from console.model.config import ConfigResource
from console.plan.edits import SetConfig, UnsetConfig
from console.triage.past import ConfigChange
from console.triage.symptoms import Subject


class ChangedPlace(NamedTuple):
    """The owner of a key, as a subject and as text."""

    subject: Subject
    name: str


def changed_place(resource: ConfigResource, key: str) -> ChangedPlace:
    """Return the owner of a key that was changed."""
    if resource.type == TOPIC:
        return ChangedPlace(Subject(topic=resource.name, key=key), f"topic {resource.name}")
    if resource.type == BROKER and resource.name.isdecimal():
        return ChangedPlace(Subject(broker=int(resource.name), key=key), f"broker {resource.name}")
    return ChangedPlace(Subject(entity="broker default", key=key), "broker default")


def undo(change: ConfigChange) -> SetConfig | UnsetConfig:
    """Return the edit that restores the value before a change."""
    if change.was is None:
        return UnsetConfig(change.resource, change.key)
    return SetConfig(change.resource, change.key, change.was)
