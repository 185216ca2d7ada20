"""Where the operator is, where they came from, and how that is written."""

from __future__ import annotations

from typing import NamedTuple

from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.names import DEFAULT, quota_entity, resource_word
from console.present.text import clean
from console.tui import keymap

PANES = ("brokers", "topics", "entities", "quotas", "acls", "groups", "plan", "history", "drift", "usage")
TITLES = ("Brokers", "Topics", "Configs", "Quotas", "ACLs", "Groups", "Plan", "History", "Drift", "Usage")
SHORT_TITLES = ("Brok", "Topic", "Conf", "Quota", "ACL", "Grp", "Plan", "Hist", "Drift", "Use")
"""Where there is no room for the others."""
SHORTEST_TITLES = ("Br", "To", "Co", "Qu", "AC", "Gr", "Pl", "Hi", "Dr", "Us")
"""Below 64 columns."""
SECTIONS = (keymap.CONFIGS, keymap.TOPIC, keymap.ACLS)
"""The parts of a topic, in the order of the tab key: its configs, its partitions, the ACLs that touch it."""
SECTION_TITLES = ("Configs", "Partitions", "ACLs")


class Place(NamedTuple):
    """A view, what it is about (an entity, a group's name, or None), and the pane that it belongs to."""

    view: str
    pane: int
    about: ConfigResource | QuotaEntity | str | None = None

    @property
    def topic(self) -> str | None:
        """The topic that the place is about, None where it is about something else."""
        about = self.about
        return about.name if isinstance(about, ConfigResource) and resource_word(about.type) == "topic" else None


def pane(number: int) -> Place:
    """The top view of a pane, counted from 1."""
    return Place(PANES[number - 1], number)


def up(place: Place) -> Place | None:
    """The place that a place is inside of, None for a pane's top view."""
    return None if place == pane(place.pane) else pane(place.pane)


def words(place: Place) -> str:
    """What a place is about, for the breadcrumbs; ``""`` for a pane's top view."""
    about = place.about
    if about is None:
        return ""
    if isinstance(about, str):
        return f"group {clean(about)}"
    if isinstance(about, QuotaEntity):
        return quota_entity(about)
    return f"{resource_word(about.type)} {DEFAULT if about.is_cluster_default else clean(about.name)}"
