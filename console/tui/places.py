"""Places: a place is a view, its pane and its entity; a stack has the places to go back to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from console.model.codes import CONNECTOR
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.present.names import DEFAULT, quota_entity, resource_word
from console.present.text import clean
from console.tui import keymap

if TYPE_CHECKING:
    from console.language.verbs.analyze import Analyze
    from console.language.verbs.records import Records
    from console.language.verbs.redrive import BeginRedrive


class Pane(NamedTuple):
    """A pane, as it appears in the line of panes."""

    view: str
    """The name of the view that the pane shows first."""
    key: str
    titles: tuple[str, str, str]
    """The titles of the pane: the usual one, one for a narrow terminal, and one for fewer than 64 columns."""


PANES = (
    Pane(keymap.BROKERS, "1", ("Brokers", "Brok", "Br")),
    Pane(keymap.TOPICS, "2", ("Topics", "Topic", "To")),
    Pane(keymap.ENTITIES, "3", ("Configs", "Conf", "Co")),
    Pane(keymap.QUOTAS, "4", ("Quotas", "Quota", "Qu")),
    Pane(keymap.ACLS, "5", ("ACLs", "ACL", "AC")),
    Pane(keymap.GROUPS, "6", ("Groups", "Grp", "Gr")),
    Pane(keymap.PLAN, "7", ("Plan", "Plan", "Pl")),
    Pane(keymap.HISTORY, "8", ("History", "Hist", "Hi")),
    Pane(keymap.DRIFT, "9", ("Drift", "Drift", "Dr")),
    Pane(keymap.USAGE, "0", ("Usage", "Use", "Us")),
    Pane(keymap.NOW, ".", ("Now", "Now", "No")),
    Pane(keymap.EVENTS, ",", ("Events", "Event", "Ev")),
)
ORDER = (11, *range(1, 11), 12)
"""The numbers of the panes from left to right. A narrow terminal leaves out the last one."""
SECTIONS = {keymap.CONFIGS: "Configs", keymap.TOPIC: "Partitions", keymap.ACLS: "ACLs"}
"""The sections of a topic: view -> title, in the order of the Tab key. The section ACLs has those that affect the
topic.
"""
NODES = {keymap.BROKERS: "Brokers", keymap.QUORUM: "Quorum", keymap.FEATURES: "Features"}
"""The sections of the brokers pane: view -> title."""
CONNECT_PARTS = dict(zip(keymap.OF_CONNECT, ("Connectors", "Workers", "Plugins", "Loggers", "MM2"), strict=True))
CONNECTOR_PARTS = {keymap.CONNECTOR: "Tasks", keymap.CONFIGS: "Config", keymap.CONNECTOR_OFFSETS: "Offsets"}


class Place(NamedTuple):
    """A view, and the number of the pane in which it is shown."""

    view: str
    pane: int
    about: ConfigResource | QuotaEntity | Records | Analyze | BeginRedrive | str | None = None
    """The entity that the view shows: a config resource, a quota entity, a group by its name, the selection of records,
    an analysis, or dead letters; None if the view shows the whole pane.
    """

    @property
    def topic(self) -> str | None:
        """The topic's name; None if the place is not about a topic."""
        about = self.about
        return about.name if isinstance(about, ConfigResource) and resource_word(about.type) == "topic" else None


def pane(number: int) -> Place:
    """Return the place of a pane's first view. number: the number of the pane, from 1."""
    return Place(PANES[number - 1].view, number)


def pane_named(name: str) -> Place:
    """Return the place of a pane's first view, by the name of that view."""
    return pane([each.view for each in PANES].index(name) + 1)


def view_place(view: str) -> Place:
    """Return the place of a view in its own pane, by the view's name in `keymap.VIEWS`."""
    return pane_named(keymap.VIEWS[view][1])._replace(view=view)


def up(place: Place) -> Place | None:
    """Return the place of the first view of a place's pane; None if `place` is that view."""
    return None if place == pane(place.pane) else pane(place.pane)


