"""Where the operator is, and the way back: places as values, one view shown at a time, its cursor kept."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from console.model.acl import Acl
from console.model.changes import Target
from console.model.codes import TOPIC
from console.model.config import ConfigResource, topic_resource
from console.model.quota import QuotaEntity
from console.present.names import DEFAULT, quota_entity, resource_word
from console.present.text import clean
from console.tui import keymap
from console.tui.panes import make_view
from console.tui.workers import start

if TYPE_CHECKING:
    from console.tui.app import Console
    from console.tui.panes.view import View


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


# Shows one view at a time: creates views, keeps them with their cursors, and goes back and forth between them.


class Navigator:
    """Shows one view at a time; each is made when it is first gone to, and kept, with its cursor."""

    def __init__(self, app: Console, first: Place) -> None:
        self._app = app
        self.trail = BackStack(first)
        self._section = keymap.CONFIGS
        self._views: dict[str, View] = {}

    @property
    def view(self) -> View:
        """The view that is shown."""
        return self._view(self.trail.place.view)

    def _view(self, name: str) -> View:
        if name not in self._views:
            self._views[name] = make_view(name)
        return self._views[name]

    def show(self) -> None:
        """Show the place in its view, with the keys."""
        self.view.show(self.trail.place)
        self.view.take_focus()
        self._app.arrived()

    def clear_marks(self) -> None:
        """In all views: what was marked has been changed."""
        for view in self._views.values():
            view.clear_marks()

    async def goto(self, place: Place, *, aside: bool = False) -> None:
        """Show a place; see `Trail.go`."""
        if place == self.trail.place:
            return
        if place.pane != self.trail.place.pane:
            # The marks of what changed have been seen.
            self._app.changed.clear()
        self._app.leaving()
        old, new = self.view, self._view(place.view)
        self.trail.go(place, aside=aside)
        with self._app.batch_update():
            if new is not old:
                old.display = False
                if not new.is_attached:
                    await self._app.query_one("#body").mount(new)
                new.display = True
            self._app.frame.forget()
            self.show()

    def open_resource(self, resource: ConfigResource) -> None:
        """Show an entity inside the pane that is open: its configs, or of a topic the part that was last looked at."""
        section = self._section if resource.type == TOPIC and self.trail.place.view == keymap.TOPICS else keymap.CONFIGS
        start(self._app, partial(self.goto, Place(section, self.trail.place.pane, resource)), group="goto", name="goto")

    def open_target(self, target: Target | None) -> None:
        """Show what an edit is about."""
        match target:
            case ConfigResource():
                self.open_resource(target)
            case QuotaEntity():
                start(self._app, partial(self.goto, pane(PANES.index(keymap.QUOTAS) + 1)), group="goto", name="goto")
            case Acl():
                start(self._app, partial(self.goto, pane(PANES.index(keymap.ACLS) + 1)), group="goto", name="goto")
            case str():
                self.open_resource(topic_resource(target))

    async def do_past(self) -> None:
        """The history of what is under the cursor."""
        about = self.view.target()
        await self.goto(Place(keymap.HISTORY, PANES.index(keymap.HISTORY) + 1, about))

    async def do_section(self, step: int = 1) -> None:
        """The next part of the topic."""
        place = SECTIONS.index(self.trail.place.view)
        self._section = SECTIONS[(place + step) % len(SECTIONS)]
        await self.goto(self.trail.place._replace(view=self._section), aside=True)

    async def do_section_back(self) -> None:
        """The part before."""
        await self.do_section(-1)

    async def do_back(self) -> None:
        """A filter goes first, then the view."""
        if self.view.filter_text:
            self.view.take_filter("")
        elif (place := self.trail.back()) is not None:
            await self.goto(place)

    async def do_last(self) -> None:
        """The view before this one."""
        if (place := self.trail.last()) is not None:
            await self.goto(place)
