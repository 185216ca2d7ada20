"""Where the operator is: a view, what it is about, and the places visited before. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.names import DEFAULT, quota_entity, resource_word
from console.present.text import clean
from console.tui import keymap

# Where the operator is, where they came from, and how that is written.

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


# The way back: where the operator came from, place by place.

MOST_PLACES = 50


class BackStack:
    """The place that is shown, those before it, and the last one."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._before: list[Place] = []
        self._last: Place | None = None

    def go(self, place: Place, *, aside: bool = False) -> None:
        """Show another place. One that was passed on the way is gone back to. aside: another part of the same thing,
        which is no step on the way."""
        if not aside:
            passed = self._before.index(place) if place in self._before else None
            self._before = self._before[:passed] if passed is not None else [*self._before, self.place][-MOST_PLACES:]
        self._last, self.place = self.place, place

    def back(self) -> Place | None:
        """Where the way back leads: the place before, else the pane's own top; None at the end of it."""
        if self._before:
            return self._before[-1]
        return up(self.place)

    def last(self) -> Place | None:
        """The place before this one, whichever way."""
        return self._last