def title(place: Place) -> str:
    """Return the entity of a place as text, for the breadcrumbs; ``""`` for a pane's top view."""
    about = place.about
    if about is None:
        return ""
    if isinstance(about, str):
        return f"group {clean(about)}"
    if isinstance(about, QuotaEntity):
        return quota_entity(about)
    if not isinstance(about, ConfigResource):
        from console.language.verbs.analyze import Analyze
        from console.language.verbs.redrive import BeginRedrive

        if isinstance(about, BeginRedrive):
            return f"dead letters {clean(about.goal.topic)}"
        return f"analysis {clean(about.topic)}" if isinstance(about, Analyze) else record_title(about)
    return f"{resource_word(about.type)} {DEFAULT if about.is_default else clean(about.name)}"


def parts_of(place: Place) -> list[tuple[str, str]]:
    """Return the sections of a place through which the Tab key cycles: of a topic, a connector, the brokers pane or
    Connect.

    Returns:
        Pairs of a view's name and its title; empty for a place without sections.
    """
    if place.topic is not None:
        return [*SECTIONS.items()]
    if place.view in NODES and place.about is None:
        return [*NODES.items()]
    if place.view in CONNECT_PARTS and place.about is None:
        return [*CONNECT_PARTS.items()]
    if isinstance(place.about, ConfigResource) and place.about.type == CONNECTOR:
        return [*CONNECTOR_PARTS.items()]
    return []


def part_titled(place: Place, title: str) -> str | None:
    """Return the name of the view of a place's section, by the section's title; None if there is no such section."""
    return next((view for view, its in parts_of(place) if its == title), None)


def records_in(place: Place, wanted: Records) -> Place:
    """Return the place that shows the selected records, in the pane of another place."""
    return Place(keymap.RECORDS, place.pane, wanted)


def analysis_of(place: Place, topic: str) -> Place:
    """Return the place that shows the analysis of a topic, in the pane of another place."""
    from console.language.verbs.analyze import Analyze

    return Place(keymap.ANALYSIS, place.pane, Analyze(topic))


def letters_of(place: Place, topic: str) -> Place:
    """Return the place that shows the dead letters of a topic, in the pane of another place."""
    from console.language.verbs.redrive import BeginRedrive
    from console.model.dead_letters import Redrive

    return Place(keymap.LETTERS, place.pane, BeginRedrive(Redrive(topic)))


def record_title(about: Records) -> str:
    """Return the selection of records as text, for the breadcrumbs."""
    where = clean(about.topic) if about.partition is None else f"{clean(about.topic)}-{about.partition}"
    word, at = about.begins
    begins = f"{'' if word == 'last' else 'from '}{word} {clean(at)}".rstrip()
    filters = (("key", about.key), ("text", about.text), ("where", about.where), ("without", about.without))
    said = [f"{name} {clean(text, LONGEST_CONDITION)}" for name, text in filters if text]
    said += [begins] if about.start is not None or not (said or about.follow) else []
    said += ["follow"] if about.follow else []
    return f"records {where}  {', '.join(said)}"


LONGEST_CONDITION = 30
"""Maximum characters of a condition in the breadcrumbs."""
MOST_PLACES = 50


class BackStack:
    """The current place, the stack of places to go back to, and the place that was shown before."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._before: list[Place] = []
        self._last: Place | None = None

    def go(self, place: Place, *, aside: bool = False) -> None:
        """Make another place the current one, and put the old one on the stack. If the new place is on the stack
        already, remove it and all places above it instead, except for the search and the overview.

        Args:
            aside: whether the place is another section of the same entity; the stack then stays as it is.
        """
        if not aside:
            # Coming back from a search hit or a chart always leads to the search or the overview, even if the place is
            # on the stack.
            is_new = place not in self._before or self.place.view in (keymap.FIND, keymap.OVERVIEW)
            index = None if is_new else self._before.index(place)
            self._before = self._before[:index] if index is not None else [*self._before, self.place][-MOST_PLACES:]
        self._last, self.place = self.place, place

    def back(self) -> Place | None:
        """Return the place on top of the stack; if the stack is empty, the first view of the pane; None if that is the
        current place.
        """
        if self._before:
            return self._before[-1]
        return up(self.place)

    def last(self) -> Place | None:
        """Return the place that was shown before the current one; None at the start."""
        return self._last
